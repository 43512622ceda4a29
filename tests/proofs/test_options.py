"""What a row of a system can do in a state, why it cannot, and paths between states."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core.explore import TooLarge, explore
from proofs.core.limits import Effort
from proofs.logic import parse
from proofs.systems import Composition, System
from proofs.systems.encoding import Configuration
from proofs.systems.options import (
    ChannelFull,
    MoveOption,
    NeverSent,
    NotFirst,
    NotOnTheWay,
    NotReceived,
    NotSent,
    Options,
    Reason,
    Settled,
    Stopped,
)
from proofs.systems.paths import choices_of, nearest, nearest_end, states_along
from proofs.systems.product import Move
from pxp_fsm.automata.actions import Choose
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.tables import build_automaton
from pxp_fsm.errors import Refused, UsageError
from tests.proofs.random_systems import random_channel, random_system


def _drawn(seed: int) -> Composition:
    chance = random.Random(seed)
    system = random_system(chance, guards=chance.choice((0, 0.5)), most=3)
    return Composition(system.over(random_channel(chance, system)))


def _some_states(composition: Composition, most: int = 60) -> list[int]:
    found = list(composition.initial())
    for state in found:
        if len(found) >= most:
            break
        targets = (state + move.difference for move in composition.moves(state))
        found += dict.fromkeys(target for target in targets if target not in found)
    return found


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_options_are_the_moves_and_every_other_row_has_a_true_reason(seed: int) -> None:
    composition = _drawn(seed)
    options = Options(composition)
    for state in _some_states(composition):
        moves, found = composition.moves(state), options.of(state)
        at = composition.encoding.configuration(state).at
        rows = [
            (place, row)
            for place, member in enumerate(composition.system.members)
            for row in member.automaton.transitions
            if row.source == at[place]
        ]
        assert [(one.place, one.row) for one in found] == rows
        by_options = {(n, one.place, one.row) for one in found for n in one.moves}
        by_moves = {(n, *taken) for n, move in enumerate(moves) for taken in move.rows}
        assert by_options == by_moves
        for option in found:
            assert option.moves or option.reasons, option
            for reason in option.reasons:
                assert _is_true(composition, state, option, moves, reason), (option, reason)


def _is_true(  # noqa: PLR0911 - a case for each reason
    composition: Composition, state: int, option: MoveOption, moves: list[Move], reason: Reason
) -> bool:
    """What a reason says, read from the configuration and the tables alone."""
    system = composition.system
    here: Configuration = composition.encoding.configuration(state)
    chosen = here.chosen or ("",) * len(here.at)
    names = [member.name for member in system.members]
    buffers = {
        (names[a], names[b]): buffer
        for (a, b), buffer in zip(composition.encoding.links, here.buffers, strict=True)
    }

    def rows(member: str, kind: Kind, tag: str) -> list[str]:
        """To or from whom a member sends or receives the tag in its present state."""
        place = names.index(member)
        return [
            row.partner
            for row in system.members[place].automaton.transitions
            if (row.source, row.kind, row.label) == (here.at[place], kind, tag)
        ]

    me = names[option.place]
    match reason:
        case Settled(member, guard, _):
            return bool(guard) and chosen[names.index(member)] == guard
        case Stopped():
            return not moves and any(chosen)
        case NotReceived(one):
            takers = rows(one.receiver, Kind.RECEIVE, one.tag)
            return one.tag == option.row.label and not {"", me} & {*takers}
        case ChannelFull(sender, receiver, capacity):
            return len(buffers[sender, receiver]) == capacity
        case NotSent(sender, tag, _):
            return tag == option.row.label and not {"", me} & {*rows(sender, Kind.SEND, tag)}
        case NeverSent(sender, receiver, tag):
            assert receiver == me
            return not any(
                row.kind is Kind.SEND and row.label == tag and row.partner in ("", me)
                for member in system.members
                for row in member.automaton.transitions
                if member.name != me and sender in ("", member.name)
            )
        case NotOnTheWay(sender, receiver, tag):
            return receiver == me and tag not in buffers[sender, receiver]
        case NotFirst(sender, receiver, tag, ahead):
            buffer = buffers[sender, receiver]
            return tag in buffer and buffer[0] == ahead != tag and receiver == me


SENDER = build_automaton(
    "sender",
    [
        {"from": "START", "to": "END", "guard": "YES", "send": "A"},
        {"from": "START", "to": "END", "guard": "NO", "send": "B"},
    ],
    final=["END"],
    peer="receiver",
)
RECEIVER = build_automaton(
    "receiver",
    [
        {"from": "READY", "to": "LATER", "receive": "A"},
        {"from": "LATER", "to": "END", "receive": "B"},
    ],
    final=["END"],
    peer="sender",
)


def test_a_message_that_nobody_takes_is_named() -> None:
    composition = Composition(System.load(SENDER, RECEIVER))
    options = Options(composition)
    (start,) = composition.initial()
    told = {one.row.action: (len(one.moves), *map(str, one.reasons)) for one in options.of(start)}
    refused = "peer cannot receive: receiver in READY does not receive B"
    assert told == {"+A": (1,), "+B": (1, refused), "-A": (1,)}
    assert options.deadlock(start) is None
    choice = next(
        n for n, move in enumerate(composition.moves(start)) if isinstance(move.action, Choose)
    )
    *_, stuck = states_along(composition, [choice])
    assert str(options.deadlock(stuck)) == (
        "sender sends B; receiver in READY does not receive it; receiver waits in READY for A: "
        "sender sends B first"
    )
    assert [str(one.reasons[0]) for one in options.of(stuck)] == [
        "guard false: sender has settled NO and sends B first",
        "everything has stopped: sender sends B; receiver in READY does not receive it",
        "everything has stopped: sender sends B; receiver in READY does not receive it",
    ]


def test_reasons_of_a_channel_with_a_buffer() -> None:
    composition = Composition(System.load("pxp", channel="fifo:1"))
    options = Options(composition)
    choices = choices_of(
        composition,
        [move.action for move in [composition.moves(next(iter(composition.initial())))[0]]],
    )
    state = states_along(composition, choices)[-1]
    texts = [str(reason) for one in options.of(state) for reason in one.reasons]
    assert "not sent yet: no RATIFY is on the way from pxp2 to pxp1" in texts
    both = nearest(composition, state, parse("1@WAIT & 2@WAIT"), Effort())
    assert both is not None
    stuck = states_along(composition, (*choices, *both))[-1]
    deadlock = options.deadlock(stuck)
    assert deadlock is not None
    assert str(deadlock.unreceived[0]) == "pxp2 sends INIT; pxp1 in WAIT does not receive it"


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_nearest_state_is_as_near_as_a_plain_search_finds(seed: int) -> None:
    composition = _drawn(seed)
    try:
        space = explore(composition, limit=400)
    except TooLarge:
        return
    names = sorted(composition.propositions(next(iter(composition.initial()))))
    goal = random.Random(seed).choice(names)
    (start,) = composition.initial()
    distances, queue = {start: 0}, deque([start])
    wanted, ends = list[int](), list[int]()
    while queue:
        state = queue.popleft()
        steps = space.steps[state]
        ends += [] if steps else [distances[state]]
        for step in steps:
            if goal in composition.propositions(step.target):
                wanted.append(distances[state] + 1)
            if step.target not in distances:
                distances[step.target] = distances[state] + 1
                queue.append(step.target)
    found = nearest(composition, start, parse(f'"{goal}"'), Effort())
    assert (None if found is None else len(found)) == (min(wanted) if wanted else None)
    if found is not None:
        assert goal in composition.propositions(states_along(composition, found)[-1])
    end = nearest_end(composition, start, Effort())
    assert (None if end is None else len(end)) == (min(ends) if ends else None)


def test_a_goal_may_speak_of_the_step_and_of_nothing_later() -> None:
    composition = Composition(System.load("pxp"))
    (start,) = composition.initial()
    found = nearest(composition, start, parse("1.RATIFY"), Effort())
    assert found is not None
    assert len(found) == 2
    with pytest.raises(UsageError, match="proposition of one state"):
        nearest(composition, start, parse("F ended"), Effort())
    with pytest.raises(UsageError, match="there is no '3@WAIT'"):
        nearest(composition, start, parse("3@WAIT"), Effort())
    with pytest.raises(TooLarge, match="more than 1 states"):
        nearest(composition, start, parse("ended"), Effort(1))


@pytest.mark.parametrize("choices", [(9,), (0, -1), (0, 1, 10**9)])
def test_a_trace_of_another_system_is_refused(choices: tuple[int, ...]) -> None:
    with pytest.raises(Refused, match="trace is of another system"):
        states_along(Composition(System.load("pxp")), choices)


def test_an_event_that_can_happen_has_no_reason_and_what_is_never_sent_has_one() -> None:
    timed = build_automaton(
        "timed",
        [
            {"from": "READY", "to": "END", "event": "TICK"},
            {"from": "READY", "to": "END", "receive": "C"},
            {"from": "READY", "to": "END", "receive": "A"},
        ],
        final=["END"],
        peer="sender",
    )
    composition = Composition(System.load(replace(SENDER, peer="timed"), timed))
    (start,) = composition.initial()
    told = {
        one.row.action: [str(reason) for reason in one.reasons]
        for one in Options(composition).of(start)
    }
    assert told["!TICK"] == []
    assert told["-C"] == ["never sent: no row of anybody sends C to timed"]


def test_who_has_settled_something_else_is_named() -> None:
    """A third member goes on, so that nothing has stopped."""
    rows = [
        {"from": "START", "to": "END", "guard": "YES", "send": "A", "partner": "receiver"},
        {"from": "START", "to": "END", "guard": "NO", "send": "B", "partner": "receiver"},
    ]
    sender = build_automaton("sender", rows, final=["END"])
    takes = [
        {"from": "READY", "to": "LATER", "receive": "A", "partner": "sender"},
        {"from": "READY", "to": "LATER", "receive": "GO", "partner": "third"},
        {"from": "LATER", "to": "END", "receive": "B", "partner": "sender"},
    ]
    receiver = build_automaton("receiver", takes, final=["END"])
    goes = [{"from": "START", "to": "END", "send": "GO", "partner": "receiver"}]
    third = build_automaton("third", goes, final=["END"])
    composition = Composition(System.load(sender, receiver, third))
    (start,) = composition.initial()
    choice = next(
        n for n, move in enumerate(composition.moves(start)) if isinstance(move.action, Choose)
    )
    *_, settled = states_along(composition, [choice])
    told = {
        one.row.action: [str(reason) for reason in one.reasons]
        for one in Options(composition).of(settled)
    }
    assert told["-A from sender"] == ["guard false: sender has settled NO and sends B first"]
