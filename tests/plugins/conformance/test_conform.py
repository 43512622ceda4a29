"""`pxp conform`: programs in any language, told the shortest sequence on which they differ."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.conformance import programs as conformance
from pxp_fsm.plugins.conformance import views
from pxp_fsm.plugins.conformance.programs import ConformanceRequest
from pxp_fsm.plugins.conformance.testing import ConformanceReport
from tests import command_line

ROOT = Path(__file__).parents[3]
FAST = f"{sys.executable} -I -S"
OWN = f"{FAST} '{ROOT / 'examples' / 'own_agent.py'}'"


def pxp(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return command_line.pxp("conform", *arguments, cwd=cwd)


def told(request: ConformanceRequest) -> str:
    patient = replace(request, timeout=60)
    return "\n".join(views.lines(conformance.run(patient)))


def test_a_program_that_knows_nothing_of_us_conforms(tmp_path: Path) -> None:
    done = pxp(OWN, "--timeout", "60", "--extra-states", "0", cwd=tmp_path)
    assert done.stdout == (
        "CONFORMS to interact: 248 tests, 788 inputs\n"
        "Proved for a program that always answers alike after a reset and has at most 4 states "
        "(4 of the table, 0 extra), and for 42 different inputs.\n"
        "Not tested: any other input, how long it takes, what it does besides replying.\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.deep
def test_the_shortest_sequence_that_shows_a_bug(tmp_path: Path) -> None:
    done = pxp(f"{OWN} --bug", "--timeout", "60", "-o", "way.mmd", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [
        "  step  input           expected  got",
        "  1     receive INIT    -INIT     -INIT",
        "  2     receive REJECT  refused   refused",
        "! 3     event CLOSE     !CLOSE    refused",
        "No shorter sequence of inputs shows a difference.",
        "Drawn: way.mmd",
    ]
    way = (tmp_path / "way.mmd").read_text("utf-8")
    assert "INIT ×1" in way
    assert "Reconstructed from the text" in way
    assert "expected !CLOSE, got refused." in way


@pytest.mark.deep
def test_for_other_tools(tmp_path: Path) -> None:
    done = pxp(f"{OWN} --bug", "--timeout", "60", "--json", "--extra-states", "0", cwd=tmp_path)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["verdict"] == "DIFFERS"
    assert found["fingerprint"] == builtin("interact").fingerprint
    assert (found["states"], found["extra"], found["shortest"]) == (4, 0, True)
    assert len(set(found["alphabet"])) == 42
    assert found["difference"][-1] == {
        "input": "event CLOSE",
        "expected": "!CLOSE",
        "got": None,
        "fault": None,
    }


@pytest.mark.parametrize("reset", ["message", pytest.param("restart", marks=pytest.mark.deep)])
def test_another_table(reset: str) -> None:
    command = f"{OWN} --bug"
    found = conformance.run(ConformanceRequest(command, "pxp", 0, 60, reset))
    assert isinstance(found.report, ConformanceReport)
    assert found.report.difference is not None
    assert [str(given) for given in found.report.difference.inputs] == ["send INIT", "receive TERM"]
    asking = str(ROOT / "examples" / "asking.toml")
    assert "expected" in told(ConformanceRequest(command, asking, 0))


SH = r"""
state=idle
tag() { t=${line##*'"tag": "'}; t=${t%%'"'*}; }
did() { printf '{"did": "%s"}\n' "$1"; }
while IFS= read -r line; do
  tag
  guards=$(printf %s "$line" | sed 's/.*{//; s/[ }]//g' | tr , '\n' | sort | tr '\n' ' ')
  case "$state $line" in
    *'"do": "reset"'*) state=idle; did reset ;;
    'idle '*'"send"'*'"INIT"'*) state=wait; did +INIT ;;
    'idle '*'"receive"'*'"INIT"'*) state=decide; did -INIT ;;
    'wait '*'"receive"'*'"RATIFY"'*|'wait '*'"receive"'*'"REFUTE"'*|\
    'wait '*'"receive"'*'"REVISE"'*|'wait '*'"receive"'*'"REJECT"'*)
      state=decide; did "-$t" ;;
    'wait '*'"event"'*'"CLOSE"'*|'decide '*'"event"'*'"CLOSE"'*) state=end; did '!CLOSE' ;;
    'decide '*'"decide"'*)
      case $guards in
        '"RAT":true "REF":false "REJ":false "REV":false ') state=wait; did +RATIFY ;;
        '"RAT":false "REF":true "REJ":false "REV":false ') state=wait; did +REFUTE ;;
        '"RAT":false "REF":false "REJ":false "REV":true ') state=wait; did +REVISE ;;
        '"RAT":false "REF":false "REJ":true "REV":false ') state=wait; did +REJECT ;;
        *) echo '{"refused": "guards"}' ;;
      esac ;;
    *) echo '{"refused": "state"}' ;;
  esac
