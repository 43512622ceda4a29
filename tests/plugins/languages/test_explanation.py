"""Explanations of published counts, and the law of tolerance behind them."""

from __future__ import annotations

import pytest

from proofs.languages import ProtocolReading, class_language, of_words, sequences
from pxp_fsm.experiments.statistics import published
from pxp_fsm.plugins.languages.explanation import (
    Explained,
    explained,
    kinds_of,
    papers,
    published_code,
)
from pxp_fsm.protocol.relations import NOISY, TOLERANCE
from pxp_fsm.protocol.rules import Interact
from tests.sampling import sampled

COLUMNS = {each.title: each for task in ("rad", "drug") for each in published(task)}
LEAST = {
    "RAD 2025": (0, 9),
    "RAD 2024": (1, 1),
    "DRUG 2025": (1, 1),
    "DRUG-h1 2025": (0, 0),
    "DRUG-h2 2025": (0, 0),
    "DRUG 2024": (0, 0),
}
"""The fewest sessions that need a noisy judge: by the table alone, and with what the text says."""


@pytest.mark.parametrize("n", [3, 4, 9, None])
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_strong_without_revise_is_strong_for_the_other_where_the_judges_are_a_tolerance(
    n: int | None, k: int
) -> None:
    found = sequences(ProtocolReading(Interact(n or 10, k), TOLERANCE, bounded=n is not None))
    machine = found & class_language("strong:m") - class_language("ultra_strong:m")
    once = of_words("once", [("m:INIT", "h:RATIFY", "m:RATIFY")])
    assert machine == once == found & class_language("strong:h")


@pytest.mark.parametrize("title", sampled(LEAST, 2))
@pytest.mark.parametrize("human_revises", [False, True])
def test_the_least_noise_of_each_published_column(title: str, human_revises: bool) -> None:
    """The law tells it for the table alone; with the text it takes the search."""
    column = COLUMNS[title]
    _, _, _, strong_h, strong_m, _, ultra_m = column.counts
    for reading in (papers, published_code):
        alone, told = (
            explained(column, reading(human_revises=human_revises), text=text)
            for text in (False, True)
        )
        assert (alone.beyond_tolerance, told.beyond_tolerance) == LEAST[title]
        assert alone.beyond_tolerance == abs(strong_m - ultra_m - strong_h)
        assert alone.beyond_equivalence == alone.beyond_tolerance


def test_counts_that_nothing_has_are_impossible_for_all_judges() -> None:
    column = COLUMNS["DRUG 2024"]
    more = type(column)(column.task, "more", (18, 20, 19, 11, 18, 0, 7))  # two-way over one-way
    assert explained(more, papers(human_revises=True), text=False) == Explained(None, None)


def test_the_kinds_are_those_of_the_sequences_one_by_one() -> None:
    every = sequences(ProtocolReading(Interact(6, 2), NOISY))
    properties = tuple(map(class_language, ("one_way:h", "strong:m", "two_way")))
    one_by_one = {tuple(word in each for each in properties) for word in every.words()}
    assert set(kinds_of(every, properties)) == one_by_one
