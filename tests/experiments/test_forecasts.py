"""The cost of a run before it begins, against what it then took."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard, usage_of_sessions
from backends.models.settings import Settings
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.forecasts import Forecast, forecast
from pxp_fsm.experiments.runs import Progress
from tests.command_line import pxp
from tests.experiments.scripted_server import (
    Body,
    Table,
    agrees_when_convinced,
    plan,
    stubborn_then_convinced,
)

CATALOGUE = """
[[server]]
models = "openai:*@*"
can = ["schema", "seed"]

[[price]]
models = "openai:*@*"
input = 3.0
output = 15.0
as_of = 2026-01-01
"""


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, chemist, agrees_when_convinced, tokens=length)


def chemist(body: Body) -> str:
    """As the scripted one, whatever was said in the sessions before."""
    turns = body["messages"]
    begun = [place for place, turn in enumerate(turns) if "This is the animal" in turn["content"]]
    return stubborn_then_convinced({**body, "messages": turns[begun[-1] :]})


def length(body: Body) -> int:
    return len(json.dumps(body["messages"])) // 4


@pytest.fixture
def priced(tmp_path: Path) -> Settings:
    (tmp_path / "own.toml").write_text(CATALOGUE)
    return Settings(catalogue=tmp_path / "own.toml", in_flight=1)


def took(board: SqlBlackboard, run: str) -> tuple[int, int, int, float]:
    """Calls, tokens in, tokens out and dollars of a run, as `pxp cost` counts them."""
    costs = board.costs(run)
    return (
        sum(cost.calls for cost in costs),
        sum(cost.usage.sent for cost in costs),
        sum(cost.usage.received for cost in costs),
        sum(cost.dollars or 0.0 for cost in costs),
    )


def close(found: Forecast | None, real: tuple[int, int, int, float], within: float) -> bool:
    assert found is not None
    assert found.dollars is not None
    said = (found.calls, found.sent, found.received, found.dollars)
    return all(abs(one - other) <= within * other for one, other in zip(said, real, strict=True))


@pytest.mark.deep
@pytest.mark.parametrize("more", [{}, {"carry": True}, {"learn": "better", "validation": 2}])
def test_a_run_costs_what_an_earlier_repetition_of_its_setting_did(
    more: dict[str, object], table: Table, priced: Settings
) -> None:
    first = replace(plan(table), **more)  # type: ignore[arg-type]
    with SqlBlackboard(":memory:") as board:
        begun = runs.start(first, board, settings=priced)
        assert forecast(begun, board) is None
        begun.execute()
        again = runs.start(replace(first, seed=5, repetitions=2), board, settings=priced)
        said = forecast(again, board)
        assert said is not None
        assert (said.recorded, said.runs) == (3, ("animals-1",))
        again.execute()
        assert close(said, took(board, again.name), within=0.2)
        over = forecast(again, board)
        assert over is not None
        assert over.calls == 0
        for other in (
            replace(first, n=4),
            replace(first, judge=None),
            replace(first, learn="never"),
        ):
            assert forecast(runs.start(other, board, settings=priced), board) is None
        usage = usage_of_sessions(board, again.name)
        assert sum(one.calls for one in usage) == took(board, again.name)[0]
        assert sum(one.dollars or 0 for one in usage) == pytest.approx(took(board, again.name)[3])


@pytest.mark.deep
def test_what_grows_from_session_to_session_is_drawn_out(table: Table, priced: Settings) -> None:
    short = replace(plan(table, carry=True), instances="4")
    with SqlBlackboard(":memory:") as board:
        runs.start(short, board, settings=priced).execute()
        longer = runs.start(replace(short, instances="12"), board, settings=priced)
        said = forecast(longer, board)
        longer.execute()
        assert close(said, took(board, longer.name), within=0.2)
        assert said is not None
        assert said.sent > 3.5 * took(board, "animals-1")[1]


@pytest.mark.deep
def test_what_is_over_of_a_resumed_run_is_not_counted_again(table: Table, priced: Settings) -> None:
    def stop(step: Progress) -> None:
        if step.event is None:
            raise KeyboardInterrupt

    with SqlBlackboard(":memory:") as board:
        begun = runs.start(plan(table), board, settings=priced)
        with pytest.raises(KeyboardInterrupt):
            begun.execute(stop)
        before = took(board, "animals-1")
        resumed = runs.resume("animals-1", board, priced)
        said = forecast(resumed, board)
        assert said is not None
        assert said.recorded == 1
        resumed.execute()
        real = took(board, "animals-1")
        rest = tuple(one - other for one, other in zip(real, before, strict=True))
        assert said.calls == pytest.approx(rest[0], rel=0.2)


def test_what_a_cache_answered_is_no_measure_and_an_unknown_price_no_dollars(
    table: Table, tmp_path: Path
) -> None:
    settings = Settings(cache=tmp_path / "cache.sqlite", in_flight=1)
    with SqlBlackboard(":memory:") as board:
        for _ in range(2):
            run = runs.start(plan(table), board, settings=settings)
            run.execute()
        assert sum(cost.cached for cost in board.costs("animals-2"))
        said = forecast(runs.start(plan(table), board), board)
        assert said is not None
        assert said.runs == ("animals-1",)
        assert said.dollars is None
        assert "price unknown" in str(said)


@pytest.mark.deep
def test_a_run_says_before_it_begins_what_it_will_cost(table: Table, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(CATALOGUE)
    asked = ("run", "animals", "--machine", table.model, "--models", "own.toml")
    first = pxp(*asked, "--instances", "1", cwd=tmp_path).stdout
    assert "Expected cost: unknown, as no session of this setting is recorded here" in first
    capped = ("--instances", "3", "--max-dollars", "0.001")
    second = pxp(*asked, *capped, cwd=tmp_path).stdout
    said = " ".join(second.split())
    assert "as the 1 session recorded of this setting took (animals-1)" in said
    assert "more than --max-dollars 0.001 allows" in said
