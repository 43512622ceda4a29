"""Runs: orders by seed, exact resumption, plans that cannot be run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.errors import DataError, NotThere, UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from pxp_fsm.experiments.statistics import ROWS, published, statistics_of
from tests.sampling import sampled

PLAN = Plan(task="animals", instances="4", repetitions=2, seed=5)


def transcript(board: SqlBlackboard, run: str = "animals-1") -> list[Any]:
    """Everything that a run says, without times."""
    return [
        (
            record.session,
            record.instance,
            record.ending,
            record.cause,
            [
                (
                    entry.carried,
                    entry.addition,
                    [(j.relation, j.left, j.right, j.outcome, j.asked) for j in entry.judgements],
                )
                for entry in board.events(record.session)
            ],
        )
        for record in board.sessions(run)
    ]


@pytest.fixture(scope="module")
def undisturbed() -> list[Any]:
    with SqlBlackboard(":memory:") as board:
        runs.start(PLAN, board).execute()
        return transcript(board)


def test_a_run_is_the_same_whenever_it_is_run(undisturbed: list[Any]) -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(PLAN, board).execute()
        assert transcript(board) == undisturbed


def test_a_run_goes_on_beside_a_running_loop_as_in_a_notebook(
    undisturbed: list[Any], tmp_path: Path
) -> None:
    async def cell() -> list[Any]:
        with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
            runs.start(PLAN, board).execute()
            return transcript(board)

    assert asyncio.run(cell()) == undisturbed


def test_repetitions_differ_in_their_order_and_the_seed_draws_it(undisturbed: list[Any]) -> None:
    first, second = ([item[1].key for item in undisturbed[i : i + 4]] for i in (0, 4))
    assert sorted(first) == sorted(second)
    assert first != second


@pytest.mark.parametrize("after", sampled([0, 1, 2, 3, 5, 7, 11, 16, 23, 28], 3))
def test_an_interrupted_run_resumes_at_the_next_message(
    undisturbed: list[Any], after: int, tmp_path: Path
) -> None:
    """Stopped after any number of messages, even between a message and its session's end."""
    database = str(tmp_path / "b.sqlite")
    seen = 0

    def stop(step: Progress) -> None:
        nonlocal seen
        if seen == after:
            raise KeyboardInterrupt
        seen += step.event is not None

    with SqlBlackboard(database) as board, pytest.raises(KeyboardInterrupt):
        runs.start(PLAN, board).execute(stop)
    with SqlBlackboard(database) as board:
        runs.resume("animals-1", board).execute()
        assert transcript(board) == undisturbed
        finished = runs.resume("animals-1", board)
        assert finished.finished == finished.total == 8
        finished.execute()
        assert transcript(board) == undisturbed


def test_a_run_of_other_data_or_another_version_is_not_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    rows = "x,prediction,explanation\nfur,mammal,It has fur.\n"
    (folder / "data.csv").write_text(rows)
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        runs.start(Plan(task="animals", instances="all", data=str(folder)), board)
        (folder / "data.csv").write_text(rows.replace("has fur", "is hairy"))
        with pytest.raises(DataError, match="have changed"):
            runs.resume("animals-1", board)
        board.start_run(replace(board.runs()[0], run="animals-2", version="0.0.1"))
        with pytest.raises(UsageError, match=r"begun by version 0\.0\.1"):
            runs.resume("animals-2", board)
        with pytest.raises(NotThere, match="did you mean animals-2 or animals-1"):
            runs.resume("animals-9", board)


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (Plan(task="dragon"), "there is no task 'dragon'; there are: animals"),
        (Plan(task="animals", protocol="http"), "there is no protocol 'http'"),
        (Plan(task="animals", n=0), "n is the largest number of messages"),
        (Plan(task="animals", k=0), "k is the message after which REJECT is allowed, at least 1"),
        (Plan(task="animals", protocol="pxp", n=None, k=-1), "it was -1"),
        (Plan(task="animals", repetitions=0), "repetitions is at least 1; it was 0"),
        (Plan(task="animals", instances="13"), "there are 12 instances"),
        (Plan(task="animals", instances="0"), "there are 12 instances"),
        (Plan(task="animals", instances="-3"), "there are 12 instances"),
        (Plan(task="animals", instances="unobtainium"), "there is no instance 'unobtainium'"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_before_anything_is_stored(
    plan: Plan, says: str
) -> None:
    with SqlBlackboard(":memory:") as board:
        with pytest.raises(UsageError, match=says):
            runs.start(plan, board)
        assert board.runs() == ()


def test_pxp_runs_on_the_same_animals_and_ends_with_term() -> None:
    plan = Plan(task="animals", protocol="pxp", n=None, k=2, instances="6")
    with SqlBlackboard(":memory:") as board:
        runs.start(plan, board).execute()
        records = board.sessions("animals-1")
    assert {record.ending for record in records} == {"term"}
    assert {record.automaton for record in records} == {"pxp"}


def test_the_table_counts_what_the_sql_views_say() -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(PLAN, board).execute()
        statistics = statistics_of(board, "animals-1")
        one_way = [
            sum(
                any(e.carried.tag in ("RATIFY", "REVISE") for e in entries)
                and not any(e.carried.tag == "REJECT" for e in entries)
                for entries in (
                    [e for e in board.events(r.session) if e.carried.sender == "h"]
                    for r in board.sessions("animals-1")
                    if r.repetition == repetition
                )
            )
            for repetition in (1, 2)
        ]
    assert [repetition.total for repetition in statistics.repetitions] == [4, 4]
    assert [repetition.counts[0] for repetition in statistics.repetitions] == one_way
    assert sum(statistics.tags.values()) > 16


def test_the_published_columns_are_the_papers() -> None:
    workshop, _, _, preprint = published("drug")
    assert workshop.counts == (18, 20, 18, 8, 19, 0, 10)
    assert preprint.counts == (18, 20, 18, 11, 18, 0, 7)
    assert [column.counts for column in published("rad")] == [
        (19, 20, 19, 4, 19, 0, 15),
        (16, 16, 16, 13, 14, 0, 0),
    ]
    assert all(
        len(column.counts) == len(ROWS) for column in (*published("drug"), *published("rad"))
    )
