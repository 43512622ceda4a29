"""Runs of a task, DRUG, RAD or an installed one, in which an assistant is the machine or the human.

It is asked as a model would be, by the same prompts: for its prediction and explanation, and then
for its tag, or for MATCH and AGREE, where its way says so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from backends.databases import SessionRecord
from backends.people.browser import Asked, Given, QuestionKind
from backends.people.waiting import Waiting
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.experiments.participants import prompts_of_plan
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
from pxp_fsm.web.assistants.questions import (
    ROLES,
    Place,
    Seat,
    given_for,
    line_of,
    message_of,
    options_of,
    pictures_of,
    question_of,
    state_in,
)
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.experts.runner import Runner, RunState
from pxp_fsm.web.subjects import Subject, subject_of


def member_of(run: str, role: str) -> str:
    """What the assistant in a role of a run is called."""
    return f"{run}/{role}"


class TaskHost:
    """The assistants of the runs that `runner` carries on; `news` are its news. Fills `Host`."""

    def __init__(self, runner: Runner, news: News) -> None:
        self.news = news
        self._runner = runner
        self._seats: dict[str, Seat] = {}

    def subject(self, member: str) -> Subject:
        """The protocol of the run, as two members that follow its table, with its bounds."""
        seat = self._seat(member)
        members = tuple(Member(role, seat.table) for role in ROLES)
        rules = seat.hosted.run.plan.rules()
        subject = subject_of(System(members, parse_channel("sync")))
        return replace(subject, bounds=(rules.n, rules.k))

    def tables(self, member: str) -> Mapping[str, Automaton]:
        """The protocol's table, which both agents follow."""
        table = self.table(member)
        return {table.name: table}

    def table(self, member: str) -> Automaton:
        """The protocol's table."""
        return self._seat(member).table

    async def sessions(self, member: str) -> tuple[dict[str, Any], ...]:
        """The sessions that have begun: those that wait for the member first."""
        return await asyncio.to_thread(self._sessions, self._seat(member))

    async def view(self, member: str, session: str = "") -> Shown:
        """Whose turn it is in a session, what came and, at the member's turn, what is asked."""
        return await asyncio.to_thread(self._view, self._seat(member), session)

    async def state(self, member: str, session: str = "") -> str:
        """The state of the member's machine in a session."""
        seat = self._seat(member)
        return await asyncio.to_thread(lambda: state_in(seat, self._placed(seat, session)))

    async def moves(self, member: str, session: str = "") -> tuple[Move, ...]:
        """What is asked, and every guard of the table: whether it is allowed now, and why not."""
        return await asyncio.to_thread(self._moves, self._seat(member), session)

    async def answer(
        self, member: str, session: str, key: str, do: str, to: str, payload: Any
    ) -> Shown:
        """Answer the question `key`; what came of it, and the view after it."""
        seat = self._seat(member)
        name = (await asyncio.to_thread(self._placed, seat, session)).record.session
        waiting = self._runner.questions.expected(name, key, seat.who)
        if to:
            raise DataError("leave to out: what you say goes to the other agent")
        given = await asyncio.to_thread(given_for, seat, waiting.asked, do, payload)
        seen = self.news.version(name)
        self._runner.questions.give(name, key, given, seat.who)
        until = time.monotonic() + PATIENCE
        while True:
            outcome, shown = await asyncio.to_thread(self._outcome, seat, name, waiting)
            left = until - time.monotonic()
            if outcome != PENDING or left <= 0:
                return Shown({"outcome": outcome, **shown.value}, shown.pictures)
            await self.news.after(name, seen, left)
            seen = self.news.version(name)

    def _seat(self, member: str) -> Seat:
        if member not in self._seats:
            self._seats[member] = self._found(member)
        return self._seats[member]

    def _found(self, member: str) -> Seat:
        run, _, role = member.rpartition("/")
        hosted = self._runner.hosted.get(run)
        if hosted is None or role not in hosted.run.plan.assistants:
            raise DataError("your token is of a run that this server does not carry on")
        task, plan = hosted.run.task, hosted.run.plan
        if task.problem is None:
            raise UsageError(f"task {task.name} has no questions for an assistant")
        return Seat(hosted, role, task.problem, prompts_of_plan(plan, task)[1])

    def _sessions(self, seat: Seat) -> tuple[dict[str, Any], ...]:
        begun = self._runner.board.sessions(seat.hosted.run.name)
        return in_order(line_of(self._place(seat, record)) for record in begun)

    def _view(self, seat: Seat, session: str) -> Shown:
        begun = self._runner.board.sessions(seat.hosted.run.name)
        place = self._chosen(seat, session, begun)
        run, problem = seat.hosted.run, seat.problem
        line = line_of(place)
        over = sum(one.ending is not None for one in begun)
        if not session and place.status == OVER and over < run.total:
            line["status"] = OTHERS  # the next session is about to begin
        described = problem.described(place.record.instance)
        state = state_in(seat, place)
        about = {one.name: one.about for one in seat.table.states}.get(state, "")
        line |= {"member": seat.role, "about": problem.query}
        line |= {} if described is None else {"instance": described}
        line |= {"state": f"{state}: {about}" if about else state}
        line |= {"messages": [message_of(one, seat) for one in place.history]}
        line |= {"sessions_over": f"{over} of {run.total}", "notice": RESEARCH_ONLY}
        if seat.hosted.state in (RunState.PAUSED, RunState.STOPPED):
            line |= {"note": f"the run is {seat.hosted.state}; whoever carries it on knows why"}
        if place.waiting is None or place.status != YOUR_TURN:
            return Shown(line)
        question = question_of(seat, place, place.waiting.asked)
        if place.waiting.asked.step is not QuestionKind.ANSWER:
            return Shown(line | question)
        shown = dict(pictures_of(seat, place))
        named = {"pictures": list(shown)} if shown else {}
        return Shown(line | question | named, tuple(shown.values()))

    def _moves(self, seat: Seat, session: str) -> tuple[Move, ...]:
        place = self._placed(seat, session)
        asked = None if place.status != YOUR_TURN or place.waiting is None else place.waiting.asked
        if asked is not None and asked.step is QuestionKind.TAG:
            here = {one.guard: one for one in asked.choices}
        else:
            here = {}
        state, moves = state_in(seat, place), list[Move]()
        if asked is not None and asked.step is not QuestionKind.TAG:
            moves += [Move(one["do"], True, one["means"]) for one in options_of(seat, asked)]
        for guard, states in moves_of(seat.table).items():
            choice = here.get(guard)
            if choice is not None:
                about = f"{choice.about}; sends {choice.tag}" if choice.allowed else choice.about
                moves.append(Move(guard, choice.allowed, about))
            elif place.record.ending is not None:
                why = f"the session is over ({place.record.ending})"
                moves.append(Move(guard, False, why))
            elif state not in states:
                why = f"not in state {state}; the table has it in {', '.join(states)}"
                moves.append(Move(guard, False, why))
            else:
                moves.append(Move(guard, False, _NOT_NAMED[asked is not None]))
        return tuple(moves)

    def _outcome(
        self, seat: Seat, session: str, answered: Waiting[Asked, Given]
    ) -> tuple[str, Shown]:
        """What has come of the answer to a question, and the session's view."""
        shown, place = self._view(seat, session), self._placed(seat, session)
        if len(place.history) >= answered.number:
            sent = place.history[answered.number - 1]
            return f"done: message {sent.number}, {sent.tag}", shown
        if place.record.ending is not None:
            return "not done: the session ended before it", shown
        if place.waiting is not None and place.waiting.key != answered.key:
            return f"taken; message {answered.number} needs one more answer", shown
        return PENDING, shown

    def _placed(self, seat: Seat, session: str) -> Place:
        return self._chosen(seat, session, self._runner.board.sessions(seat.hosted.run.name))

    def _chosen(self, seat: Seat, session: str, begun: Sequence[SessionRecord]) -> Place:
        """The session of that name; without one that which asks the member, or the latest."""
        if session:
            for record in begun:
                if record.session == session:
                    return self._place(seat, record)
            raise DataError(f"no session {quoted(session)} has begun; the tool sessions lists them")
        if not begun:
            raise NotBegun
        open_ones = [one for one in begun if one.ending is None]
        for record in open_ones:
            place = self._place(seat, record)
            if place.status == YOUR_TURN:
                return place
        return self._place(seat, (open_ones or begun)[-1])

    def _place(self, seat: Seat, record: SessionRecord) -> Place:
        waiting = self._runner.questions.waiting(
            record.session, seat.who
        )  # it follows what is stored
        history = tuple(one.message for one in self._runner.board.entries(record.session))
        if waiting is not None and waiting.number != len(history) + 1:
            waiting = None
        return Place(record, history, waiting)


_NOT_NAMED = {
    True: "the answer first; tags are named after it, or follow from MATCH and AGREE",
    False: "it is not your turn; wait for what comes",
}
"""Why no tag is named now, where the member is asked something else, or nothing."""
