"""A step of the update as a session of INTERACT between the system and the developer.

The system predicts the step's JSON and explains it; the developer confirms (RATIFY), edits or hints
(REFUTE), or takes over (REJECT). The system's guards: RATIFY answers RATIFY, REVISE where its
result has changed, else REFUTE; it never rejects. The developer's are what they do.
Source: EasyLAN (Pan, Li, Yu, Shi), section 4.2.1.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from typing import Protocol

from pxp_fsm.automata.automaton import Valuation, one_hot
from pxp_fsm.errors import NoAnswer
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.training.developer import Act, DeveloperChoice, StepView
from pxp_fsm.plugins.easylan.training.steps import (
    HintFollowed,
    SameJson,
    fits,
    holes,
    value_of,
    written,
)
from pxp_fsm.protocol.decisions import Guard
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.relations import Judgement, Outcome, Relation, digest
from pxp_fsm.protocol.rules import Ending, Interact
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session, Store

SYSTEM, DEVELOPER = "system", "developer"
EFFORT = "EFFORT"
"""Under this name a developer's interactions and time are logged beside the judgements."""

MESSAGES = 40
"""The bound on a step's messages; after it the developer takes over."""

AS_WRITTEN = "as the developer has written it"

Propose = Callable[[str, str, str], Awaitable[Answer]]
"""A result by a model: given the last result, the developer's version, and their hint."""
Check = Callable[[object], str | None]
"""Why a result that the developer wrote cannot be used, or None."""
OnEvents = Callable[[tuple[Event, ...]], None]
"""Told of a step's messages whenever there is one more."""


class StepReviewer(Protocol):
    """Who reviews the results of a step."""

    @property
    def name(self) -> str:
        """Who it is, as a session records it."""

    async def review(self, view: StepView) -> Act:
        """What they do about a step's result; asked again after each of the system's answers."""


class Board(Store, Protocol):
    """Where the sessions of an update are stored."""

    def stored(self, name: str) -> tuple[Event, ...]:
        """The messages of the session `name` so far; none where it has not begun."""

    def about(self, name: str) -> str | None:
        """What the session `name` is about; None where it has not begun."""


@dataclass(frozen=True)
class StepEnded:
    """How a step ended: with a result on which both agree, or without one, and why."""

    ending: Ending
    value: object = None
    rationale: str = ""
    why: str = ""
    messages: tuple[Message, ...] = field(default=(), repr=False)


class _Kept:
    """A blackboard that keeps a step's messages too, and is told of each."""

    def __init__(self, board: Board | None, on_events: OnEvents) -> None:
        self._events: tuple[Event, ...] = ()
        self._board = board
        self._on_events = on_events

    def carry_on(self, session: Session, events: Sequence[Event]) -> Sequence[Event]:
        """Record the session with its messages so far: the `events`, or as many as are stored."""
        known: Sequence[Event] = [event.in_session(session.name) for event in events]
        if self._board is not None:
            stored = self._board.stored(session.name)
            self._board.open(session)
            for event in known[len(stored) :]:
                self._board.append(session.name, event)
            known = max(known, stored, key=len)
        self._events = tuple(known)
        return known

    def open(self, session: Session) -> None:
        """It is recorded with what is known of it (`carry_on`)."""

    def append(self, session: str, event: Event) -> None:
        if self._board is not None:
            self._board.append(session, event)
        self._events = (*self._events, event)
        self._on_events(self._events)

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        if self._board is not None:
            self._board.end(session, ending, cause, judgements)


class _System:
    """The system as a respondent: proposes, takes over what the developer wrote, or fills it in."""

    name = "system"

    def __init__(self, propose: Propose, check: Check) -> None:
        self._propose = propose
        self._check = check

    async def answer(self, question: Question) -> Answer:
        if not question.history:
            return await self._propose("", "", "")
        own, received = question.history[-2].answer, question.history[-1]
        if received.tag != Tag.REFUTE:
            return own
        theirs, hint = value_of(received.answer.prediction), received.answer.explanation
        edited = not fits(theirs, value_of(own.prediction)) or any(holes(theirs))
        if not hint.strip() and edited and not any(holes(theirs)):
            problem = self._check(theirs)
            return replace(own, explanation=problem) if problem else _as_written(theirs)
        try:
            proposal = await self._propose(own.prediction, received.answer.prediction, hint)
        except NoAnswer as error:
            return replace(own, explanation=f"it found no other result: {error}")
        return proposal


def _as_written(value: object) -> Answer:
    return Answer(written(value), AS_WRITTEN)


class _SystemGuards:
    """RATIFY answers RATIFY; else REVISE where the result has changed, and REFUTE where not."""

    name = "system of an update"
    follows_relations = False

    async def decide(self, situation: Situation) -> Valuation:
        received, own = situation.received, situation.own
        match = await situation.relations.match(received.answer.prediction, own.prediction)
        agree = await situation.relations.agree(received.answer.explanation, own.explanation)
        if received.tag == Tag.RATIFY and match and agree:
            return one_hot(Guard.RAT, situation.guards)
        new = await situation.revised()
        changed = value_of(new.prediction) != value_of(own.prediction)
        return one_hot(Guard.REV if changed else Guard.REF, situation.guards)


