"""What is reported: shares of each repetition's own total, columns where they belong, drawings."""

from __future__ import annotations

import csv
import io
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from backends.databases import FAULTS, RunRecord, SessionRecord, SqlBlackboard
from backends.databases.recordings import illustrative_session
from pxp_fsm.experiments import runs, summary
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.statistics import (
    Estimate,
    Interval,
    Repetition,
    Statistics,
    published,
    rounded,
    statistics_of,
)
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.events import Event

AGENTS = (("machine", ""), ("person", ""))


def statistics(*repetitions: tuple[int, int]) -> Statistics:
    """Of repetitions with (total, count of every class)."""
    made = (Repetition(i, total, (count,) * 7) for i, (total, count) in enumerate(repetitions, 1))
    return Statistics(tuple(made), Counter(), Counter())


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (Fraction(17, 40), "0.43"),
        (Fraction(1, 8), "0.13"),
        (Fraction(1, 3), "0.33"),
        (Fraction(1), "1.00"),
    ],
)
def test_shares_are_rounded_half_up(share: Fraction, shown: str) -> None:
    assert rounded(share) == rounded(float(share)) == shown
    assert rounded(-share) == f"-{shown}"


def test_a_share_is_of_its_own_repetition() -> None:
    total, *classes = statistics((20, 10), (10, 10), (20, 10)).classes()
    assert [total.median, total.least, total.most] == [20, 10, 20]
    assert {(row.median, row.share) for row in classes} == {(Fraction(10), Fraction(1, 2))}


def test_the_csv_has_nothing_but_numbers() -> None:
    found = {"one-way, human": Estimate(0.425, 0.1, 0.1, 40, Interval(0.25, 0.5))}
    text = summary.as_csv(statistics((20, 8), (20, 9)), published("drug"), found)
    header, *rows = csv.reader(io.StringIO(text))
    assert header[:8] == ["class", "median", "share", "min", "max", "low", "high", "DRUG 2025"]
    assert rows[0] == ["in all", "20", "1.00", "20", "20", "", "", "20", "20", "20", "20"]
    own = ["one-way, human", "8.5", "0.43", "8", "9", "0.2500", "0.5000"]
    assert rows[1] == [*own, "18", "19", "17", "18"]
    assert len({len(row) for row in (header, *rows)}) == 1


def test_one_repetition_has_no_range() -> None:
    assert summary.table1(statistics((20, 8)), ()).headings == ("sessions that are", "this run")
    assert "min to max" in summary.table1(statistics((20, 8), (20, 9)), ()).headings


def board_with(*sessions: tuple[str, str]) -> SqlBlackboard:
    """Sessions with (ending, tags in words), between agents of any names."""
    board = SqlBlackboard(":memory:")
    board.start_run(RunRecord("animals-1", "animals", "{}", 0, "0", "f"))
    for position, (ending, tags) in enumerate(sessions, start=1):
        name = f"animals-1/1/{position}"
        place = (name, "animals-1", 1, position, Instance("i", "x"), "interact", 10, 3)
        board.start_session(SessionRecord(*place, "interact", "f", True, (), AGENTS))
        for number, tag in enumerate(tags.split(), start=1):
            two = ("machine", "person")[:: 1 if number % 2 else -1]
            board.append(
                name,
                Event.of_message(
                    Message(name, number, two[0], tag, Answer("", ""), two[1]), "{}", []
                ),
            )
        board.end(name, ending, "", [])
    return board


def test_the_session_that_is_drawn_was_ratified_after_a_revise_or_is_the_longest() -> None:
    short, revised = ("ratified", "INIT RATIFY RATIFY"), ("ratified", "INIT REVISE RATIFY RATIFY")
    bound = ("bound", "INIT REFUTE REVISE REFUTE REFUTE")
    for sessions, position in (
        ((short, bound, revised), 3),
        ((short, bound), 2),
        ((short, short), 1),
    ):
        with board_with(*sessions) as board:
            assert illustrative_session(board, "animals-1") == f"animals-1/1/{position}"


def test_machine_and_human_are_known_by_their_roles_and_every_ending_counts_or_is_a_fault() -> None:
    taught = "INIT REFUTE REVISE RATIFY RATIFY"
    with board_with(*((ending.value, taught) for ending in Ending)) as board:
        found = statistics_of(board, "animals-1")
    (repetition,) = found.repetitions
    assert repetition.total == 4
    # one-way h, one-way m, two-way, strong h, strong m, ultra-strong h, ultra-strong m
    assert repetition.counts == (4, 4, 4, 0, 4, 0, 4)
    systems = {"deadlock", "idle", "diverged"}
    assert set(FAULTS) == {"no answer", "late", "broken", "limit"} | systems


def test_the_files_of_another_database_are_not_written_over(tmp_path: Path) -> None:
    names = []
    for database in ("blackboard.sqlite", "other.sqlite"):
        with SqlBlackboard(str(tmp_path / database)) as board:
            run = runs.start(Plan("animals", instances="1"), board)
            run.execute()
            left = summary.write_artifacts(run, board, statistics_of(board, run.name), tmp_path)
            names += [path.name for _, path in left]
    assert len(set(names)) == 12
    assert {"animals-1-table.csv", "other-animals-1-table.csv"} <= set(names)
