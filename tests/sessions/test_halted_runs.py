"""A halted run ends no session: nothing is stored, and the run continues where it was."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.errors import BlackboardError, Halted, PXPError
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import Assumption, Outcome
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.sessions.agents import EXACT, Asked, Deciding, ListBoard, Saying, X, now


class Stopping:
    """Whatever it is asked, the first time the run is halted."""

    name = "stopping"
    assumptions: frozenset[Assumption] = frozenset()

    def __init__(self, why: PXPError) -> None:
        self.why, self.halts = why, 1

    def _halt(self) -> None:
        if self.halts:
            self.halts -= 1
            raise self.why

    async def holds(self, left: str, right: str) -> Outcome:
        self._halt()
        return Outcome.YES if left == right else Outcome.NO

    async def answer(self, _question: Question) -> Answer:
        self._halt()
        return Answer("y", "e")


async def _derived(stopping: Stopping, situation: Situation) -> Valuation:
    await stopping.holds("", "")
    return await situation.derived()


def agent(name: str, **changed: Any) -> Agent:
    parts: dict[str, Any] = {
        "respondent": Saying(lambda _q: Answer(name, f"e {name}")),
        "match": EXACT,
        "agree": EXACT,
    }
    return Agent(**{**parts, **changed})


CAP = Halted("the cap is reached")
DISK = BlackboardError("a call could not be stored: the disk is full")


@pytest.mark.parametrize("why", [CAP, DISK], ids=["cap", "disk"])
@pytest.mark.parametrize("seat", ["respondent", "match", "agree", "guards"])
def test_a_halt_passes_through_and_the_session_goes_on_later(seat: str, why: PXPError) -> None:
    stopping: Any = Stopping(why)
    if seat == "guards":
        stopping = Deciding(partial(_derived, stopping))
    board = ListBoard()
    members = {"m": agent("m"), "h": agent("h", **{seat: stopping})}
    first = Session(Interact(4, 3), members, instance=X, blackboard=board)
    with pytest.raises(type(why), match=str(why)):
        now(first.run())
    assert (len(board.entries), board.endings, first.ending) == (1, [], None)
    resumed = Session(Interact(4, 3), members, instance=X, blackboard=board)
    resumed.replay(tuple(board.entries))
    assert str(now(resumed.run()).ending) in ("bound", "ratified", "rejected")
    assert len(board.endings) == 1


@pytest.mark.parametrize("seat", ["respondent", "match", "agree"])
def test_who_cancels_a_session_ends_nothing_in_it(seat: str) -> None:
    """Cancelled while an agent thinks, it is where it was; an agent's own cancelling is a fault."""
    board = ListBoard()
    waiting = asyncio.Event()

    async def thinks(*_given: object) -> Any:
        waiting.set()
        await asyncio.sleep(3600)

    slow: Any = Saying(thinks) if seat == "respondent" else Asked(thinks)
    members = {"m": agent("m"), "h": agent("h", **{seat: slow})}
    session = Session(Interact(4, 3), members, instance=X, blackboard=board)

    async def cancelled() -> None:
        task = asyncio.create_task(session.run())
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    now(cancelled())
    assert (session.ending, board.endings, len(board.entries)) == (None, [], 1)
