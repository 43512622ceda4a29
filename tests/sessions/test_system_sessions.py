"""A system's session: who is asked, what may happen, what is refused, and how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.systems import check_standard
from pxp_fsm.automata.actions import Deliver, External, Send
from pxp_fsm.errors import PXPError, Refused, UsageError
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.pending import Chance
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import agent
from tests.sessions.small_systems import (
    SILENT,
    STUCK,
    WAITING,
    contract,
    hub,
    two,
    wrong,
)
from tests.waiting import comes


@pytest.mark.parametrize("channel", ["sync", "fifo:1", "reordering:2", "duplicating:1"])
def test_three_members_come_to_an_end_over_any_channel(channel: str) -> None:
    session = contract(channel, seed=3)
    session.run_sync()
    taken = [one for one in session.events if str(one.action).endswith("+TAKE")]
    if channel == "sync":
        assert [str(one.action) for one in session.events][-1] == "hub>right TAKE"
        assert session.ending is Ending.FINISHED
        assert session.states == {"hub": "OVER", "left": "OVER", "right": "DONE"}
    elif channel != "duplicating:1":
        assert [str(one.action) for one in taken] == ["hub>right +TAKE"]
        assert session.ending is Ending.FINISHED
    assert session.events[0].message is not None
    assert session.events[0].message.value == {"of": "a lamp"}


def test_a_lost_message_is_seen_in_the_run() -> None:
    endings = {contract("lossy:1", seed=seed).run_sync().ending for seed in range(10)}
    assert {Ending.FINISHED, Ending.DEADLOCK} == endings
    certain = contract("lossy:1", faults=pxp.Faults(loss=1)).run_sync()
    assert str(certain.events[0].action) == "hub>left +TASK lost"
    assert certain.ending is Ending.DEADLOCK


def test_a_seed_determines_what_happens() -> None:
    def actions(seed: int) -> list[Any]:
        return [one.action for one in contract("lossy:2", seed=seed).run_sync().events]

    assert [actions(seed) for seed in range(8)] == [actions(seed) for seed in range(8)]
    assert len({str(actions(seed)) for seed in range(8)}) > 1


def test_a_chosen_guard_whose_message_nobody_takes_is_a_deadlock_as_in_the_checker() -> None:
    session = pxp.Session(STUCK, {"a": lambda _turn: "H", "b": lambda _turn: None}).run_sync()
    assert session.ending is Ending.DEADLOCK
    assert session.cause == "a in S has chosen H and cannot send Y: b is in S, which takes -X"
    assert [str(one.action) for one in session.events] == ["a H/+Y"]
    (found,) = check_standard(STUCK, ["no-deadlock"])
    assert found.verdict.trace is not None
    assert found.verdict.trace.labels == ("a H/+Y",)


def test_a_deadlock_tells_each_member_its_state_and_what_was_lost() -> None:
    session = contract("lossy:1", faults=pxp.Faults(loss=1)).run_sync()
    assert (session.ending, session.cause) == (
        Ending.DEADLOCK,
        "hub in ASKED2 waits for -BID; left in IDLE waits for -TASK; "
        "right in IDLE waits for -TASK; "
        "TASK of hub to left was lost; TASK of hub to right was lost",
    )
    system = two("S -> T send X\nT -> [U] receive Y", "[S] -> T receive X\nT -> S send Y if G")
    members = {"a": lambda _turn: "X", "b": lambda _turn: None}
    idle = pxp.Session(system, members).run_sync()
    assert (idle.ending, idle.cause) == (Ending.IDLE, "nobody does what is possible: b>a Y")
    full = two(
        "S -> T send X\nT -> [U] send X\nU -> U receive Z",
        "S -> [T] receive Y\n[T] -> T send Z\nT -> T receive X",
        "fifo:1",
    )
    stopped = pxp.Session(full, {"a": lambda _turn: "X", "b": lambda _turn: None}).run_sync()
    assert stopped.cause == (
        "a in T cannot send X: the buffer to b is full (1); "
        "b is in S, which takes -Y, and X from a comes next; b in S waits for -Y"
    )


def test_events_come_from_timers_functions_and_callers() -> None:
    asked = list[int]()

    async def person() -> bool:
        asked.append(1)
        return True

    by_person = pxp.Session(WAITING, SILENT, events={"APPROVE": person}).run_sync()
    assert [one.action for one in by_person.events] == [External("APPROVE")]
    assert (by_person.states, asked) == ({"a": "T", "b": "T"}, [1])
    by_timer = pxp.Session(WAITING, SILENT, events={"APPROVE": 60, "CANCEL": 0.01}).run_sync()
    assert [one.action for one in by_timer.events] == [External("CANCEL")]

    async def by_caller() -> Session:
        session = pxp.Session(WAITING, SILENT, events={"APPROVE": None})
        running = asyncio.create_task(session.run())
        for _ in range(100):  # rounds of the event loop
            await asyncio.sleep(0)
        with pytest.raises(Refused, match="refused: no member takes it, for a is in S, b is in S"):
            session.raise_event("NONE")
        assert session.events == ()
        session.raise_event("APPROVE")
        return await running

    assert asyncio.run(by_caller()).ending is Ending.FINISHED


def test_chance_is_drawn_anew_before_each_action_and_the_same_where_it_is_resumed() -> None:
    def ran(seed: int, probability: float) -> Session:
        events = {"APPROVE": Chance(probability), "CANCEL": None}
        session = pxp.Session(WAITING, SILENT, seed=seed, events={**events, "CANCEL": 0.001})
        return session.run_sync()

    assert {str(ran(seed, 1).events[0].action) for seed in range(5)} == {"! APPROVE"}
    assert {str(ran(seed, 0).events[0].action) for seed in range(5)} == {"! CANCEL"}
    firsts = [str(ran(seed, 0.5).events[0].action) for seed in range(12)]
    assert set(firsts) == {"! APPROVE", "! CANCEL"}
    assert firsts == [str(ran(seed, 0.5).events[0].action) for seed in range(12)]


def test_nobody_does_what_is_possible() -> None:
    session = pxp.Session(WAITING, SILENT).run_sync()
    assert session.ending is Ending.IDLE
    assert session.cause == "nobody does what is possible: ! APPROVE, ! CANCEL"


def test_a_message_interrupts_who_thinks() -> None:
    """It is asked anew where the message has led it, and what it thought is void."""
    told = list[str]()

    async def thinks(turn: pxp.Turn) -> str | None:
        told.append(turn.state)
        if turn.state == "S":
            await asyncio.sleep(600)
        return "BYE"

    system = two(
        "S -> T send X if G\nS -> U receive STOP\nU -> [T] send BYE",
        "S -> T send STOP\nT -> [U] receive BYE\nT -> [V] receive X",
        "fifo:1",
    )

    async def stops(turn: pxp.Turn) -> str:
        await comes(lambda: told)
        return "STOP"

    session = pxp.Session(system, {"a": thinks, "b": stops}).run_sync()
    assert (session.ending, told) == (Ending.FINISHED, ["S", "U"])


def test_what_a_member_remembers_is_its_own_and_is_kept() -> None:
    def counts(turn: pxp.Turn) -> pxp.Intent:
        turn.memory["sent"] = turn.memory.get("sent", 0) + 1
        return pxp.Intent("X", turn.memory["sent"])

    system = two("[S] -> [S] send X", "[S] -> [S] receive X")
    session = pxp.Session(system, {"a": counts, "b": lambda _turn: None}, limit=3).run_sync()
    assert [one.message.value for one in session.events if one.message] == [1, 2, 3]
    assert session.events[-1].memory == '{"sent":3}'
    assert (session.ending, session.cause) == (Ending.LIMIT, "stopped after 3 actions")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: pxp.Session(STUCK, {"a": hub}), "nobody answers for b"),
        (lambda: pxp.Session(STUCK, {"c": hub}), "no member 'c'; its members are a, b"),
        (
            lambda: pxp.Session(STUCK, {"a": wrong(1), "b": hub}),
            "member a is 1; a member is a function",
        ),
        (lambda: pxp.Session(STUCK, SILENT, limit=0), "at least 1 action"),
        (lambda: pxp.Session(STUCK, SILENT, events={"X": 1}), "no event 'X' from outside|has an"),
        (
            lambda: pxp.Session(WAITING, SILENT, events={"CANCEL": wrong("now")}),
            "event CANCEL is raised",
        ),
        *(
            (lambda p=p: pxp.Session(WAITING, SILENT, events={"CANCEL": Chance(p)}), "a Chance")
            for p in (-0.1, 1.5, float("nan"), True, wrong("often"))
        ),
        (lambda: pxp.Faults(loss=2), "loss is a probability"),
        (lambda: pxp.Actor(hub, timeout=0), "a timeout is a number"),
        (lambda: pxp.Actor(hub, guards=wrong("G")), "guards are functions"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_given(make: Any, said: str) -> None:
    with pytest.raises(PXPError, match=said):
        make()


def test_what_is_refused_leaves_everything_as_it_was() -> None:
    session = contract("fifo:1")
    with pytest.raises(Refused, match=r"possible now is hub>left \+TASK"):
        session.live.take(Send("hub", "right", "TASK"))
    assert session.states == {"hub": "IDLE", "left": "IDLE", "right": "IDLE"}


def letters(channel: str, seed: int) -> tuple[list[int], list[int]]:
    """The payloads that were sent at once, and those that arrived, each in their order."""
    system = two(
        "A -> B send X\nB -> C send Y\nC -> D send X\n[D] -> [D] receive NOTHING",
        "S -> T event OPEN\n[T] -> [T] receive X\n[T] -> [T] receive Y\n[T] -> [T] send NOTHING",
        channel,
    )
    numbers = iter((1, 2, 3))

    def sends(turn: pxp.Turn) -> pxp.Intent | None:
        return pxp.Intent(turn.tags[0], next(numbers)) if turn.tags else None

    session = pxp.Session(
        system,
        {"a": sends, "b": lambda _turn: None},
        seed=seed,
        faults=pxp.Faults(loss=0),
        events={"OPEN": 0.02},
    ).run_sync()
    assert session.ending is Ending.FINISHED
    sent = [one for one in session.events if isinstance(one.action, Send)]
    came = [one for one in session.events if isinstance(one.action, Deliver)]
    lost = {one.number for one in sent if isinstance(one.action, Send) and one.action.lost}
    assert {one.message.number for one in came if one.message} == {
        one.number for one in sent if one.number not in lost
    }
    return (
        [one.message.value for one in sent if one.message],
        [one.message.value for one in came if one.message],
    )


def test_letters_arrive_in_the_order_of_their_channel_each_with_its_payload() -> None:
    assert letters("fifo:3", 1) == ([1, 2, 3], [1, 2, 3])
    orders = {tuple(letters("reordering:3", seed)[1]) for seed in range(12)}
    assert {tuple(sorted(order)) for order in orders} == {(1, 2, 3)}
    assert (3, 2, 1) in orders or (3, 1, 2) in orders  # of one tag, the later may come first
    assert len(orders) > 2


def test_what_finds_the_buffer_of_a_lossy_channel_full_is_lost() -> None:
    assert letters("lossy:1", 1) == ([1, 2, 3], [1])
    assert letters("lossy:2", 1) == ([1, 2, 3], [1, 2])


def test_what_a_session_has_no_use_for_is_refused() -> None:
    members = {name: agent() for name in "mh"}
    faults = pxp.Faults(0.5)
    of_systems: dict[str, Any] = {
        "seed": 3,
        "faults": faults,
        "events": {"X": None},
        "follow": [1],
        "policy": contract().policy,
    }
    for name, value in of_systems.items():
        with pytest.raises(UsageError, match=f"{name} has no effect in a session of interact"):
            pxp.Session(pxp.Interact(), members, instance="x", **{name: value})
    of_two: dict[str, Any] = {"earlier": {"hub": ()}, "update_context": lambda *_: ""}
    for name, value in of_two.items():
        with pytest.raises(UsageError, match=f"{name} has no effect in a session of a system"):
            contract(**{name: value})
    with pytest.raises(UsageError, match="is about an instance"):
        pxp.Session(pxp.Interact(), members)
    for channel in ("lossy:1", "duplicating:1", "reordering:2", "fifo:1,hub:book=fifo:2"):
        with pytest.raises(UsageError, match=f"talk over sync or fifo:C, not {channel}"):
            pxp.Session(pxp.Interact(), members, instance="x", channel=channel)
    with pytest.raises(UsageError, match="closes by its own rules"):
        pxp.Session(pxp.Interact(), members, instance="x").raise_event("CLOSE")


def test_every_session_is_of_one_class() -> None:
    two = {name: agent() for name in "mh"}
    for session in (contract(), pxp.Session(pxp.Pxp(), two, instance="x", channel="fifo:1")):
        assert isinstance(session, pxp.Session)
        assert type(session) is pxp.Session
        assert session.taking_turns == ""
    members: Any = contract().members
    over = pxp.Session(contract().system, members, channel="fifo:3")
    assert over.system.channel.name == "fifo:3"
