"""A system's session step by step: what members know, what a trace asks of them, its replay."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, External, Send, SystemAction
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.protocol.messages import NOTHING, Instance, Json, Message
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.pending import Chance
from pxp_fsm.sessions.policy import actor_of
from pxp_fsm.sessions.session import Session
from tests.proofs.text_tables import table
from tests.sessions.random_sessions import steady_session
from tests.sessions.small_systems import HUB, SILENT, WAITING, bids, contract, hub, two
from tests.waiting import comes

PING = two("S -> T send X\nT -> [U] receive Y", "S -> T receive X\nT -> [U] send Y")
EITHER = pxp.System.load(
    table("a", "S -> T send X\nT -> [U] receive Y"),
    table("b", "S -> T receive X\nT -> [U] send Y to a\nS -> [U] event QUIT"),
    table("c", "S -> T receive X\nT -> [U] send Y to a\nS -> [U] event QUIT"),
)


def silent(_turn: pxp.Turn) -> None:
    return None


def test_a_member_knows_its_own_letters_state_and_memory_and_nothing_else() -> None:
    seen = list[pxp.Turn]()

    def noting(function: Any) -> Any:
        def member(turn: pxp.Turn) -> Any:
            turn.memory["asked"] = turn.memory.get("asked", 0) + 1
            seen.append(replace(turn, memory=dict(turn.memory)))
            return function(turn)

        return member

    members = {"a": noting(lambda _turn: pxp.Intent("X", 7)), "b": noting(lambda _turn: "Y")}
    session = pxp.Session(PING, members, name="it", instance="lamp").run_sync()
    assert session.ending is Ending.FINISHED
    about, sent = Instance("lamp", "lamp"), Message("it", 1, "a", "X", Json("7"), "b")
    assert seen == [
        pxp.Turn("it", about, "a", "S", (), ("X",), (), {"asked": 1}),
        pxp.Turn("it", about, "b", "T", (), ("Y",), (sent,), {"asked": 1}),
    ]
    assert [session.turn(name).messages for name in "ab"] == [
        (sent, Message("it", 2, "b", "Y", NOTHING, "a")),
        (sent, Message("it", 2, "b", "Y", NOTHING, "a")),
    ]
    assert session.turn("a").memory == {"asked": 1}
    assert repr(session) == "<Session it: a, b, 2 actions, finished>"
    assert pxp.Session(PING, members, instance=about).instance is about


def test_over_a_buffer_the_receiver_knows_a_letter_once_it_is_delivered() -> None:
    async def by_steps() -> None:
        session = pxp.Session(PING.over("fifo:1"), {"a": lambda _t: "X", "b": lambda _t: "Y"})
        first = await session.step()
        assert first is not None
        assert first.action == Send("a", "b", "X")
        assert [len(session.turn(name).messages) for name in "ab"] == [1, 0]
        second = await session.step()
        assert second is not None
        assert second.action == Deliver("a", "b", "X")
        assert [len(session.turn(name).messages) for name in "ab"] == [1, 1]
        assert session.turn("b").received == (first.message,)
        assert repr(session) == "<Session own/1: a, b, 2 actions, not over>"

    asyncio.run(by_steps())


def test_a_session_that_is_over_refuses_another_step() -> None:
    async def by_steps() -> None:
        session = pxp.Session(WAITING, SILENT, events={"APPROVE": 0})
        assert await session.step() is not None
        assert await session.step() is None
        with pytest.raises(UsageError, match=r"session own/1 has ended \(finished\)"):
            await session.step()
        with pytest.raises(UsageError, match=r"session own/1 has ended \(finished\)"):
            session.raise_event("APPROVE")

    asyncio.run(by_steps())


def test_who_still_thinks_when_a_session_ends_is_cancelled() -> None:
    """Also where it is taken step by step: nothing goes on behind the caller's back."""
    cancelled = list[str]()

    async def thinks(turn: pxp.Turn) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(turn.member)
            raise
        return "Y"

    async def fails(_turn: pxp.Turn) -> str:
        await asyncio.sleep(0)
        raise pxp.NoAnswer("nothing comes to mind")

    async def by_steps() -> Session:
        system = two("S -> [T] send X\nS -> [T] receive Y", "S -> [T] send Y\nS -> [T] receive X")
        session = pxp.Session(system, {"a": fails, "b": thinks})
        assert (session.ending, session.cause) == (None, "")
        assert await session.step() is None
        await comes(lambda: cancelled)
        assert cancelled == ["b"]
        return session

    session = asyncio.run(by_steps())
    assert session.ending is Ending.NO_ANSWER
    assert session.fault is None
    assert repr(session) == f"<Session own/1: a, b, 0 actions, no answer: {session.cause}>"


