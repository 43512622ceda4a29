"""Safety formulas beside the tables of a policy: what they forbid, say, store, and is proved."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from proofs.core.results import Status
from proofs.logic.formulas import Atom, Not, Or, globally
from proofs.requests import Request
from proofs.rules.certificates import RulesCertificate
from proofs.systems.coloring import text_of
from pxp_fsm.automata.serialization import document
from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.plugins.gateway import Gateway
from pxp_fsm.plugins.gateway.checks import POLICIES
from pxp_fsm.plugins.gateway.formulas import rows_of
from tests.command_line import pxp as pxp_command
from tests.oracles.gateway import Naive, can_be_kept, events_of
from tests.oracles.graphs import random_path, random_with_past
from tests.plugins.gateway.sides import ROOT, Sides, written
from tests.sampling import first_and_rest

POLICY = """format = 1
name = "release"
otherwise = { tools = "refuse", methods = "pass" }

[[lines]]
tool = "edit"
event = "EDIT"

[[lines]]
tool = "test"
event = "TEST"

[[lines]]
result_of = "test"
outcome = "success"
event = "PASSED"

[[lines]]
tool = "push"
event = "PUSH"
about = "Run the tests."

[fields]
path = { at = "path", type = "id" }

[[formulas]]
name = "tested"
formula = "G (event.PUSH -> (!event.EDIT S event.PASSED))"
about = "nothing was changed since the tests passed"

[[formulas]]
name = "once"
per = ["path"]
formula = "G (event.PUSH -> !Y O event.PUSH)"

