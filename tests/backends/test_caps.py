"""Caps over stops and resumes: what a server bills never passes the cap of a run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.databases import CallsOf, SqlBlackboard
from backends.models.catalogue import most_sent
from backends.models.failures import CallFailed
from backends.models.middleware.budget import Budget, capped
from backends.models.middleware.recording import recorded
from backends.models.middleware.retry import RetryPolicy, retried
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import Halted, NoAnswer, UsageError
from pxp_fsm.prompting.model import (
    LanguageModel,
    ModelRequest,
    Reply,
    Reservation,
    Spending,
    Usage,
    layered,
)
from tests.backends.model_servers import ANTHROPIC, Pauses, Scripted, ask, run
from tests.backends.records import RUN
from tests.backends.test_model_limits import FACTS, PRICE, SERVER, UNPRICED

REQUEST = ask(max_tokens=300)
WORST = PRICE.worst(REQUEST, SERVER)


class Killed(BaseException):
    """What stands for the end of a process: nothing of it runs on."""


class Billing:
    """A server that counts what it is asked and what it bills, and may be cut short."""

    def __init__(self, plan: list[str], unit: float = 1.0) -> None:
        self.plan = plan
        self.asked = 0
        self.billed = 0.0
        self.unit = unit

    def __call__(self, _request: ModelRequest) -> Reply:
        how = self.plan[self.asked % len(self.plan)]
        self.asked += 1
        if how == "fails":
            raise CallFailed("HTTP 500", again=True, billed=False)
        sent = most_sent(REQUEST, SERVER)
        used = {"short": Usage(sent, 10), "long": Usage(sent, 300)}.get(how, Usage(sent // 2, 100))
        self.billed += PRICE.of(used)
        if how == "cut":
            raise CallFailed("the connection failed", again=True, billed=True)
        if how == "killed":
            raise Killed
        return Reply("x", usage=Usage() if how == "silent" else used)


class Killing:
    """A ledger whose process is killed right before or after some of its commits."""

    def __init__(self, calls: CallsOf, kills: list[int]) -> None:
        self.calls, self.kills = calls, kills

    def _moment(self) -> None:
        if self.kills:
            self.kills[0] -= 1
            if self.kills[0] < 0:
                self.kills.pop(0)
                raise Killed

    def reserve(self, model: str, request: ModelRequest, dollars: float | None) -> Reservation:
        self._moment()
        found = self.calls.reserve(model, request, dollars)
        self._moment()
        return found

    def settle(self, reservation: Reservation, dollars: float | None) -> None:
        self._moment()
        self.calls.settle(reservation, dollars)
        self._moment()


HOW = st.sampled_from(["short", "long", "fails", "cut", "silent", "killed"])


@settings(max_examples=60)
@given(
    plan=st.lists(HOW, min_size=1, max_size=12),
    kills=st.lists(st.integers(0, 12), max_size=6),
    cap=st.floats(0, 12),
    calls=st.none() | st.integers(0, 15),
    at_once=st.integers(1, 5),
    resumes=st.integers(1, 6),
)
def test_no_stop_fault_or_resume_passes_a_cap(
    plan: list[str], kills: list[int], cap: float, calls: int | None, at_once: int, resumes: int
) -> None:
    server, dollars = Billing(plan), cap * WORST

    async def sessions(model: LanguageModel) -> None:
        async def session() -> None:
            for _ in range(4):
                try:
                    await model.reply(REQUEST)
                except NoAnswer:
                    continue

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(session())

    with SqlBlackboard(":memory:") as board:
        board.start_run(RUN)
        for _ in range(resumes):
            of = CallsOf(board, RUN.run)
            budget = Budget(
                dollars, calls, spent=board.spending(RUN.run), ledger=Killing(of, kills)
            )
            model = layered(
                Scripted(server),
                capped(budget, FACTS),
                retried(RetryPolicy(3), sleep=Pauses().sleep),
                recorded(ANTHROPIC, of, PRICE),
            )
            with suppress(BaseExceptionGroup, Killed):
                run(sessions(model))
        spent = board.spending(RUN.run)
        costs = board.costs(RUN.run)
    assert server.billed <= spent.dollars + 1e-9
    assert spent.dollars <= dollars + 1e-9
    assert server.asked <= spent.calls
    assert calls is None or spent.calls <= calls
    assert sum(one.dollars or 0.0 for one in costs) == pytest.approx(spent.dollars)
    assert sum(one.attempts for one in costs) == spent.calls
    assert not any(one.dollars is None for one in costs)


def test_a_server_that_only_fails_is_asked_as_often_as_the_cap_says_over_all_resumes(
    tmp_path: Path,
) -> None:
    asked: list[httpx2.Request] = []

    def fails(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(500)

    transport: Any = httpx2.MockTransport(fails)

    async def once(board: SqlBlackboard) -> None:
        calls = CallsOf(board, RUN.run)
        async with Serving(
            Settings(calls=40),
            calls,
            ledger=calls,
            spent=board.spending(RUN.run),
            transport=transport,
            sleep=Pauses().sleep,
        ) as serving:
            for _ in range(10):
                try:
                    await serving.model("openai:x@http://localhost:1").reply(REQUEST)
                except NoAnswer:
                    continue

    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        board.start_run(RUN)
        for _ in range(4):
            with pytest.raises(Halted, match="cap of 40 calls"):
                run(once(board))
        assert len(asked) == 40 == board.spending(RUN.run).calls


def test_a_reply_without_usage_is_stored_with_all_that_it_may_have_cost(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        board.start_run(RUN)
        calls = CallsOf(board, RUN.run)
        model = layered(
            Scripted(lambda _: Reply("x", usage=Usage(10, 0))),
            capped(Budget(1.0, ledger=calls), FACTS),
            retried(),
            recorded(ANTHROPIC, calls, PRICE),
        )
        run(model.reply(REQUEST))
        assert board.spending(RUN.run) == Spending(1, WORST)
        assert [one.dollars for one in board.costs(RUN.run)] == [WORST]


def test_a_call_that_costs_more_than_was_reserved_is_the_last_under_a_cap_on_cost(
    tmp_path: Path,
) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        board.start_run(RUN)
        calls = CallsOf(board, RUN.run)
        server = Scripted(lambda _: Reply("x", usage=Usage(10_000, 10)))

        def model(**caps: Any) -> LanguageModel:
            spent = board.spending(RUN.run)
            return layered(server, capped(Budget(**caps, spent=spent, ledger=calls), FACTS))

        first = model(dollars=1.0)
        run(first.reply(REQUEST))
        for each in (first, model(dollars=1.0), model(dollars=1000.0)):
            with pytest.raises(Halted, match="cost more than the most that was reserved"):
                run(each.reply(REQUEST))
        assert len(server.asked) == 1
        assert board.spending(RUN.run).dollars == pytest.approx(PRICE.of(Usage(10_000, 10)))
        run(model(calls=2).reply(REQUEST))
        assert len(server.asked) == 2


def test_nothing_is_sent_that_could_not_be_stored(tmp_path: Path) -> None:
    server = Scripted(lambda _: Reply("x"))
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        model = layered(server, capped(Budget(ledger=CallsOf(board, "no such run")), UNPRICED))
        with pytest.raises(Exception, match="there is no run 'no such run'"):
            run(model.reply(REQUEST))
    assert server.asked == []


def test_money_is_not_capped_where_the_cost_of_earlier_calls_is_not_known() -> None:
    with pytest.raises(UsageError, match="price of 2 earlier calls of this run is unknown"):
        Budget(1.0, spent=Spending(3, 0.5, unpriced=2))
