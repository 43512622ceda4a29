"""What happens in the states of the update pipeline that wait: runs, steps, replays, questions.

Each activity ends with the label of a row of the table `lan_pipeline`; which row follows a state
that decides is not decided here. Source: EasyLAN (Pan, Yu, Li, Shi), section 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.model.operations import Forget
from pxp_fsm.plugins.easylan.model.soundness import Unsound
from pxp_fsm.plugins.easylan.running.events import RunBegun, RunReason
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NetworkRunner, NoneActive
from pxp_fsm.plugins.easylan.running.requests import Requester
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    DeveloperQuestion,
    HandedView,
    Judged,
    OutputView,
    RegressionChoice,
    RegressionView,
    Response,
    StepView,
    View,
)
from pxp_fsm.plugins.easylan.training.events import CopyTried, Kept, ReplayProgress, StepBegun, Told
from pxp_fsm.plugins.easylan.training.progress import Example, TrainingProgress
from pxp_fsm.plugins.easylan.training.proposals import Proposer, StepContext
from pxp_fsm.plugins.easylan.training.questions import TrainingQuestions, back_to, identity
from pxp_fsm.plugins.easylan.training.regressions import accepted, holds, replay
from pxp_fsm.plugins.easylan.training.steps import UpdateStep
from pxp_fsm.plugins.easylan.training.strategies import Update, protected
from pxp_fsm.plugins.easylan.training.supervision import Propose, Supervision
from pxp_fsm.plugins.easylan.training.wildcards import written
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.relations import Relation
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.events import Event

MOVED = "MOVED"
"""What interrupts an activity because the network has moved on."""

EDITED = str(RunReason.EDITED)
"""Why the pipeline runs the network again."""

AGREED_BEFORE = "as it was agreed on before"

_Given = TypeVar("_Given", bound=Response)


@dataclass
class Activities:
    """The activities of one training; all that they have in hand is in `progress`.

    The agents are run by `runner`; `asker` asks for the results of steps. Without `questions`
    nobody is asked: every step is confirmed. `interrupt` ends the activity under way with a label.
    `satisfied` is what was found of the last run's output, `copy` the network that the update would
    make.
    """

    lan: Lan
    progress: TrainingProgress
    runner: NetworkRunner
    asker: Requester
    same: Relation
    supervision: Supervision
    questions: TrainingQuestions | None
    interrupt: Callable[[str], None]
    on_event: Callable[[Told], None]
    keep: Callable[[], None]
    reason: RunReason = RunReason.RESUMED
    satisfied: bool = False
    copy: Network | None = None
    name: str = field(default="nobody", init=False)

    def __post_init__(self) -> None:
        if self.questions is not None:
            self.name = self.questions.developer.name
        self._proposer = Proposer(self.asker, attended=self.questions is not None)

    @property
    def number(self) -> int:
        """The number of the example in hand, from 1."""
        return len(self.progress.outcomes) + 1

    @property
    def example(self) -> Example:
        """The example in hand."""
        return self.progress.examples[self.number - 1]

    @property
    def is_fresh(self) -> bool:
        """Whether the network is what it was when its last run began."""
        return self.progress.version == self.lan.version

    async def happen(self, state: str) -> str:
        """What happens in a state in which the pipeline waits for something."""
        if state in UpdateStep.__members__:
            return await self._step(UpdateStep(state))
        return await {
            "RUN": self._run,
            "REPLAY": self._replay,
            "REGRESSION": self._weigh,
            "HANDED": self._handed,
        }[state]()

    async def review(self, view: StepView) -> Act:
        """What the developer does about a step's result."""
        if self.questions is None:
            return Act(DeveloperChoice.CONFIRM)
        act = await self._ask(view, Act)
        if act.choice is DeveloperChoice.BACK:
            await self._interrupted(f"BACK_TO_{back_to(view, act)}")
        return act

    async def apply(self) -> str:
        """Apply the strategy to a copy; a copy that could not be saved is none. Why it is none."""
        now = self.progress
        self.copy, now.operations = None, ()
        value = now.values[UpdateStep.PARAMETERS]
        if now.strategy is None or not isinstance(value, dict):
            raise AssertionError("a strategy is chosen, and its parameters are of their form")
        update = Update(now.strategy, now.agent, value["parameters"])
        try:
            now.operations, self.copy = await protected(
                update, self.lan.network, self.runner, self.asker
            )
        except (UsageError, Unsound, NoAnswer) as error:
            now.why = str(error)
            now.refused = (value, now.why)
        fault = "" if self.copy is not None else now.why
        self.on_event(CopyTried(now.strategy, now.agent, fault))
        return fault

    def abandon(self, why: str) -> None:
        """End the session of the step under way without a result, if there is one."""
        now = self.progress
        if now.begun is not None and now.events:
            self.supervision.abandon(self._session, why)
        now.begun, now.events = None, ()

    @property
    def _session(self) -> str:
        return f"{self.progress.name}/{self.number}/{self.progress.steps}"

    async def _run(self) -> str:
        now = self.progress
        try:
            if now.run is None or not self.is_fresh:
                now.version = self.lan.version
                now.run = await self._ran()
                self.keep()
            self.lan.last = now.run
            self.satisfied = False
            self.satisfied = await self._verdict(now.run)
        except NoAnswer as error:
            now.why = str(error)
            return "FAILED"
        now.why = "" if self.satisfied else f"the output was {quoted(now.run.output)}"
        if not now.run.active:
            now.why = "no agent was active: the output is the input"
        return "RAN"

    async def _ran(self) -> NetworkRun:
        """The network's run; where no agent is active, the input is forwarded as its output."""
        external = self.example.external
        self.on_event(RunBegun(external, self.lan.version, self.reason))
        try:
            return await self.runner.run(self.lan.network, external, self.on_event)
        except NoneActive as error:
            return error.run

    async def _verdict(self, run: NetworkRun) -> bool:
        """Whether the output will do; nobody is asked twice about one output."""
        truth, verdicts = self.example.truth, self.progress.verdicts
        if not run.active and (truth or self.questions is None):
            return False
        if any(
            (one.external, one.output) == (run.external, run.output) and truth in ("", one.truth)
            for one in self.lan.network.handled
        ):
            return True
        if run.output not in verdicts:
            if self.questions is None:
                verdicts[run.output] = await holds(self.same, run.output, truth)
            else:
                judged = await self._ask(OutputView(run, truth), Judged)
                self._learn(run, judged)
                verdicts[run.output] = judged.satisfied
        return verdicts[run.output]

    def _learn(self, run: NetworkRun, judged: Judged) -> None:
        """Note which output is the right one, where it was not known, or they say another."""
        said = judged.truth or self.example.truth
        truth = said or (run.output if judged.satisfied else "")
        self.progress.examples[self.number - 1] = replace(self.example, truth=truth)

    async def _ask(self, view: View, kind: type[_Given], copy: Network | None = None) -> _Given:
        """What the developer answers, which is counted; it ends here if the network moves on."""
        if self.questions is None:
            raise AssertionError("only a developer is asked")
        now = self.progress
        handed = isinstance(view, HandedView)
        if not handed and not self.is_fresh:
            await self._interrupted(MOVED)
        version = self.lan.version if handed else now.version
        number = self.number
        question = DeveloperQuestion(identity(number, now.asked, view), version, number, view)
        response = await self.questions.ask(question, copy)
        if response is None:
            await self._interrupted(MOVED)
        now.asked += 1
        if not isinstance(response, kind):
            raise AssertionError(f"the answer is a {kind.__name__}")
        return response

    async def _interrupted(self, label: str) -> None:
        self.interrupt(label)
        await asyncio.Event().wait()  # until the cancellation arrives

    async def _step(self, step: UpdateStep) -> str:
        """A step as a session between the system and the developer."""
        now = self.progress
        if not self.is_fresh:
            return "RESTART"
        try:
            context = self._context(step)
            plain = self._proposer.told(replace(context, refused=None))
            x = self._proposer.told(context)
        except UsageError as error:
            now.why = str(error)
            return "FAILED"
        known = now.agreed.get(step)
        if known is not None and known[0] == plain:
            now.values[step] = known[1]
            self.on_event(Kept(step, known[1]))
            return "AGREED"
        if now.begun != (step, x):
            self.abandon(EDITED)
        now.steps += not now.events
        now.begun = step, x
        self.on_event(StepBegun(step, now.strategy, self._session, self.number))
        agreed = await self.supervision.step(
            self._session,
            x,
            self,
            context.view,
            self._propose(context, plain),
            context.problem,
            now.events,
            self._said,
        )
        now.begun, now.events = None, ()
        now.reopened.pop(step, None)
        self.on_event(agreed)
        now.why = agreed.why
        if agreed.ending is Ending.RATIFIED:
            now.values[step] = agreed.value
            now.agreed[step] = plain, agreed.value
            return "AGREED" if self.is_fresh else "RESTART"
        if agreed.ending in (Ending.REJECTED, Ending.BOUND):
            return "REJECTED"
        return "FAILED" if self.is_fresh else "RESTART"

    def _propose(self, context: StepContext, plain: str) -> Propose:
        """How results are made; a step to which they went back begins with what was agreed on."""
        propose = self._proposer.propose(context, self._session)
        known = self.progress.reopened.get(context.step)
        if known is None or known[0] != plain:
            return propose
        first = Answer(written(known[1]), AGREED_BEFORE)

        async def proposed(own: str, theirs: str, hint: str) -> Answer:
            return await propose(own, theirs, hint) if own else first

        return proposed

    def _context(self, step: UpdateStep) -> StepContext:
        now = self.progress
        if now.run is None:
            raise AssertionError("no step is made before the network has run")
        strategy = now.strategy if step is UpdateStep.PARAMETERS else None
        values, truth = dict(now.values), self.example.truth
        return StepContext(step, self.lan, now.run, truth, strategy, now.agent, values, now.refused)

    def _said(self, events: tuple[Event, ...]) -> None:
        self.progress.events = events
        self.keep()

    async def _replay(self) -> str:
        now = self.progress
        now.regressions = ()
        if not self.is_fresh:
            return "REPLAYED"
        if self.copy is None:
            raise AssertionError("only a copy that is valid is replayed")
        total = len(self.copy.handled)

        def told(done: int, lost: int) -> None:
            self.on_event(ReplayProgress(done, total, lost))

        now.regressions = await replay(self.copy, self.runner, self.same, told)
        if now.regressions:
            lost = ", ".join(quoted(one.handled.external) for one in now.regressions)
            now.why = f"earlier examples would no longer be right: {lost}"
            now.refused = (now.values[UpdateStep.PARAMETERS], now.why)
        return "REPLAYED"

    async def _weigh(self) -> str:
        now = self.progress
        if not self.is_fresh:
            return "RESTART"
        if self.copy is None:
            raise AssertionError("only a developer weighs a regression, and of a copy")
        about = f"{now.strategy}: {now.agent}".rstrip(": ")
        view = RegressionView(now.regressions, about)
        choice = await self._ask(view, RegressionChoice, self.copy)
        if choice is RegressionChoice.ACCEPT:
            now.operations += accepted(self.copy, now.regressions)
        elif choice is RegressionChoice.FORGET:
            now.operations += tuple(Forget(one.handled.external) for one in now.regressions)
        return str(choice)

    async def _handed(self) -> str:
        return str(await self._ask(HandedView(self.progress.why), Continuation))