done
"""

NODE = """
const lines = require('readline').createInterface({ input: process.stdin });
const tags = { RAT: 'RATIFY', REF: 'REFUTE', REV: 'REVISE', REJ: 'REJECT' };
let state = 'idle';
function step(r) {
  if (r.do === 'reset') { state = 'idle'; return 'reset'; }
  const opens = state === 'idle' && r.tag === 'INIT';
  if (r.do === 'send' && opens) { state = 'wait'; return '+INIT'; }
  if (r.do === 'receive' && (opens || state === 'wait' && Object.values(tags).includes(r.tag))) {
    state = 'decide'; return '-' + r.tag;
  }
  if (r.do === 'event' && (state === 'wait' || state === 'decide') && r.name === 'CLOSE') {
    state = 'end'; return '!CLOSE';
  }
  if (r.do === 'decide' && state === 'decide') {
    const names = Object.keys(r.guards), truths = Object.values(r.guards);
    const known = names.length === 4 && names.every(guard => guard in tags);
    const holds = names.filter(guard => r.guards[guard]);
    const strict = truths.every(said => typeof said === 'boolean');
    if (known && strict && holds.length === MOST) { state = 'wait'; return '+' + tags[holds[0]]; }
  }
}
lines.on('line', line => {
  const did = step(JSON.parse(line));
  console.log(JSON.stringify(did ? { did } : { refused: state }));
});
"""


@pytest.mark.deep
def test_a_program_in_shell(tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text(SH, "utf-8")
    said = told(ConformanceRequest(f"sh '{tmp_path / 'agent.sh'}'", extra=0))
    assert said.startswith("CONFORMS to interact: 248 tests, 788 inputs")


@pytest.mark.deep
def test_a_program_in_javascript(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not here")
    (tmp_path / "right.js").write_text(NODE.replace("MOST", "1"), "utf-8")
    (tmp_path / "wrong.js").write_text(NODE.replace("=== MOST", ">= 1"), "utf-8")
    assert told(ConformanceRequest(f"node '{tmp_path / 'right.js'}'", extra=0)).startswith(
        "CONFORMS"
    )
    said = told(ConformanceRequest(f"node '{tmp_path / 'wrong.js'}'", extra=0)).splitlines()
    assert said[-2:] == [
        "! 2     decide RAT+REF  refused   +RATIFY",
        "No shorter sequence of inputs shows a difference.",
    ]


SHELL = """
import sys
state = 0
for number, line in enumerate(sys.stdin):
    if "reset" in line:
        state = 0
        print('{"did": "reset"}', flush=True)
        continue
"""


def python(then: str, tmp_path: Path) -> str:
    (tmp_path / "it.py").write_text(SHELL + "".join(f"    {line}\n" for line in then.splitlines()))
    return f"{FAST} '{tmp_path / 'it.py'}'"


def test_a_program_that_breaks_differs_on_the_sequence_that_breaks_it(tmp_path: Path) -> None:
    crash = 'if "UNHEARD" in line: raise KeyError("tag")\nprint(\'{"refused": ""}\', flush=True)'
    then = 'if "send" in line:\n    print(\'{"did": "+INIT"}\', flush=True)\n    continue\n' + crash
    said = told(ConformanceRequest(python(then, tmp_path), extra=0))
    assert "! 1" in said
    assert "No shorter sequence" in said


ONCE = """\
format = 1
name = "once"
title = "Once"
initial = "A"
final = ["B"]
states = [{ name = "A" }, { name = "B" }]
rows = [{ from = "A", to = "B", event = "GO" }]
"""
GOES_ONCE = """
went, state = "GO" in line, state or "GO" in line
print('{"did": "!GO"}' if went else '{"refused": ""}', flush=True)
"""


@pytest.fixture(name="once")
def _once(tmp_path: Path) -> str:
    (tmp_path / "once.toml").write_text(ONCE, "utf-8")
    return str(tmp_path / "once.toml")


def test_a_program_that_breaks_is_told_as_it_broke(tmp_path: Path, once: str) -> None:
    then = 'if state: raise KeyError("twice")' + GOES_ONCE
    said = told(ConformanceRequest(python(then, tmp_path), once)).splitlines()
    assert said[-2] == (
        "! 2     event GO  refused   it ended with exit code 1 (KeyError: 'twice') instead of an "
        'answer to {"do": "event", "name": "GO"}'
    )


NO_RESET = """
import sys
gone = False
for line in sys.stdin:
    goes, gone = "GO" in line and not gone, gone or "GO" in line
    print('{"did": "!GO"}' if goes else '{"refused": ""}', flush=True)
