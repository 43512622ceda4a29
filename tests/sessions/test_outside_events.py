"""Events from outside: whose source is asked when, what it raises, and who waits for it."""

from __future__ import annotations

import asyncio
import math
import random
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.actions import External
from pxp_fsm.errors import UsageError, WrongType
from pxp_fsm.protocol.relations import OracleFailed, Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.pending import Chance, Pending, check_source
from pxp_fsm.sessions.session import Session
from tests.sessions.small_systems import SILENT, WAITING, two, wrong
from tests.waiting import PATIENCE

TICKING = two(
    "[S] -> [S] event TICK\n[S] -> [S] event TOCK\n[S] -> [S] send X",
    "[S] -> [S] receive X",
)
"""Its events can happen at any time."""


def labels(session: Session) -> list[str]:
    return [one.action.label for one in session.events if isinstance(one.action, External)]


def from_list(answers: list[bool], asked: list[str]) -> Any:
    """A source that answers one after the other, and then no more."""
    left = iter(answers)

    def source() -> bool:
        asked.append("asked")
        return next(left, False)

    return source


def test_an_event_that_is_raised_once_happens_once() -> None:
    asked = list[str]()
    events = {"TICK": from_list([True, True, False], asked)}
    session = pxp.Session(TICKING, SILENT, events=events).run_sync()
    assert labels(session) == ["TICK", "TICK"]
    assert len(asked) == 3


def test_a_source_that_declined_is_asked_again_after_the_next_action() -> None:
    asked = list[str]()
    events = {"TICK": from_list([False, False, True], asked), "TOCK": from_list([True, True], [])}
    session = pxp.Session(TICKING, SILENT, events=events).run_sync()
    assert labels(session) == ["TOCK", "TOCK", "TICK"]
    assert len(asked) == 4


def test_what_was_raised_with_another_event_is_kept_for_the_next_action() -> None:
    asked = list[str]()
    events = {"TICK": from_list([True], asked), "TOCK": from_list([True], asked)}
    session = pxp.Session(TICKING, SILENT, events=events).run_sync()
    assert sorted(labels(session)) == ["TICK", "TOCK"]
    assert len(asked) == 5  # one of both after the first action, both after the second


PAUSED = two(
    "[S] -> [P] event PAUSE\n[P] -> [S] event GO\n[S] -> [S] event TICK\n[P] -> [P] send X",
    "[S] -> [S] receive X",
)


def test_what_was_raised_is_void_where_it_is_no_longer_possible() -> None:
    """And its source is asked anew where it is possible again."""
    orders = dict[tuple[str, ...], int]()
    for seed in range(8):
        asked = list[str]()
        events: dict[str, Any] = {
            "TICK": from_list([True], asked),
            "PAUSE": from_list([True], []),
            "GO": from_list([True], []),
        }
        session = pxp.Session(PAUSED, SILENT, seed=seed, events=events).run_sync()
        orders[tuple(labels(session))] = len(asked)
    assert orders == {("TICK", "PAUSE", "GO"): 3, ("PAUSE", "GO"): 2}


def test_a_timer_is_cancelled_where_its_event_is_no_longer_possible() -> None:
    cancelled = list[str]()

    async def waits() -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append("CANCEL")
            raise
        return True

    async def by_steps() -> None:
        events: dict[str, Any] = {"CANCEL": waits, "APPROVE": 0.01}
        session = pxp.Session(WAITING, SILENT, events=events)
        assert await session.step() is not None
        assert session.states == {"a": "T", "b": "T"}
        assert await session.step() is None
        await asyncio.sleep(0)
        assert (session.ending, cancelled) == (Ending.FINISHED, ["CANCEL"])

    asyncio.run(by_steps())


def test_a_source_that_still_thinks_is_stopped_with_the_session() -> None:
    ended = list[str]()

    async def waits() -> bool:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("TOCK")
        return True

    async def ran() -> Session:
        events: dict[str, Any] = {"TICK": lambda: True, "TOCK": waits}
        session = await pxp.Session(TICKING, SILENT, events=events, limit=2).run()
        await asyncio.sleep(0)
        assert ended == ["TOCK"]
        return session

    assert asyncio.run(ran()).ending is Ending.LIMIT


def test_a_caller_is_waited_for_only_where_its_event_is_possible() -> None:
    async def ran() -> list[Session]:
        first = pxp.Session(WAITING, SILENT, events={"APPROVE": None, "CANCEL": 0})
        second = pxp.Session(WAITING, SILENT, events={"APPROVE": None})
        running = asyncio.create_task(second.run())
        for _ in range(100):  # rounds of the event loop
            await asyncio.sleep(0)
        assert second.ending is None
        second.raise_event("CANCEL")
        return [await first.run(), await running]

    assert [labels(one) for one in asyncio.run(ran())] == [["CANCEL"], ["CANCEL"]]


