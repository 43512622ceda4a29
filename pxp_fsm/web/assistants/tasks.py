"""Runs of a task, DRUG, RAD or an installed one, in which an assistant is the machine or the human.

It is asked as a model would be, by the same prompts: for its prediction and explanation, and then
for its tag, or for MATCH and AGREE, where its way says so.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from backends.databases import SessionRecord
from backends.models.respondent import answer_of, answer_schema, assemble
from backends.people.browser import OWN, Given, QuestionKind, SeatQuestion, accepted, bounded
from backends.people.waiting import WaitingQuestion
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import Member, System
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.experiments.members import prompts_of_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.prompts import Problem, Prompts
from pxp_fsm.prompting.replies import strict_object
from pxp_fsm.protocol.messages import Instance, Message, Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.tasks.task import HUMAN, MACHINE
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
from pxp_fsm.web.experts.views import pixels, state_of
from pxp_fsm.web.hosting import Host, HostedRun
from pxp_fsm.web.news import News
from pxp_fsm.web.subjects import SystemSubject, subject_of

LONGEST_SIDE = 1568
"""Pixels of the longest side of a picture: models make larger ones smaller themselves."""

ANSWER = "answer"
"""What is done with a prediction and an explanation."""

ROLES = {"machine": MACHINE, "human": HUMAN}
_CALLED = {name: role for role, name in ROLES.items()}
_OPTIONS = {
    Outcome.YES: "they count as the same",
    Outcome.NO: "they do not",
    Outcome.UNSURE: "you cannot tell; it counts as no",
}


@dataclass(frozen=True, slots=True)
class AssistantRole:
    """The assistant in a role of a run; in its sessions it is the agent `who`."""

    hosted: HostedRun
    role: str
    problem: Problem
    prompts: Prompts

    @property
    def who(self) -> str:
        return ROLES[self.role]

    @property
    def table(self) -> Automaton:
        plan: Plan = self.hosted.run.opening.plan
        return plan.rules().automaton


@dataclass(frozen=True, slots=True)
class AssistantSeat:
    """A session, what is stored of it, and what its assistant is asked."""

    record: SessionRecord
    history: tuple[Message, ...]
    waiting: WaitingQuestion[SeatQuestion, Given] | None

    @property
    def status(self) -> str:
        if self.record.ending is not None:
            return OVER
        return OTHERS if self.waiting is None else YOUR_TURN


def state_in(seat: AssistantRole, place: AssistantSeat) -> str:
    """The state of an assistant's machine in a session."""
    if place.record.ending is not None:
        return sorted(seat.table.final)[0]
    return state_of(seat.table, place.history, seat.who)


def line_of(place: AssistantSeat) -> dict[str, Any]:
    """How a session stands for its assistant."""
    line: dict[str, Any] = {"session": place.record.session, "status": place.status}
    if place.status == OVER:
        line |= {"ending": place.record.ending}
    elif place.waiting is not None:
        line |= {"question": place.waiting.key}
    return line


def message_of(message: Message, seat: AssistantRole) -> dict[str, Any]:
    """A message, with what its tag means where it was received."""
    names = {"from": _CALLED[message.sender], "to": _CALLED[message.receiver]}
    meaning = seat.prompts.tags.get(message.tag, "") if message.receiver == seat.who else ""
    return {
        "number": message.number,
        **names,
        "tag": message.tag,
        **({"means": meaning} if meaning else {}),
        "prediction": message.answer.prediction,
        "explanation": message.answer.explanation,
    }


def question_of(seat: AssistantRole, place: AssistantSeat, asked: SeatQuestion) -> dict[str, Any]:
    """What is asked, by the texts that a model is asked by, and the options."""
    answers: dict[str, Any] = {"options": options_of(seat, asked)}
    if asked.step is QuestionKind.ANSWER:
        prompts = replace(seat.prompts, answer=replace(seat.prompts.answer, headings=()))
        question = Question(seat.problem.query, place.record.instance, history=place.history)
        request = assemble(question, seat.problem, prompts)
        return {"instructions": request.system, "asks": request.turns[-1].text} | answers
    if asked.step is QuestionKind.TAG:
        return {
            "asks": "Which tag do you send, with the answer that you have just given?"
        } | answers
    name = "prediction" if asked.step is QuestionKind.MATCH else "explanation"
    first, second = (framed({name: text}) for text in asked.texts)
    if asked.step is QuestionKind.MATCH:
        asks = f"Do these two predictions count as the same?\n{first}\n{second}"
    else:
        asks = seat.prompts.judge.fill("question", first=first, second=second)
    return {"asks": asks} | answers


