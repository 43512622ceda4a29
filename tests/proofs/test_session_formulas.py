"""Formulas about sessions for any data: beside the catalogue of claims, and by the command."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from proofs.claims.catalogue import assumptions_of, find
from proofs.claims.checking import Bounds
from proofs.core.results import Status
from proofs.logic import Runs, parse
from proofs.logic.sessions import check
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.rules import Interact, Pxp

BOUNDS = Bounds(n=5, k=2)

SAID_TWICE = [
    ("interact.no-revise-at-2", "G (number=2 -> !2.REVISE)"),
    ("interact.reject-after-k", "G (1.REJECT | 2.REJECT -> number>2)"),
    ("interact.ratified-at-3", "G (2.RATIFY & number=2 -> X (1.RATIFY & ended.ratified))"),
    ("interact.strong-once", "G (ended & 2.strong -> number=3 & 1.RATIFY)"),
    ("interact.never-ultra", "G (ended -> !2.ultra_strong)"),
    ("interact.terminates", "F ended & G number<=5"),
    ("pxp.terminates", "F ended"),
]


def known(name: str) -> list[tuple[str, Status]]:
    return [(assumed, status) for claim in find(name) for assumed, status in claim.expected.items()]


@pytest.mark.parametrize(("name", "formula"), SAID_TWICE)
def test_a_formula_has_the_verdict_of_the_claim_that_says_the_same(name: str, formula: str) -> None:
    rules = BOUNDS.rules(name.partition(".")[0])
    for assumed, expected in known(name):
        verdict, messages = check(rules, assumptions_of(assumed), parse(formula))
        holds = verdict.status in (Status.HOLDS, Status.HOLDS_UP_TO)
        assert holds is (expected is Status.HOLDS), (assumed, verdict)
        assert bool(messages) is not holds


def test_what_is_explored_is_shown_with_its_bound() -> None:
    noisy = assumptions_of("noisy")
    verdict, _ = check(Interact(5, 2), noisy, parse("F ended"))
    assert (verdict.status, verdict.detail) == (Status.HOLDS_UP_TO, "n = 5, k = 2")
    verdict, _ = check(Pxp(), noisy, parse("G (1.INIT -> number=1)"))
    assert verdict.status is Status.HOLDS
    verdict, _ = check(Interact(5, 2), noisy, parse("G !ended"), Runs.INFINITE)
    assert verdict.status is Status.VACUOUS
    verdict, _ = check(Interact(50, 2), noisy, parse("F ended"), limit=100)
    assert verdict.status is Status.UNKNOWN


@pytest.mark.parametrize("number", range(8))
def test_messages_are_counted_as_far_as_a_formula_asks(number: int) -> None:
    """PXP has no bound; its model counts only as far as a number is compared with."""
    noisy = assumptions_of("noisy")
    verdict, messages = check(Pxp(), noisy, parse(f"G number!={number}"))
    assert verdict.status is Status.FAILS
    assert len(messages) == number
    one_more = f"A G (number={number} -> N number={number + 1})"
    for always in (one_more, f"G (number>{number} -> G number>={number + 1})", "G number>=0"):
        assert check(Pxp(), noisy, parse(always))[0].status is Status.HOLDS, always


def test_an_agent_has_three_names_and_a_message_two_ends() -> None:
    noisy = assumptions_of("noisy")
    for formula in (
        "G (1.REVISE <-> m.REVISE) & G (1.REVISE <-> machine.REVISE)",
        "G (2@WAIT <-> h@WAIT) & G (2@WAIT <-> human@WAIT)",
        "G (1.REVISE <-> 2?REVISE)",
        "G (h:REV <-> h.REVISE)",
        "G (two_way <-> m.one_way & h.one_way)",
        "G (ended <-> ended.ratified | ended.rejected | ended.bound)",
        "G (m.ultra_strong -> m.strong) & G (m.strong -> m.one_way)",
        "G (m.strong -> X (m.REFUTE -> !m.strong) | ended)",
    ):
        verdict, _ = check(Interact(5, 2), noisy, parse(formula))
        assert verdict.status is Status.HOLDS_UP_TO, formula


@pytest.mark.parametrize(
    ("name", "near"),
    [("1.RATFY", "1.RATIFY"), ("nummber>=3", "number>=3"), ("3.RATIFY", "2.RATIFY")],
)
def test_an_unknown_proposition_is_told_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError, match="did you mean") as raised:
        check(Interact(3, 1), assumptions_of("noisy"), parse(f'F "{name}"'))
    assert near in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["interact", "--formula", "G (1.REJECT -> number>3)"], 0, "HOLDS UP TO"),
        (["interact", "--formula", "G (1.REJECT -> number>5)"], 1, "h REFUTE, m REJECT"),
        (["pxp", "--formula", "F ended", "--fair", "strong:rows"], 0, "pxp(k)"),
        (["pxp", "--formula", "F ended", "--fair", "weak:agents"], 1, "for ever"),
        (["pxp_hang_up", "--formula", "F ended"], 2, "the table must be interact or pxp"),
        (["interact", "pxp", "--formula", "F ended"], 2, "the table must be interact or pxp"),
        (["interact", "--formula", "F number>99999999999"], 2, "at most 9 digits"),
    ],
)
def test_the_command(arguments: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(
        commands, ["check", *arguments, "--relations", "tolerance", "--n", "6"]
    )
    assert (done.exit_code, said in done.output) == (code, True), done.output
