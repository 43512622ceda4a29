"""What is said of policies: of their faults, and what is proved of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pxp_fsm as pxp
from proofs.core.results import Status
from proofs.requests import Request
from proofs.rules.certificates import RulesCertificate
from pxp_fsm.automata.serialization import document
from pxp_fsm.errors import FileError
from pxp_fsm.plugins.gateway.checks import CHECKS, POLICIES
from pxp_fsm.plugins.gateway.policy import is_policy
from tests.command_line import pxp as command
from tests.plugins.gateway.sides import EXAMPLES, NAMES, ROOT, example, written


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_as_they_say(name: str) -> None:
    results = pxp.check(str(EXAMPLES / f"{name}.toml"))
    assert results.as_expected
    assert {result.name for result in results} >= set(CHECKS)


BASE = """format = 1
name = "mine"
otherwise = { tools = "refuse", methods = "pass" }

[[lines]]
tool = "pay"
when = "amount <= 10"
event = "PAY"
approval = "OK"

[fields]
amount = { at = "amount", type = "int" }

[[tables]]
name = "paying"
per = "arguments"
rows = [
  { from = "A", to = "B", event = "OK" },
  { from = "B", to = "A", event = "PAY" },
]
"""

FAULTS = [
    ('event = "PAY"\n', 'event = "BUY"\n', "policy.toml, line 5: no table has the event BUY"),
    ('"OK" },\n', '"OKAY" },\n', "policy.toml, line 5: no table has the event OK;"),
    ('when = "amount <= 10"', 'when = "amout <= 10"', "line 7, column 9: unknown name 'amout'"),
    (
        'when = "amount <= 10"',
        'when = "amount"',
        "line 7: 'amount' is a whole number, and a truth value",
    ),
    (
        'per = "arguments"',
        'per = ["amount"]',
        "line 9: an approval counts for these very arguments",
    ),
    ('per = "arguments"', 'per = ["sum"]', "line 16: there is no field sum; there are: amount"),
    (
        'per = "arguments"',
        'per = "argument"',
        "'argument' is neither \"arguments\" nor a list of fields; did you mean 'arguments'?",
    ),
    ('tools = "refuse"', 'tools = "perhaps"', "line 3: otherwise.tools: 'perhaps'"),
    (', type = "int" }', " }", 'line 12: say what it is: type = "int"'),
    ('approval = "OK"', 'approval = { ada = "OK" }', "line 9: ada is none of the people"),
    ('approval = "OK"', 'outcome = "success"', "line 9: an outcome is that of a result"),
    ('event = "PAY"\n', "", "line 5: a line has an event, or then"),
    ('tool = "pay"', 'tool = "pay"\nmethod = "x"', "line 5: lines[0]"),
    ('to = "A", event = "PAY"', 'to = "A", event = "PAY", when = "n < 1"', "unknown name 'n'"),
    ('to = "A", event = "PAY"', 'to = "A", send = "PAY"', "line 19: tables[0].rows[1]"),
]


@pytest.mark.parametrize(("old", "new", "says"), FAULTS, ids=[says for _, _, says in FAULTS])
def test_faults_are_told_with_their_places(old: str, new: str, says: str) -> None:
    written(BASE)
    assert old in BASE
    with pytest.raises(FileError) as refused:
        written(BASE.replace(old, new, 1))
    assert says in str(refused.value)


def _results(text: str, *names: str) -> dict[str, tuple[str, str]]:
    request = Request(subjects=(written(text),), names=names)
    found = [one for one in POLICIES.results(request) if not isinstance(one, str)]
    return {
        one.name: (str(one.status), one.verdict.explanation)
        for one in found
        if not isinstance(one, RulesCertificate)
    }


_ROWS = 'event = "PAY" },\n]'

MUTANTS = [
    (
        "an approval that counts twice",
        ('to = "A", event = "PAY"', 'to = "B", event = "PAY"'),
        "no-PAY-without-OK",
        "! OK, ! PAY, ! PAY",
    ),
    (
        "a line that an earlier one hides",
        ("[fields]", '[[lines]]\ntool = "pay"\nwhen = "amount < 5"\nthen = "pass"\n\n[fields]'),
        "no-dead-line",
        "policy.toml:11 never counts for pay",
    ),
    (
        "a condition that is never true",
        ("amount <= 10", "amount < 1 and amount > 1"),
        "no-dead-line",
        "never counts for pay",
    ),
    (
        "a tool that can never be called",
        ('from = "B"', 'from = "C"'),
        "tools-can-be-called",
        "pay can never be called",
    ),
    (
        "a row that can never be taken",
        ('from = "B"', 'from = ["B", "C"]'),
        "no-dead-row",
        "row 2 of paying (C !PAY) can never be taken",
    ),
    (
        "a table that allows everything",
        (_ROWS, 'event = "PAY" },\n  { from = "A", to = "A", event = "PAY" },\n]'),
        "tables-forbid-something",
        "paying allows PAY in every state",
    ),
    (
        "a call that is possible once",
        ('to = "A", event = "PAY"', 'to = "C", event = "PAY"'),
        "calls-stay-possible",
        "PAY is never possible again in paying: ! OK, ! PAY",
    ),
]


@pytest.mark.parametrize(
    ("change", "name", "says"), [one[1:] for one in MUTANTS], ids=[one[0] for one in MUTANTS]
)
def test_what_is_wrong_with_a_policy_is_found(
    change: tuple[str, str], name: str, says: str
) -> None:
    assert all(status == "HOLDS" for status, _ in _results(BASE).values())
    status, explanation = _results(BASE.replace(*change, 1))[name]
    assert status == "FAILS"
    assert says in explanation


def test_a_formula_of_no_table_is_a_fault_with_its_place() -> None:
    text = BASE + '\n[[properties]]\nformula = "G !event.NONE"\n'
    with pytest.raises(FileError, match=r"policy.toml, line 22: the formula is about no table"):
        _results(text)


@pytest.mark.parametrize("name", ["two_people", "confirm"])
def test_the_table_of_a_policy_s_certificate_stands_beside_it(name: str, tmp_path: Path) -> None:
    policy = (EXAMPLES / f"{name}.toml").read_text("utf-8")
    (tmp_path / "proof.toml").write_text(policy, "utf-8")
    done = command("check", "proof.toml", "--certificate", "proof.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("Certificate: ")]
    for path, table in (line[13:].split(", of the table ") for line in told):
        checker = [sys.executable, "-I", "-S", str(ROOT / "proofs" / "recheck.py"), path, table]
        checked = subprocess.run(checker, cwd=tmp_path, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr
    assert told
    assert (tmp_path / "proof.toml").read_text("utf-8") == policy


def test_the_certificate_is_accepted_by_the_checker_that_stands_alone(tmp_path: Path) -> None:
    policy = example("two_people")
    request = Request(subjects=(policy,), certificate=tmp_path / "certificate.json")
    (certificate,) = (one for one in POLICIES.results(request) if isinstance(one, RulesCertificate))
    assert certificate.claims == ("no-TRANSFER-without-ADA", "no-TRANSFER-without-GRACE")
    table = tmp_path / "transfer.json"
    table.write_text(json.dumps(document(policy.tables[0].automaton)))
    path = certificate.write(tmp_path / "certificate.json")
    checked = subprocess.run(
        [sys.executable, "-I", "-S", ROOT / "proofs" / "recheck.py", path, table],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    path.write_text(path.read_text().replace("not approved", "approved"))
    assert subprocess.run(
        [sys.executable, "-I", "-S", ROOT / "proofs" / "recheck.py", path, table],
        capture_output=True,
        check=False,
    ).returncode


def test_kinds_of_files_are_told_apart() -> None:
    assert all(is_policy(EXAMPLES / f"{name}.toml") for name in NAMES)
    others = [*(ROOT / "examples").glob("*.toml"), *(ROOT / "examples").glob("*/*.toml")]
    assert not any(is_policy(path) for path in others if path.parent != EXAMPLES)


def _statuses(text: str) -> Iterator[Status]:
    request = Request(subjects=(written(text),))
    for one in POLICIES.results(request):
        if not isinstance(one, str | RulesCertificate):
            yield one.status


def test_what_a_budget_never_exceeds_is_proved_for_all_budgets() -> None:
    text = (EXAMPLES / "budget.toml").read_text()
    assert Status.UNKNOWN not in _statuses(text)
    loose = text.replace("calls < most and", "calls <= most and")
    assert Status.UNKNOWN in _statuses(loose)


_TERMINATES = '\n[[properties]]\ncheck = "terminates"\n'

ENDINGS = [
    ("budget", ("", ""), "HOLDS", "by rules, sync", "for all most and again"),
    (
        "budget",
        (
            'when = "calls < most and failures <= again", do = { calls = "calls + 1" }',
            'when = "failures <= again"',
        ),
        "FAILS",
        "as the tables run",
        "! SEARCH, ! FOUND (the last 2 for ever)",
    ),
    (
        "confirm",
        ("", ""),
        "FAILS",
        "as the tables run",
        "! APPROVE, ! CHANGE (the last 2 for ever)",
    ),
    (
        "confirm",
        ('to = "NEW", event', 'to = "OVER", event'),
        "HOLDS",
        "by rules, sync",
        "",
    ),
    (
        "budget",
        ('name = "search"\nrows', 'name = "search"\nfinal = ["SENT"]\nrows'),
        "FAILS",
        "as the tables run",
        "search stops in READY, which is no end state: ! SEARCH",
    ),
]


@pytest.mark.parametrize(("name", "change", "status", "assumptions", "says"), ENDINGS)
def test_a_claim_that_only_so_much_can_happen(
    name: str, change: tuple[str, str], status: str, assumptions: str, says: str
) -> None:
    text = (EXAMPLES / f"{name}.toml").read_text()
    assert change[0] in text
    claim = "" if '"terminates"' in text else _TERMINATES
    subject = written(text.replace(*change, 1) + claim)
    (result,) = POLICIES.results(Request(subjects=(subject,), names=("terminates",)))
    assert not isinstance(result, str | RulesCertificate)
    assert (str(result.status), result.assumptions) == (status, assumptions)
    assert says in result.verdict.explanation


def test_the_command_checks_a_policy_and_serves_none_without_a_server(tmp_path: Path) -> None:
    policy = str(EXAMPLES / "budget.toml")
    refused = command("check", policy, "--certificate", "folder", cwd=tmp_path)
    assert "--certificate: only the claims about interact and pxp fill a folder" in refused.stderr
    checked = command("check", policy, "--certificate", "budget.json", cwd=tmp_path)
    assert checked.returncode == 0
    assert "Certificate: budget.json" in checked.stdout
    unknown = command("check", policy, "--property", "nothing", cwd=tmp_path)
    assert "the policy has no such property; every policy has: no-dead-line" in unknown.stderr
    alone = command("serve", policy, cwd=tmp_path)
    assert alone.returncode == 2
    assert f"say how the server is started: pxp serve {policy} -- COMMAND" in alone.stderr
    missing = command("serve", policy, "--", "no-such-server", cwd=tmp_path)
    assert "the server 'no-such-server' cannot be started" in missing.stderr
    assert "Traceback" not in missing.stderr + alone.stderr
    pages = command("serve", policy, "--no-browser", "--", "cat", cwd=tmp_path)
    assert f"--no-browser has no effect: {policy} is a policy" in pages.stderr
    released = command("serve", policy, "--release", "4", cwd=tmp_path)
    assert "--release: the call 4 is not in doubt; in doubt: none" in released.stderr
    address = command("serve", policy, "--port", "0", "--", "ftp://x", cwd=tmp_path)
    assert "'ftp://x' is no address of an MCP server: http(s)://HOST/PATH" in address.stderr
