"""Two running agents in every reachable state of the model: do they do what it says?

What is proved is proved of `SessionModel`. Here a real `Session`, over its real channel and with
the guards that follow from MATCH and AGREE, is brought to each state of the model by its own
messages. The texts that it carries realise the state: they are equal where the model knows them to
be, and MATCH and AGREE answer what the state says of them. There everything happens that the
relations may say, and what the session does is compared with the model's step: the tag, the pair
that it carries, both machines' states, the ending, what is learned, and which texts were compared,
in which order.

Which pairs are to be compared is written here in the papers' words (arXiv 2410.20600, Procedures 1
and 2; arXiv 2301.01819 as cited there), apart from `pxp_fsm.protocol.rules.derive`, which both the
model and the session follow.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple

from proofs.claims.catalogue import assumptions_of
from proofs.core.actions import Blocked, Say
from proofs.core.explore import Space, TooLarge, Trace, explore
from proofs.core.model import Step
from proofs.core.results import Bound, Result, Status, Verdict
from proofs.sessions.model import AGENTS, Judged, SessionModel, State, tag_of
from proofs.sessions.relational import Structure, Theory
from pxp_fsm.errors import PXPError
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.relations import (
    EQUIVALENCE,
    LEARN,
    MEMO_GIVES,
    Assumption,
    Judgement,
    Outcome,
    digest,
)
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session

NAME = "sessions-agree-with-model"
TITLE = "two running agents do in every reachable state of the model what it says"

Asked = tuple[str, str, str, bool]
"""MATCH, AGREE or LEARN, the two texts, and the answer (of LEARN: True)."""


class Expected(NamedTuple):
    """What is due at the next message: the model's step, the pair sent, the questions in order.

    `texts` are the pairs that the respondent is to give, in order; `learns` is whether the speaker
    LEARNs from what it received.
    """

    step: Step[State]
    pair: Answer
    asked: tuple[Asked, ...] = ()
    texts: tuple[Answer, ...] = ()
    learns: bool = False


@dataclass(frozen=True)
class Agreement:
    """How many states and messages were compared; the first difference, and the trace to it."""

    states: int
    messages: int
    difference: str = ""
    trace: Trace[State] | None = None


def compare(model: SessionModel, limit: int = 5_000_000) -> Agreement:
    """What two running agents do in every reachable state of `model`, compared with its steps.

    Raises `TooLarge` where there are more than `limit` states.

    >>> from proofs.sessions.relational import Theory
    >>> from pxp_fsm.protocol.relations import EQUIVALENCE
    >>> from pxp_fsm.protocol.rules import Interact
    >>> found = compare(SessionModel(Interact(n=4, k=2), Theory(EQUIVALENCE)))
    >>> found.states, found.difference
    (40, '')
    """
    return asyncio.run(_Running(model, explore(model, limit)).walk())


def check_running(rules: Rules, relations: str, limit: int = 5_000_000) -> Result:
    """The same as a result, for `rules` under the assumptions called `relations`.

    FAILS with a trace to the message at which a session does something else. Raises `UsageError`
    for assumptions that there are not.
    """
    started = time.perf_counter()
    interact = isinstance(rules, Interact)
    bounded = rules.n is not None or rules.k is not None
    model = SessionModel(rules, Theory(assumptions_of(relations)), observes=interact)
    try:
        found = compare(model, limit)
        counted = f"{found.states:,} states, {found.messages:,} messages"
        if found.difference:
            verdict = Verdict(Status.FAILS, found.difference, found.trace)
        elif bounded:
            verdict = Verdict(Status.HOLDS_UP_TO, counted, bound=Bound(n=rules.n, k=rules.k))
        else:
            verdict = Verdict(Status.HOLDS, counted)
    except TooLarge as error:
        verdict = Verdict(Status.UNKNOWN, str(error))
    seconds = time.perf_counter() - started
    protocol = "pxp(k)" if bounded and not interact else rules.name
    return Result(protocol, NAME, TITLE, relations, verdict, Status.HOLDS, seconds, model.name)


@dataclass
class _Script:
    """What respondents, relations and policy say at the next message, and what came of it."""

    texts: list[Answer] = field(default_factory=list)
    answers: dict[tuple[str, str, str], list[bool]] = field(default_factory=dict)
    term: bool = False
    learned: list[Message] = field(default_factory=list)
    logged: tuple[Judgement, ...] = ()
    fault: str = ""


class _Respondent:
    """A respondent, and a learner, by the script."""

    name = "script"

    def __init__(self, script: _Script) -> None:
        self._script = script

    async def answer(self, question: Question) -> Answer:
        return self._script.texts.pop(0)

    def learn(self, instance: Instance, message: Message) -> None:
        self._script.learned.append(message)


class _Relation:
    """MATCH or AGREE by the script; what it does not have is not to be asked."""

    def __init__(self, name: str, script: _Script, assumptions: frozenset[Assumption]) -> None:
        self.name = name
        self.assumptions = assumptions
        self._script = script

    async def holds(self, left: str, right: str) -> Outcome:
        answers = self._script.answers.get((self.name, left, right))
        if not answers:
            self._script.fault = f"{self.name} is asked of {left} and {right}"
            return Outcome.BROKEN
        return Outcome.YES if answers.pop(0) else Outcome.NO


class _Board:
    """A blackboard that hands what was judged to the script."""

    def __init__(self, script: _Script) -> None:
        self._script = script

    def append(self, message: Message, context: str, judgements: Sequence[Judgement]) -> None:
        self._script.logged = tuple(judgements)

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """How it ended is read from the session."""


class _Differs(Exception):
    """A session does something else than the model says: what, in which state, at which step."""


class _Running:
    """A real session that is led through the states of a model."""

    def __init__(self, model: SessionModel, space: Space[State]) -> None:
        self._model = model
        self._space = space
        self._assumed = model.theory.assumptions
        self._script = script = _Script()
        self._numbers = count(1)
        self._met: set[State] = set()
        self._messages = 0
        self._learns = isinstance(model.rules, Pxp)
        rules: Rules = model.rules
        if isinstance(rules, Pxp):
            rules = replace(rules, term=lambda _received, _own: script.term)
        one = self._relations()
        both = (one, one if Assumption.SHARED in self._assumed else self._relations())
        memo = self._assumed >= MEMO_GIVES
        self._session = Session(
            rules,
            {
                name: Agent(_Respondent(script), match=match, agree=agree, memo=memo)
                for name, (match, agree) in zip(AGENTS, both, strict=True)
            },
            instance="x",
            blackboard=_Board(script),
            limit=sys.maxsize,
            record_faults=True,
        )

    def _relations(self) -> tuple[_Relation, _Relation]:
        match, agree = (_Relation(n, self._script, self._assumed) for n in ("MATCH", "AGREE"))
        return match, agree

    async def walk(self) -> Agreement:
        """Compare everything, up to the first difference."""
        # what two agents share counts only where its answers are fixed
        fixed = Assumption.DETERMINISTIC in self._assumed
        due = self._assumed if fixed else self._assumed - {Assumption.SHARED}
        if self._session.assumptions != due:
            found = ", ".join(sorted(self._session.assumptions)) or "nothing"
            return Agreement(0, 0, f"a session of such agents is said to assume {found}")
        (start,) = self._model.initial()
        try:
            await self._continue(start)
        except _Differs as error:
            difference, state, step = error.args
            before = self._space.trace_to(state)
            trace = Trace(before.start, (*before.steps, step))
            return Agreement(len(self._met), self._messages, difference, trace)
        return Agreement(len(self._met), self._messages)

    async def _continue(self, state: State) -> None:
        """Let everything happen in `state`, where the session is, and in the states after it."""
        self._met.add(state)
        for expected in () if state.over else self._expected(state):
            back = self._session.withdrawing()
            difference = await self._difference(expected)
            if difference:
                raise _Differs(difference, state, expected.step)
            self._messages += 1
            target = expected.step.target
            if target not in self._met and self._space.parents[target] == (state, expected.step):
                await self._continue(target)
            back()

    async def _difference(self, expected: Expected) -> str:
        """Let the session send its next message: what is not as expected, "" if all is."""
        script, session, step = self._script, self._session, expected.step
        script.texts, script.learned, script.answers = list(expected.texts), [], {}
        script.logged, script.fault = (), ""
        script.term = not step.facts and tag_of(step) == Tag.TERM
        for name, left, right, answer in expected.asked:
            script.answers.setdefault((name, left, right), []).append(answer)
        try:
            message = await session.step()
        except PXPError as error:
            message, script.fault = None, str(error)
        if isinstance(step.action, Blocked) or message is None:
            blocked = isinstance(step.action, Blocked) and message is None
            sent = f"the session sends {message.tag}" if message else script.fault or session.cause
            return "" if blocked else f"{sent}; by the model {step.label}"
        learned = session.history[-2:-1] if self._learns else (message,)
        compared: tuple[tuple[str, object, object], ...] = (
            ("sent is", Say(message.sender, message.tag), step.action),
            ("the pair is", message.answer, expected.pair),
            ("compared are", _logged(script, expected), expected.asked),
            ("the machines are at", tuple(session.states.values()), step.target.at),
            ("the ending is", session.ending and session.ending.value, step.target.over or None),
            ("learned is", script.learned, list(learned if expected.learns else ())),
            ("not asked for are", script.texts, []),
        )
        wrong = (
            f"{what} {found}, by the model {due}" for what, found, due in compared if found != due
        )
        return next(wrong, "")

    def _expected(self, state: State) -> Iterable[Expected]:
        """Everything that the model lets happen in `state`, each with texts that realise it."""
        free = [step for step in self._model.successors(state) if not step.facts]
        if not state.sent:
            return [self._unasked(step, first=True) for step in free]
        found = {(step, step.facts): self._unasked(step, first=state.sent == 1) for step in free}
        for y, e in self._model.judgements(state):
            for step in self._model.after(state, y, e):
                if (step, step.facts) not in found:
                    found[step, step.facts] = self._answer(step, y, e)
        return found.values()

    def _unasked(self, step: Step[State], *, first: bool) -> Expected:
        """INIT, or TERM by the policy: nothing is compared, and the pair is one's latest."""
        history = self._session.history
        if not first:
            return Expected(step, history[-2].answer, learns=not self._learns)
        received = history[-1].answer if history else Answer("", "")
        fresh = self._pair(received, step.target.predictions, step.target.explanations)
        return Expected(step, fresh, texts=(fresh,), learns=not self._learns)

    def _answer(self, step: Step[State], y: Judged, e: Judged) -> Expected:
        """What follows from comparisons, as the papers write it."""
        received, *before = [message.answer for message in reversed(self._session.history[-2:])]
        own = before[0] if before else self._pair(received, y.kept, e.kept)
        revised = len(step.facts) > 2
        if self._learns:
            new, other = self._pair(received, y.taken, e.taken), received
        else:
            new, other = self._fresh(received, own, y, e, second=not before), own
        asked: list[Asked] = [
            ("MATCH", received.prediction, own.prediction, y.same),
            ("AGREE", received.explanation, own.explanation, e.same),
        ]
        if revised and self._learns:
            asked.append((LEARN, received.prediction, received.explanation, True))
        if revised:
            asked.append(("MATCH", new.prediction, other.prediction, y.revision))
        if revised and y.revision:
            asked.append(("AGREE", new.explanation, other.explanation, e.revision))
        if not self._learns:
            return Expected(step, new, tuple(asked), (new,), learns=True)
        texts = (*(() if before else (own,)), *((new,) if revised else ()))
        return Expected(step, new if revised else own, tuple(asked), texts, learns=revised)

    def _fresh(
        self, received: Answer, own: Answer, y: Judged, e: Judged, *, second: bool
    ) -> Answer:
        """INTERACT's fresh pair: message 2 compares it with itself."""
        if second:
            return own
        new = self._pair(received, y.taken, e.taken)
        if self._assumed == EQUIVALENCE:  # what is related is equal, so unchanged is equal too
            return Answer(
                own.prediction if y.revision else new.prediction,
                own.explanation if e.revision else new.explanation,
            )
        return new

    def _pair(self, received: Answer, y: Structure, e: Structure) -> Answer:
        """A pair that is related to the received one as the structures say."""
        return Answer(self._text(y, received.prediction), self._text(e, received.explanation))

    def _text(self, structure: Structure, received: str) -> str:
        """The received text where the structure has the two equal, else a new one."""
        related = structure.left if self._assumed == EQUIVALENCE else structure.equal
        return received if (0, 1) in related else f"t{next(self._numbers)}"


def _logged(script: _Script, expected: Expected) -> tuple[Asked, ...]:
    """What was judged, with the texts that are expected in place of their digests."""
    texts = {digest(text): text for asked in expected.asked for text in asked[1:3]}
    return tuple(
        (
            one.relation,
            texts.get(one.left, one.left),
            texts.get(one.right, one.right),
            one.outcome is Outcome.YES,
        )
        for one in script.logged
    )
