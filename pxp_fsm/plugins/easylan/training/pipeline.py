"""The update pipeline: a machine of the table `lan_pipeline`, and the actions of its rows.

Which row is taken, the table and `pxp_fsm.plugins.easylan.decisions` say; here is what each row
does, and who can step in. What happens in each state is in `activities`. Source: EasyLAN (Pan, Yu,
Li, Shi), section 4, Figure 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pxp_fsm.automata.automaton import Transition, one_hot
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.easylan.decisions import (
    PIPELINE,
    Facts,
    counted,
    is_beginning,
    pipeline_guard,
)
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.edits import applied
from pxp_fsm.plugins.easylan.model.history import Author, Change
from pxp_fsm.plugins.easylan.model.operations import Operation
from pxp_fsm.plugins.easylan.running.events import RunReason
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.activities import EDITED, MOVED, Activities
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Developer,
    DeveloperChoice,
    DeveloperQuestion,
    Response,
    StepView,
)
from pxp_fsm.plugins.easylan.training.events import (
    Moved,
    NetworkChanged,
    Resumed,
    Told,
)
from pxp_fsm.plugins.easylan.training.progress import (
    Example,
    ExampleResult,
    TrainingProgress,
    digest_of,
)
from pxp_fsm.plugins.easylan.training.questions import Remote, TrainingQuestions
from pxp_fsm.plugins.easylan.training.regressions import recorded, remembered
from pxp_fsm.plugins.easylan.training.steps import CAUSE_OF, Strategy, UpdateStep, problem_of
from pxp_fsm.plugins.easylan.training.supervision import Supervision
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.prompting.prompts import Prompt
from pxp_fsm.protocol.relations import Relation
from pxp_fsm.sessions.machine import Machine


@dataclass(frozen=True, slots=True)
class TrainingLimits:
    """How many iterations an example has, and how many retries an iteration."""

    iterations: int = 5
    retries: int = 5

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.retries < 0:
            raise UsageError("an example needs at least 1 iteration, and at least 0 retries")


_REASONS = {
    "EXAMPLE": RunReason.EXAMPLE,
    "RUN_AGAIN": RunReason.EDITED,
    "RESTART": RunReason.EDITED,
    "COMMIT": RunReason.UPDATED,
    "RESUME": RunReason.RESUMED,
}
"""Why the network runs after a row with such a label."""

_BACK = {f"BACK_TO_{step}": step for step in UpdateStep}
CANCELLED = "the developer cancelled it"
_WHY = {"CANCEL": CANCELLED, "RESTART": EDITED, "RUN_AGAIN": EDITED}
"""Why the pipeline goes where a row with such a label leads."""


class Trainer:
    """Trains `lan` by examples, asking `model`; without a `developer`, unattended.

    A `developer` with the methods of `Developer` is asked here; for a `Remote` one each `question`
    waits for `answer`. `same` judges whether an output will do where nobody else says so. `name`
    begins the names of the sessions. `on_event` is told whatever happens. `progress` is that of a
    training that was stopped, which goes on from there; `keep` is called with it whenever something
    has happened. With `stream` models are asked to reply piece by piece, where they can.
    `updater` makes the results of steps in place of `model`, and all are asked by `prompts`.
    """

    def __init__(
        self,
        lan: Lan,
        model: LanguageModel,
        same: Relation,
        developer: Developer | Remote | None = None,
        *,
        limits: TrainingLimits = TrainingLimits(),
        supervision: Supervision | None = None,
        name: str = "lan",
        on_event: Callable[[Told], None] = lambda _event: None,
        progress: TrainingProgress | None = None,
        keep: Callable[[TrainingProgress], None] = lambda _progress: None,
        stream: bool = False,
        updater: LanguageModel | None = None,
        prompts: Mapping[str, Prompt] | None = None,
    ) -> None:
        self.lan = lan
        self.progress = progress or TrainingProgress(version=lan.version)
        self.progress.name = name
        self._limits = limits
        self._on_event = on_event
        self._keep = keep
        asker = Requester(model, prompts or bundled(), on_event=on_event, stream=stream)
        self._runner = NetworkRunner(asker, remembered(lan.network))
        if updater is not None:
            asker = replace(asker, model=updater)
        self._questions: TrainingQuestions | None = None
        if developer is not None:
            self._questions = TrainingQuestions(developer, lan, on_event)
        self._do = Activities(
            lan,
            self.progress,
            self._runner,
            asker,
            same,
            supervision or Supervision(),
            self._questions,
            self._interrupt,
            on_event,
            self._kept,
        )
        self._work: asyncio.Task[str] | None = None
        self._label = ""
        self._stopping = False
        self.machine = Machine(builtin(PIPELINE), self._state())

    @property
    def calls(self) -> int:
        """How often the agents of the network have asked the model."""
        return self._runner.calls

    @property
    def outcomes(self) -> list[ExampleResult]:
        """What came of each example so far."""
        return self.progress.outcomes

    @property
    def unfinished(self) -> Example | None:
        """The first example of which nothing has come yet; None where there is none."""
        left = self.progress.examples[len(self.outcomes) :]
        return left[0] if left else None

    @property
    def question(self) -> DeveloperQuestion | None:
        """What the developer is asked now; None where nothing is."""
        return None if self._questions is None else self._questions.pending

    def answer(self, question_id: str, response: Response) -> None:
        """Answer the question that is asked now.

        Raises `NotAsked` where another is asked, or none: it was answered before, or the network
        has moved on. Raises `UsageError` for an answer that is none to it.
        """
        if self._questions is None:
            raise UsageError("this training has no developer, so nothing is asked")
        self._questions.answer(question_id, response)

    def back(self, to: UpdateStep | None = None) -> None:
        """Go back from the step that is reviewed to an earlier one; None is the one before.

        Raises `UsageError` where no step is reviewed, or there is none to go back to.
        """
        question = self.question
        if question is None or not isinstance(question.view, StepView):
            raise UsageError("no step is reviewed now, so there is none to go back from")
        self.answer(question.id, Act(DeveloperChoice.BACK, to=to))

    def cancel(self) -> None:
        """Stop what the training does now, and hand the pipeline to the developer.

        Raises `UsageError` where nothing is under way, or nobody could take over.
        """
        if self._questions is None:
            raise UsageError("this training has no developer who could take over; stop it instead")
        if self.machine.state in ("IDLE", "HANDED", "END"):
            raise UsageError("nothing is under way that could be cancelled")
        self._stopping = True
        self._questions.withdraw(CANCELLED)
        self._interrupt("CANCEL")

    async def train(self, examples: Iterable[Example] | None = None) -> tuple[ExampleResult, ...]:
        """Handle the examples in turn. Raises `Halted` where the run cannot go on now.

        Those of which the progress tells what came of them are not handled again; without
        `examples` it goes on with those of the progress.
        """
        now = self.progress
        if examples is not None:
            some = list(examples)
            if now.data != digest_of(some) or len(now.examples) != len(some):
                now.data, now.examples = digest_of(some), some
        if self._questions is None and not all(one.truth for one in now.examples):
            raise UsageError("an example without an output requires a developer, who says it")
        for example in tuple(now.examples[len(self.outcomes) :]):
            await self.handle(example)
        self._take(self.machine.happen("FINISH"))
        return tuple(self.outcomes)

    async def handle(self, example: Example) -> ExampleResult:
        """Iterate until the example is handled, or given up.

        Where one is `unfinished`, that is what is handled.
        """
        now, number = self.progress, len(self.outcomes) + 1
        if len(now.examples) < number:
            now.examples.append(example)
        with self.lan.watched(self._changed):
            if self.machine.state == "IDLE":
                row = self._take(self.machine.happen("EXAMPLE"))
            else:
                self._on_event(Resumed(self._do.example, number, self.machine.state))
            while self.machine.state != "IDLE":
                row = await self._advance()
        handled = row.label == "RECORD"
        why = "" if handled else now.why
        outcome = ExampleResult(self._do.example, handled, now.counters.iterations, why)
        self.outcomes.append(outcome)
        self._kept()
        return outcome

    def _state(self) -> str:
        """The state in which the pipeline goes on: a commit that was written is done."""
        now, changes = self.progress, self.lan.history.changes
        pending, made = now.operations, changes[now.version : now.version + 1]
        if now.state in ("REPLAY", "REGRESSION"):
            if pending and made and made[0].operations[: len(pending)] == pending:
                now.version, now.run = now.version + 1, None
                return "RUN"
            if self._do.is_fresh:
                self._do.copy = applied(self.lan.network, pending)
        if self._questions is None:  # whoever was asked is there no longer
            return {"REGRESSION": "WEIGH", "HANDED": "HAND_OVER"}.get(now.state, now.state)
        return now.state

    def _changed(self) -> None:
        """The network has another version: what was asked about the one before is no longer."""
        change = self.lan.history.changes[-1]
        self._on_event(NetworkChanged(self.lan.version, change.by, change.about))
        if self._questions is not None and not self._questions.moved_to(self.lan.version):
            self._questions.withdraw(f"{EDITED}: {change.about}")

    def _interrupt(self, label: str) -> None:
        """End the activity that is under way, with the label of a row."""
        if self._work is not None and not self._work.done():
            self._label = self._label or label
            self._work.cancel()

    async def _interruptible(self, work: Coroutine[Any, Any, str]) -> str:
        """What `work` ends with, or what it was interrupted with."""
        self._label = ""
        self._work = asyncio.ensure_future(work)
        try:
            return await self._work
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._label or (task is not None and task.cancelling()):
                raise
            return self._label
        finally:
            self._work = None

    async def _happens(self, state: str) -> str:
        """The label with which the state's activity ends, or by which it is cut short."""
        if state == "HANDED":
            self._stopping = False
        label = "CANCEL" if self._stopping else await self._interruptible(self._do.happen(state))
        if label == "CANCEL":
            self._stopping = False
        if label == MOVED:
            return "RAN" if state == "RUN" else "RESTART"
        return label

    async def _advance(self) -> Transition:
        """One row: what happens in the state, or what its guards say; and what the row does."""
        state = self.machine.state
        guards = self.machine.automaton.guards_of(state)
        if guards:
            facts = self._facts(state)
            valuation = one_hot(pipeline_guard(state, facts), guards)
            row = self._take(self.machine.decide(valuation), facts)
        else:
            row = self._take(self.machine.happen(await self._happens(state)))
        if row.label == "APPLY":
            await self._interruptible(self._do.apply())
        return row

    def _take(self, row: Transition, facts: Facts | None = None) -> Transition:
        """What taking `row` does at once: nothing can come between its guard and this."""
        now = self.progress
        if row.label == "COMMIT":
            self._commit(f"{now.strategy}: {now.agent}", now.operations)
        elif row.label == "RECORD":
            self._record()
        elif row.label == "BEGIN":
            now.values.clear()
            now.strategy = now.refused = None
        elif row.label in Strategy.__members__:
            now.strategy = Strategy(row.label)
            now.refused = None
        elif row.label in ("REPEAT", "RETRY"):
            now.agreed.pop(UpdateStep(row.target), None)
        elif row.label in _BACK:
            self._go_back(_BACK[row.label])
        now.counters = counted(now.counters, row.label)
        if is_beginning(row.label):
            now.version, now.run = self.lan.version, None
            self._do.reason = _REASONS[row.label]
        if row.label in ("EXAMPLE", "COMMIT", "RESUME"):
            now.agreed.clear()
            now.reopened.clear()
            now.verdicts.clear()
        if row.label == "EXAMPLE":
            now.steps = now.asked = 0
        now.why = _WHY.get(row.label, now.why)
        if row.label == "CANCEL" or row.target == "IDLE":
            self._do.abandon(_WHY.get(row.label, EDITED))
        self._on_event(Moved(row, facts, now.why))
        now.state = row.target
        if row.target in _WAITING:
            self._kept()
        return row

    def _go_back(self, step: UpdateStep) -> None:
        """Ask about `step` again, beginning with what was agreed on; later results go."""
        now = self.progress
        self._do.abandon(f"the developer went back to step {step.number}")
        known = now.agreed.pop(step, None)
        if known is not None:
            now.reopened[step] = known
        for one in UpdateStep:
            if one.number >= step.number:
                now.values.pop(one, None)
        now.strategy = now.refused = None

    def _kept(self) -> None:
        self._keep(self.progress)

    def _facts(self, state: str) -> Facts:
        now, do = self.progress, self._do
        step = UpdateStep(state.removesuffix("_MADE")) if state.endswith("_MADE") else None
        value = now.values.get(step) if step is not None else None
        complete = step is not None and (
            problem_of(step, value, self.lan.network, now.strategy) is None
        )
        reason = value.get("reason_type") if isinstance(value, dict) else None
        return Facts(
            satisfied=do.satisfied,
            complete=complete,
            fresh=do.is_fresh,
            valid=do.copy is not None,
            clean=not now.regressions,
            iterations_left=now.counters.iterations < self._limits.iterations,
            retries_left=now.counters.retries < self._limits.retries,
            attended=self._questions is not None,
            cause=CAUSE_OF.get(str(reason), ""),
        )

    def _commit(self, about: str, operations: tuple[Operation, ...]) -> None:
        change = Change(Author.SYSTEM, about.rstrip(": "), operations)
        self.lan.history = self.lan.history.after(change)

    def _record(self) -> None:
        """The inputs and outputs of every module in this run become its examples.

        Repeating a training that is over makes no change.
        """
        run = self.progress.run
        if run is None:
            raise AssertionError("only a run is recorded")
        new = recorded(self.lan.network, run, self._do.example.truth or run.output)
        if new:
            self._commit(f"handled {quoted(run.external)}", new)


_WAITING = frozenset({"RUN", *UpdateStep.__members__, "REPLAY", "REGRESSION", "HANDED"})
"""The states in which something is waited for: those in which a training can be stopped."""
