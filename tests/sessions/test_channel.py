"""A channel carries a message or refuses it, and a refused one leaves no trace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pxp_fsm.automata.automaton import Automaton, Valuation, one_hot
from pxp_fsm.automata.tables import builtin, parse_automaton
from pxp_fsm.errors import Refused, TableError, UsageError, quoted
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.sessions.channel import Channel
from pxp_fsm.sessions.machine import Machine
from tests.proofs.text_tables import table

GUARDS = ("RAT", "REF", "REV", "REJ")


CHATTER = """\
format = 1
name = "chatter"
title = "Chatter"
initial = "TALK"
final = ["OVER"]
states = [{ name = "TALK" }, { name = "OVER" }]
rows = [
  { from = "TALK", to = "TALK", send = "WORD" },
  { from = "TALK", to = "TALK", receive = "WORD" },
  { from = "TALK", to = "OVER", event = "STOP" },
]
"""


class Line:
    """A channel between m and h, with what was stored on the way."""

    def __init__(self, automaton: Automaton, capacity: int = 0) -> None:
        self.m, self.h = Machine(automaton), Machine(automaton)
        self.channel = Channel("s", {"m": self.m, "h": self.h}, capacity)
        self.stored: list[Message] = []

    @property
    def states(self) -> tuple[str, str]:
        return self.m.state, self.h.state

    def carry(self, message: Message, valuation: Valuation | None = None) -> None:
        self.channel.carry(message, valuation, self.stored.append)

    def say(self, number: int, sender: str, tag: str, valuation: Valuation | None = None) -> None:
        self.carry(message(number, sender, tag), valuation)

    def refuses(self, said: Message, reason: str, valuation: Valuation | None = None) -> None:
        """Assert that `said` is refused for `reason` and that nothing has changed."""
        before = self.states, list(self.stored)
        with pytest.raises(Refused, match=reason) as caught:
            self.carry(said, valuation)
        called = f"message {quoted(said.number)} ({quoted(said.tag)} from {quoted(said.sender)})"
        assert str(caught.value).startswith(f"{called} was refused: ")
        assert (self.states, self.stored) == before


def message(number: int, sender: str, tag: str) -> Message:
    return Message("s", number, sender, tag, Answer("y", "e"), "h" if sender == "m" else "m")


def test_a_message_moves_both_ends_and_is_stored_once() -> None:
    line = Line(builtin("interact"))
    line.say(1, "m", "INIT")
    assert line.states == ("WAIT", "DECIDE")
    line.say(2, "h", "REFUTE", one_hot("REF", GUARDS))
    assert line.states == ("DECIDE", "WAIT")
    line.say(3, "m", "RATIFY")
    assert [m.number for m in line.stored] == [1, 2, 3]


ENVELOPES: dict[str, tuple[dict[str, Any], str]] = {
    "another session": ({"session": "t"}, "belongs to session 's'"),
    "no session": ({"session": None}, "belongs to session 's'"),
    "number again": ({"number": 1}, "the next message is number 2"),
    "number ahead": ({"number": 3}, "the next message is number 2"),
    "number zero": ({"number": 0}, "the next message is number 2"),
    "number as text": ({"number": "2"}, "the next message is number 2"),
    "number with a point": ({"number": 2.0}, "the next message is number 2"),
    "unknown sender": ({"sender": "x"}, "the agents here are m, h"),
    "sender that is no text": ({"sender": ["h"]}, "the agents here are m, h"),
    "sender out of turn": ({"sender": "m", "receiver": "h"}, "m is in WAIT, which sends nothing"),
    "unknown receiver": ({"receiver": "x"}, "the receiver must be the other"),
    "receiver that is no text": ({"receiver": {}}, "the receiver must be the other"),
    "to oneself": ({"receiver": "h"}, "the receiver must be the other"),
    "unknown tag": (
        {"tag": "AGREED"},
        r"h is in DECIDE, which sends \+RATIFY, \+REFUTE, \+REVISE, \+REJECT",
    ),
    "tag of another case": ({"tag": "refute"}, r"which sends \+RATIFY"),
    "tag that opens": ({"tag": "INIT"}, "h is in DECIDE"),
    "tag that is no text": ({"tag": ["REFUTE"]}, "a tag is text"),
    "no tag": ({"tag": None}, "a tag is text"),
    "no answer": ({"answer": None}, "an answer is a prediction and an explanation"),
    "answer as text": ({"answer": "y"}, "an answer is a prediction and an explanation"),
    "prediction missing": ({"answer": Answer(None, "e")}, "are text"),  # type: ignore[arg-type] # it is refused
    "explanation as list": ({"answer": Answer("y", ["e"])}, "are text"),  # type: ignore[arg-type] # it is refused
}


@pytest.mark.parametrize("capacity", [0, 1])
@pytest.mark.parametrize("case", ENVELOPES)
def test_what_does_not_fit_is_refused_without_a_trace(case: str, capacity: int) -> None:
    changes, reason = ENVELOPES[case]
    line = Line(builtin("interact"), capacity)
    line.say(1, "m", "INIT")
    line.channel.deliver("h")
    line.refuses(replace(message(2, "h", "REFUTE"), **changes), reason)
    line.say(2, "h", "REFUTE")
    assert len(line.stored) == 2


def test_true_is_not_number_one() -> None:
    line = Line(builtin("interact"))
    line.refuses(replace(message(1, "m", "INIT"), number=True), "the next message is number 1")


VALUATIONS: dict[str, tuple[Any, str]] = {
    "another tag": (one_hot("RAT", GUARDS), "the guards of h say RATIFY"),
    "none true": (dict.fromkeys(GUARDS, False), "but none did"),
    "two true": (one_hot("REF", GUARDS) | {"RAT": True}, "but RAT, REF did"),
    "one missing": ({"REF": True}, "but the valuation speaks of REF"),
    "one too many": (one_hot("REF", (*GUARDS, "X")), "speaks of RAT, REF, REV, REJ, X"),
    "empty": ({}, "speaks of none"),
    "truthy": (one_hot("REF", GUARDS) | {"REF": 1}, "True or False, not REF=1"),
    "keys that are no text": ({1: True}, "speaks of 1"),
    "no mapping": (list(GUARDS), "a valuation maps each guard to True or False"),
    "true": (True, "a valuation maps each guard to True or False"),
}


@pytest.mark.parametrize("case", VALUATIONS)
def test_guards_that_do_not_say_the_tag_are_refused(case: str) -> None:
    valuation, reason = VALUATIONS[case]
    line = Line(builtin("interact"))
    line.say(1, "m", "INIT")
    line.refuses(message(2, "h", "REFUTE"), reason, valuation)


def test_a_store_that_fails_leaves_the_machines_where_they_were() -> None:
    line = Line(builtin("interact"))

    def full(_message: Message) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        line.channel.carry(message(1, "m", "INIT"), None, full)
    assert line.states == ("IDLE", "IDLE")
    line.say(1, "m", "INIT")
    assert line.states == ("WAIT", "DECIDE")


def test_what_was_refused_was_never_offered_to_the_store() -> None:
    line = Line(builtin("pxp"))
    line.refuses(message(1, "m", "TERM"), "m is in IDLE, which sends \\+INIT")
    line.say(1, "m", "INIT")
    line.say(2, "h", "TERM")
    assert line.states == ("END", "END")
    for sender, tag in (("m", "TERM"), ("h", "TERM"), ("m", "RATIFY"), ("h", "INIT")):
        line.refuses(message(3, sender, tag), "is in END, which sends nothing")
    assert [m.tag for m in line.stored] == ["INIT", "TERM"]


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_a_queue_takes_its_capacity_and_no_more(capacity: int) -> None:
    line = Line(parse_automaton(CHATTER), capacity)
    for number in range(1, capacity + 1):
        line.say(number, "m", "WORD")
        assert line.channel.deliver("m") is None
    line.refuses(message(capacity + 1, "m", "WORD"), rf"the buffer to h is full \({capacity}\)")
    first = line.channel.deliver("h")
    assert first is not None
    assert first.number == 1
    line.say(capacity + 1, "m", "WORD")
    numbers = [line.channel.deliver("h") for _ in range(capacity + 1)]
    assert [m.number if m else 0 for m in numbers] == [*range(2, capacity + 2), 0]


@pytest.mark.parametrize("capacity", [0, 1])
def test_a_message_that_the_receiver_cannot_take_is_refused(capacity: int) -> None:
    """Both begin at once: with a queue the second INIT stays on its way, for nobody takes it."""
    line = Line(builtin("pxp"), capacity)
    line.say(1, "m", "INIT")
    if not capacity:
        line.refuses(message(2, "h", "INIT"), "h is in DECIDE")
        return
    line.say(2, "h", "INIT")
    assert line.states == ("WAIT", "WAIT")
    for _ in range(2):
        with pytest.raises(Refused, match=r"^message 1 \('INIT' from 'm'\) .* h is in WAIT, which"):
            line.channel.deliver("h")
    assert line.states == ("WAIT", "WAIT")


def test_a_synchronous_receiver_that_cannot_take_it_keeps_the_sender_where_it_is() -> None:
    line = Line(parse_automaton(CHATTER))
    line.h.happen("STOP")
    line.refuses(message(1, "m", "WORD"), "h is in OVER, which takes nothing")


@pytest.mark.parametrize("capacity", [1, 2])
def test_two_that_hang_up_at_once_both_end(capacity: int) -> None:
    """m hangs up; before h has heard it h answers with TERM: the two cross (rows 11, 8, 13)."""
    line = Line(builtin("pxp_hang_up"), capacity)
    line.say(1, "m", "INIT")
    line.channel.deliver("h")
    line.say(2, "m", "TERM")
    line.say(3, "h", "TERM")
    assert line.states == ("END", "END")
    assert line.channel.deliver("h") == line.stored[1]
    assert line.channel.deliver("m") == line.stored[2]
    assert line.states == ("END", "END")
    assert line.channel.deliver("h") is line.channel.deliver("m") is None


def test_without_hanging_up_nobody_speaks_twice() -> None:
    line = Line(builtin("pxp"), 1)
    line.say(1, "m", "INIT")
    line.refuses(message(2, "m", "TERM"), "m is in WAIT, which sends nothing")


def test_a_channel_has_two_ends_that_can_hear_each_other() -> None:
    interact, pxp = Machine(builtin("interact")), Machine(builtin("pxp"))
    with pytest.raises(UsageError, match="joins two agents of different names, not 1"):
        Channel("s", {"m": interact})
    with pytest.raises(UsageError, match="joins two agents of different names, not 3"):
        Channel("s", {"a": interact, "b": interact, "c": interact})
    with pytest.raises(UsageError, match="capacity is 0"):
        Channel("s", {"m": interact, "h": interact}, capacity=-1)
    with pytest.raises(TableError, match="pxp sends TERM, which interact receives in no state"):
        Channel("s", {"m": interact, "h": pxp})


def test_what_neither_hears_is_told_of_the_first_end_first() -> None:
    """Each end's own tag, which the other one receives in no state."""
    text = "A -> A send {0}\nA -> A receive BOTH\nA -> A send BOTH\nA -> [B] event STOP\n"
    ends = {name: Machine(table(name, text.format(name.upper()))) for name in ("right", "left")}
    with pytest.raises(TableError) as caught:
        Channel("s", ends)
    lines = str(caught.value).splitlines()
    assert [line.split(",")[0] for line in lines] == ["right sends RIGHT", "left sends LEFT"]


def test_a_message_for_nobody_is_not_delivered() -> None:
    channel = Channel("s", {name: Machine(builtin("interact")) for name in "mh"}, capacity=1)
    assert channel.deliver("m") is None
    with pytest.raises(UsageError, match="there is no agent 'x' here; there are m, h"):
        channel.deliver("x")
