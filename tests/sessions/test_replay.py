"""The rows that an agent's automaton took are read from the messages of a session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from guards import ChanceGuards
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import Refused
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.replay import conversations, trace
from tests.proofs.text_tables import table
from tests.sessions.agents import agent, run


@pytest.mark.parametrize("rules", [Interact(6, 2), Interact(1, 1), Pxp(2)])
@pytest.mark.parametrize("name", ["m", "h"])
def test_a_session_is_read_back_row_by_row(rules: Rules, name: str) -> None:
    """Each row goes on from the one before; what the schedule closed ends with its row."""
    for seed in range(10):
        made = run(
            agent(guards=ChanceGuards(seed)), agent(guards=ChanceGuards(-seed)), rules, limit=30
        )
        automaton, closed = rules.automaton, made.ending is not None and rules.n is not None
        rows = trace(automaton, made.history, name, over=closed)
        signs = ["+" if message.sender == name else "-" for message in made.history]
        expected = [sign + one.tag for sign, one in zip(signs, made.history, strict=True)]
        assert [row.action for row in rows] == expected + ["!CLOSE"] * closed
        sources = [automaton.initial, *(row.target for row in rows)]
        assert [row.source for row in rows] == sources[:-1]
        assert sources[-1] == made.states[name]
        open_rows = trace(automaton, made.history, name, over=False)
        assert open_rows == rows[: len(made.history)]


def test_a_schedule_closes_only_what_can_be_closed_and_is_still_open() -> None:
    made = run(agent(), agent(), Pxp())
    assert made.history[-1].tag == "TERM"
    assert len(trace(builtin("pxp"), made.history, "m", over=True)) == len(made.history)
    assert trace(builtin("pxp"), made.history[:2], "m", over=True)[-1].action == "-RATIFY"
    closed = trace(builtin("interact"), made.history[:1], "m", over=True)
    assert [row.action for row in closed] == ["+INIT", "!CLOSE"]


def test_an_event_of_another_name_closes_nothing() -> None:
    made = run(agent(), agent(), Interact())
    own = table("own", "A -> B send INIT\nB -> B receive RATIFY\nB -> [C] event STOP\n")
    rows = trace(own, made.history[:2], "m", over=True)
    assert [row.action for row in rows] == ["+INIT", "-RATIFY"]
    for rest in ("B -> [C] send CLOSE", "B -> [B] receive RATIFY\n[B] -> [B] event CLOSE"):
        over = table("own", f"A -> B send INIT\nB -> B receive RATIFY\n{rest}\n")
        assert len(trace(over, made.history[:2], "m", over=True)) == 2


def test_a_message_that_the_automaton_does_not_allow_is_refused() -> None:
    made = run(agent(), agent(), Interact())
    first, second, *_ = made.history
    for name, does in (
        ("m", "is in state WAIT, in which interact does not receive"),
        ("h", "send"),
    ):
        with pytest.raises(Refused, match=rf"^message 2 of s: {name} .*{does} HELLO$"):
            trace(builtin("interact"), [first, replace(second, tag="HELLO")], name, over=False)


def test_conversations_of_several_agents_are_told_apart_and_an_init_begins_anew() -> None:
    said = Answer("y", "e")
    sent = [
        "a INIT b",
        "a INIT c",
        "b REFUTE a",
        "c REFUTE a",
        "a REFUTE b",
        "b INIT a",
        "a RATIFY b",
    ]
    messages = [
        Message("s", number, sender, tag, said, receiver)
        for number, (sender, tag, receiver) in enumerate(map(str.split, sent), 1)
    ]
    found = [[message.number for message in one] for one in conversations(messages)]
    assert found == [[1, 3, 5], [2, 4], [6, 7]]
