"""Two machines that are connected: a message moves both, or is refused and moves neither."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Automaton, Valuation, one_hot
from pxp_fsm.automata.tables import builtin, parse_automaton
from pxp_fsm.errors import Refused, TableError, UsageError
from pxp_fsm.plugins.conformance.endpoints import Connection
from pxp_fsm.protocol.messages import Answer, Message
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
    """A connection of m and h."""

    def __init__(self, automaton: Automaton, capacity: int = 0) -> None:
        self.m, self.h = Machine(automaton), Machine(automaton)
        self.connection = Connection({"m": self.m, "h": self.h}, capacity)

    @property
    def states(self) -> tuple[str, str]:
        return self.m.state, self.h.state

    def carry(self, message: Message, valuation: Valuation | None = None) -> None:
        self.connection.carry(message, valuation)

    def say(self, number: int, sender: str, tag: str, valuation: Valuation | None = None) -> None:
        self.carry(message(number, sender, tag), valuation)

    def refuses(self, said: Message, reason: str, valuation: Valuation | None = None) -> None:
        """Assert that `said` is refused for `reason` and that nothing has changed."""
        before = self.states
        with pytest.raises(Refused, match=reason):
            self.carry(said, valuation)
        assert self.states == before


def message(number: int, sender: str, tag: str) -> Message:
    return Message("s", number, sender, tag, Answer("y", "e"), "h" if sender == "m" else "m")


def test_a_message_moves_both_ends() -> None:
    line = Line(builtin("interact"))
    line.say(1, "m", "INIT")
    assert line.states == ("WAIT", "DECIDE")
    line.say(2, "h", "REFUTE", one_hot("REF", GUARDS))
    assert line.states == ("DECIDE", "WAIT")
    line.say(3, "m", "RATIFY")
    assert line.states == ("WAIT", "DECIDE")


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


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_a_queue_takes_its_capacity_and_no_more(capacity: int) -> None:
    line = Line(parse_automaton(CHATTER), capacity)
    for number in range(1, capacity + 1):
        line.say(number, "m", "WORD")
        assert line.connection.deliver("m") is None
    line.refuses(message(capacity + 1, "m", "WORD"), rf"the buffer to h is full \({capacity}\)")
    first = line.connection.deliver("h")
    assert first is not None
    assert first.number == 1
    line.say(capacity + 1, "m", "WORD")
    numbers = [line.connection.deliver("h") for _ in range(capacity + 1)]
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
        with pytest.raises(Refused, match=r"^m>h -INIT was refused: h is in WAIT, which"):
            line.connection.deliver("h")
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
    line.connection.deliver("h")
    line.say(2, "m", "TERM")
    line.say(3, "h", "TERM")
    assert line.states == ("END", "END")
    assert line.connection.deliver("h") == message(2, "m", "TERM")
    assert line.connection.deliver("m") == message(3, "h", "TERM")
    assert line.states == ("END", "END")
    assert line.connection.deliver("h") is line.connection.deliver("m") is None


def test_a_connection_has_two_ends_that_can_hear_each_other() -> None:
    interact, pxp = Machine(builtin("interact")), Machine(builtin("pxp"))
    with pytest.raises(UsageError, match="capacity is 0"):
        Connection({"m": interact, "h": interact}, capacity=-1)
    with pytest.raises(TableError, match="pxp sends TERM, which interact receives in no state"):
        Connection({"m": interact, "h": pxp})


def test_what_neither_hears_is_told_of_the_first_end_first() -> None:
    """Each end's own tag, which the other one receives in no state."""
    text = "A -> A send {0}\nA -> A receive BOTH\nA -> A send BOTH\nA -> [B] event STOP\n"
    ends = {name: Machine(table(name, text.format(name.upper()))) for name in ("right", "left")}
    with pytest.raises(TableError) as caught:
        Connection(ends)
    lines = str(caught.value).splitlines()
    assert [line.split(",")[0] for line in lines] == ["right sends RIGHT", "left sends LEFT"]


def test_a_message_for_nobody_is_not_delivered() -> None:
    connection = Connection({name: Machine(builtin("interact")) for name in "mh"}, capacity=1)
    assert connection.deliver("m") is None


def ends(m: str, h: str) -> tuple[Connection, dict[str, Machine]]:
    machines = {"m": Machine(table("left", m)), "h": Machine(table("right", h))}
    return Connection(machines), machines


def test_guards_say_nothing_of_a_row_without_one() -> None:
    connection, machines = ends(
        "A -> A send WORD\nA -> A receive WORD\nA -> [B] event CLOSE\n",
        "A -> A send WORD\nA -> A receive WORD\nA -> [B] event CLOSE\n",
    )
    word = pxp.Message("s", 1, "m", "WORD", Answer("", ""), "h")
    connection.carry(word, {"RAT": True})
    with pytest.raises(Refused, match="m is in A, which sends"):
        connection.carry(replace(word, number=2, tag="NOTHING"), {"RAT": True})
    assert [machine.state for machine in machines.values()] == ["A", "A"]


def test_guards_are_those_of_the_row_to_the_receiver() -> None:
    connection, _ = ends(
        "A -> A send WORD to h if G\nA -> A send DONE to h if H\n[B] -> B event CLOSE\n",
        "A -> A receive WORD\nA -> A receive DONE\n",
    )
    word = pxp.Message("s", 1, "m", "WORD", Answer("", ""), "h")
    with pytest.raises(Refused, match="the guards of m say DONE"):
        connection.carry(word, {"G": False, "H": True})
    connection.carry(word, {"G": True, "H": False})


def test_a_row_to_somebody_else_is_never_taken() -> None:
    """A table may name partners; whom a channel does not join, nothing is sent to."""
    text = "A -> A send WORD{}\nA -> A receive WORD\nA -> [B] event CLOSE\n"
    connection, _ = ends(text.format(" to far"), text.format(""))
    word = pxp.Message("s", 1, "m", "WORD", Answer("", ""), "h")
    with pytest.raises(Refused, match="possible now is h>m"):
        connection.carry(word)
    connection.carry(replace(word, sender="h", receiver="m"))
    named, _ = ends(text.format(" to h"), text.format(""))
    named.carry(word)
