"""A live system: what can happen is checked, happens, is taken back; and refusals say why."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

import pxp_fsm as pxp
from proofs.systems import Member, parse_channel
from pxp_fsm.automata.actions import (
    KINDS,
    Blocked,
    Choose,
    Decide,
    Deliver,
    Exchange,
    External,
    Send,
    SystemAction,
    Unreceived,
    action_of,
    record_of,
)
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.protocol.messages import NOTHING, Json, Message
from pxp_fsm.sessions.live import LiveSystem
from tests.proofs.text_tables import table
from tests.sessions.random_sessions import drawn_system
from tests.sessions.small_systems import system_over


def nameable(system: pxp.System) -> Iterator[SystemAction]:
    """Every action that can be said of a system, whether or not it ever happens."""
    names = [member.name for member in system.members]
    rows = [row for member in system.members for row in member.automaton.transitions]
    labels = sorted({row.label for row in rows})
    guards = sorted({row.guard for row in rows if row.guard})
    for one, other, label, flag in product(names, names, labels, (False, True)):
        yield Send(one, other, label, lost=flag)
        yield Deliver(one, other, label, kept=flag)
    for one, other, label in product(names, names, labels):
        yield Exchange(one, other, label)
    for name, guard, label in product(names, guards, labels):
        yield Choose(name, guard, label)
        yield Decide(guard, label, name)
    yield from map(External, labels)


def test_an_action_is_taken_exactly_where_it_is_possible() -> None:
    """Along random walks: what is refused changes nothing, and what is taken moves its members."""
    taken = set[str]()
    for seed in range(25):
        chance = random.Random(seed)
        live = LiveSystem(drawn_system(chance))
        every = set(nameable(live.system))
        for _ in range(6):
            possible = live.possible()
            assert set(possible) <= every
            before = live.states, dict(live.chosen), {k: list(v) for k, v in live.messages.items()}
            for action in chance.sample(sorted(every - set(possible), key=repr), 5):
                with pytest.raises(Refused, match="was refused: "):
                    live.take(action)
            assert before == (live.states, live.chosen, live.messages)
            if not possible:
                break
            action = chance.choice(possible)
            moved = dict(live.take(action))
            taken.add(record_of(action).kind)
            for name, state in live.states.items():
                chose = isinstance(action, Choose) and action.member == name
                row = moved.get(name)
                source, target = (row.source, row.target) if row else (state, state)
                assert (before[0][name], state) == (source, source if chose else target)
                assert live.chosen[name] == (row if chose else None if row else before[1][name])
    assert taken == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_words_of_an_action_mean_that_action(kind: str) -> None:
    system = system_over("lossy+duplicating:1")
    found = [one for one in nameable(system) if record_of(one).kind == kind]
    assert found
    assert [action_of(record_of(one)) for one in found] == found
    with pytest.raises(UsageError, match=f"there is no action '{kind}s'"):
        action_of(record_of(found[0])._replace(kind=f"{kind}s"))


def live(channel: str, **tables: str) -> LiveSystem:
    members = tuple(Member(name, table(name, text)) for name, text in tables.items())
    return LiveSystem(pxp.System(members, parse_channel(channel)))


ASKS = "IDLE -> WAIT send ASK\nWAIT -> [OVER] receive YES\nWAIT -> [OVER] receive NO\n"
SAYS = (
    "IDLE -> HEARD receive ASK\nHEARD -> [OVER] send YES if FREE\nHEARD -> [OVER] send NO if BUSY\n"
)


def test_a_refusal_says_why_and_what_is_possible() -> None:
    system = live("sync", asker=ASKS, sayer=SAYS)
    for action, why in (
        (Exchange("sayer", "asker", "YES"), "sayer is in IDLE, which sends nothing"),
        (Exchange("asker", "nobody", "ASK"), "asker is in IDLE, which sends +ASK"),
        (Exchange("nobody", "asker", "ASK"), "the members are asker, sayer"),
        (Exchange("asker", "sayer", "HELLO"), "asker is in IDLE, which sends +ASK"),
        (Deliver("asker", "sayer", "ASK"), "on the way from asker to sayer is nothing"),
        (External("STOP"), "no member takes it, for asker is in IDLE, sayer is in IDLE"),
        (Choose("sayer", "FREE", "YES"), "sayer is in IDLE, which sends nothing"),
        (Choose("nobody", "FREE", "YES"), "the members are asker, sayer"),
        (Decide("FREE", "YES", "nobody"), "the members are asker, sayer"),
    ):
        with pytest.raises(Refused) as caught:
            system.take(action)
        assert str(caught.value) == (
            f"{action} was refused: {why}; possible now is asker>sayer ASK"
        )
    with pytest.raises(Refused, match=r"^what I did was refused: the members are"):
        system.check(Exchange("nobody", "asker", "ASK"), lambda: "what I did")
    system.take(Exchange("asker", "sayer", "ASK"))
    with pytest.raises(Refused) as caught:
        system.take(Exchange("asker", "sayer", "ASK"))
    assert "asker is in WAIT, which sends nothing; possible now is sayer>asker YES, " in str(
        caught.value
    )
    assert list(system.waits()) == ["asker in WAIT waits for -YES, -NO"]
    system.take(Exchange("sayer", "asker", "NO"))
    assert (system.states, system.ended) == ({"asker": "OVER", "sayer": "OVER"}, True)
    assert list(system.waits()) == ["asker in OVER is over", "sayer in OVER is over"]


def test_a_full_buffer_and_what_cannot_be_received_are_told_apart() -> None:
    system = live(
        "fifo:1",
        left="A -> A send X\nA -> B send Y\n",
        right="A -> [B] receive X\n[B] -> [B] receive Y\n",
    )
    system.take(Send("left", "right", "X"))
    with pytest.raises(Refused, match=r"\+X was refused: the buffer to right is full \(1\); poss"):
        system.take(Send("left", "right", "X"))
    with pytest.raises(Refused, match=r"on the way from left to right is X; possible"):
        system.take(Deliver("left", "right", "Y"))
    for channel, why in (
        ("fifo:2,left:right=reordering:2", "right is in A, which takes -X"),
        ("fifo:2", "on the way from left to right is X, Y"),
        ("reordering:2", "right is in A, which takes -X"),
    ):
        other = live(
            channel,
            left="A -> A send X\nA -> A send Y\n",
            right="A -> [B] receive X\n[B] -> [B] receive Y\n",
        )
        for tag in "XY":
            other.take(Send("left", "right", tag))
        with pytest.raises(Refused, match=rf"right -Y was refused: {why}; possible now is"):
            other.take(Deliver("left", "right", "Y"))
    assert system.messages == {("left", "right"): [Message("", 0, "left", "X", NOTHING, "right")]}
    system.take(Deliver("left", "right", "X"))
    system.take(Send("left", "right", "X"))
    with pytest.raises(Refused) as caught:
        system.take(Deliver("left", "right", "X"))
    assert str(caught.value) == (
        "left>right -X was refused: right is in B, which takes -Y; possible now is nothing; "
        "left in A cannot send X: the buffer to right is full (1); "
        "left in A cannot send Y: the buffer to right is full (1); "
        "right is in B, which takes -Y, and X from left comes next"
    )


def test_a_full_buffer_is_that_of_the_link() -> None:
    texts = {"left": "A -> A send X\n", "right": "A -> A receive X\nA -> A send Y\n"}
    texts["left"] += "A -> A receive Y\n"
    system = live("fifo:2,left:right=fifo:1", **texts)
    system.take(Send("left", "right", "X"))
    with pytest.raises(Refused, match=r"the buffer to right is full .1.; possible"):
        system.take(Send("left", "right", "X"))
    for _ in range(2):
        system.take(Send("right", "left", "Y"))
    with pytest.raises(Refused, match=r"the buffer to left is full .2.; possible"):
        system.take(Send("right", "left", "Y"))


def test_who_has_chosen_has_no_other_obstacle() -> None:
    system = live(
        "sync",
        left="A -> B send X if G\nA -> B send Y if H\nA -> A receive Z\n",
        right="A -> [C] send Z\n[C] -> [C] receive X\n[C] -> [C] receive Y\n",
    )
    takes = "right is in A, which takes nothing"
    assert list(system.obstacles()) == [
        f"left in A cannot send X: {takes}",
        f"left in A cannot send Y: {takes}",
    ]
    system.take(Choose("left", "H", "Y"))
    assert list(system.obstacles()) == [
        f"left in A has chosen H and cannot send Y: {takes}",
        "right in A cannot send Z: left has Y to send first",
    ]


def test_a_chosen_message_is_sent_first() -> None:
    """Over meeting members a guard may be settled before the other can take its message."""
    system = live(
        "sync",
        left="A -> B send X if G\nA -> B send Y if H\nA -> A receive Z\n",
        right="A -> [C] send Z\nA -> [C] receive X\n[C] -> [C] receive Y\n",
    )
    assert set(map(str, system.possible())) == {"left>right X", "left H/+Y", "right>left Z"}
    system.take(Choose("left", "H", "Y"))
    assert (system.stopped, system.possible(), system.rows("left")) == (True, [], ())
    with pytest.raises(Refused) as caught:
        system.take(Exchange("right", "left", "Z"))
    assert "left has Y to send first" in str(caught.value)
    with pytest.raises(Refused, match="left>right X was refused: left has Y to send first; "):
        system.take(Exchange("left", "right", "X"))
    assert "left in A has chosen H and cannot send Y: right is in A, which takes -X" in str(
        caught.value
    )


def test_letters_of_one_tag_are_delivered_by_choice_only_where_they_are_reordered() -> None:
    text = {
        "left": "A -> A send X\nA -> A send Y\n",
        "right": "A -> A receive X\nA -> A receive Y\n",
    }
    for channel, delivered in (("fifo:3", [1]), ("reordering:3", [1, 3])):
        system = live(channel, **text)
        for number, tag in enumerate("XYX", start=1):
            system.take(
                Send("left", "right", tag), Message("", number, "left", tag, NOTHING, "right")
            )
        offered = system.offered(Deliver("left", "right", "X"))
        assert [message.number for message in offered] == delivered
        back = system.withdrawing()
        system.move(Deliver("left", "right", "X"))
        ordered = ("Y", "X") if channel.startswith("fifo") else ("X", "Y")
        assert system.buffer(("left", "right")) == ordered
        back()
        other = Message("", 9, "left", "X", NOTHING, "right")
        with pytest.raises(Refused, match="another message comes next"):
            system.take(Deliver("left", "right", "X"), other)
        system.take(Deliver("left", "right", "X"), offered[-1])
        left = [message.number for message in system.messages["left", "right"]]
        assert left == [number for number in (1, 2, 3) if number != delivered[-1]]
        assert system.buffer(("left", "right")) == tuple("YX" if delivered == [1] else "XY")


def test_a_kept_letter_stays_and_a_lost_one_never_was() -> None:
    text = {"left": "A -> A send X\n", "right": "A -> A receive X\n"}
    system = live("lossy+duplicating:1", **text)
    system.take(
        Send("left", "right", "X", lost=True), Message("", 1, "left", "X", NOTHING, "right")
    )
    assert system.messages == {("left", "right"): []}
    system.take(
        Send("left", "right", "X"), Message("", 2, "left", "X", Json('{"size":3}'), "right")
    )
    system.take(Deliver("left", "right", "X", kept=True))
    (message,) = system.messages["left", "right"]
    assert (message.number, message.value) == (2, {"size": 3})
    system.take(Deliver("left", "right", "X"))
    assert system.messages == {("left", "right"): []}


def test_the_row_of_a_decision_is_that_of_the_present_state() -> None:
    system = live("sync", asker=ASKS, sayer=SAYS)
    row = system.row_of(Exchange("asker", "sayer", "ASK"))
    assert (row.kind, row.label, row.guard) == (Kind.SEND, "ASK", None)
    with pytest.raises(Refused, match="sayer is in IDLE, which sends nothing"):
        system.row_of(Exchange("sayer", "asker", "YES"))
    system.take(Exchange("asker", "sayer", "ASK"))
    assert system.row_of(Exchange("sayer", "asker", "NO")).guard == "BUSY"
    assert system.row_of(Choose("sayer", "FREE", "YES")).label == "YES"


def test_the_oldest_letter_is_delivered_where_none_is_chosen() -> None:
    system = live("reordering:4", left="A -> A send X\n", right="A -> A receive X\n")
    for number in (1, 2, 3):
        system.take(Send("left", "right", "X"), Message("", number, "left", "X", NOTHING, "right"))
    assert list(system.obstacles()) == []
    system.take(Deliver("left", "right", "X"))
    assert [message.number for message in system.messages["left", "right"]] == [2, 3]


def test_what_is_let_happen_unchecked_must_be_a_row() -> None:
    system = live("sync", asker=ASKS, sayer=SAYS)
    with pytest.raises(AssertionError, match="sayer does not send YES in IDLE"):
        system.move(Exchange("sayer", "asker", "YES"))
    unreceived = Unreceived("asker", "sayer", "ASK", "OVER")
    assert [str(Decide("G", "GO", name)) for name in ("one", "")] == ["one G/!GO", "G GO"]
    assert str(Blocked("m", "has no row")) == "m has no row"
    assert str(unreceived) == "asker sends ASK; sayer in OVER does not receive it"


def test_members_decide_by_events_of_their_own_and_outsiders_by_theirs() -> None:
    system = live(
        "sync",
        one="A -> B event GO if G\nA -> C event STAY if H\n[B] -> [B] event STOP\n",
        two="A -> A send X\nA -> [B] event STOP\n",
        three="A -> A receive X\nA -> A event STOP\n",
    )
    named = {"one A G/!GO", "one A H/!STAY", "two>three X", "! STOP"}
    assert {str(one).replace("one ", "one A ") for one in system.possible()} == named
    assert [name for name, _ in system.take(External("STOP"))] == ["two", "three"]
    ((name, row),) = system.take(Decide("G", "GO", "one"))
    assert (name, row.target, system.states["one"]) == ("one", "B", "B")
    assert not system.ended
    assert [name for name, _ in system.take(External("STOP"))] == ["one", "three"]
