"""Formulas about tables: propositions, verdicts, traces by real machines, and the command."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from proofs.core.results import Status
from proofs.logic import Runs, parse
from proofs.systems import Composition, System, check, encoding, terminates
from proofs.systems.propositions import vocabulary
from pxp_fsm.cli.main import commands

PXP = Composition(System.load("pxp"))
INTERACT = Composition(System.load("interact"))


@pytest.mark.parametrize(
    ("system", "formula", "expected"),
    [
        (PXP, "AG EF ended", Status.HOLDS),
        (PXP, "F ended", Status.FAILS),
        (PXP, "G (1.INIT -> 2@DECIDE)", Status.HOLDS),
        (PXP, "G !(1@DECIDE & 2@DECIDE)", Status.HOLDS),
        (PXP, "G (ended -> (1.TERM | 2.TERM))", Status.HOLDS),
        (PXP, "!1.REJECT W (1.INIT | 2.INIT)", Status.HOLDS),
        (PXP, "G !1.TERM", Status.FAILS),
        (INTERACT, "G (ended -> event.CLOSE)", Status.HOLDS),
        (INTERACT, "F (1.RATIFY | 2.RATIFY)", Status.FAILS),
        (INTERACT, "AG (1@DECIDE -> EX 2@DECIDE)", Status.HOLDS),
        (PXP, "G (2?REVISE <-> 1.REVISE)", Status.HOLDS),
        (PXP, "G (1:REV <-> 1.REVISE)", Status.HOLDS),
        (PXP, "G (1?TERM -> 1@END & 2@END)", Status.HOLDS),
    ],
)
def test_what_is_true_of_the_tables(system: Composition, formula: str, expected: Status) -> None:
    assert check(system, parse(formula)).status is expected


def test_a_shortest_trace_and_a_shortest_lasso() -> None:
    verdict = check(PXP, parse("G !1.TERM"))
    assert verdict.trace is not None
    assert verdict.trace.labels == ("pxp2>pxp1 INIT", "pxp1>pxp2 TERM")
    verdict = check(PXP, parse("F ended"))
    assert verdict.trace is not None
    assert verdict.trace.labels == ("pxp1>pxp2 INIT", "pxp2>pxp1 RATIFY", "pxp1>pxp2 RATIFY")
    assert verdict.cycle == 2


def test_termination_is_told_question_by_question() -> None:
    answers = {question.name: verdict.status.value for question, verdict in terminates(PXP)}
    assert answers == {
        "end-reachable-from-everywhere": "HOLDS",
        "no-trap": "HOLDS",
        "ends-if-strong-rows": "HOLDS",
        "ends-if-strong-agents": "FAILS",
        "ends-if-weak-rows": "FAILS",
        "ends-if-weak-agents": "FAILS",
        "always-ends": "FAILS",
    }
    answers = {question.name: verdict.status.value for question, verdict in terminates(INTERACT)}
    assert [name for name, status in answers.items() if status == "FAILS"] == [
        "ends-if-strong-agents",
        "ends-if-weak-rows",
        "ends-if-weak-agents",
        "always-ends",
    ]


def test_every_finite_run_of_pxp_ends_both_agents() -> None:
    assert check(PXP, parse("F ended"), Runs.FINITE).status is Status.HOLDS
    assert check(PXP, parse("G !ended"), Runs.INFINITE).status is Status.HOLDS


def test_what_may_be_asked_is_every_state_and_tag_reachable_or_not() -> None:
    assert {"1@END", "2@IDLE", "1.REJECT", "event.CLOSE", "ended"} <= vocabulary(INTERACT)
    assert "event.CLOSE" not in vocabulary(PXP)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["pxp", "--formula", "AG EF ended"], 0, "HOLDS"),
        (["pxp", "--formula", "F ended"], 1, "(the last 2 for ever)"),
        (["pxp", "--formula", "F ended", "--runs", "finite"], 0, "finite runs"),
        (["pxp", "--formula", "F"], 2, "ends too early"),
        (["pxp", "--formula", "F done"], 2, "no reachable state has 'done'"),
        (["--formula", "F ended"], 2, "no table is given; name one"),
        (["pxp_hang_up", "--property", "terminates"], 2, "is not a property of pxp_hang_up"),
        (["interact", "--property", "interact.never-stuck", "--relations", "noisy"], 0, "HOLDS"),
        (["pxp", "--formula", "1@WAIT"], 1, "(at once, before any step)"),
        (["pxp", "--formula", "F ended", "--property", "terminates"], 2, "is not a property of"),
        (["pxp", "--formula", "F 1.raTify"], 2, "did you mean 1.RATIFY"),
        (["pxp", "--formula", "F number>3"], 2, "--relations: 'F number>3' uses number>3"),
        (["pxp", "--formula", "F ended", "--fair", "strong:rows"], 0, "strong:rows"),
        (["pxp", "--formula", "F ended", "--fair", "weak:rows"], 1, "(the last 2 for ever)"),
        (["pxp", "--formula", "F ended", "--fair", "strong:1.TERM | 2.TERM"], 0, "HOLDS"),
        (["pxp", "--formula", "F ended", "--fair", "strong:1.TURM"], 2, "did you mean 1.TERM"),
        (["pxp", "--formula", "F ended", "--fair", "strong:F 1.TERM"], 2, "no temporal operator"),
        (["pxp", "--formula", "F ended", "--fair", "1.TERM"], 2, "weak:WHAT or strong:WHAT"),
        (["pxp", "--fair", "strong:rows"], 2, "--fair: the choice of runs has no effect"),
        (["pxp", "--property", "termination"], 0, "ends-if-strong-rows"),
        (["pxp", "--property", "termination", "--formula", "F ended"], 2, "its own properties"),
        (["--property", "termination"], 2, "no table is given; name one"),
    ],
)
def test_the_command(arguments: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(commands, ["check", *arguments])
    assert (done.exit_code, said in done.output) == (code, True), done.output


@pytest.mark.parametrize("reduction", [None, "partial-order", "symmetry"])
@pytest.mark.parametrize("asked", ["", "G b@S", "AG EF b@S", "G F b@S"])
def test_of_more_contents_than_can_be_numbered_nothing_is_known(
    reduction: str | None, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked, and however few states are to be enough."""
    monkeypatch.setattr(encoding, "MET_BITS", 4)
    monkeypatch.setattr(encoding, "MOST_CONTENTS", 1)
    a = pxp.build_automaton("a", [{"from": "S", "to": "S", "send": tag} for tag in "XY"])
    b = pxp.build_automaton("b", [{"from": "S", "to": "S", "receive": tag} for tag in "XY"])
    many = pxp.System(a=a, c=a, b=b) if reduction == "symmetry" else pxp.System(a=a, b=b)
    results = pxp.check(many, *[asked][: len(asked)], channels="fifo:9", reduction=reduction)
    decided = [result for result in results if result.name != "machine-agrees-with-table"]
    assert len(decided) == 1 if asked else len(decided) > 5
    for result in decided:
        assert result.status is Status.UNKNOWN
        assert result.reason.startswith("a buffer has more than 16 contents; try ")
        assert "a smaller capacity than 9" in result.reason