def options_of(seat: AssistantRole, asked: SeatQuestion) -> list[dict[str, Any]]:
    """What may be answered now."""
    if asked.step is QuestionKind.ANSWER:
        payload = answer_schema(seat.problem)
        return [{"do": ANSWER, "means": "give your answer as the payload", "payload": payload}]
    if asked.step is QuestionKind.TAG:
        return [
            {"do": choice.guard, "means": choice.about, "sends": choice.tag}
            for choice in asked.choices
            if choice.allowed
        ]
    return [{"do": word.value, "means": about} for word, about in _OPTIONS.items()]


def given_for(seat: AssistantRole, asked: SeatQuestion, do: str, payload: Any) -> Given:
    """What an assistant gives as an answer to `asked`; raises `DataError` where it is none."""
    names = [option["do"] for option in options_of(seat, asked)]
    if do not in names:
        why = next((f" ({choice.about})" for choice in asked.choices if choice.guard == do), "")
        raise DataError(f"do must be one of {', '.join(names)}, not {quoted(do)}{why}")
    if asked.step is QuestionKind.ANSWER:
        try:
            value = strict_object(json.dumps(payload), {"prediction", "explanation"})
            answer = bounded(answer_of(value, seat.problem))
        except DataError as error:
            raise DataError(f"the payload is of no use: {error}") from error
        return Given(OWN, answer.prediction, answer.explanation)
    if payload is not None:
        raise DataError(f"leave the payload out: {do} carries nothing of its own")
    return accepted(asked, seat.problem, Given(do))


def pictures_of(seat: AssistantRole, place: AssistantSeat) -> Iterator[tuple[str, Image]]:
    """The picture of the instance, and a drawing of the latest prediction, where there are any."""
    problem, instance = seat.problem, place.record.instance
    shown = problem.drawing(instance)
    picture = problem.picture(instance) if shown is None else None
    if picture is not None:
        shown = Image("image/png", pixels(picture.data, LONGEST_SIDE))
    if shown is not None:
        yield "the instance", shown
    if problem.smiles and place.history:
        latest = place.history[-1]
        with suppress(DataError):  # what another hand wrote may be no molecule
            drawn = problem.drawing(Instance(latest.answer.prediction, latest.answer.prediction))
            if drawn is not None:
                yield f"the prediction of message {latest.number}", drawn


def member_of(run: str, role: str) -> str:
    """What the assistant in a role of a run is called."""
    return f"{run}/{role}"


