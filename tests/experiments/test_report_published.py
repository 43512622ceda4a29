"""Published numbers are the papers', and sessions with those counts give them back."""

from __future__ import annotations

from itertools import product

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import statistics as told
from pxp_fsm.experiments.reports.contents import gather
from pxp_fsm.experiments.reports.write import table1
from pxp_fsm.experiments.statistics import Published, published
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.rules import Interact
from tests.analysis.published_sessions import column, representatives, stored, tag_sequences

COLUMNS = [column for task in ("rad", "drug") for column in published(task)]


def text_of(each: Published) -> tuple[int, int] | None:
    """What the text says of a column's ratified sessions: within three messages, and later."""
    found = [r for r in told.ratified(each.task) if r.title == each.title]
    return (found[0].within_3, found[0].later) if found else None


def test_the_columns_are_those_of_the_papers() -> None:
    assert {each.title: each.counts for each in COLUMNS} == {
        "RAD 2025": (19, 20, 19, 4, 19, 0, 15),
        "DRUG 2025": (18, 20, 18, 8, 19, 0, 10),
        "DRUG-h1 2025": (19, 20, 19, 12, 20, 0, 8),
        "DRUG-h2 2025": (17, 19, 17, 7, 18, 0, 11),
        "RAD 2024": (16, 16, 16, 13, 14, 0, 0),
        "DRUG 2024": (18, 20, 18, 11, 18, 0, 7),
    }


@pytest.mark.parametrize(("n", "k", "count"), [(3, 1, 13), (4, 2, 36)])
def test_the_kinds_are_of_every_sequence_there_is(n: int, k: int, count: int) -> None:
    assert len(set(tag_sequences(True, Interact(n, k)))) == count


@pytest.mark.parametrize("each", COLUMNS, ids=lambda each: each.title)
def test_sessions_with_exactly_the_published_counts_give_the_published_column(
    each: Published,
) -> None:
    """The human never revises in them, and what the text says of ratified sessions holds too."""
    sequences = column(
        each.counts, representatives(human_revises=False), ratified=text_of(each), tolerance=True
    )
    assert sequences is not None
    with SqlBlackboard(":memory:") as board:
        stored(board, sequences, "drug")
        report = gather(board, board.runs()[0])
    table = table1([report])
    place = table.headings.index("DRUG 2025" if each.task == "rad" else each.title)
    own = [row[1] for row in table.rows]
    theirs = [str(n) if i == 0 else f"{n} ({n / 20:.2f})" for i, n in enumerate((20, *each.counts))]
    assert own == theirs
    if each.task == "drug":
        assert [row[place] for row in table.rows] == theirs


def test_thirteen_by_message_3_and_strong_4_need_judges_that_contradict_themselves() -> None:
    """RAD 2025: for a tolerance, one-way for the human by message 3 *is* strong for the human.

    So it holds of medians too: the two are equal in every repetition.
    """
    (point,) = [p for p in told.points("rad") if p.title == "RAD 2025"]
    (each,) = [c for c in COLUMNS if c.title == "RAD 2025"]
    assert (point.message, point.kind, point.sessions) == (3, "human", 13)
    assert (
        column(each.counts, representatives(human_revises=False), by_3=13, tolerance=True) is None
    )
    assert (
        column(each.counts, representatives(human_revises=False), by_3=4, tolerance=True)
        is not None
    )
    noisy = column(each.counts, representatives(human_revises=False), by_3=13)
    assert noisy is not None
    ratified = [tags[1::2] for tags in noisy if tags[1] == "RATIFY"]
    assert len(ratified) == 13
    assert len([tags for tags in ratified if not {"REFUTE", "REJECT"}.isdisjoint(tags)]) == 9


def test_thirteen_by_message_3_is_what_the_table_of_2024_says() -> None:
    (point,) = [p for p in told.points("rad") if p.title == "RAD 2024"]
    (each,) = [c for c in COLUMNS if c.title == "RAD 2024"]
    sequences = column(
        each.counts, representatives(human_revises=False), by_3=point.sessions, tolerance=True
    )
    assert sequences is not None
    with SqlBlackboard(":memory:") as board:
        stored(board, sequences)
        report = gather(board, board.runs()[0])
    assert report.curves["human"][2].median == 13


def test_the_tag_category_table_is_what_the_decision_functions_say() -> None:
    rules, rows = Interact(10, 3), told.tags()
    names = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}
    for found, late, changed in product(Category, (False, True), (False, True)):
        (tag,) = {
            row.tag
            for row in rows
            if row.category == found and row.late in (None, late) and row.changed in (None, changed)
        }
        assert tag == names[rules.guard(found, changed, 4 if late else 3)]