def test_time_is_kept_in_seconds_and_none_may_pass() -> None:
    session = pxp.Session(WAITING, SILENT, events={"APPROVE": 0}).run_sync()
    assert labels(session) == ["APPROVE"]
    both = pxp.Session(WAITING, SILENT, events={"APPROVE": 60, "CANCEL": 0.001}).run_sync()
    assert labels(both) == ["CANCEL"]


@pytest.mark.parametrize(
    ("source", "cause", "raised"),
    [
        (wrong(lambda: 1), "event CANCEL: its source returned 1, not True or False", WrongType),
        (
            wrong(lambda: None),
            "event CANCEL: its source returned None, not True or False",
            WrongType,
        ),
        (lambda: bool(1 / 0), "event CANCEL: ZeroDivisionError", ZeroDivisionError),
    ],
)
def test_a_source_that_fails_ends_the_session(source: Any, cause: str, raised: Any) -> None:
    events = {"CANCEL": source}
    session = pxp.Session(WAITING, SILENT, events=events, record_faults=True).run_sync()
    assert (session.ending, session.events) == (Ending.BROKEN, ())
    assert session.cause.startswith(cause)
    with pytest.raises(raised):
        pxp.Session(WAITING, SILENT, events=events).run_sync()


@pytest.mark.parametrize(
    "source",
    [0, 0.0, 5, Chance(0), Chance(1), Chance(0.5), None, lambda: True, float("inf")],
)
def test_sources_that_can_raise_an_event(source: Any) -> None:
    check_source("CANCEL", source)


@pytest.mark.parametrize(
    "source",
    [
        -1,
        -0.001,
        True,
        False,
        "now",
        float("nan"),
        Chance(1.01),
        Chance(-0.01),
        Chance(wrong(True)),
    ],
)
def test_what_can_raise_no_event_is_refused(source: Any) -> None:
    with pytest.raises(UsageError, match=r"event CANCEL is raised by a number of seconds, a Chan"):
        check_source("CANCEL", source)


def test_who_waits_is_woken_once_by_whatever_comes_first() -> None:
    async def waited() -> None:
        pending = Pending({"CANCEL": None})
        pending.wake()
        waiting = asyncio.create_task(pending.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        pending.wake()
        pending.wake()
        await asyncio.wait_for(waiting, PATIENCE)

        async def decides() -> None:
            return None

        pending.ask("a", decides())
        assert pending.is_asked("a")
        assert pending.waits_for(set())
        await asyncio.wait_for(pending.wait(), PATIENCE)
        await asyncio.wait_for(pending.wait(), PATIENCE)  # somebody has answered: it is at once
        assert pending.hear() == {"a": None}
        assert not pending.is_asked("a")
        assert not pending.waits_for(set())
        assert pending.waits_for({"CANCEL"})
        pending.ask("a", decides())
        assert pending.waits_for(set())
        pending.stop()
        assert not pending.waits_for(set())

    asyncio.run(waited())


def test_sources_are_asked_for_what_is_possible_and_their_faults_are_heard() -> None:
    async def heard() -> None:
        asked = list[str]()

        async def later() -> bool:
            asked.append("CANCEL")
            await asyncio.sleep(60)
            return True

        pending = Pending({"CANCEL": later, "APPROVE": wrong(lambda: 1 / 0), "NONE": None})
        for possible in (set[str](), {"NONE"}):
            pending.expect(possible)
            assert not pending.waits_for(set())
        for _ in range(2):
            pending.expect({"CANCEL"})
            await asyncio.sleep(0)
            assert asked == ["CANCEL"]
        assert pending.waits_for(set())
        pending.stop()
        assert not pending.waits_for(set())
        pending.expect({"CANCEL", "APPROVE"})
        await pending.wait()
        with pytest.raises(OracleFailed, match="event APPROVE: ZeroDivisionError") as raised:
            pending.hear()
        assert raised.value.outcome is Outcome.BROKEN
        pending.stop()

    asyncio.run(heard())


def test_who_moves_while_it_thinks_is_cancelled_and_who_does_not_goes_on() -> None:
    cancelled = list[str]()

    async def thinks(name: str) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(name)
            raise

    async def moved() -> None:
        pending = Pending({})
        for name in ("a", "b"):
            pending.ask(name, thinks(name))
        pending.wants["c"] = None
        await asyncio.sleep(0)
        pending.happened(["a", "c", "d"])
        await asyncio.sleep(0)
        assert cancelled == ["a"]
        assert [name for name in "abcd" if pending.is_asked(name)] == ["b"]
        pending.stop()
        await asyncio.sleep(0)
        assert cancelled == ["a", "b"]

    asyncio.run(moved())


def test_a_chance_is_drawn_from_the_seed_the_name_and_the_number_of_the_action() -> None:
    """As a session was drawn, it is resumed by any later version."""
    for seed in range(3):
        drawn = random.Random(f"{seed}/lamp/1/event APPROVE").random()
        for probability, happened in ((drawn, []), (math.nextafter(drawn, 1), ["APPROVE"])):
            events = {"APPROVE": Chance(probability)}
            session = pxp.Session(WAITING, SILENT, name="it/lamp", seed=seed, events={**events})
            assert labels(session.run_sync()) == happened
