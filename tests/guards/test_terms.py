"""AGREE by key terms: lists of wordings, or words that are typical of one prediction."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guards.terms import KeyTerms, found_terms, typical_terms
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.relations import Outcome

LATE, MONEY = ("late", "has not arrived"), ("refund*", "money back")
RELATION = KeyTerms((LATE, MONEY))


def holds(left: str, right: str, relation: KeyTerms = RELATION) -> Outcome:
    return asyncio.run(relation.holds(left, right))


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        ("It is LATE.", "The parcel has not\narrived", Outcome.YES),
        ("Refunded at last", "I want my money back!", Outcome.YES),
        ("It is late.", "I want a refund.", Outcome.NO),
        ("It is late and about a refund", "refunds", Outcome.YES),
        ("They ate lately", "late", Outcome.UNSURE),
        ("has arrived", "late", Outcome.UNSURE),
        ("money", "money", Outcome.YES),
        ("Nothing is known.", "nothing is  known", Outcome.YES),
        ("Nothing is known.", "Nothing is certain.", Outcome.UNSURE),
    ],
)
def test_explanations_agree_that_share_a_term(left: str, right: str, outcome: Outcome) -> None:
    assert holds(left, right) is outcome
    assert holds(right, left) is outcome


@given(st.text(), st.text())
def test_any_texts_are_compared_either_way_and_each_agrees_with_itself(
    left: str, right: str
) -> None:
    relation = KeyTerms((LATE, ("(*", "a+b"), ("żółć",)))
    assert holds(left, right, relation) is holds(right, left, relation)
    assert holds(left, left, relation) is Outcome.YES


def test_terms_are_words_in_any_script() -> None:
    assert found_terms("Это посылка.", (("посылка",), ("счёт",))) == {("посылка",)}


def test_typical_are_words_that_go_with_one_prediction() -> None:
    answers = [
        Answer("delivery", "The parcel is late."),
        Answer("delivery", "The parcel is lost, and an item too."),
        Answer("payment", "The refund is missing."),
        Answer("payment", "The refund is late."),
        Answer("payment", "Once told."),
    ]
    assert typical_terms(answers) == (("parcel",), ("refund",))
    assert typical_terms([]) == ()


def test_its_name_tells_other_terms_apart() -> None:
    assert RELATION.name == KeyTerms((LATE, MONEY)).name != KeyTerms((LATE,)).name