class _Supervisor:
    """The developer as a respondent and as guards: what they do names the tag."""

    follows_relations = False

    def __init__(self, developer: StepReviewer, view: StepView, rules: Interact) -> None:
        self._developer = developer
        self._view = view
        self._rules = rules
        self._guard = Guard.REJ
        self._act = Act(DeveloperChoice.REJECT)
        self._seconds = 0.0
        self._confirming: object = None

    def resume(self, events: Sequence[Event]) -> None:
        """Go on after `events`: what they wrote and confirmed is still confirmed."""
        own = [event for event in events if event.carried.sender == DEVELOPER]
        for judgement in own[-1].judgements if own else ():
            if judgement.relation == EFFORT:
                chosen = json.loads(judgement.detail)["choice"]
                self._written(DeveloperChoice(chosen), value_of(own[-1].carried.answer.prediction))

    def _written(self, choice: DeveloperChoice, value: object) -> None:
        """Note what is confirmed as soon as the system has taken it over."""
        confirmed = choice is DeveloperChoice.CONFIRM and not any(holes(value))
        self._confirming = value if confirmed else None

    @property
    def name(self) -> str:
        return self._developer.name

    async def answer(self, question: Question) -> Answer:
        received = question.history[-1]
        proposal = value_of(received.answer.prediction)
        confirming, self._confirming = self._confirming, None
        self._act, self._seconds = Act(DeveloperChoice.CONFIRM), 0.0
        if confirming is not None and proposal == confirming:
            self._guard = Guard.RAT
            return Answer(received.answer.prediction, "")
        started = time.perf_counter()
        act = await self._asked(question, proposal)
        self._act, self._seconds = act, time.perf_counter() - started
        theirs = proposal if act.result is None else act.result
        if act.choice is DeveloperChoice.REJECT:
            self._guard = Guard.REJ
        elif act.choice is DeveloperChoice.CONFIRM and theirs == proposal:
            self._guard = Guard.RAT
        else:
            self._guard = Guard.REF
            self._written(act.choice, theirs)
        confirmed = self._confirming is not None
        return Answer(written(theirs), "" if confirmed else act.hint.strip())

    async def _asked(self, question: Question, proposal: object) -> Act:
        history = question.history
        may = Guard.REJ in self._rules.allowed(len(history) + 1)
        view = replace(
            self._view, proposal=proposal, rationale=_rationale(history), history=history
        )
        if history[-1].tag == Tag.REFUTE:
            theirs, why = history[-2].answer.prediction, history[-1].answer.explanation
            version = value_of(theirs)
            edited = None if version == proposal else version
            view = replace(view, version=edited, refused=why)
        view = replace(view, may_reject=may)
        while True:
            act = await self._developer.review(view)
            if may or act.choice is not DeveloperChoice.REJECT:
                return act
            view = replace(view, refused=f"REJECT is allowed after message {self._rules.k} only")

    async def decide(self, situation: Situation) -> Valuation:
        received = situation.received.answer
        done = {"choice": self._act.choice, "distance": self._act.distance}
        situation.relations.note(
            Judgement(
                EFFORT,
                digest(received.prediction),
                digest(self._act.hint),
                Outcome.YES,
                asked=True,
                seconds=self._seconds,
                detail=json.dumps(done),
            )
        )
        return one_hot(self._guard, situation.guards)


def _rationale(history: Sequence[Message]) -> str:
    """The system's for its present proposal: a refusal does not take its place."""
    answers = [
        message for message in history if message.sender == SYSTEM and message.tag != Tag.REFUTE
    ]
    return answers[-1].answer.explanation


@dataclass(frozen=True)
class Supervision:
    """How steps are supervised: the protocol's bounds, who judges hints, where messages go."""

    rules: Interact = field(default_factory=lambda: Interact(n=MESSAGES, k=1))
    judge: Relation | None = None
    board: Board | None = None

    async def step(
        self,
        name: str,
        x: str,
        developer: StepReviewer,
        view: StepView,
        propose: Propose,
        check: Check,
        events: Sequence[Event] = (),
        on_events: OnEvents = lambda _events: None,
    ) -> StepEnded:
        """One step's session, to its end; `events` are its messages so far."""
        match, agree = SameJson(), HintFollowed(self.judge)
        supervisor = _Supervisor(developer, view, self.rules)
        proposing, guards = _System(propose, check), _SystemGuards()
        members = {
            SYSTEM: Agent(proposing, match=match, agree=agree, guards=guards),
            DEVELOPER: Agent(supervisor, match=match, agree=agree, guards=supervisor),
        }
        instance = Instance(f"{view.step}-{digest(x)[:12]}", x)
        kept = _Kept(self.board, on_events)
        session = Session(
            self.rules,
            members,
            instance=instance,
            name=name,
            blackboard=kept,
            record_faults=True,
        )
        known = kept.carry_on(session, events)
        supervisor.resume(known)
        session.replay(known)
        await session.run()
        ending = session.ending or Ending.BROKEN
        if ending is not Ending.RATIFIED:
            return StepEnded(ending, why=session.cause, messages=session.history)
        agreed = session.history[-1].answer
        value = value_of(agreed.prediction)
        return StepEnded(ending, value, agreed.explanation, messages=session.history)

    def is_of_another(self, name: str, x: str) -> bool:
        """Whether the session `name` was begun, and about something else than `x`: it is abandoned.

        A training that was stopped in a step finds its session stored, and goes on with it; not
        where the network was edited in between.
        """
        known = None if self.board is None else self.board.about(name)
        if known is None or known == x:
            return False
        self.abandon(name, "the network was edited while the training was stopped")
        return True

    def abandon(self, name: str, why: str) -> None:
        """Note that the session `name` goes on no more, and why."""
        if self.board is not None:
            self.board.end(name, Ending.BROKEN.value, why, ())