"""


def test_a_program_without_a_reset_is_restarted(tmp_path: Path, once: str) -> None:
    (tmp_path / "it.py").write_text(NO_RESET, "utf-8")
    request = ConformanceRequest(f"{FAST} '{tmp_path / 'it.py'}'", once, 0, 60, "restart")
    assert told(request).startswith("CONFORMS to once")


def test_one_that_is_silent_is_not_judged(tmp_path: Path, once: str) -> None:
    then = 'if state: __import__("time").sleep(60)' + GOES_ONCE
    found = conformance.run(ConformanceRequest(python(then, tmp_path), once, timeout=3))
    assert found.exit_code == conformance.UNKNOWN
    said = list(views.lines(found))
    assert said[0].startswith("UNKNOWN whether it conforms to once: it did not reply within 3 s")
    assert [line.split() for line in said[-2:]] == [
        ["2", "event", "GO", "!GO", "!GO"],
        ["!", "3", "event", "GO", "refused", "?"],
    ]


def test_one_that_is_not_always_alike_is_not_judged(tmp_path: Path) -> None:
    """What it answers first is another thing each time."""
    moody = 'print(\'{"did": "+%d"}\' % number, flush=True)'
    found = conformance.run(ConformanceRequest(python(moody, tmp_path), extra=0, timeout=60))
    assert found.exit_code == conformance.UNKNOWN
    said = next(views.lines(found))
    assert said.startswith("UNKNOWN whether it conforms to interact: it answered one sequence")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("cat", "the program cannot be tested: it said a line that is not an answer"),
        ("false", "the program cannot be tested: it ended with exit code 1 instead"),
        ("nonesuch", "nonesuch cannot be started"),
        ("", "no program is given"),
    ],
)
def test_what_is_no_program_for_this(command: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        conformance.run(ConformanceRequest(command, timeout=60))


def test_exit_codes_and_words_of_the_command(tmp_path: Path) -> None:
    silent = pxp("sleep 60", "--timeout", "0.3", cwd=tmp_path)
    assert (silent.returncode, silent.stderr) == (4, "")
    assert "UNKNOWN whether it conforms to interact: it did not reply within 0.3 s" in silent.stdout
    for arguments, problem in [
        (["cat", "--timeout", "60"], "the program cannot be tested"),
        (["cat", "nonesuch"], "nonesuch: cannot be read"),
        (["cat", "--extra-states", "-1"], "Invalid value for '--extra-states'"),
        ([OWN, "--extra-states", "9"], "take fewer extra states"),
        (["cat", "--timeout", "0"], "Invalid value for '--timeout'"),
        (["cat", "--timeout", "inf"], "at most 86400"),
    ]:
        done = pxp(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert problem in done.stderr
        assert "Traceback" not in done.stderr


def test_a_proof_is_not_claimed_where_nothing_was_tested() -> None:
    report = ConformanceReport[object](0, 1, 0, 0, unknown="silent")
    assert not report.conforms


FOLLOWS = """
import json, sys, tomllib
table = tomllib.load(open(sys.argv[1], "rb"))
blind, state = sys.argv[2:] == ["blind"], table["initial"]
guards = {one["name"]: one.get("guards", []) for one in table["states"]}

def at(one):
    return (" to " if "send" in one else " from ") + one["partner"] if "partner" in one else ""

def row(asked):
    for one in table["rows"]:
        sources = one["from"] if isinstance(one["from"], list) else [one["from"]]
        tags = one.get(asked["do"])
        alike = asked.get("tag") in (tags if isinstance(tags, list) else [tags])
        whom = blind or one.get("partner") in (None, asked.get("partner"))
        if state in sources and "guard" not in one and "tag" in asked and alike and whom:
            return one["to"], {"send": "+", "receive": "-"}[asked["do"]] + asked["tag"] + at(one)
        if state in sources and "event" in one and asked.get("name") == one["event"]:
            return one["to"], "!" + one["event"]
        if state in sources and "guard" in one and asked["do"] == "decide":
            true = [name for name, holds in asked["guards"].items() if holds]
            alike = set(asked["guards"]) == set(guards[state])
            strict = all(type(holds) is bool for holds in asked["guards"].values())
            if alike and strict and true == [one["guard"]]:
                return one["to"], "+" + one["send"] + at(one)

for line in sys.stdin:
    asked = json.loads(line)
    found = (table["initial"], "reset") if asked["do"] == "reset" else row(asked)
    state = found[0] if found else state
    print(json.dumps({"did": found[1]} if found else {"refused": "no row"}), flush=True)
"""


def test_the_program_of_a_member_is_told_with_whom_it_deals(tmp_path: Path) -> None:
    program, table = tmp_path / "follows.py", ROOT / "examples/contract_net/bidder.toml"
    program.write_text(FOLLOWS, "utf-8")
    request = ConformanceRequest(f"{FAST} {program} {table}", str(table), extra=0)
    assert told(request).startswith("CONFORMS to bidder: ")
    blind = told(replace(request, command=f"{request.command} blind"))
    assert "DIFFERS from bidder" in blind
    assert "! 1     receive TASK  refused   -TASK from manager" in blind
