"""`pxp run SYSTEM.toml`: what is proved, who answers, what is stored, resumed and followed."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.cli.main import commands
from tests.automata.test_system_files import SYSTEM, written

COMMIT = Path(__file__).parents[2] / "examples/two_phase_commit/two_phase.toml"


def run(folder: Path, *arguments: object) -> tuple[int, str]:
    """`pxp run` with an output folder of its own; its exit code and output."""
    given = [str(one) for one in arguments]
    done = CliRunner().invoke(commands, ["run", *given, "--output", str(folder / "runs")])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_it_says_what_is_proved_checks_once_and_anew_where_the_system_changes(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    code, said = run(tmp_path, path)
    assert code == 0
    assert re.match(
        r"Proved \(checked now, [0-9.]+ s\): deadlock-free; can always come to its end; "
        r"every run ends; F ended holds\n",
        said,
    )
    assert "Proved (stored in" in run(tmp_path, path)[1]
    written(tmp_path, SYSTEM.replace("fifo:1", "fifo:2"))
    assert "Proved (checked now" in run(tmp_path, path)[1]
    written(tmp_path, SYSTEM.replace("fifo:1", "fifo:2").replace("F ended", "F client@DONE"))
    assert "Proved (checked now" in run(tmp_path, path)[1]


def test_claims_and_checks_of_the_file_are_among_what_is_proved(tmp_path: Path) -> None:
    claims = """
[[properties]]
check = "never-stuck"

[[properties]]
name = "in-order"
never = "client.at == DONE and server.at == IDLE"

