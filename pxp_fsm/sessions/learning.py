"""LEARN under control: the lessons that an agent keeps, by a validation set.

In the papers' controlled experiments a machine revises only if its accuracy on a validation set
improves; in the uncontrolled ones there is no such set (arXiv 2410.20600, section 4; NeurIPS 2025
workshop version, section 5). A `Gate` is that policy; `Lessons` applies it in one session.

Every decision is logged as a judgement LEARN beside the message that it led to, with the numbers it
rests on, so that an interrupted run goes on from stored decisions and asks nothing twice.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from itertools import compress

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import NoAnswer, PXPError, Refused, UsageError, quoted
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.interfaces import CopyableLearner, Learner, Likelihood, Respondent
from pxp_fsm.protocol.messages import Answer, Episode, Instance, Message, Question
from pxp_fsm.protocol.relations import (
    LEARN,
    Judgement,
    OracleFailed,
    Outcome,
    Relation,
    awaited,
    digest,
    in_session,
    reply_of,
)

Ask = Callable[[Respondent, Question], Awaitable[Answer]]
Teach = Callable[[Respondent, Message], None]

AT_ONCE = 8
"""How many validation questions are asked at a time."""


class Keep(StrEnum):
    """When a lesson is kept: always, if accuracy improves, if it does not fall, or never.

    `LIKELIHOOD`: if the mean log-likelihood of the right answers rises, and no fewer first answers
    are right. It weighs what `BETTER` cannot see: most lessons change no first answer of a
    validation set, but make right answers likelier or less likely.
    """

    ALWAYS = "always"
    LIKELIHOOD = "likelihood"
    BETTER = "better"
    EQUAL = "equal"
    NEVER = "never"


class Gated(StrEnum):
    """What is refused where a lesson is not kept.

    `REVISION`: the answer alone; what was said stays in the context, and a local learner has
    learned it. `CONTEXT`: the lesson itself, as the authors' code does; it is as if it had not been
    said. In both cases the agent's previous answer stands.
    """

    REVISION = "revision"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Weighing:
    """What a decision rests on: right answers `before` and `after` the lesson, `of` so many.

    `unanswered` of the answers after it were none, and count as wrong. By likelihood, `rise` is how
    much the mean log-likelihood of the right answers rose (natural-log units, negative where it
    fell), and `concerned` in how many rows it changed. All None where the decision needed no
    validation.
    """

    before: int | None = None
    after: int | None = None
    of: int | None = None
    unanswered: int | None = None
    rise: float | None = None
    concerned: int | None = None

    def __str__(self) -> str:
        """What was weighed, in words; empty where nothing was.

        >>> str(Weighing(before=6, after=7, of=10, unanswered=0))
        'right on 7 of 10 validation instances with it, and on 6 without'
        """
        if self.after is None:
            return ""
        among = "" if self.of is None else f" of {self.of}"
        text = f"right on {self.after}{among} validation instances with it"
        text += f", and on {self.before} without"
        if self.unanswered:
            text += f"; {self.unanswered} had no answer"
        if self.rise is not None:
            change = f"{'rose' if self.rise >= 0 else 'fell'} by {abs(self.rise):.3g}"
            text += f"; the mean log-likelihood of right answers {change}"
            if self.concerned is not None:
                text += f", in {self.concerned}{among} instances"
        return text


_Likelihoods = tuple[float, ...]
"""The log-likelihood of the right answer of each validation row."""


class Gate:
    """The policy of one agent, and the accuracy that a lesson must measure up to.

    `rows` is the validation set: each instance with its right prediction. `standing` is the number
    right when a lesson was last kept; None before the first is weighed. A gate lives as long as
    what its agent learns. Raises `UsageError` where there is nothing to weigh by.
    """

    def __init__(
        self, keep: Keep, gated: Gated = Gated.REVISION, rows: Sequence[tuple[Instance, str]] = ()
    ) -> None:
        if keep is Keep.ALWAYS:
            raise UsageError("learning that always keeps lessons takes no gate")
        if keep is not Keep.NEVER and not rows:
            raise UsageError(
                f"keep {keep.value} requires a validation set to weigh lessons on, and these data "
                f"have none: give rows the set validation (pxp data split), leave rows to no "
                f"session (instances), or keep always or never",
                "learn",
            )
        self.keep = keep
        self.gated = gated
        self.rows = tuple(rows)
        self.standing: int | None = None

    @property
    def name(self) -> str:
        """What it is, as a session records it (`better-revision-of-32`)."""
        of = "" if self.keep is Keep.NEVER else f"-of-{len(self.rows)}"
        return f"{self.keep.value}-{self.gated.value}{of}"

    def check(self, respondent: Respondent) -> None:
        """Raise `UsageError` where `respondent` learns and cannot be taught apart."""
        if isinstance(respondent, Learner) and not isinstance(respondent, CopyableLearner):
            raise UsageError(
                f"{respondent.name} learns and cannot be copied, so that its lessons cannot be "
                f"weighed; keep always"
            )
        if self.keep is Keep.LIKELIHOOD and not isinstance(respondent, Likelihood):
            raise UsageError(
                f"{respondent.name} does not say how likely its answers are, so that its lessons "
                f"cannot be weighed by likelihood; keep {Keep.BETTER} or {Keep.EQUAL}",
                "learn",
            )

    def weigh(self, weighing: Weighing) -> bool:
        """Whether a lesson of this weight is kept, by the rules of `gate_table`.

        From then on that is what a lesson must measure up to.
        """
        table, right = gate_table(), weighing.after or 0
        likelier = (weighing.rise or 0.0) > 0
        values = (self.keep.value, weighing.before or 0, right, likelier)
        guard = table.rules.decide("WEIGH", values)
        row = next(row for row in table.leaving("WEIGH") if row.guard == guard)
        (standing,) = table.rules.step(row, values)
        self.standing = int(standing)
        return guard == "KEEP"


@cache
def gate_table() -> Automaton:
    """The table of the gate, `learn_gate.toml`: what it keeps is proved of it for any data."""
    text = resources.files("pxp_fsm.sessions").joinpath("learn_gate.toml").read_text("utf-8")
    return parse_automaton(text, "learn_gate.toml")


class Lessons:
    """What one agent is told in one session about `instance`, and what it keeps of it."""

    def __init__(self, gate: Gate, instance: Instance, earlier: tuple[Episode, ...]) -> None:
        self._gate = gate
        self._instance = instance
        self._earlier = earlier
        self._pending: Message | None = None
        self._hidden: set[int] = set()

    @property
    def pending(self) -> bool:
        """Whether something was heard that is not yet weighed."""
        return self._pending is not None

    @property
    def keeps_unweighed(self) -> bool:
        """Whether a lesson that needs no answer is kept: only revisions are gated."""
        return self._gate.gated is Gated.REVISION

    def hear(self, message: Message) -> None:
        """Take in what is to be weighed when it is answered."""
        self._pending = message

    def visible(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """The messages of `history` that are in the agent's context: no lesson refused."""
        refused = self._gate.gated is Gated.CONTEXT and self._pending
        return tuple(
            message
            for message in history
            if message.number not in self._hidden
            and not (refused and message.number == refused.number)
        )

    def shown(self, question: Question) -> Question:
        """`question` with the messages and the context that the agent has kept."""
        kept = [message.number not in self._hidden for message in question.history]
        return replace(
            question,
            history=tuple(compress(question.history, kept)),
            context=tuple(compress(question.context, kept)),
            categories=tuple(compress(question.categories, kept)),
        )

    async def settle(
        self,
        question: Question,
        before: Answer | None,
        respondent: Respondent,
        match: Relation,
        ask: Ask,
        teach: Teach,
    ) -> tuple[Answer, Judgement]:
        """Weigh what was heard: the agent's answer to `question`, and the decision to be logged.

        `before` is the answer that stands if the lesson is refused; None where there is none yet.
        Raises `NoAnswer` or `OracleFailed`; nothing has then been learned.
        """
        received, started = self._heard(), time.perf_counter()
        gate, shown = self._gate, self.shown(question)
        taught = respondent.copy() if isinstance(respondent, CopyableLearner) else respondent
        teach(taught, received)
        fresh, weighing = before, Weighing()
        if gate.keep is Keep.NEVER:
            kept = False
        else:
            fresh = await ask(taught, shown)
            kept = fresh == before or before is None
            if gate.gated is Gated.CONTEXT or not kept:
                weighing = await self._weigh(respondent, taught, shown, match, ask)
                kept = gate.weigh(weighing)
        self._conclude(received, kept)
        answer = fresh if kept else before
        if answer is None:  # the first answer of all stands in for one that was given before
            answer = await ask(respondent, self.shown(question))
        if kept or gate.gated is Gated.REVISION:
            teach(respondent, received)
        outcome = Outcome.YES if kept else Outcome.NO
        pair = digest(received.answer.prediction), digest(received.answer.explanation)
        seconds = time.perf_counter() - started
        asked = weighing.after is not None
        return answer, Judgement(LEARN, *pair, outcome, asked, seconds, _written(weighing))

    def again(self, received: Message, judgement: Judgement) -> bool:
        """Take over a stored decision on `received`; whether the respondent learns from it."""
        kept = judgement.outcome is Outcome.YES
        weighing = weighing_in(judgement.detail)
        if self._gate.standing is None:
            self._gate.standing = weighing.before
        if kept and weighing.after is not None:
            self._gate.standing = weighing.after
        self._conclude(received, kept)
        return kept or self._gate.gated is Gated.REVISION

    def _heard(self) -> Message:
        if self._pending is None:
            raise UsageError("there is nothing to weigh: no message was received since the last")
        return self._pending

    def _conclude(self, received: Message, kept: bool) -> None:
        """A refused lesson leaves the context, with the answer to it, which says nothing new."""
        self._pending = None
        if not kept and self._gate.gated is Gated.CONTEXT:
            self._hidden |= {received.number, received.number + 1}

    async def _weigh(
        self,
        untaught: Respondent,
        taught: Respondent,
        question: Question,
        match: Relation,
        ask: Ask,
    ) -> Weighing:
        heard = replace(question, history=question.history[:-1], context=question.context[:-1])
        before = self._gate.standing
        if before is None:
            before, _ = await self._right(untaught, heard, match, ask)
        after, unanswered = await self._right(taught, question, match, ask)
        weighing = Weighing(before, after, len(self._gate.rows), unanswered)
        if self._gate.keep is not Keep.LIKELIHOOD:
            return weighing
        assert isinstance(untaught, Likelihood)  # noqa: S101 - `Gate.check` comes first
        assert isinstance(taught, Likelihood)  # noqa: S101 - it is a copy of the other
        was = await self._likelihoods(untaught, heard)
        now = await self._likelihoods(taught, question)
        changes = [later - other for later, other in zip(now, was, strict=True)]
        rise = math.fsum(changes) / len(changes)
        return replace(weighing, rise=rise, concerned=sum(map(bool, changes)))

    async def _likelihoods(self, respondent: Likelihood, question: Question) -> _Likelihoods:
        """The log-likelihood of the right answer of each validation row."""
        episodes = self._episodes(question)
        return tuple(
            [
                await respondent.log_likelihood(_about(question, row, episodes), right)
                for row, right in self._gate.rows
            ]
        )

    def _episodes(self, question: Question) -> tuple[Episode, ...]:
        """What stands in the context of a validation question: this session, as the last."""
        exchanged = question.history, question.context, question.categories
        return (*self._earlier, Episode(self._instance, *exchanged))

    async def _right(
        self,
        respondent: Respondent,
        question: Question,
        match: Relation,
        ask: Ask,
    ) -> tuple[int, int]:
        """How many validation instances are answered rightly, and how many not at all."""
        episodes = self._episodes(question)
        match = in_session(match, question.session)
        places = asyncio.Semaphore(AT_ONCE)

        async def right(instance: Instance, prediction: str) -> bool | None:
            async with places:
                try:
                    answer = await ask(respondent, _about(question, instance, episodes))
                except NoAnswer as error:
                    if error.fault is not None:
                        raise
                    return None
                return await _matches(match, answer.prediction, prediction)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(right(*row)) for row in self._gate.rows]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        verdicts = [task.result() for task in tasks]
        return verdicts.count(True), verdicts.count(None)


