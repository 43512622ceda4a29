"""Runs of a system file whose members are assistants: their turns wait here for them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from backends.people.waiting import Questions, Waiting
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system_files import MCP, MemberLine
from pxp_fsm.errors import DataError, GuardError, quoted
from pxp_fsm.experiments.system_runs import SystemRun
from pxp_fsm.prompting.members import WAIT, briefing, chosen_intent, may_wait, options_of
from pxp_fsm.protocol.relations import OracleFailed
from pxp_fsm.sessions.actors import Actor, Decision, Intent, Turn
from pxp_fsm.sessions.occurrences import Occurrence
from pxp_fsm.sessions.system_session import SystemSession, actor_of
from pxp_fsm.web.assistants.host import (
    OTHERS,
    OVER,
    PATIENCE,
    PENDING,
    YOUR_TURN,
    Move,
    NotBegun,
    Shown,
    in_order,
    moves_of,
)
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.subjects import Subject, subject_of


class SystemHost:
    """Carries `run` on, in the loop that calls `carry`; its assistants fetch and answer turns."""

    def __init__(self, run: SystemRun) -> None:
        self.news = News()
        self.questions = Questions[Turn, Intent | None](self._changed)
        self.run = replace(
            run, desk=self, on_begin=self._begun, on_action=self._happened, on_end=self._over
        )
        self._told = run.on_begin, run.on_action, run.on_end
        self._lines: Mapping[str, MemberLine] = {one.name: one for one in run.file.members}
        self._sessions: dict[str, SystemSession] = {}

    @property
    def assistants(self) -> tuple[str, ...]:
        """The members that are assistants."""
        return tuple(name for name, who in self.run.respondents.items() if who == MCP)

    def subject(self, _member: str) -> Subject:
        """The system, and what is expected of it."""
        return subject_of(self.run.system, self.run.file.properties)

    def tables(self, _member: str) -> Mapping[str, Automaton]:
        """The tables of all members, by their names; a second one of a name by its member's."""
        found: dict[str, Automaton] = {}
        for one in self.run.file.members:
            if found.setdefault(one.automaton.name, one.automaton) != one.automaton:
                found[one.name] = one.automaton
        return found

    def table(self, member: str) -> Automaton:
        """The member's own table."""
        return self._lines[member].automaton

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

    async def sessions(self, member: str) -> tuple[dict[str, Any], ...]:
        """The sessions that have begun: those that wait for the member first."""
        return in_order(self._line(member, name) for name in self._sessions)

    async def view(self, member: str, session: str = "") -> Shown:
        """Whose turn it is in a session, what came and, at the member's turn, what it may do."""
        name = self._named(member, session)
        found, turn = self._line(member, name), self._sessions[name].turn(member)
        told = briefing(turn, self.table(member))
        if self._waiting(member, name) is None:
            del told["options"]
        role = self._lines[member].instructions
        return Shown(found | told | ({"instructions": role} if role else {}))

    async def state(self, member: str, session: str = "") -> str:
        """The state of the member's machine in a session."""
        return self._sessions[self._named(member, session)].states[member]

    async def moves(self, member: str, session: str = "") -> tuple[Move, ...]:
        """Every guard and tag of the member's table, and why it is not allowed now."""
        name = self._named(member, session)
        found, table = self._sessions[name], self.table(member)
        turn, asked = found.turn(member), self._waiting(member, name) is not None
        here = {one.name: one for one in options_of(turn, table)}
        moves = []
        for do, states in moves_of(table).items():
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
    ) -> Shown:
        """Answer the question `key`; what came of it, and the view after it.

        Raises `Moved` where that is not asked (any more), `DataError` for what the table refuses;
        then nothing has happened, and the question still waits.
        """
        name = self._named(member, session)
        found, table = self._sessions[name], self.table(member)
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
                return Shown({"outcome": outcome, **(await self.view(member, name)).value})
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
            raise NotBegun
        asking = (name for name in self._sessions if self._waiting(member, name) is not None)
        going = (name for name, one in self._sessions.items() if one.ending is None)
        return next(chain(asking, going), list(self._sessions)[-1])

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
