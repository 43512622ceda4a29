"""Consistency of answers with a tolerance or an equivalence, compared with brute force."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.audit import AuditedMessage, AuditedSession, FindingKind
from proofs.audit.sessions import contradictions, wrong_answers
from pxp_fsm.protocol.relations import JudgedAnswer
from pxp_fsm.protocol.rules import Interact, Pxp

TEXTS = "abcd"
answers = st.lists(
    st.builds(
        JudgedAnswer,
        st.just("MATCH"),
        st.sampled_from(TEXTS),
        st.sampled_from(TEXTS),
        st.booleans(),
    ),
    max_size=7,
)


def partitions(texts: str) -> list[dict[str, int]]:
    return [
        dict(zip(texts, blocks, strict=True)) for blocks in product(range(len(texts)), repeat=4)
    ]


PARTITIONS = partitions(TEXTS)
PAIRS = [frozenset(pair) for pair in combinations(TEXTS, 2)]
TOLERANCES = [
    dict(zip(PAIRS, chosen, strict=True)) for chosen in product((False, True), repeat=len(PAIRS))
]


@settings(max_examples=150)
@given(answers, answers)
def test_the_answers_are_judged_exactly(
    mine: list[JudgedAnswer], yours: list[JudgedAnswer]
) -> None:
    """Compared with every tolerance and every equivalence on four texts."""
    said = (
        AuditedMessage(True, "INIT", "a", "-"),
        AuditedMessage(False, "REFUTE", "b", "-", tuple(yours)),
        AuditedMessage(True, "REFUTE", "c", "-", tuple(mine)),
    )
    found = {one.kind for one in contradictions(AuditedSession("s", said, None))}
    every = [*mine, *yours]
    tolerance = any(
        all((one.left == one.right or near[frozenset(one[1:3])]) is one.held for one in every)
        for near in TOLERANCES
    )
    equivalence = any(
        all((block[one.left] == block[one.right]) is one.held for one in every)
        for block in PARTITIONS
    )
    assert tolerance is not bool(found - {FindingKind.CHAIN})
    assert equivalence is not bool(found)


def test_the_first_message_answers_nothing_whatever_was_judged() -> None:
    judged = (JudgedAnswer("MATCH", "a", "b", False), JudgedAnswer("AGREE", "-", "-", True))
    said = (AuditedMessage(True, "INIT", "a", "-", judged), AuditedMessage(False, "TERM", "b", "-"))
    session = AuditedSession("s", said, None, derived=(True, True))
    assert not [*wrong_answers(session, Interact(5, 2))]


def test_a_changed_pair_is_found_at_its_message() -> None:
    said = (
        AuditedMessage(True, "INIT", "a", "-"),
        AuditedMessage(False, "REFUTE", "b", "-"),
        AuditedMessage(True, "RATIFY", "c", "-"),
    )
    [finding] = wrong_answers(AuditedSession("s", said, None), Pxp())
    assert (finding.kind, finding.number) == (FindingKind.PAIR, 3)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_question_to_the_other_relation_is_found(wrong: int) -> None:
    """Its texts are right."""
    asked = ["MATCH", "AGREE"]
    asked[wrong] = asked[1 - wrong]
    judged = (JudgedAnswer(asked[0], "a", "b", False), JudgedAnswer(asked[1], "x", "y", True))
    said = (
        AuditedMessage(True, "INIT", "a", "x"),
        AuditedMessage(False, "REFUTE", "b", "y", judged),
    )
    found = wrong_answers(AuditedSession("s", said, None, derived=(True, True)), Interact(5, 2))
    questions = [finding.what for finding in found if finding.kind is FindingKind.QUESTION]
    assert questions == [f"question {wrong + 1} to {asked[wrong]}"]


def test_a_pair_that_is_refused_in_both_orders_breaks_one_chain() -> None:
    judged = tuple(
        JudgedAnswer("MATCH", left, right, held)
        for left, right, held in (
            ("a", "b", True),
            ("b", "c", True),
            ("c", "a", False),
            ("a", "c", False),
        )
    )
    said = (
        AuditedMessage(True, "INIT", "a", "-"),
        AuditedMessage(False, "REFUTE", "b", "-", judged),
    )
    found = [finding.kind for finding in contradictions(AuditedSession("s", said, None))]
    assert found == [FindingKind.CHAIN]