def _about(question: Question, instance: Instance, episodes: tuple[Episode, ...]) -> Question:
    """The validation question about `instance`, asked during the session of `question`."""
    session = question.session
    return Question(
        question.query, instance, earlier=episodes, session=session, purpose="validation"
    )


async def _matches(match: Relation, predicted: str, right: str) -> bool:
    try:
        answer = await awaited(match.holds(predicted, right))
        return reply_of(answer, match).outcome is Outcome.YES
    except Exception as error:
        cause = f"MATCH ({match.name}) on a validation instance: {type(error).__name__}: {error}"
        fault = None if isinstance(error, PXPError) else error
        raise OracleFailed(Outcome.BROKEN, cause, fault) from error


def _written(weighing: Weighing) -> str:
    if weighing.after is None:
        return ""
    return json.dumps(
        {name: value for name, value in asdict(weighing).items() if value is not None}
    )


def weighing_in(detail: str) -> Weighing:
    """The numbers of a stored decision; `Refused` where they are none."""
    if not detail:
        return Weighing()
    try:
        weighing = Weighing(**json.loads(detail))
    except (ValueError, TypeError, RecursionError):
        weighing = Weighing()
    counts = weighing.before, weighing.after
    others = weighing.of, weighing.unanswered, weighing.concerned
    if not (
        all(type(count) is int for count in counts)
        and all(count is None or type(count) is int for count in others)
        and (weighing.rise is None or type(weighing.rise) in (int, float))
    ):
        raise Refused(f"a stored decision to LEARN says {quoted(detail)}, which is not a weighing")
    return weighing
