"""A run whose members are assistants: their turns wait here until they fetch and answer them.

Nothing is sent to an assistant unasked. An answer is judged by the code that the session itself
uses, before the session is given it: what is refused reaches neither the machines nor the database.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from backends.people.waiting import Questions, Waiting
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system_files import MCP, MemberLine
from pxp_fsm.errors import DataError, GuardError, quoted
from pxp_fsm.experiments.system_runs import SystemRun
from pxp_fsm.prompting.members import WAIT, briefing, chosen_intent, may_wait, options_of
from pxp_fsm.protocol.relations import OracleFailed
from pxp_fsm.sessions.actors import Actor, Decision, Intent, Turn, own_rows
from pxp_fsm.sessions.occurrences import Occurrence
from pxp_fsm.sessions.system_session import SystemSession, actor_of
from pxp_fsm.web.experts.news import News

PATIENCE = 2.0
"""Seconds for which an answer waits for what comes of it; after that it is called pending."""


@dataclass(frozen=True, slots=True)
class Move:
    """A guard or a tag of a member's table: whether it is allowed now, and what it means or why."""

    do: str
    allowed: bool
    why: str


class Host:
    """Carries `run` on, in the loop that calls `carry`; its assistants fetch and answer turns.

    Every method takes the member that asks: it is told of its own sessions what the member knows,
    and nothing else.
    """

    def __init__(self, run: SystemRun) -> None:
        self.news = News()
        self.questions = Questions[Turn, Intent | None](self._changed)
        self.run = replace(
            run, desk=self, on_begin=self._begun, on_action=self._happened, on_end=self._over
        )
        self._told = run.on_begin, run.on_action, run.on_end
        self.lines: Mapping[str, MemberLine] = {one.name: one for one in run.file.members}
        self._sessions: dict[str, SystemSession] = {}

    @property
    def assistants(self) -> tuple[str, ...]:
        """The members that are assistants."""
        return tuple(name for name, who in self.run.respondents.items() if who == MCP)

    async def carry(self) -> None:
        """Carry the run to its end; raises what `SystemRun.carry` raises."""
        self.news.begin()
        await self.run.carry()

    async def ask(self, turn: Turn) -> Intent | None:
        """Let a turn wait until its assistant answers; fills `TurnDesk`."""
        number = len(self._sessions[turn.session].actions) + 1
        about = f"{turn.session}\x00{turn.member}\x00{turn.state}\x00{number}"
        key = hashlib.sha256(about.encode()).hexdigest()[:16]
        return await self.questions.ask(turn.session, turn, number, key, turn.member)

    def sessions(self, member: str) -> tuple[dict[str, Any], ...]:
        """The sessions that have begun: those that wait for the member first."""
        lines = [self._line(member, name) for name in self._sessions]
        return tuple(sorted(lines, key=lambda line: _ORDER[line["status"]]))

    def view(self, member: str, session: str = "") -> dict[str, Any]:
        """Whose turn it is in a session, what came and, at the member's turn, what it may do."""
        name = self._named(member, session)
        found, turn = self._line(member, name), self._sessions[name].turn(member)
        told = briefing(turn, self.lines[member].automaton)
        if self._waiting(member, name) is None:
            del told["options"]
        role = self.lines[member].instructions
        return found | told | ({"instructions": role} if role else {})

    async def turn(self, member: str, session: str, seconds: float) -> dict[str, Any]:
        """The view of a session, once it is the member's turn or the session is over.

        Waits at most so many seconds for that. Without a session it is whichever asks first.
        """
        until = time.monotonic() + seconds
        while True:
            seen = self.news.version(session)
            if session or self._sessions:
                view = self.view(member, session)
                if view["status"] in (YOUR_TURN, OVER):
                    return view
            left = until - time.monotonic()
            if left <= 0:
                return self.view(member, session)
            await self.news.after(session, seen, left)

    def state(self, member: str, session: str = "") -> str:
        """The state of the member's machine in a session."""
        return self._sessions[self._named(member, session)].states[member]

    def moves(self, member: str, session: str = "") -> tuple[Move, ...]:
        """Every guard and tag of the member's table, and why it is not allowed now."""
        name = self._named(member, session)
        found, table = self._sessions[name], self.lines[member].automaton
        turn, asked = found.turn(member), self._waiting(member, name) is not None
        here = {one.name: one for one in options_of(turn, table)}
        moves = []
        for do, states in _names(table).items():
            if do in here and asked:
                option = here[do]
                sends = f"sends {option.sends}{f' to {option.to}' if option.to else ''}"
                told = (option.about, sends if option.sends else "")
                moves.append(Move(do, True, "; ".join(filter(None, told))))
                continue
            if found.ending is not None:
                why = f"the session is over ({found.ending.value})"
            elif do in here:
                why = "you have answered already; wait for what comes"
            else:
                why = f"not in state {turn.state}; the table has it in {', '.join(states)}"
            moves.append(Move(do, False, why))
        if asked and may_wait(turn, table):
            moves.append(Move(WAIT, True, "wait for what comes"))
        return tuple(moves)

    async def answer(
        self, member: str, session: str, key: str, do: str, to: str, payload: Any
    ) -> dict[str, Any]:
        """Answer the question `key`; what came of it, and the view after it.

        Raises `Moved` where that is not asked (any more), `DataError` for what the table refuses;
        then nothing has happened, and the question still waits.
        """
        name = self._named(member, session)
        found, table = self._sessions[name], self.lines[member].automaton
        turn = self.questions.expected(name, key, member).asked
        intent = chosen_intent(do, to, payload, turn, table)
        if intent is not None:
            await self._check(found, turn, intent, table)
        before, seen = len(found.actions), self.news.version(name)
        self.questions.give(name, key, intent, member)
        until = time.monotonic() + PATIENCE
        while True:
            outcome = self._outcome(found, member, before, waits=intent is None)
            left = until - time.monotonic()
            if outcome != PENDING or left <= 0:
                return {"outcome": outcome, **self.view(member, name)}
            await self.news.after(name, seen, left)
            seen = self.news.version(name)

    async def _check(
        self, session: SystemSession, turn: Turn, intent: Intent, table: Automaton
    ) -> None:
        """Raise `DataError` where the session could not take `intent`, by its own code."""
        decision: Decision | None = None
        try:
            decision = await Actor(lambda _turn: intent).decide(turn, table)
        except (OracleFailed, GuardError) as error:
            raise DataError(str(error)) from error
        problem = None if decision is None else session.unfit(turn.member, decision)
        if problem is not None:
            raise DataError(problem)

    def _outcome(self, found: SystemSession, member: str, before: int, waits: bool) -> str:
        """What has come of an answer that was given after `before` actions."""
        later = found.actions[before:]
        own = next((one for one in later if actor_of(one.action) == member), None)
        if own is not None:
            return f"done: action {own.number}, {own.action}"
        if waits:
            return "you wait for what comes"
        if found.ending is not None:
            return "not done: the session ended before it"
        if self._waiting(member, found.name) is not None:
            return "not done: something came before it; you are asked again"
        return PENDING

    def _line(self, member: str, name: str) -> dict[str, Any]:
        found, waiting = self._sessions[name], self._waiting(member, name)
        line: dict[str, Any] = {"session": name, "status": OTHERS}
        if found.ending is not None:
            line |= {"status": OVER, "ending": found.ending.value, "cause": found.cause}
        elif waiting is not None:
            line |= {"status": YOUR_TURN, "question": waiting.key}
        return line

    def _waiting(self, member: str, name: str) -> Waiting[Turn, Intent | None] | None:
        return self.questions.waiting(name, member)

    def _named(self, member: str, session: str) -> str:
        """The session of that name; without one that which asks the member, or the latest."""
        if session:
            if session in self._sessions:
                return session
            raise DataError(f"no session {quoted(session)} has begun; the tool sessions lists them")
        if not self._sessions:
            raise DataError("no session has begun; ask again in a second")
        asking = (name for name in self._sessions if self._waiting(member, name) is not None)
        return next(asking, list(self._sessions)[-1])

    def _begun(self, session: SystemSession) -> None:
        self._sessions[session.name] = session
        self._told[0](session)
        self._changed(session.name)

    def _happened(self, session: str, occurrence: Occurrence) -> None:
        self._told[1](session, occurrence)
        self._changed(session)

    def _over(self, session: SystemSession) -> None:
        self._told[2](session)
        self._changed(session.name)

    def _changed(self, session: str) -> None:
        self.news.tell(session)
        self.news.tell("")


YOUR_TURN, OTHERS, OVER = "your turn", "others act", "over"
"""How a session stands for a member."""

_ORDER = {YOUR_TURN: 0, OTHERS: 1, OVER: 2}

PENDING = "accepted: it happens as soon as it can be sent"
"""What came of an answer that nobody can take yet."""


def _names(table: Automaton) -> dict[str, list[str]]:
    """What a member may say by its table, each with the states in which it may."""
    found = dict[str, list[str]]()
    for state, do in _said(table):
        states = found.setdefault(do, [])
        if state not in states:
            states.append(state)
    return found


def _said(table: Automaton) -> Iterator[tuple[str, str]]:
    for state in table.states:
        for row in own_rows(table, state.name):
            yield state.name, row.guard or row.label