def test_who_thinks_is_cancelled_with_the_session_that_is() -> None:
    begun, ended = list[str](), list[str]()

    async def thinks(turn: pxp.Turn) -> None:
        begun.append(turn.member)
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(turn.member)

    async def stopped() -> None:
        running = asyncio.create_task(pxp.Session(PING, {"a": thinks, "b": silent}).run())
        await comes(lambda: begun)
        running.cancel()
        await asyncio.wait([running])
        await comes(lambda: ended)
        assert (running.cancelled(), ended) == (True, ["a"])

    asyncio.run(stopped())


def test_an_event_that_a_caller_raises_is_returned_and_reported() -> None:
    reported = list[Any]()
    session = pxp.Session(WAITING, SILENT, on_event=reported.append)
    raised = session.raise_event("CANCEL")
    assert (raised.number, raised.action, raised.message) == (1, External("CANCEL"), None)
    assert session.events == (raised,)
    assert reported == [raised]


def test_a_limit_of_one_action_is_one_action() -> None:
    session = pxp.Session(PING, {"a": lambda _t: "X", "b": lambda _t: "Y"}, limit=1).run_sync()
    assert (session.ending, len(session.events)) == (Ending.LIMIT, 1)
    assert pxp.Session(PING, SILENT).run_sync().ending is Ending.IDLE
    assert pxp.Session(PING, SILENT).seed == 0
    last = pxp.Session(WAITING, SILENT, events={"APPROVE": 0}, limit=1).run_sync()
    assert (last.ending, len(last.events)) == (Ending.FINISHED, 1)


@pytest.mark.parametrize(
    ("intent", "cause"),
    [
        (pxp.Intent("X", to="d"), "a: X goes to b, c, not to 'd'"),
        (pxp.Intent("X", to="a"), "a: X goes to b, c, not to 'a'"),
    ],
)
def test_a_message_goes_to_a_partner_alone(intent: pxp.Intent, cause: str) -> None:
    members = {"a": lambda _turn: intent, "b": silent, "c": silent}
    session = pxp.Session(EITHER, members, record_faults=True).run_sync()
    assert (session.ending, session.cause) == (Ending.BROKEN, cause)


def test_who_decides_an_event_of_its_own_sends_nothing_to_anybody() -> None:
    """Neither receiver nor payload of the intent is anything that a table could refuse."""
    sizes = {"SIZE": {"type": "integer"}}
    rows = [
        {"from": "S", "to": "T", "event": "SIZE", "guard": "READY"},
        {"from": "T", "to": "U", "send": "SIZE"},
    ]
    takes = [{"from": "S", "to": "U", "receive": "SIZE"}]
    left = pxp.build_automaton("a", rows, final=["U"], peer="b", payloads=sizes)
    right = pxp.build_automaton("b", takes, final=["U"], peer="a")

    def decides(turn: pxp.Turn) -> pxp.Intent:
        return pxp.Intent("SIZE", 3) if turn.tags else pxp.Intent("READY", "no number", "nobody")

    session = pxp.Session(pxp.System.load(left, right), {"a": decides, "b": silent}).run_sync()
    assert [str(one.action) for one in session.events] == ["a READY/!SIZE", "a>b SIZE"]


