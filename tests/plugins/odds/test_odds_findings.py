"""The page about the odds and the published tables is what the fits give."""

from __future__ import annotations

from pathlib import Path

import pytest
from findings import probability

from pxp_fsm.experiments.statistics import ROWS
from pxp_fsm.plugins.odds.runs.published import MODELS, columns, explain

PAGE = Path(__file__).parents[3] / "docs" / probability.PAGE


@pytest.mark.deep
def test_the_page_is_what_the_fits_give() -> None:
    """`make findings` writes it anew."""
    assert PAGE.read_text("utf-8") == probability.page()


@pytest.mark.deep
def test_a_human_who_may_revise_explains_no_column_better() -> None:
    """As the page says; the two models are one where the human's chance of revision is 0."""
    for column in columns("all"):
        free, never = (explain(column, model) for model in MODELS[:2])
        assert free.log_likelihood == pytest.approx(never.log_likelihood, abs=1e-4), column.title
        assert free.values["human revise"] < 1e-3


@pytest.mark.deep
def test_the_machine_agrees_with_nothing_but_a_ratify_where_the_counts_are_a_tolerances() -> None:
    """As the page says of model 2."""
    for column in columns("all"):
        counts = dict(zip(ROWS, column.counts, strict=True))
        alike = counts["strong, machine"] - counts["ultra-strong, machine"]
        agrees = explain(column, MODELS[2]).values["machine A"]
        assert (agrees < 1e-3) == (alike == counts["strong, human"]), column.title


def test_the_page_has_the_published_numbers() -> None:
    text = PAGE.read_text("utf-8")
    for column in columns("all"):
        counts = " | ".join(map(str, column.counts))
        assert f"| {column.title} | {counts} |" in text