class TaskAssistants:
    """The assistants in the runs of tasks that `host` carries on. Fills `Assistants`."""

    scope = ASSISTANT

    def __init__(self, host: Host, news: News) -> None:
        self.news = news
        self._host = host
        self._seats: dict[str, AssistantRole] = {}

    @property
    def members(self) -> tuple[str, ...]:
        """Those of all runs that have any."""
        runs = [hosted.run for hosted in self._host.hosted.values()]
        return tuple(
            member_of(run.name, role) for run in runs for role in run.opening.plan.assistants
        )

    def member(self, name: str) -> str:
        """That of the only run, by its role."""
        return member_of(next(iter(self._host.hosted)), name)

    def subject(self, member: str) -> SystemSubject:
        """The protocol of the run, as two members that follow its table, with its bounds."""
        seat = self._seat(member)
        members = tuple(Member(role, seat.table) for role in ROLES)
        rules = seat.hosted.run.opening.plan.rules()
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

    async def moves(self, member: str, session: str = "") -> tuple[AssistantMove, ...]:
        """What is asked, and every guard of the table: whether it is allowed now, and why not."""
        return await asyncio.to_thread(self._moves, self._seat(member), session)

    async def answer(
        self, member: str, session: str, key: str, do: str, to: str, payload: Any
    ) -> Shown:
        """Answer the question `key`; what came of it, and the view after it."""
        seat = self._seat(member)
        name = (await asyncio.to_thread(self._placed, seat, session)).record.session
        waiting = self._host.questions.expected(name, key, seat.who)
        if to:
            raise DataError("leave to out: what you say goes to the other agent")
        reply = await asyncio.to_thread(given_for, seat, waiting.asked, do, payload)
        seen = self.news.version(name)
        self._host.questions.give(name, key, reply, seat.who)
        until = time.monotonic() + PATIENCE
        while True:
            outcome, shown = await asyncio.to_thread(self._outcome, seat, name, waiting)
            left = until - time.monotonic()
            if outcome != PENDING or left <= 0:
                return Shown({"outcome": outcome, **shown.value}, shown.pictures)
            await self.news.after(name, seen, left)
            seen = self.news.version(name)

    def _seat(self, member: str) -> AssistantRole:
        if member not in self._seats:
            self._seats[member] = self._found(member)
        return self._seats[member]

    def _found(self, member: str) -> AssistantRole:
        run, _, role = member.rpartition("/")
        hosted = self._host.hosted.get(run)
        if hosted is None or role not in hosted.run.opening.plan.assistants:
            raise DataError("your token is of a run that this server does not carry on")
        task, plan = hosted.run.opening.task, hosted.run.opening.plan
        if task.problem is None:
            raise UsageError(f"task {task.name} has no questions for an assistant")
        return AssistantRole(hosted, role, task.problem, prompts_of_plan(plan, task)[1])

    def _sessions(self, seat: AssistantRole) -> tuple[dict[str, Any], ...]:
        begun = self._host.board.sessions(seat.hosted.run.name)
        return in_order(line_of(self._place(seat, record)) for record in begun)

    def _view(self, seat: AssistantRole, session: str) -> Shown:
        begun = self._host.board.sessions(seat.hosted.run.name)
        place = self._chosen(seat, session, begun)
        run, problem = seat.hosted.run, seat.problem
        line = line_of(place)
        over = sum(record.ending is not None for record in begun)
        if not session and place.status == OVER and over < run.total:
            line["status"] = OTHERS  # the next session is about to begin
        described = problem.described(place.record.instance)
        state = state_in(seat, place)
        about = {listed_state.name: listed_state.about for listed_state in seat.table.states}.get(
            state, ""
        )
        line |= {"member": seat.role, "about": problem.query}
        line |= {} if described is None else {"instance": described}
        line |= {"state": f"{state}: {about}" if about else state}
        line |= {"messages": [message_of(message, seat) for message in place.history]}
        line |= {"sessions_over": f"{over} of {run.total}", "notice": RESEARCH_ONLY}
        line |= seat.hosted.note
        if place.waiting is None or place.status != YOUR_TURN:
            return Shown(line)
        question = question_of(seat, place, place.waiting.asked)
        if place.waiting.asked.step is not QuestionKind.ANSWER:
            return Shown(line | question)
        shown = dict(pictures_of(seat, place))
        named = {"pictures": list(shown)} if shown else {}
        return Shown(line | question | named, tuple(shown.values()))

    def _moves(self, seat: AssistantRole, session: str) -> tuple[AssistantMove, ...]:
        place = self._placed(seat, session)
        asked = None if place.status != YOUR_TURN or place.waiting is None else place.waiting.asked
        if asked is not None and asked.step is QuestionKind.TAG:
            here = {guard_choice.guard: guard_choice for guard_choice in asked.choices}
        else:
            here = {}
        state, moves = state_in(seat, place), list[AssistantMove]()
        if asked is not None and asked.step is not QuestionKind.TAG:
            moves += [
                AssistantMove(option["do"], True, option["means"])
                for option in options_of(seat, asked)
            ]
        for guard, states in moves_of(seat.table).items():
            choice = here.get(guard)
            if choice is not None:
                about = f"{choice.about}; sends {choice.tag}" if choice.allowed else choice.about
                moves.append(AssistantMove(guard, choice.allowed, about))
            elif place.record.ending is not None:
                why = f"the session is over ({place.record.ending})"
                moves.append(AssistantMove(guard, False, why))
            elif state not in states:
                why = f"not in state {state}; the table has it in {', '.join(states)}"
                moves.append(AssistantMove(guard, False, why))
            else:
                moves.append(AssistantMove(guard, False, _NOT_NAMED[asked is not None]))
        return tuple(moves)

    def _outcome(
        self, seat: AssistantRole, session: str, answered: WaitingQuestion[SeatQuestion, Given]
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

    def _placed(self, seat: AssistantRole, session: str) -> AssistantSeat:
        return self._chosen(seat, session, self._host.board.sessions(seat.hosted.run.name))

    def _chosen(
        self, seat: AssistantRole, session: str, begun: Sequence[SessionRecord]
    ) -> AssistantSeat:
        """The session of that name; without one that which asks the member, or the latest."""
        if session:
            for record in begun:
                if record.session == session:
                    return self._place(seat, record)
            raise DataError(f"no session {quoted(session)} has begun; the tool sessions lists them")
        if not begun:
            raise NotBegun
        open_ones = [session_record for session_record in begun if session_record.ending is None]
        for record in open_ones:
            place = self._place(seat, record)
            if place.status == YOUR_TURN:
                return place
        return self._place(seat, (open_ones or begun)[-1])

    def _place(self, seat: AssistantRole, record: SessionRecord) -> AssistantSeat:
        waiting = self._host.questions.waiting(
            record.session, seat.who
        )  # it follows what is stored
        history = tuple(event.carried for event in self._host.board.events(record.session))
        if waiting is not None and waiting.number != len(history) + 1:
            waiting = None
        return AssistantSeat(record, history, waiting)


_NOT_NAMED = {
    True: "the answer first; tags are named after it, or follow from MATCH and AGREE",
    False: "it is not your turn; wait for what comes",
}
"""Why no tag is named now, where the member is asked something else, or nothing."""
