"""Verdicts, bounds and results are data; their words say what the data say."""

from __future__ import annotations

import pytest

from proofs.core.explore import Trace
from proofs.core.model import Step
from proofs.core.results import Bound, Result, Status, Verdict
from pxp_fsm.automata.actions import Say

TRACE = Trace(0, (Step(Say("m", "INIT"), 1), Step(Say("h", "RATIFY"), 2)))


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (Bound(10, 3), "n = 10, k = 3"),
        (Bound(k=3), "k = 3"),
        (Bound(5, 2, values=3), "n = 5, k = 2, 3 values"),
        (Bound(k=3, steps=11), "k = 3; the longest run has 11 steps"),
        (Bound(steps=4), "the longest run has 4 steps"),
        (Bound(iterations=2, retries=1), "iterations = 2, retries = 1"),
        (Bound("all", "all"), "for all n and k"),
        (Bound(k="all"), "for all k"),
        (Bound(iterations="all", retries="all"), "for all bounds"),
        (Bound(capacities_from=2), "2-multiparty compatible: any capacity from 2, and unbounded"),
    ],
)
def test_a_bound_says_how_far_it_reaches(bound: Bound, words: str) -> None:
    assert str(bound) == words
    assert bound.is_all == (words.startswith("for all"))


def test_a_verdict_says_bound_reason_trace_and_cycle() -> None:
    unknown = Verdict(Status.UNKNOWN, "induction step: X", bound=Bound(5, 1))
    assert str(unknown) == "UNKNOWN induction step: X; holds up to n = 5, k = 1"
    assert str(Verdict(Status.HOLDS_UP_TO, "4 words", bound=Bound(k=1))) == (
        "HOLDS UP TO k = 1; 4 words"
    )
    fails = Verdict(Status.FAILS, trace=TRACE, cycle=1)
    assert str(fails) == "FAILS m INIT, h RATIFY (the last 1 for ever)"
    assert str(Verdict(Status.FAILS, trace=Trace(0, ()))) == "FAILS (at once, before any step)"


@pytest.mark.parametrize(
    ("expected", "reached", "fine"),
    [
        (None, Status.UNKNOWN, True),
        (Status.HOLDS, Status.HOLDS, True),
        (Status.HOLDS, Status.HOLDS_UP_TO, True),
        (Status.HOLDS, Status.VACUOUS, False),
        (Status.HOLDS, Status.UNKNOWN, False),
        (Status.FAILS, Status.HOLDS_UP_TO, False),
        (Status.FAILS, Status.FAILS, True),
    ],
)
def test_a_bounded_verdict_does_not_contradict_what_is_expected(
    expected: Status | None, reached: Status, fine: bool
) -> None:
    result = Result("a", "no-x", "never x", "noisy", Verdict(reached), expected)
    assert result.as_expected is fine
    assert str(result) == f"a.no-x (noisy): {reached}"
    assert result.status is reached


def test_a_trace_maps_to_another_model() -> None:
    mapped = TRACE.map(str)
    assert mapped.labels == TRACE.labels
    assert [mapped.start, *(step.target for step in mapped.steps)] == ["0", "1", "2"]