[[properties]]
check = "no-orphan-message"
"""
    path = written(tmp_path, SYSTEM.replace("fifo:1", "sync") + claims)
    said = run(tmp_path, path)[1]
    assert "; never-stuck holds; in-order holds; no-orphan-message holds\n" in said
    assert "Proved (stored in" in run(tmp_path, path)[1]
    path.write_text(path.read_text("utf-8").replace("and server.at", "or server.at"), "utf-8")
    said = run(tmp_path, path)[1]
    assert "Proved (checked now" in said and "in-order is UNKNOWN" in said


def test_a_stored_result_that_is_none_is_not_believed(tmp_path: Path) -> None:
    path = written(tmp_path)
    run(tmp_path, path)
    (tmp_path / "runs/asking-proved.json").write_text('{"version": []}', "utf-8")
    assert "Proved (checked now" in run(tmp_path, path)[1]


def test_a_system_with_a_deadlock_runs_where_its_file_expects_that(tmp_path: Path) -> None:
    unexpected = tmp_path / "unexpected"
    shutil.copytree(COMMIT.parent, unexpected)
    path = unexpected / COMMIT.name
    expectation = 'check = "no-deadlock"\nexpected = "FAILS"\n'
    stated = path.read_text("utf-8")
    assert expectation in stated
    path.write_text(stated.replace(expectation, expectation.replace("FAILS", "HOLDS")), "utf-8")
    code, said = run(tmp_path, path)
    assert code == 2 and "it has a deadlock: left waits in READY for COMMIT" in said
    assert f'let {path} expect it, as [[properties]] with check = "no-deadlock"' in said
    assert not (tmp_path / "runs/blackboard.sqlite").exists()
    path.write_text(stated, "utf-8")
    assert run(tmp_path, path)[0] == 0  # by the stored result: what is expected may change
    written(tmp_path, SYSTEM + f"\n[[properties]]\n{expectation}")
    code, said = run(tmp_path, tmp_path / "asking.toml")
    assert code == 2 and "is not run: deadlock-free" in said
    code, said = run(tmp_path, COMMIT, "--repetitions", 30)
    assert code == 0
    counts = dict(re.findall(r"(deadlock|finished): (\d+)", said))
    assert sum(map(int, counts.values())) == 30 and len(counts) == 2


def test_a_formula_is_watched_in_every_session(tmp_path: Path) -> None:
    never = "G !event.CRASH"
    code, said = run(tmp_path, COMMIT, "--repetitions", 10, "--monitor", never)
    assert code == 0
    at_once = set(
        re.findall(r"Monitor G !event.CRASH: false in (\S+) at action \d+ \(! CRASH\)", said)
    )
    (crashed,) = re.findall(r"^Monitor .*, false in (\d+)", said, re.M)
    assert len(at_once) == int(crashed) > 0
    code, said = run(tmp_path, COMMIT, "--monitor", "G !event.FIRE")
    assert code == 2 and "event.FIRE" in said


def test_a_property_that_is_not_as_expected_stops_it_too(tmp_path: Path) -> None:
    path = written(tmp_path, SYSTEM.replace("F ended", "G !ended"))
    code, said = run(tmp_path, path)
    assert code == 2 and "G !ended fails: " in said


def test_the_same_seed_gives_the_same_session_and_all_is_verified(tmp_path: Path) -> None:
    told = [
        re.findall(r"^ +\d+  .*$", run(tmp_path, COMMIT, "--seed", seed)[1], re.M)
        for seed in (1, 1, 2, 3, 4)
    ]
    assert told[0] == told[1] and len({tuple(one) for one in told}) > 1
    assert not verify(str(tmp_path / "runs/blackboard.sqlite")).problems


def test_a_counterexample_is_run_with_live_members(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    CliRunner().invoke(
        commands, ["check", str(COMMIT), "--property", "no-deadlock", "-o", str(traces)]
    )
    (trace,) = traces.iterdir()
    code, said = run(tmp_path, COMMIT, trace)
    assert code == 0 and "  5  ! CRASH\n" in said
    assert "is over: deadlock" in said


def test_a_stopped_run_is_resumed_and_as_another_one_refused(tmp_path: Path) -> None:
    path, program = written(tmp_path), tmp_path / "server.py"
    waiting = "import time, sys\nfor line in sys.stdin:\n    sys.exit(1)\n"
    replying = (
        "import json, sys\nfor line in sys.stdin:\n"
        "    told = json.loads(line)\n"
        "    reply = {'do': told['options'][0]['do'], 'to': '', 'payload': 7}\n"
        "    print(json.dumps(reply), flush=True)\n"
    )
    who = f"server.respondent=program:{sys.executable} {program}"
    program.write_text(waiting, "utf-8")
    code, said = run(tmp_path, path, "--set", who)
    assert code == 5 and "is over: no answer: server: the program has ended" in said
    assert "A fault ended 1 session:\n  asking-1/1/1, no answer: server: the program" in said
    program.write_text(replying, "utf-8")
    code, said = run(tmp_path, path, "--set", who)
    assert code == 0 and "server>client +REPLY 7" in said and "finished: 1" in said
    code, said = run(tmp_path, path, "asking-2")
    assert code == 2 and "its respondents was" in said
    code, said = run(tmp_path, path, "asking-2", "--set", who)
    assert code == 0 and "finished: 1" in said and "server>client" not in said


def test_a_payload_that_breaks_its_schema_ends_the_session_as_that(tmp_path: Path) -> None:
    path, script = written(tmp_path), tmp_path / "said.toml"
    reply = json.dumps(json.dumps({"do": "REPLY", "to": "", "payload": "many"}))
    script.write_text(
        f'format = 1\n[[line]]\npurpose = "member"\nreply = {reply}\n', encoding="utf-8"
    )
    code, said = run(tmp_path, path, "--set", f"server.respondent=script:{script}")
    assert code == 5 and "the payload of REPLY does not fit: $: 'many' is not of type" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--set", "servant.respondent=random"),
            "there is no member 'servant'; there are: client, server",
        ),
        (("--set", "server.respondents=random"), "there is no key 'server.respondents'"),
        (("--set", "seed=3"), "seed has an option; give --seed"),
        (
            ("--set", "server.respondent=random", "--set", "server.respondent=terminal"),
            "server.respondent is set twice",
        ),
        (("--respondent", "server=random"), "--respondent is no option: give --set NAME"),
        (
            ("--set", "server.respondent=os:system"),
            "member server: 'os:system' looks like a Python",
        ),
        (
            ("--set", "server.respondent=python"),
            "is answered by a function, which a command cannot",
        ),
        (("--set", "server.respondent=terminal"), "requires a terminal as input and output"),
        (("--set", "server.respondent=openai:gpt-9"), "member server: "),
        (("--n", "3"), "--n applies to the sessions of a task"),
        (("lab",), "has no run 'lab'"),
        (("nowhere.json",), "nowhere.json: cannot be read"),
    ],
)
def test_bad_input_is_told_and_nothing_is_run(
    tmp_path: Path, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = written(tmp_path)
    if "lab" in arguments:
        run(tmp_path, path)
    code, output = run(tmp_path, path, *arguments)
    assert code == 2 or "lab" in arguments
    assert said in output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"random"', '"program:/no/such x"', "line 8: member client: '/no/such' is no program"),
        ('"random"', '"script:no.toml"', "line 8: member client: "),
        ('"random"', '"openai:gpt-9"', "line 8: member client: openai:gpt-9 requires a key"),
        ('"F ended"', '"F endd"', "line 16: no reachable state has 'endd'; did you mean ended?"),
        ('"F ended"', '"F ("', "line 16: "),
        ("[[properties]]", '[events]\nX = "after:1"\n[[properties]]', "line 16: no member has an "),
    ],
)
def test_what_a_file_names_in_vain_is_told_with_its_line_before_the_run(
    tmp_path: Path, old: str, new: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, output = run(tmp_path, written(tmp_path, SYSTEM.replace(old, new, 1)))
    assert (code, f"asking.toml, {said}" in output, "Run " in output) == (2, True, False), output


def test_a_member_without_a_respondent_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, SYSTEM.replace('respondent = "random"\n', "", 1))
    code, said = run(tmp_path, path)
    assert code == 2 and "asking.toml, line 5: nobody answers for member client" in said
    assert run(tmp_path, path, "--set", "client.respondent=random")[0] == 0


def test_a_task_refuses_what_is_of_systems(tmp_path: Path) -> None:
    code, said = run(tmp_path, "animals", "--anyway")
    assert code == 2 and "--anyway is no option: say in the system's file what is expected" in said


def test_check_and_draw_take_the_file(tmp_path: Path) -> None:
    folder = shutil.copytree(COMMIT.parent, tmp_path / "commit")
    done = CliRunner().invoke(commands, ["check", str(folder / "two_phase.toml")])
    assert done.exit_code == 0 and "FAILS (expected)" in done.output
    beside = ["check", str(folder / "two_phase.toml"), "pxp"]
    assert "check it alone" in CliRunner().invoke(commands, beside).output
    picture = ["draw", str(folder / "two_phase.toml"), "-o", str(tmp_path / "commit.mmd")]
    assert CliRunner().invoke(commands, picture).exit_code == 0
    assert "coordinator" in (tmp_path / "commit.mmd").read_text("utf-8")


def test_people_at_one_terminal_are_asked_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def chosen(question: str, words: tuple[str, ...], **_more: object) -> str:
        assert not asked
        asked.append(question)
        try:
            await asyncio.sleep(0.01)
        finally:  # also where an event moves the member while its person thinks
            asked.clear()
        return words[0]

    monkeypatch.setattr("backends.people.terminal.one_of", chosen)
    monkeypatch.setattr("pxp_fsm.cli.run.has_terminal", lambda: True)
    people = [f"--set={name}.respondent=terminal" for name in ("left", "right", "coordinator")]

    async def nothing(*_asked: object, **_more: object) -> str:
        return ""

    monkeypatch.setattr("backends.people.terminal.ask_line", nothing)
    code, said = run(tmp_path, COMMIT.with_name("three_phase.toml"), *people)
    assert code == 0 and "is over: finished" in said


def test_a_stored_session_is_drawn_with_all_members(tmp_path: Path) -> None:
    run(tmp_path, COMMIT.with_name("three_phase.toml"))
    stored = ["three_phase-1/1/1", "--database", str(tmp_path / "runs/blackboard.sqlite")]
    picture = tmp_path / "session.mmd"
    done = CliRunner().invoke(commands, ["draw", *stored, "-o", str(picture)])
    assert done.exit_code == 0, done.output
    assert all(f"as {name}" in picture.read_text("utf-8") for name in ("coordinator", "left"))
    done = CliRunner().invoke(commands, ["draw", *stored, "--agent", "left"])
    assert done.exit_code == 2 and "draw it with all members" in done.output


def test_commands_take_runs_of_systems_where_they_have_a_meaning(tmp_path: Path) -> None:
    run(tmp_path, COMMIT, "--repetitions", 3)
    database = str(tmp_path / "runs/blackboard.sqlite")

    def pxp(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(commands, words)
        return done.exit_code, done.output

    code, said = pxp("audit", database)
    assert (code, "        3  of systems, audited against" in said) == (0, True)
    code, said = pxp("show", "two_phase-1", "--database", database)
    assert code == 0 and said.count("\ntwo_phase-1/1/") == 3
    code, said = pxp("monitor", "two_phase-1", "G !event.CRASH", "--database", database)
    assert code in (0, 1) and said.startswith("Monitor G !event.CRASH")
    why = "is of a system, whose messages carry no predictions to count"
    code, said = pxp("report", database, "-o", str(tmp_path / "report.html"), "--sessions", "0")
    assert code == 0 and "report-actions.csv" in said and "Left out" not in said
    assert why in pxp("test", "two_phase-1", "--database", database)[1]
    assert why in pxp("run", "animals", "two_phase-1", "--database", database)[1]
    assert pxp("list", "costs", "--database", database)[0] == 0


@pytest.mark.deep
@pytest.mark.parametrize(
    "file", sorted(COMMIT.parents[1].glob("*/*.toml")), ids=lambda path: path.stem
)
def test_the_examples_are_as_their_files_expect(file: Path) -> None:
    if is_system_file(file):
        done = CliRunner().invoke(commands, ["check", str(file)])
        assert done.exit_code == 0, done.output


COUNTING = """
format = 1
name = "retries"
channel = "lossy:1"
[parameters]
most = 3
[[members]]
name = "client"
table = "client.toml"
respondent = "random"
[[members]]
name = "server"
table = "server.toml"
respondent = "random"
[events]
TIMEOUT = "chance:1"
LAST_TIMEOUT = "chance:1"
[[properties]]
formula = "G client.tries <= 3"
[[properties]]
check = "no-orphan-message"
expected = "FAILS"
[[properties]]
check = "nothing-sent-after-the-end"
expected = "FAILS"
"""

COUNTING_CLIENT = """
format = 1
name = "client"
title = "A client with retries"
peer = "server"
initial = "START"
final = ["DONE", "GAVE_UP"]
states = [{ name = "START" }, { name = "WAITING" }, { name = "DONE" }, { name = "GAVE_UP" }]
rows = [
  { from = "START", to = "WAITING", send = "REQUEST" },
  { from = "WAITING", to = "DONE", receive = "REPLY" },
  { from = "WAITING", to = "START", event = "TIMEOUT", when = "tries < most", do = { tries = "tries + 1" } },
  { from = "WAITING", to = "GAVE_UP", event = "LAST_TIMEOUT", when = "tries >= most" },
]
[parameters]
most = { min = 0 }
[registers]
tries = { init = 0, min = 0 }
"""  # noqa: E501 - a row a line

COUNTING_SERVER = """
format = 1
name = "server"
title = "A server"
peer = "client"
initial = "IDLE"
final = ["IDLE", "BUSY"]
states = [{ name = "IDLE" }, { name = "BUSY" }]
rows = [
  { from = ["IDLE", "BUSY"], to = "BUSY", receive = "REQUEST" },
  { from = "BUSY", to = "IDLE", send = "REPLY" },
]
"""


def counting(folder: Path, text: str = COUNTING) -> Path:
    """A system whose client counts, with the parameters of its file."""
    (folder / "client.toml").write_text(COUNTING_CLIENT, "utf-8")
    (folder / "server.toml").write_text(COUNTING_SERVER, "utf-8")
    (folder / "retries.toml").write_text(text, "utf-8")
    return folder / "retries.toml"


def test_a_system_runs_with_the_parameters_of_its_file(tmp_path: Path) -> None:
    path = counting(tmp_path)
    _, said = run(tmp_path, path, "--repetitions", 8)
    assert "G client.tries <= 3 holds" in said and "Session retries-1/1/8" in said
    database = tmp_path / "runs/blackboard.sqlite"
    assert not verify(str(database)).problems
    with SqlBlackboard(f"sqlite:///{database}") as board:
        ends = {board.session(one.session).states["client"] for one in board.sessions()}
    assert len(ends) > 1 and all(
        re.fullmatch(r"(DONE|GAVE_UP)\[tries=[0-3]\]", one) for one in ends
    )
    counting(tmp_path, COUNTING.replace("most = 3", "most = 1").replace("<= 3", "<= 1"))
    code, said = run(tmp_path, path, "retries-1")
    assert code == 2 and "its parameters was" in said


def test_a_check_of_a_system_file_is_of_its_parameters(tmp_path: Path) -> None:
    path = counting(tmp_path)
    for most, expected in (("most = 3", 0), ("most = 4", 1)):
        counting(tmp_path, COUNTING.replace("most = 3", most))
        done = CliRunner().invoke(commands, ["check", str(path)])
        assert done.exit_code == expected, done.output
    done = CliRunner().invoke(commands, ["check", str(path), "--with", "most=2"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("", r"the tables count with the parameter most; add it: \[parameters\], most = ..."),
        ("[parameters]\nmost = -1\n", r"retries.toml, line 6: .*most is at least 0"),
        ("[parameters]\nmost = 2.5\n", r"retries.toml, line 6: parameters.most: "),
        (
            "[parameters]\nmore = 2\nmost = 1\n",
            r"retries.toml, line 6: .*no table .* parameter more",
        ),
    ],
)
def test_parameters_of_a_file_that_do_not_fit_are_refused(
    tmp_path: Path, given: str, fault: str
) -> None:
    path = counting(tmp_path, COUNTING.replace("[parameters]\nmost = 3\n", given))
    code, said = run(tmp_path, path)
    assert code == 2 and re.search(fault, said), said
