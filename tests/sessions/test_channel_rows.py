"""What a channel does with rows of tables of one's own: their partners, guards and events."""

from __future__ import annotations

from dataclasses import replace

import pytest

import pxp_fsm as pxp
from pxp_fsm.errors import NotEnabled, Refused
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.sessions.channel import Channel
from pxp_fsm.sessions.machine import Machine
from tests.proofs.text_tables import table


def ends(m: str, h: str) -> tuple[Channel, dict[str, Machine]]:
    machines = {"m": Machine(table("left", m)), "h": Machine(table("right", h))}
    return Channel("s", machines), machines


def test_a_schedule_closes_both_or_neither() -> None:
    channel, machines = ends(
        "A -> A send WORD\nA -> A receive WORD\nA -> [B] event CLOSE\n",
        "A -> A send WORD\nA -> A receive WORD\nA -> [B] event STOP\n",
    )
    with pytest.raises(NotEnabled, match="right: nothing in state A takes !CLOSE"):
        channel.close("CLOSE")
    assert [machine.state for machine in machines.values()] == ["A", "A"]


def test_who_has_ended_by_itself_is_not_closed_again() -> None:
    text = "A -> [B] send BYE\nA -> C receive BYE\nC -> [D] event CLOSE\n"
    channel, machines = ends(text, text)
    channel.carry(pxp.Message("s", 1, "m", "BYE", Answer("", ""), "h"))
    channel.close("CLOSE")
    assert [machine.state for machine in machines.values()] == ["B", "D"]
    channel.close("CLOSE")


def test_guards_say_nothing_of_a_row_without_one() -> None:
    channel, machines = ends(
        "A -> A send WORD\nA -> A receive WORD\nA -> [B] event CLOSE\n",
        "A -> A send WORD\nA -> A receive WORD\nA -> [B] event CLOSE\n",
    )
    word = pxp.Message("s", 1, "m", "WORD", Answer("", ""), "h")
    channel.carry(word, {"RAT": True})
    with pytest.raises(Refused, match="m is in A, which sends"):
        channel.carry(replace(word, number=2, tag="NOTHING"), {"RAT": True})
    assert [machine.state for machine in machines.values()] == ["A", "A"]


def test_guards_are_those_of_the_row_to_the_receiver() -> None:
    channel, _ = ends(
        "A -> A send WORD to h if G\nA -> A send DONE to h if H\n[B] -> B event CLOSE\n",
        "A -> A receive WORD\nA -> A receive DONE\n",
    )
    word = pxp.Message("s", 1, "m", "WORD", Answer("", ""), "h")
    with pytest.raises(Refused, match="the guards of m say DONE"):
        channel.carry(word, {"G": False, "H": True})
    channel.carry(word, {"G": True, "H": False})


def test_a_row_to_somebody_else_is_never_taken() -> None:
    """A table may name partners; whom a channel does not join, nothing is sent to."""
    text = "A -> A send WORD{}\nA -> A receive WORD\nA -> [B] event CLOSE\n"
    channel, _ = ends(text.format(" to far"), text.format(""))
    word = pxp.Message("s", 1, "m", "WORD", Answer("", ""), "h")
    with pytest.raises(Refused, match="possible now is h>m"):
        channel.carry(word)
    channel.carry(replace(word, sender="h", receiver="m"))
    named, _ = ends(text.format(" to h"), text.format(""))
    named.carry(word)
