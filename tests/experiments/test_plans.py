"""Plans: what is refused before anything is stored, what is kept of them, the rows they choose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import text

from backends.databases import SqlBlackboard
from proofs.claims.checking import Bounds
from proofs.requests import Request
from pxp_fsm import defaults
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import plan_data, plans, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.tasks.task import DataRow, DataSet

ANIMALS = Plan("animals")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 10**9 + 1},
        {"k": 10**23},
        {"repetitions": 10**23},
        {"seed": 2**63},
        {"seed": -(2**63)},
        {"seed": True},
        {"n": 1.5},
        {"memo": "no"},
        {"timeout": float("nan")},
        {"instances": "--3"},
        {"instances": "²"},
        {"instances": "٣"},
        {"instances": "1" * 5000},
    ],
)
def test_what_is_absurd_is_refused_and_nothing_is_stored(wrong: dict[str, Any]) -> None:
    with SqlBlackboard(":memory:") as board:
        with pytest.raises(UsageError):
            runs.start(replace(ANIMALS, **wrong), board)
        assert board.runs() == ()


def test_the_greatest_numbers_are_accepted() -> None:
    plans.check_plan(replace(ANIMALS, n=10**9, k=10**9, repetitions=10**9, seed=2**63 - 1))


def test_what_is_not_said_is_said_in_one_place() -> None:
    assert Interact() == Interact(defaults.N, defaults.K)
    assert Bounds() == Bounds(defaults.N, defaults.K)
    assert (Request().n, Request().k) == (defaults.N, defaults.K)
    assert ANIMALS.rules() == replace(ANIMALS, n=None, k=None).rules() == Interact()


@pytest.mark.parametrize(
    "stored",
    ["", "[]", "{}", '{"task": "animals", "x\\u001b": 1}', '{"task": "animals", "n": "a"}'],
)
def test_a_stored_plan_that_cannot_be_read_is_said(stored: str) -> None:
    with SqlBlackboard(":memory:") as board:
        name = runs.start(ANIMALS, board).name
        board.start_run(replace(board.runs()[0], run="animals-2", plan=stored))
        with pytest.raises(
            UsageError, match="the plan of run 'animals-2' cannot be read"
        ) as raised:
            runs.resume("animals-2", board)
        assert "\x1b" not in str(raised.value)
        assert runs.resume(name, board).opening.plan == ANIMALS


def test_a_run_on_another_table_is_not_resumed() -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(replace(ANIMALS, instances="1"), board).execute()
        with board.engine.begin() as connection:
            connection.execute(text("DROP TRIGGER sessions_unchanged"))
            connection.execute(text(f"UPDATE sessions SET fingerprint = '{'0' * 64}'"))
        with pytest.raises(UsageError, match=r"another table interact .*0{12}, today's is"):
            runs.resume("animals-1", board)


def data_of(rows: int) -> DataSet:
    row = DataRow(Instance("", "fur, paws"), Answer("mammal", ""))
    every = (replace(row, instance=replace(row.instance, key=f"i{i}")) for i in range(rows))
    return DataSet("made up", tuple(every))


@pytest.mark.parametrize(("there", "chosen"), [(1, 1), (19, 19), (20, 20), (21, 20)])
def test_twenty_instances_are_taken_or_as_many_as_there_are(there: int, chosen: int) -> None:
    assert len(plan_data.choose(ANIMALS, data_of(there)).sessions) == chosen


def test_the_data_folder_is_found_from_wherever_the_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.csv").write_text("x,prediction,explanation\nfur,mammal,It has fur.\n")
    monkeypatch.chdir(tmp_path)
    with SqlBlackboard(":memory:") as board:
        runs.start(replace(ANIMALS, data="."), board)
        monkeypatch.chdir("/")
        assert runs.resume("animals-1", board).opening.plan.data == str(tmp_path)


def test_a_run_is_named_whatever_other_runs_are_named() -> None:
    with SqlBlackboard(":memory:") as board:
        first = runs.start(replace(ANIMALS, instances="1"), board)
        for name in ("x-²", f"x-{'9' * 5000}", "x-"):
            board.start_run(replace(board.runs()[0], run=name))
        assert (first.name, runs.start(ANIMALS, board).name) == ("animals-1", "animals-2")


def test_unbounded_pxp_has_no_bound_of_its_own() -> None:
    rules = replace(ANIMALS, protocol="pxp", n=None, k=None).rules()
    assert (rules.n, rules.k) == (None, None)


@example(rows=2, sessions=1, test=1, validation=None)
@given(
    rows=st.integers(1, 30),
    sessions=st.integers(1, 30),
    test=st.none() | st.integers(1, 30),
    validation=st.none() | st.integers(1, 30),
)
def test_no_row_is_in_two_sets(
    rows: int, sessions: int, test: int | None, validation: int | None
) -> None:
    """Of data without sets of their own, the rows of no session are held back, or it is refused."""
    plan = replace(ANIMALS, instances=str(sessions), test=test, validation=validation)
    free = rows - sessions
    if free < 0 or (test or 0) + (validation or 0) > free:
        with pytest.raises(UsageError):
            plan_data.choose(plan, data_of(rows))
        return
    held = plan_data.choose(plan, data_of(rows))
    weighed = plan_data.validation(held)
    sets = [held.sessions, weighed, held.test]
    assert list(map(len, sets)) == [
        sessions, free - (test or 0) if validation is None else validation, test or 0,
    ]  # fmt: skip
    assert len({row for one in sets for row in one}) == sum(map(len, sets))


@given(rows=st.integers(1, 9), held=st.integers(1, 9), test=st.integers(1, 20))
def test_a_test_set_is_drawn_from_what_is_held_back(rows: int, held: int, test: int) -> None:
    """Where every row has a session, the last rows for validation are for test instead."""
    whole = data_of(rows + held).sessions
    data = replace(data_of(rows), validation=whole[rows:])
    plan = replace(ANIMALS, instances="all", test=test)
    if test > held:
        with pytest.raises(UsageError, match=f"the data hold {held} rows back for test, not"):
            plan_data.choose(plan, data)
        return
    found = plan_data.choose(plan, data)
    assert found.validation + found.test == whole[rows:]
    assert (found.sessions, len(found.test)) == (data.sessions, test)


def test_sets_of_the_data_are_cut_and_are_in_the_fingerprint() -> None:
    _, whole = plan_data.read_plan(ANIMALS)
    smaller = replace(ANIMALS, test=2, validation=3, learn="better")
    _, held = plan_data.read_plan(smaller)
    assert (held.test, held.validation) == (whole.test[:2], whole.validation[:3])
    prints = {
        plan_data.data_fingerprint(plan, plan_data.read_plan(plan)[1])
        for plan in (ANIMALS, smaller, replace(smaller, test=3), replace(smaller, validation=4))
    }
    assert len(prints) == 4
    assert not {"test", "validation"} & set(ANIMALS.meaning())
    with pytest.raises(UsageError, match=r"the data hold \d+ rows back for test, not 10000"):
        plan_data.read_plan(replace(ANIMALS, test=10_000))