RELAY = pxp.System.load(
    HUB,
    table("left", "IDLE -> BID receive TASK\nBID -> LATE send BID to hub\n"
          "LATE -> [OVER] event READY\n[OVER] -> [DONE] receive TAKE"),
    table("right", "IDLE -> BID receive TASK\nBID -> [OVER] send BID to hub\n"
          "[OVER] -> [DONE] receive TAKE"),
)  # fmt: skip


def test_a_choice_ahead_keeps_its_payload_until_it_can_be_sent() -> None:
    """The hub chooses who is not ready; it is not asked again, and sends what it chose."""
    asked = list[str]()

    def chooses(turn: pxp.Turn) -> pxp.Intent:
        asked.append(turn.state)
        turn.memory["asked"] = len(asked)
        if turn.state == "CHOOSE":
            return pxp.Intent("LEFT", {"you": "do it"})
        return pxp.Intent("TASK", {"of": "a lamp"})

    async def ready() -> bool:
        await asyncio.sleep(0.01)
        return True

    session = pxp.Session(
        RELAY, {"hub": chooses, "left": bids(1), "right": bids(2)}, events={"READY": ready}
    ).run_sync()
    *_, chosen, raised, sent = session.events
    assert [one.action for one in (chosen, raised, sent)] == [
        Choose("hub", "LEFT", "TAKE"),
        External("READY"),
        Exchange("hub", "left", "TAKE"),
    ]
    assert asked == ["IDLE", "ASKED1", "CHOOSE"]
    assert [one.message and one.message.value for one in (chosen, sent)] == [{"you": "do it"}] * 2
    assert chosen.message == Message(
        "own/1", chosen.number, "hub", "TAKE", Json('{"you":"do it"}'), "left"
    )
    assert [one.memory for one in (chosen, raised, sent)] == ['{"asked":3}', "", ""]
    assert [one.guard for one in (chosen, raised, sent)] == ["LEFT", "", "LEFT"]
    assert session.turn("hub").messages[-1] == sent.message
    assert session.ending is Ending.FINISHED


def test_a_stored_session_is_rebuilt_and_goes_on() -> None:
    for seed in range(8):
        whole = steady_session(seed).run_sync()
        for number in range(0, len(whole.events), 3):
            session = steady_session(seed)
            session.replay(whole.events[:number])
            assert session.events == whole.events[:number]
            session.run_sync()
            assert [one.action for one in session.events] == [one.action for one in whole.events]
            assert (session.ending, session.states) == (whole.ending, whole.states)
            assert all(session.turn(name) == whole.turn(name) for name in session.states)


def test_what_is_rebuilt_has_its_actions_in_their_order() -> None:
    first, second, *_ = contract("fifo:1", name="run/1").run_sync().events
    session = contract("fifo:1", name="run/1")
    with pytest.raises(Refused, match="stored event 2 of run/1 is out of place"):
        session.replay([second])
    session.replay([first])
    with pytest.raises(Refused, match=r"stored event 1 of run/1 is out of place"):
        session.replay([first])
    session.run_sync()
    with pytest.raises(Refused, match=r"is out of place|had ended before it"):
        session.replay([replace(second, number=len(session.events) + 1)])


def test_chance_is_of_the_seed_and_the_name_without_the_run() -> None:
    def actions(name: str, seed: int = 1) -> list[Any]:
        session = contract("lossy:2", name=name, seed=seed, faults=pxp.Faults(loss=0.5))
        return [one.action for one in session.run_sync().events]

    names = [f"task{number}" for number in range(6)]
    assert len({str(actions(name)) for name in names}) > 1
    assert all(actions(f"one/{name}") == actions(name) == actions(f"two/{name}") for name in names)

    def events(name: str) -> list[Any]:
        sources = {"APPROVE": Chance(0.5), "CANCEL": Chance(0.5)}
        session = pxp.Session(WAITING, SILENT, name=name, events={**sources})
        return [one.action for one in session.run_sync().events]

    drawn = [str(events(f"run/{number}")) for number in range(12)]
    assert drawn == [str(events(f"other/{number}")) for number in range(12)]
    assert len(set(drawn)) == 3  # of two events alike, either, or neither


