"""What the tables do not allow ends a session, whoever wanted it; what is asked for is refused."""

from __future__ import annotations

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.errors import NotEnabled
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.protocol.situation import Situation
from tests.proofs.text_tables import table
from tests.sessions.agents import Deciding, ListBoard, agent, now, session

DEAF = table(
    "deaf",
    """
    IDLE -> WAIT send INIT
    IDLE -> DECIDE receive INIT
    DECIDE -> [OVER] send RATIFY if RAT
    DECIDE -> DECIDE receive RATIFY
    WAIT -> [OVER] event CLOSE""",
)
"""Who waits takes no answer, and who decides cannot be closed."""


def ratifier() -> pxp.Agent:
    return agent(guards=Deciding(lambda situation: situation.choosing("RAT")))


def test_a_message_that_nobody_takes_ends_the_session_and_is_not_stored() -> None:
    board = ListBoard()
    made = session(agent(), ratifier(), pxp.Interact(table=DEAF), board)
    assert now(made.run()).ending is Ending.DEADLOCK
    assert made.cause.startswith("h>m RATIFY was refused: m is in WAIT, which takes nothing")
    assert [message.tag for message in made.history] == ["INIT"]
    assert board.entries == list(made.events)
    assert board.endings == [("s", "deadlock", made.cause)]


def test_what_was_judged_for_a_message_that_nobody_takes_is_stored_with_the_ending() -> None:
    async def asks(situation: Situation) -> Valuation:
        await situation.relations.match("mammal", "bird")
        return situation.choosing("RAT")

    board = ListBoard()
    made = session(agent(), agent(guards=Deciding(asks)), pxp.Interact(table=DEAF), board)
    assert now(made.run()).ending is Ending.DEADLOCK
    assert [(one.relation, one.outcome) for one in board.left] == [("MATCH", Outcome.NO)]


def test_what_is_on_its_way_to_who_cannot_take_it_ends_the_session() -> None:
    made = session(agent(), ratifier(), pxp.Interact(table=DEAF), channel="fifo:1")
    assert now(made.run()).ending is Ending.DEADLOCK
    assert made.cause.startswith("h>m -RATIFY was refused: m is in WAIT, which takes nothing")
    assert [message.tag for message in made.history] == ["INIT", "RATIFY"]


def test_what_is_on_its_way_as_the_schedule_closes_is_taken_first() -> None:
    made = session(agent(), ratifier(), pxp.Interact(n=2, table=DEAF), channel="fifo:1")
    assert now(made.run()).ending is Ending.DEADLOCK
    assert made.cause.startswith("h>m -RATIFY was refused: m is in WAIT, which takes nothing")
    assert made.states == {"m": "WAIT", "h": "OVER"}


def test_a_tag_that_the_agents_own_table_does_not_send_is_its_fault() -> None:
    made = session(agent(), agent(), pxp.Pxp(term=lambda *_: True, table=DEAF))
    assert now(made.run()).ending is Ending.BROKEN
    assert made.cause == "h has TERM to send in state DECIDE, in which deaf sends RATIFY"


def test_a_schedule_closes_both_or_neither() -> None:
    made = session(agent(), agent(), pxp.Interact(n=1, table=DEAF))
    with pytest.raises(NotEnabled, match="deaf: nothing in state DECIDE takes !CLOSE"):
        now(made.run())
    assert made.states == {"m": "WAIT", "h": "DECIDE"}
