"""The page `docs/findings-odds.md`: how far chance explains the published tables.

`python -m findings.probability [FOLDER]` (or `make findings`) writes it anew; the
long tests hold the page in the repository to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Template

from pxp_fsm.experiments.statistics import ROWS
from pxp_fsm.plugins.odds.runs.published import MODELS, ExplainedColumn, columns, explain

PAGE = "findings-odds.md"

_TEMPLATE = Path(__file__).with_name("probability_page.md")
_SHOWN = MODELS[1:]  # what the first has more, a human who revises, no column makes use of


def page() -> str:
    """The page as text, from fits to every published column."""
    fits = [explain(column, model) for column in columns("all") for model in _SHOWN]
    words = {
        "counts": "\n".join(_table(fits)),
        "told": "\n".join(_not_fitted(fits)),
        "better": ", ".join(_better(fits)),
        "columns": str(len(fits) // len(_SHOWN)),
    }
    return Template(_TEMPLATE.read_text("utf-8")).substitute(words)


def _pairs(fits: list[ExplainedColumn]) -> Iterable[tuple[ExplainedColumn, ExplainedColumn]]:
    return zip(fits[::2], fits[1::2], strict=True)


def _better(fits: list[ExplainedColumn]) -> Iterator[str]:
    """The columns that the second model makes more likely than the first."""
    for first, second in _pairs(fits):
        if second.log_likelihood > first.log_likelihood:
            yield first.column.title


def _table(fits: list[ExplainedColumn]) -> Iterator[str]:
    """Published counts, and how well each model explains them."""
    models = "".join(f" log-likelihood, model {place} | p |" for place in (1, 2))
    yield f"| column | {' | '.join(ROWS)} |{models}"
    yield f"|---|{'--:|' * (len(ROWS) + 4)}"
    for first, second in _pairs(fits):
        counts = " | ".join(map(str, first.column.counts))
        explained = " | ".join(f"{fit.log_likelihood:.2f} | {fit.p:.2f}" for fit in (first, second))
        yield f"| {first.column.title} | {counts} | {explained} |"


def _not_fitted(fits: list[ExplainedColumn]) -> Iterator[str]:
    """What the text of the papers tells, and what each model expects of it."""
    yield "| column | of 20 sessions | published | model 1 | p | model 2 | p |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for first, second in _pairs(fits):
        for first_row, other in zip(first.told, second.told, strict=True):
            cells = f"{first_row[2]:.1f} | {first_row[3]:.2f} | {other[2]:.1f} | {other[3]:.2f}"
            yield f"| {first.column.title} | {first_row[0]} | {first_row[1]} | {cells} |"


def main() -> None:
    """Write the page into the folder that is given, by default `docs`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs")
    (folder / PAGE).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
