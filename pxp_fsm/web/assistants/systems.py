"""Runs of a system file whose members are assistants: their turns wait here for them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import chain
from typing import Any

from backends.people.waiting import WaitingQuestion
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system_files import MCP, MemberLine
from pxp_fsm.errors import DataError, GuardError, quoted
from pxp_fsm.experiments.openings import SystemOpening
from pxp_fsm.experiments.runs import Run
from pxp_fsm.prompting.members import WAIT, briefing, chosen_intent, may_wait, options_of
from pxp_fsm.protocol.relations import OracleFailed
from pxp_fsm.sessions.actors import Actor, Decision, Intent, Turn
from pxp_fsm.sessions.policy import actor_of
from pxp_fsm.sessions.session import Session
from pxp_fsm.web.assistants.tools import (
    ASSISTANT,
    OTHERS,
    OVER,
    PATIENCE,
    PENDING,
    YOUR_TURN,
    AssistantMove,
    NotBegun,
    Shown,
    in_order,
    moves_of,
)
from pxp_fsm.web.hosting import Host
from pxp_fsm.web.news import News
from pxp_fsm.web.subjects import SystemSubject, subject_of


class SystemAssistants:
    """The assistants in `run`, a system's, which `host` carries on. Fills `Assistants`.

    The sessions go on in the loop of the host, and are read there.
    """

    def __init__(self, host: Host, run: Run[SystemOpening], news: News) -> None:
        self.news = news
        self.scope = f"{ASSISTANT} {run.name}"
        self.run = run
        self._host = host
        self._opening = run.opening
        self._lines: Mapping[str, MemberLine] = {
            member.name: member for member in run.opening.running.members
        }
        self._sessions: dict[str, Session] = {}
        run.on_begin = self._begun

    @property
    def members(self) -> tuple[str, ...]:
        """The members that are assistants."""
        return tuple(name for name, who in self._opening.respondents.items() if who == MCP)

    def member(self, name: str) -> str:
        """The member of that name."""
        return name

    def subject(self, _member: str) -> SystemSubject:
        """The system, and what is expected of it."""
        return subject_of(self._opening.system, self._opening.file.properties)

    def tables(self, _member: str) -> Mapping[str, Automaton]:
        """The tables of all members, by their names; a second one of a name by its member's."""
        tables: dict[str, Automaton] = {}
        for member in self._opening.running.members:
            if tables.setdefault(member.automaton.name, member.automaton) != member.automaton:
                tables[member.name] = member.automaton
        return tables

    def table(self, member: str) -> Automaton:
        """The member's own table."""
        return self._lines[member].automaton

    async def sessions(self, member: str) -> tuple[dict[str, Any], ...]:
        """The sessions that have begun: those that wait for the member first."""
        return await self._host.within(
            lambda: in_order(self._line(member, name) for name in self._sessions)
        )

    async def view(self, member: str, session: str = "") -> Shown:
        """Whose turn it is in a session, what came and, at the member's turn, what it may do."""
        return await self._host.within(lambda: self._view(member, session))

    def _view(self, member: str, session: str) -> Shown:
        name = self._named(member, session)
        line, turn = self._line(member, name), self._sessions[name].turn(member)
        told = briefing(turn, self.table(member))
        if self._waiting(member, name) is None:
            del told["options"]
        role = self._lines[member].instructions
        note = self._host.hosted[self.run.name].note
        return Shown(line | told | ({"instructions": role} if role else {}) | note)

    async def state(self, member: str, session: str = "") -> str:
        """The state of the member's machine in a session."""
        return await self._host.within(
            lambda: self._sessions[self._named(member, session)].states[member]
        )

    async def moves(self, member: str, session: str = "") -> tuple[AssistantMove, ...]:
        """Every guard and tag of the member's table, and why it is not allowed now."""
        return await self._host.within(lambda: self._moves(member, session))

    def _moves(self, member: str, session: str) -> tuple[AssistantMove, ...]:
        name = self._named(member, session)
        running, table = self._sessions[name], self.table(member)
        turn, asked = running.turn(member), self._waiting(member, name) is not None
        here = {member_option.name: member_option for member_option in options_of(turn, table)}
        moves = []
        for do, states in moves_of(table).items():
            if do in here and asked:
                option = here[do]
                sends = f"sends {option.sends}{f' to {option.to}' if option.to else ''}"
                told = (option.about, sends if option.sends else "")
                moves.append(AssistantMove(do, True, "; ".join(filter(None, told))))
                continue
            if running.ending is not None:
                why = f"the session is over ({running.ending.value})"
            elif do in here:
                why = "you have answered already; wait for what comes"
            elif turn.state in states:
                why = f"its rules do not allow it now: {running.states[member]}"
            else:
                why = f"not in state {turn.state}; the table has it in {', '.join(states)}"
            moves.append(AssistantMove(do, False, why))
        if asked and may_wait(turn, table):
            moves.append(AssistantMove(WAIT, True, "wait for what comes"))
        return tuple(moves)

    async def answer(
        self, member: str, session: str, key: str, do: str, to: str, payload: Any
    ) -> Shown:
        """Answer the question `key`; what came of it, and the view after it.

        Raises `SessionMoved` where that is not asked (any more), `DataError` for what the table
        refuses; then nothing has happened, and the question still waits.
        """
        table, questions = self.table(member), self._host.turns
        name = await self._host.within(lambda: self._named(member, session))
        running, turn = self._sessions[name], questions.expected(name, key, member).asked
        intent = chosen_intent(do, to, payload, turn, table)
        if intent is not None:
            await self._check(running, turn, intent, table)
        before, seen = running.length, self.news.version(name)
        questions.give(name, key, intent, member)
        until = time.monotonic() + PATIENCE
        while True:
            outcome = await self._host.within(
                lambda: self._outcome(running, member, before, waits=intent is None)
            )
            left = until - time.monotonic()
            if outcome != PENDING or left <= 0:
                return Shown({"outcome": outcome, **(await self.view(member, name)).value})
            await self.news.after(name, seen, left)
            seen = self.news.version(name)

    async def _check(self, session: Session, turn: Turn, intent: Intent, table: Automaton) -> None:
        """Raise `DataError` where the session could not take `intent`, by its own code."""
        decision: Decision | None = None
        try:
            decision = await Actor(lambda _turn: intent).decide(turn, table)
        except (OracleFailed, GuardError) as error:
            raise DataError(str(error)) from error
        problem = None if decision is None else session.unfit(turn.member, decision)
        if problem is not None:
            raise DataError(problem)

    def _outcome(self, running: Session, member: str, before: int, waits: bool) -> str:
        """What has come of an answer that was given after `before` actions."""
        later = running.events[before:]
        own = next((event for event in later if actor_of(event.action) == member), None)
        if own is not None:
            return f"done: action {own.number}, {own.action}"
        if waits:
            return "you wait for what comes"
        if running.ending is not None:
            return "not done: the session ended before it"
        if self._waiting(member, running.name) is not None:
            return "not done: something came before it; you are asked again"
        return PENDING

    def _line(self, member: str, name: str) -> dict[str, Any]:
        running, waiting = self._sessions[name], self._waiting(member, name)
        line: dict[str, Any] = {"session": name, "status": OTHERS}
        if running.ending is not None:
            line |= {"status": OVER, "ending": running.ending.value, "cause": running.cause}
        elif waiting is not None:
            line |= {"status": YOUR_TURN, "question": waiting.key}
        return line

    def _waiting(self, member: str, name: str) -> WaitingQuestion[Turn, Intent | None] | None:
        return self._host.turns.waiting(name, member)

    def _named(self, member: str, session: str) -> str:
        """The session of that name; without one that which asks the member, or the latest."""
        if session:
            if session in self._sessions:
                return session
            raise DataError(f"no session {quoted(session)} has begun; the tool sessions lists them")
        if not self._sessions:
            raise NotBegun
        asking = (name for name in self._sessions if self._waiting(member, name) is not None)
        going = (name for name, running in self._sessions.items() if running.ending is None)
        return next(chain(asking, going), list(self._sessions)[-1])

    def _begun(self, session: Session) -> None:
        self._sessions[session.name] = session
        self.news.tell(session.name)