TRACE = [Exchange("a", "b", "X"), Exchange("b", "a", "Y")]


@pytest.mark.parametrize(
    ("member", "cause"),
    [
        (silent, "action 1 of the trace is a>b X, but a chose wait"),
        (
            lambda _turn: pxp.Intent("X", to="c"),
            "action 1 of the trace is a>b X, but a chose +X to c",
        ),
    ],
)
def test_who_does_something_else_than_the_trace_is_told(member: Any, cause: str) -> None:
    session = pxp.Session(EITHER, {"a": member}, follow=TRACE).run_sync()
    assert (session.ending, session.cause) == (Ending.DIVERGED, cause)


def test_who_leaves_the_trace_where_the_limit_is_reached_has_left_it() -> None:
    for member, ending in ((silent, Ending.DIVERGED), (lambda _turn: "Y", Ending.LIMIT)):
        session = pxp.Session(EITHER, {"b": member}, follow=TRACE, limit=1).run_sync()
        assert session.ending is ending


def test_a_trace_waits_for_its_members_and_leaves_the_others_to_themselves() -> None:
    async def late(turn: pxp.Turn) -> pxp.Intent:
        await asyncio.sleep(0.01)
        return pxp.Intent("X", turn.member, "b")

    session = pxp.Session(EITHER, {"a": late}, follow=TRACE).run_sync()
    assert [one.action for one in session.events] == TRACE
    assert [one.message and one.message.value for one in session.events] == ["a", None]
    assert session.events[1].memory == ""
    assert (session.ending, session.cause) == (
        Ending.IDLE,
        "nobody does what is possible: ! QUIT",
    )
    assert session.description("a").startswith("late")
    assert session.description("b") == "as the trace says"


def test_a_trace_asks_no_payload_of_who_has_no_function_but_its_table_may() -> None:
    rows = [{"from": "S", "to": "T", "send": "X"}]
    takes = [{"from": "S", "to": "T", "receive": "X"}]
    number = {"X": {"type": "integer"}}
    left = pxp.build_automaton("a", rows, final=["T"], peer="b", payloads=number)
    right = pxp.build_automaton("b", takes, final=["T"], peer="a")
    system = pxp.System.load(left, right)
    session = pxp.Session(system, {}, follow=TRACE[:1], record_faults=True).run_sync()
    assert (session.ending, session.events) == (Ending.BROKEN, ())
    assert session.cause.startswith("a: the payload of X does not fit a: $: None is not of type")
    given = pxp.Session(system, {"a": lambda _turn: pxp.Intent("X", 3)}, follow=TRACE[:1])
    assert given.run_sync().ending is Ending.FINISHED


def test_a_trace_of_faults_and_deliveries_is_followed_exactly() -> None:
    trace = [
        Send("hub", "left", "TASK"),
        Deliver("hub", "left", "TASK"),
        Send("hub", "right", "TASK"),
        Send("left", "hub", "BID"),
        Deliver("left", "hub", "BID"),
    ]
    session = contract("fifo:1", follow=trace).run_sync()
    assert [one.action for one in session.events[:5]] == trace
    assert session.ending is Ending.FINISHED
    assert hub(session.turn("hub")).name == "TASK"


@pytest.mark.parametrize(
    ("action", "member"),
    [
        (Exchange("a", "b", "X"), "a"),
        (Send("a", "b", "X", lost=True), "a"),
        (Choose("b", "G", "X"), "b"),
        (Decide("G", "E", "c"), "c"),
        (Deliver("a", "b", "X"), ""),
        (External("E"), ""),
    ],
)
def test_an_action_is_of_the_member_that_decides_it(action: SystemAction, member: str) -> None:
    assert actor_of(action) == member