[[tables]]
name = "testing"
rows = [
  { from = "IDLE", to = "RUNS", event = "TEST" },
  { from = "RUNS", to = "IDLE", event = "PASSED" },
]
"""


def test_what_would_break_a_formula_is_refused_and_said() -> None:
    sides = Sides.of(written(POLICY))
    assert not sides.passes("push", path="a")
    assert (
        "it would break tested (nothing was changed since the tests passed); it needs first: "
        "success of test" in sides.told()
    )
    assert "Run the tests." in sides.told()
    sides.call("test")
    assert not sides.passes("push", path="a")
    sides.reply(number=sides.number - 1)
    assert sides.passes("push", path="a")
    assert sides.passes("push", path="b")
    assert not sides.passes("push", path="a")
    assert "it would break once (G (event.PUSH -> !Y O event.PUSH)); nothing will" in sides.told()
    assert sides.passes("edit")
    assert not sides.passes("push", path="c")


def test_what_has_been_counts_after_a_restart_and_is_verified(tmp_path: Path) -> None:
    database = tmp_path / "runs.sqlite"
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of(written(POLICY), board)
        sides.call("test")
        sides.reply()
        assert sides.passes("push", path="a")
        sides.gateway.stop()
    with SqlBlackboard(str(database)) as board:
        sides = Sides.of(written(POLICY), board)
        assert not sides.passes("push", path="a")
        assert sides.passes("push", path="b")
        sides.gateway.stop()
        session = board.session("release/tested")
        assert [str(event.action) for event in session.events] == ["! PASSED", "! PUSH", "! PUSH"]
    done = pxp_command("verify", str(database), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(40, 700))
def test_monitors_allow_just_what_can_still_satisfy_a_formula(seeds: range) -> None:
    enforced = 0
    for seed in seeds:
        chance = random.Random(seed)
        ahead = seed % 4 == 3
        path = random_path(chance, 2) if ahead else random_with_past(chance, 3, past=True)
        path = Or(Not(Atom(chance.choice("pq"))), path)
        text = re.sub("[pq]", lambda found: f"event.{found[0].upper()}", text_of(globally(path)))
        try:
            rows = rows_of(text)
        except UsageError as error:
            never = re.search("it never allows (.)", str(error))
            if never:
                own = events_of(text)
                words = [word for many in range(4) for word in product(own, repeat=many)]
                assert not any(can_be_kept(text, (*word, never[1])) for word in words), text
            else:
                assert ahead or not can_be_kept(text, ()) or not events_of(text), text
            continue
        enforced += 1
        moves = {(row["from"], row["event"]): row["to"] for row in rows}
        state, word = rows[0]["from"], list[str]()
        for _ in range(6):
            for event in events_of(text):
                there = can_be_kept(text, (*word, event))
                assert ((state, event) in moves) is there, (seed, text, word, event)
            allowed = [event for event in events_of(text) if (state, event) in moves]
            if not allowed:
                break
            word.append(chance.choice(allowed))
            state = moves[state, word[-1]]
    assert enforced > len(seeds) // 3


@pytest.mark.parametrize("seeds", first_and_rest(20, 400))
def test_a_gateway_with_formulas_does_what_the_naive_one_does(seeds: range) -> None:
    passed = refused = 0
    raw, policy = tomllib.loads(POLICY), written(POLICY)
    for seed in seeds:
        chance = random.Random(seed)
        naive, sides = Naive(raw), Sides(Gateway(policy))
        waiting = list[tuple[int, bool]]()
        for _ in range(12):
            if waiting and chance.random() < 0.5:
                number, is_test = waiting.pop(chance.randrange(len(waiting)))
                sides.reply(number=number)
                if is_test:
                    naive.result("test", {}, "success")
                continue
            tool, path = chance.choice(["edit", "test", "push", "push"]), chance.choice("ab")
            arguments = {"path": path} if tool == "push" else {}
            verdict = naive.call(tool, arguments)
            passes = sides.passes(tool, **arguments)
            assert passes is (verdict == "pass"), (seed, tool, path)
            passed, refused = passed + passes, refused + (not passes)
            if passes:
                waiting.append((sides.number, tool == "test"))
    assert min(passed, refused) > len(seeds)


FAULTS = [
    ("G (event.PUSH -> F event.EDIT)", "once: it is no safety property", "PUSH"),
    ("F event.PUSH", "once: it is no safety property", "that nothing happens does"),
    ("event.PUSH & !event.PUSH", "once: no sequence of events satisfies it", "policy.toml, line"),
    ("G testing@IDLE", "speaks of events (event.NAME); it has testing@IDLE", "once"),
    ("G true", "speaks of events (event.NAME); it has none", "once"),
    ("AG EF event.PUSH", "a monitor sees one run", "once"),
    ("G O F event.PUSH", "write what is to come outside", "once"),
    ("G (event.PUSH", "the formula ends too early", "once"),
    ("G (event.SELL -> Y true)", "no line raises the event SELL of once", "policy.toml"),
    ("G (event.PUSH -> X event.EDIT)", "PUSH and then nothing more does", "N in place of X"),
    (
        "G (event.PASSED -> O event.PUSH)",
        "once forbids PASSED at first, which is an answer",
        "calls",
    ),
]


@pytest.mark.parametrize(("formula", "said", "more"), FAULTS)
def test_what_cannot_be_enforced_is_refused_by_name(formula: str, said: str, more: str) -> None:
    text = POLICY.replace("G (event.PUSH -> !Y O event.PUSH)", formula).replace(
        'per = ["path"]\n', ""
    )
    with pytest.raises(FileError) as raised:
        written(text)
    assert said in str(raised.value)
    assert more in str(raised.value)


def test_two_tables_with_one_name_are_refused() -> None:
    with pytest.raises(FileError, match="two tables are called testing"):
        written(POLICY.replace('name = "once"', 'name = "testing"'))


def test_formulas_are_proved_with_certificates(tmp_path: Path) -> None:
    policy = tmp_path / "release.toml"
    policy.write_text(POLICY)
    results = pxp.check(str(policy))
    stated = {result.name: result for result in results}
    formula = "G (event.PUSH -> (!event.EDIT S event.PASSED))"
    assert stated[formula].status is Status.HOLDS
    assert stated[formula].assumptions == "by rules"
    assert stated["tools-can-be-called"].status is Status.HOLDS
    assert stated["tables-forbid-something"].status is Status.HOLDS
    path = tmp_path / "proof.json"
    request = Request(subjects=(str(policy),), certificate=path)
    certificates = [
        answer for answer in POLICIES.results(request) if isinstance(answer, RulesCertificate)
    ]
    assert len(certificates) == 2
    tables = {table.name: table.automaton for table in written(POLICY).tables}
    for certificate in certificates:
        certificate.write(path)
        name = certificate.document["members"][0][0]
        table = tmp_path / f"{name}.json"
        table.write_text(json.dumps(document(tables[name])))
        checker = [sys.executable, "-I", "-S", "proofs/recheck.py", str(path), str(table)]
        done = subprocess.run(checker, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_formula_and_a_table_forbid_together_is_found() -> None:
    budget = """[[tables]]
name = "testing"
rows = [
  { from = "NEW", to = "DONE", event = "TEST" },
  { from = "DONE", to = "DONE", event = "PASSED" },
]
"""
    text = POLICY[: POLICY.index("[[tables]]")] + budget
    possible = next(
        result for result in pxp.check(written(text)) if result.name == "calls-stay-possible"
    )
    assert possible.status is Status.FAILS
    wrong = POLICY.replace("G (event.PUSH -> !Y O event.PUSH)", "G (event.PUSH -> O event.TEST)")
    wrong = wrong.replace('per = ["path"]\n', "").replace(
        '{ from = "IDLE", to = "RUNS", event = "TEST" }',
        '{ from = "IDLE", to = "PUSHED", event = "PUSH" }, '
        '{ from = "PUSHED", to = "RUNS", event = "TEST" }',
    )
    callable_ = next(
        result for result in pxp.check(written(wrong)) if result.name == "tools-can-be-called"
    )
    assert callable_.status is Status.FAILS
    assert "push can never be called" in callable_.verdict.detail


def test_a_formula_that_forbids_nothing_is_found() -> None:
    text = POLICY.replace("G (event.PUSH -> !Y O event.PUSH)", "G (event.PUSH -> O event.PUSH)")
    forbids = next(
        result for result in pxp.check(written(text)) if result.name == "tables-forbid-something"
    )
    assert forbids.status is Status.FAILS
    assert "once allows PUSH in every state" in forbids.verdict.detail
