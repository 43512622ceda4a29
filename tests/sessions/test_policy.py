"""Policies: who acts next, what a faulty channel does, and what a schedule is asked of a system."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.actions import Deliver, Send, SystemAction
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import Member
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import Refused, TableError, UsageError
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome
from pxp_fsm.protocol.rules import Ending, Interact
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.policy import Alone, Free, Schedule, _one_of
from tests.proofs.text_tables import table
from tests.sessions.agents import (
    Asked,
    Deciding,
    Saying,
    Student,
    agent,
    now,
    session,
    tags,
    yes_or_no,
)
from tests.sessions.small_systems import SILENT, contract, two

SAID = Answer("mammal", "It breathes air.")


def never() -> random.Random:
    raise AssertionError("there is nothing to be drawn")


class Least(random.Random):
    """Draws the least number that there is."""

    def random(self) -> float:
        return 0.0


def drawn(
    channel: str, action: SystemAction, faults: pxp.Faults, chance: type[random.Random]
) -> SystemAction:
    found = _one_of([(action, None)], parse_channel(channel), faults, lambda: chance(1))
    assert found is not None
    return found[0]


def test_nothing_is_drawn_where_only_one_thing_can_happen() -> None:
    sent = Send("a", "b", "X")
    for channel in ("sync", "fifo:2", "reordering:2"):
        assert _one_of([(sent, None)], parse_channel(channel), pxp.Faults(), never) == (sent, None)
        assert _one_of([], parse_channel(channel), pxp.Faults(), never) is None
    assert _one_of([], parse_channel("lossy:1"), pxp.Faults(), never) is None


@pytest.mark.parametrize("chance", [random.Random, Least])
@pytest.mark.parametrize("certain", [0.0, 1.0])
@pytest.mark.parametrize("channel", ["{}:1", "fifo:1,a:b={}:1"])
def test_a_certain_fault_always_happens_and_an_impossible_one_never(
    channel: str, certain: float, chance: type[random.Random]
) -> None:
    faults = pxp.Faults(loss=certain, duplication=certain)
    sent = drawn(channel.format("lossy"), Send("a", "b", "X"), faults, chance)
    taken = drawn(channel.format("duplicating"), Deliver("a", "b", "X"), faults, chance)
    assert isinstance(sent, Send)
    assert isinstance(taken, Deliver)
    assert (sent.lost, taken.kept) == (bool(certain), bool(certain))


def test_a_free_policy_draws_from_the_seed_0_unless_told_otherwise() -> None:
    assert Free(two("S -> [T] send X", "S -> [T] receive X")).seed == 0
    assert contract().policy.seed == 0  # type: ignore[attr-defined]


def scheduled(act: Callable[[pxp.Turn], pxp.Intent | None]) -> pxp.Session:
    """Members that are functions, under the schedule of INTERACT."""
    members = tuple(Member(name, builtin("interact")) for name in ("m", "h"))
    system = pxp.System(members, parse_channel("sync"))
    acts = dict.fromkeys(("m", "h"), act)
    return pxp.Session(system, acts, policy=Schedule(Interact(), ("m", "h")))


def test_who_waits_when_it_is_its_turn_ends_a_session_under_a_schedule() -> None:
    made = scheduled(lambda _turn: None).run_sync()
    assert (made.ending, made.cause) == (Ending.IDLE, "it is the turn of m, who waits")
    assert made.history == ()


def test_a_schedule_takes_the_oldest_message_of_those_that_are_offered() -> None:
    made = contract("reordering:2")
    policy = Schedule(Interact(), ("hub", "left"))
    made.live.messages["hub", "left"] = [
        Message("s", number, "hub", "TASK", SAID, "left") for number in (1, 2)
    ]
    action = next(one for one in made.live.deliveries() if isinstance(one, Deliver))
    assert policy.delivered(made, action).number == 1


def test_who_hangs_up_is_heard_in_the_order_in_which_it_spoke() -> None:
    rules = pxp.Pxp(1, hang_up=lambda sent, _: sent in ("RATIFY", "REFUTE", "REVISE"))
    over = {
        channel: session(agent(), agent(), rules, channel=channel) for channel in ("sync", "fifo:2")
    }
    for made in over.values():
        now(made.run())
        assert tags(made) == ("INIT", "RATIFY", "TERM")
        assert [message.sender for message in made.history] == ["m", "h", "h"]
    assert over["sync"].states == over["fifo:2"].states


def test_sessions_that_never_wait_go_on_side_by_side() -> None:
    order: list[str] = []

    def named(name: str) -> pxp.Session:
        say = Saying(lambda _question: order.append(name) or Answer(str(len(order)), "e"))  # type: ignore[func-returns-value]
        return session(agent(say), agent(say), Interact(6, 9))

    async def both() -> None:
        await asyncio.gather(named("one").run(), named("two").run())

    asyncio.run(both())
    assert set(order[:4]) == {"one", "two"}


def test_what_an_agent_is_told_of_its_turn() -> None:
    made = session(agent(), agent(), Interact())
    now(made.step())
    turn = made.turn("h")
    assert (turn.session, turn.instance, turn.member) == (
        "s",
        Instance("x", "an instance"),
        "h",
    )
    assert [message.tag for message in turn.messages] == ["INIT"]


def test_what_was_judged_since_is_judged_again_once_a_session_was_taken_back() -> None:
    judge = Asked(lambda left, right: yes_or_no(left == right))
    other = agent(Saying(lambda _question: SAID), match=judge)
    made = session(agent(), other, Interact())
    now(made.step())
    withdraw = made.withdrawing()
    now(made.step())
    first = list(judge.pairs)
    assert first
    withdraw()
    now(made.step())
    assert judge.pairs == first * 2


def test_members_that_are_functions_forget_what_they_heard_once_a_session_was_taken_back() -> None:
    made = contract()
    now(made.step())
    before, withdraw = made.turn("left"), made.withdrawing()
    while made.ending is None:
        now(made.step())
    assert made.turn("left") != before
    withdraw()
    assert made.turn("left") == before
    assert [message.tag for message in made.turn("hub").messages] == ["TASK"]


def test_a_session_of_functions_assumes_nothing_of_relations() -> None:
    assert contract().assumptions == frozenset()


def test_members_are_given_by_their_names() -> None:
    system = two("S -> [T] send X", "S -> [T] receive X")
    with pytest.raises(UsageError, match="a session has members by their names: a, b"):
        pxp.Session(system, [*SILENT])  # type: ignore[arg-type]


def test_tables_that_do_not_hear_each_other_make_no_system() -> None:
    one, other = (table(name, f"S -> [T] send {tag}") for name, tag in (("one", "X"), ("two", "Y")))
    with pytest.raises(TableError, match=r"one sends X, [^\n]*\ntwo sends Y, "):
        pxp.System((Member("m", one), Member("h", other)), free_names=True)


def test_what_functions_judged_at_the_end_is_no_lesson() -> None:
    over = contract().run_sync()
    again = contract()
    judged = Judgement("MATCH", "1", "2", Outcome.NO, True, 0.1)
    again.replay(over.events, (judged,))
    assert (again.states, again.length) == (over.states, over.length)


def test_a_session_describes_who_sits_in_it() -> None:
    m, h = agent(), agent(Student("s"))
    made = session(m, h, Interact())
    assert [made.description(name) for name in "mh"] == [m.describe(), h.describe()]
    assert contract(follow=contract().run_sync().events).description("hub") != ""


def test_an_agent_decides_by_the_guards_of_its_state_alone() -> None:
    later = table(
        "later",
        """
        IDLE -> WAIT send INIT
        IDLE -> DECIDE receive INIT
        DECIDE -> [OVER] send RATIFY if RAT
        DECIDE -> LATER send REFUTE if REF
        LATER -> [OVER] send REVISE if REV
        WAIT -> [OVER] receive RATIFY
        WAIT -> [OVER] receive REFUTE
        WAIT -> [OVER] receive REVISE""",
    )
    seen: list[tuple[str, ...]] = []

    def decide(situation: Situation) -> Valuation:
        seen.append(situation.guards)
        return situation.choosing("RAT")

    made = session(agent(), agent(guards=Deciding(decide)), Interact(table=later))
    now(made.step())
    now(made.step())
    assert seen == [("RAT", "REF")]
    assert set(later.guards) == {"RAT", "REF", "REV"}


def test_memories_are_taken_back_with_the_session() -> None:
    def counts(turn: pxp.Turn) -> pxp.Intent:
        turn.memory["said"] = turn.memory.get("said", 0) + 1
        return pxp.Intent("X")

    system = two("S -> S send X\nS -> [T] event STOP", "S -> S receive X\nS -> [T] event STOP")
    made = pxp.Session(system, {"a": counts, "b": lambda _turn: None})
    now(made.step())
    before, withdraw = made.turn("a"), made.withdrawing()
    now(made.step())
    assert (before.memory, made.turn("a").memory) == ({"said": 1}, {"said": 2})
    withdraw()
    assert made.turn("a") == before


def test_a_message_is_said_once_however_it_travels() -> None:
    made = contract("fifo:1").run_sync()
    sent = [event.message for event in made.events if isinstance(event.action, Send)]
    assert list(made.history) == sent
    for name in made.states:
        heard = made.turn(name).messages
        assert len(heard) == len({message.number for message in heard}) > 0


def test_a_session_keeps_the_faults_that_it_was_given() -> None:
    assert contract().faults == pxp.Faults()
    assert contract(faults=pxp.Faults(loss=1)).faults == pxp.Faults(loss=1)


def test_a_stored_event_that_cannot_happen_is_refused_by_its_place() -> None:
    first, *_, last = contract().run_sync().events
    with pytest.raises(Refused, match=r"stored event 1 of own/1 \('.*'\) was refused"):
        contract().replay([replace(last, number=1)])
    contract().replay([first])


DESK = pxp.build_automaton(
    "desk",
    [
        {"from": "IDLE", "to": "ASKED", "event": "ASK"},
        {"from": "ASKED", "to": "DONE", "guard": "YES", "event": "GRANT"},
        {"from": "ASKED", "to": "IDLE", "guard": "NO", "event": "DENY"},
    ],
    final=["DONE"],
)


def alone(happens: Callable[[str], Awaitable[str]], *guards: str) -> pxp.Session:
    left = iter(guards)
    decides = pxp.Actor(lambda _turn: None, guards=lambda _turn: next(left))
    system = pxp.System((Member("the desk", DESK),), free_names=True)
    return pxp.Session(system, {"the desk": decides}, policy=Alone(happens))


def test_a_table_alone_decides_what_its_guards_say_and_else_has_something_happen() -> None:
    asked = list[str]()

    async def happens(state: str) -> str:
        asked.append(state)
        return "ASK"

    session = alone(happens, "NO", "YES").run_sync()
    assert [event.label for event in session.events] == ["ASK", "DENY", "ASK", "GRANT"]
    assert [event.guard for event in session.events] == ["", "NO", "", "YES"]
    assert (asked, session.ending) == (["IDLE", "IDLE"], Ending.FINISHED)
    assert session.states == {"the desk": "DONE"}
    again = alone(happens)
    again.replay(session.events)
    assert again.states == session.states


def test_what_cannot_happen_to_a_table_alone_ends_its_session() -> None:
    async def happens(_state: str) -> str:
        return "GRANT"

    session = alone(happens).run_sync()
    assert (session.ending, session.length) == (Ending.DEADLOCK, 0)
    assert "possible now is ! ASK" in session.cause
