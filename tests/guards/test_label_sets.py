"""MATCH of labels: sets of labels out of a closed list, compared whole."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guards.labels import LONGEST, InvalidLabels, LabelSets, format_labels, label_set
from pxp_fsm.protocol.relations import EQUIVALENCE, Outcome

LABELS = ("Atelectasis", "Cardiomegaly", "Pleural Effusion", "Pneumonia", "Pneumothorax")
MATCH = LabelSets(LABELS)
sets = st.frozensets(st.sampled_from(LABELS))


def spelled(label: str, upper: bool, spaces: str) -> str:
    return spaces + (label.upper() if upper else label.lower()).replace(" ", " " + spaces) + spaces


@given(sets)
def test_what_is_written_is_read_again(labels: frozenset[str]) -> None:
    text = format_labels(labels)
    assert label_set(text, LABELS) == labels
    assert format_labels(label_set(text, LABELS)) == text


@given(
    st.lists(st.sampled_from(LABELS), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["", " ", "\t", "\n "]),
)
def test_order_repetition_case_and_space_do_not_count(
    labels: list[str], upper: bool, spaces: str
) -> None:
    text = ",".join(spelled(label, upper, spaces) for label in labels)
    assert label_set(text, LABELS) == frozenset(labels)
    assert asyncio.run(MATCH.holds(text, format_labels(labels))) is Outcome.YES


@given(sets, sets)
def test_match_is_equality_of_sets(left: frozenset[str], right: frozenset[str]) -> None:
    outcome = asyncio.run(MATCH.holds(format_labels(left), format_labels(right)))
    assert outcome is (Outcome.YES if left == right else Outcome.NO)
    assert MATCH.assumptions == EQUIVALENCE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the prediction is empty; where no label fits, write none"),
        (" \n", "is empty"),
        ("Pneumonia,", "there is an empty one"),
        ("Effusion", "'Effusion' is not one"),
        ("no Pneumonia", "'no Pneumonia' is not one"),
        ("Pneumonia with Pneumothorax", "is not one"),
        ("PneumoniaPneumothorax", "is not one"),
        ("Pneumonia; Pneumothorax", "is not one"),
        ("Pneumonia, none", "none stands alone"),
        ("none, none", "none stands alone"),
        ("Pneumonia." + " " * LONGEST, "at most"),
        ("Pneumon\u0456a", "is not one"),
        ("<b>Pneumonia</b>\x1b[2J", r"x1b\[2J' is not one"),
    ],
)
def test_anything_else_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidLabels, match=says):
        label_set(text, LABELS)
    with pytest.raises(InvalidLabels):
        asyncio.run(MATCH.holds("Pneumonia", text))


@given(st.text(max_size=60))
def test_any_text_is_a_set_or_refused(text: str) -> None:
    try:
        labels = label_set(text, LABELS)
    except InvalidLabels:
        return
    assert labels <= set(LABELS)
