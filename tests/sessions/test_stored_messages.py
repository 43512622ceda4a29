"""A stored message is one that the session can go on with, or is refused without a trace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pxp_fsm.errors import Refused
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Ending, Interact, Pxp
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import ListBoard, agent, channel_of, now, session


def message(number: int, sender: str, tag: str) -> Message:
    return Message("s", number, sender, tag, Answer("y", "e"), "h" if sender == "m" else "m")


def replay(made: Session, *messages: Message) -> None:
    for one in messages:
        made.replay([Event.of_message(one)])


def refuses(made: Session, said: Message, reason: str) -> None:
    """Assert that `said` is refused for `reason` and that nothing has changed."""
    before = made.states, made.history, made.events
    with pytest.raises(Refused, match=reason):
        replay(made, said)
    assert (made.states, made.history, made.events) == before


ENVELOPES: dict[str, tuple[dict[str, Any], str]] = {
    "another session": ({"session": "t"}, "this session is 's', not"),
    "no session": ({"session": None}, "this session is 's', not"),
    "number again": ({"number": 1}, "the next message is number 2"),
    "number ahead": ({"number": 3}, "the next message is number 2"),
    "number zero": ({"number": 0}, "the next message is number 2"),
    "number as text": ({"number": "2"}, "the next message is number 2"),
    "number with a point": ({"number": 2.0}, "the next message is number 2"),
    "unknown sender": ({"sender": "x"}, "the agents here are m, h"),
    "sender that is no text": ({"sender": ["h"]}, "the agents here are m, h"),
    "sender out of turn": ({"sender": "m", "receiver": "h"}, "m is in WAIT, which sends nothing"),
    "unknown receiver": ({"receiver": "x"}, "h talks to m"),
    "receiver that is no text": ({"receiver": {}}, "h talks to m"),
    "to oneself": ({"receiver": "h"}, "h talks to m"),
    "unknown tag": (
        {"tag": "AGREED"},
        r"h is in DECIDE, which sends \+RATIFY, \+REFUTE, \+REVISE, \+REJECT",
    ),
    "tag of another case": ({"tag": "refute"}, r"which sends \+RATIFY"),
    "tag that opens": ({"tag": "INIT"}, "h is in DECIDE"),
    "tag that is no text": ({"tag": ["REFUTE"]}, "a tag is text"),
    "no tag": ({"tag": None}, "a tag is text"),
    "no answer": ({"payload": None}, "an answer is a prediction and an explanation"),
    "answer as text": ({"payload": "y"}, "an answer is a prediction and an explanation"),
    "prediction missing": ({"payload": Answer(None, "e")}, "are text"),  # type: ignore[arg-type] # it is refused
    "explanation as list": ({"payload": Answer("y", ["e"])}, "are text"),  # type: ignore[arg-type] # it is refused
}


@pytest.mark.parametrize("capacity", [0, 1])
@pytest.mark.parametrize("case", ENVELOPES)
def test_what_does_not_fit_is_refused_without_a_trace(case: str, capacity: int) -> None:
    changes, reason = ENVELOPES[case]
    made = session(agent(), agent(), Interact(), channel=channel_of(capacity))
    replay(made, message(1, "m", "INIT"))
    made.policy.before(made)
    refuses(made, replace(message(2, "h", "REFUTE"), **changes), reason)
    replay(made, message(2, "h", "REFUTE"))
    assert len(made.history) == 2


def test_true_is_not_number_one() -> None:
    made = session(agent(), agent(), Interact())
    said = replace(message(1, "m", "INIT"), number=True)
    refuses(made, said, "the next message is number 1")


def test_the_first_of_two_begins() -> None:
    made = session(agent(), agent(), Interact())
    refuses(made, message(1, "h", "INIT"), "m starts, not h")


def test_nothing_follows_an_end() -> None:
    made = session(agent(), agent(), Pxp())
    refuses(made, message(1, "m", "TERM"), r"m is in IDLE, which sends \+INIT")
    replay(made, message(1, "m", "INIT"), message(2, "h", "TERM"))
    assert made.states == {"m": "END", "h": "END"}
    for sender, tag in (("m", "TERM"), ("h", "TERM"), ("m", "RATIFY"), ("h", "INIT")):
        refuses(made, message(3, sender, tag), r"was refused: the session had ended before it")


def test_without_hanging_up_nobody_speaks_twice() -> None:
    made = session(agent(), agent(), Pxp(), channel="fifo:1")
    replay(made, message(1, "m", "INIT"))
    made.policy.before(made)
    refuses(made, message(2, "m", "TERM"), "m is in WAIT, which sends nothing")


def test_a_store_that_fails_leaves_the_machines_where_they_were() -> None:
    board = ListBoard(failures=1)
    made = session(agent(), agent(), Interact(), board)
    with pytest.raises(OSError, match="disk is full"):
        now(made.step())
    assert (made.states, made.events) == ({"m": "IDLE", "h": "IDLE"}, ())
    now(made.step())
    assert (made.states, board.entries) == ({"m": "WAIT", "h": "DECIDE"}, list(made.events))
    assert now(made.run()).ending is Ending.RATIFIED
