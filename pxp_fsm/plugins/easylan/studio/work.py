"""Runs and trainings of a studio's network: one at a time, beside whoever looks at it.

A training is the library's: its state is stored with the run that it is, its questions have an
identity. Whatever is stopped here, by the developer or with the server, goes on there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from backends.models.settings import Settings
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments.runs import Run
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network
from pxp_fsm.plugins.easylan.running import serialization
from pxp_fsm.plugins.easylan.running.events import (
    Activation,
    CallBegun,
    CallEnded,
    Finished,
    Produced,
    RunBegun,
    TextWritten,
)
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NoneActive
from pxp_fsm.plugins.easylan.running.requests import load_prompts
from pxp_fsm.plugins.easylan.serialization import response_from_json, to_json
from pxp_fsm.plugins.easylan.studio.state import Message, Stamp, Studio, stamp_of
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Developer,
    Response,
    StepView,
    View,
    effort_in,
)
from pxp_fsm.plugins.easylan.training.events import (
    CopyTried,
    Moved,
    ReplayProgress,
    StepBegun,
    Told,
)
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example, TrainingProgress
from pxp_fsm.plugins.easylan.training.questions import NotAsked, Remote
from pxp_fsm.plugins.easylan.training.simulated import act_cost
from pxp_fsm.plugins.easylan.training.steps import closed_fields
from pxp_fsm.prompting.model import LanguageModel

MOST_TEXT = 4_000
"""The characters of a model's text under way that are shown, the latest ones."""


@dataclass
class AgentTurn:
    """An agent in a run: waiting, deciding, active, blocked, done or failed; and what it did."""

    state: str = "waiting"
    active: bool | None = None
    guard: str = ""
    control_thoughts: str = ""
    execution_thoughts: str = ""
    result: str | None = None
    received: dict[str, Any] | None = None


@dataclass
class LastRun:
    """The last run, or the present one: its input and why it began, its agents, its output.

    `text` is what a model writes now; `failure` says why there is no output.
    """

    external: str | None = None
    reason: str = ""
    version: int = 0
    running: bool = False
    output: str | None = None
    failure: str | None = None
    text: str = ""
    agents: dict[str, AgentTurn] = field(default_factory=dict)
    _calls: dict[int, str] = field(default_factory=dict)

    def take(self, event: Told, names: Iterable[str]) -> bool:
        """Take an event in; whether anything of it is shown. `names` are the network's agents."""
        match event:
            case RunBegun(external, version, reason):
                self.__init__(external, str(reason), version, running=True)  # type: ignore[misc]
                self.agents = {name: AgentTurn() for name in names}
            case CallBegun(call, purpose, agent) if self.running and agent:
                self._calls[call] = agent
                self._agent(agent).state = "deciding" if purpose == "control" else "active"
            case TextWritten(_, text) if self.running:
                self.text = (self.text + text)[-MOST_TEXT:]
            case CallEnded() if self.running:
                self.text = ""
                agent = self._calls.pop(event.call, "")
                if agent and event.failure:
                    self._agent(agent).state = "failed"
            case Activation(agent, active, guard, thoughts):
                turn = self._agent(agent)
                turn.active, turn.guard, turn.control_thoughts = active, guard, thoughts
                turn.state = "active" if active else "blocked"
            case Produced(agent, result, thoughts):
                turn = self._agent(agent)
                turn.result, turn.execution_thoughts, turn.state = result, thoughts, "done"
            case Finished(output):
                self.output, self.running = output, False
            case _:
                return False
        return True

    def _agent(self, name: str) -> AgentTurn:
        return self.agents.setdefault(name, AgentTurn())

    def complete(self, run: NetworkRun) -> None:
        """What a run came to, with what each agent received."""
        self.external, self.output, self.running = run.external, run.output, False
        if not run.active:
            self.output, self.failure = None, "No agent was active, so there is no output."
        self.agents = {
            name: AgentTurn(
                "done" if turn.active else "blocked",
                turn.active,
                turn.guard,
                turn.control_thoughts,
                turn.execution_thoughts,
                turn.result,
                asdict(turn.received),
            )
            for name, turn in run.turns.items()
        }

    def fail(self, why: str) -> None:
        """It has ended without an output."""
        self.running, self.failure = False, why
        for turn in self.agents.values():
            if turn.state in ("waiting", "deciding", "active"):
                turn.state = "failed" if turn.state != "waiting" else "waiting"

    def shown(self, network: Network | None) -> dict[str, Any]:
        """It as JSON, with the agents that the network has now."""
        names = () if network is None else network.names
        return {
            "external": self.external,
            "reason": self.reason,
            "version": self.version,
            "running": self.running,
            "output": self.output,
            "failure": self.failure,
            "text": self.text,
            "agents": {name: asdict(self.agents[name]) for name in names if name in self.agents},
        }


@dataclass(frozen=True, kw_only=True)
class StudioPlan:
    """With what a network is run and trained; without a `model` it is edited alone."""

    model: str | None = None
    updater: str | None = None
    judge: str | None = None
    prompts: Path | None = None
    limits: TrainingLimits = field(default_factory=TrainingLimits)
    database: str | None = None
    settings: Settings = field(default_factory=Settings)

    @property
    def model_name(self) -> str:
        """The model; raises `UsageError` where there is none."""
        if self.model is None:
            raise UsageError("the studio has no model; start pxp serve with --machine")
        return self.model


@dataclass
class TrainingView:
    """Where the training is, as a page shows it; `ended` says what came of the last one."""

    going: bool = False
    ended: str = ""
    step: str = ""
    doing: str = ""


class Work:
    """What is done with the network of `studio`: a run or a training at a time."""

    def __init__(self, studio: Studio, plan: StudioPlan) -> None:
        self.studio = studio
        self.plan = plan
        self.run = LastRun()
        self.training = TrainingView()
        self.written = ""
        self._task: asyncio.Task[None] | None = None
        self._trainer: Trainer | None = None
        self._attended = True
        self._last = self._stamp_of_last()
        self._show_last()
        studio.follow(self.messages)

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        return self._task is not None and not self._task.done()

    def messages(self) -> list[Message]:
        """What a page that is opened is told of it."""
        return [self._run_message(), self._training_message(), self._written_message()]

    def _written_message(self) -> Message:
        """What a model writes for a step of the update, by itself: it comes in many pieces."""
        return {"type": "written", "text": self.written}

    def _run_message(self) -> Message:
        return {"type": "run", **self.run.shown(self.studio.network)}

    def _training_message(self) -> Message:
        trainer = self._trainer
        now = TrainingProgress() if trainer is None else trainer.progress
        question = None if trainer is None else trainer.question
        view = None if question is None else question.view
        closed = closed_fields(view.step, view.strategy) if isinstance(view, StepView) else {}
        return {
            "type": "training",
            **asdict(self.training),
            "question": to_json(question),
            "closed": closed,
            "values": {str(step): value for step, value in now.values.items()},
            "examples": [asdict(example) for example in now.examples],
            "outcomes": [asdict(outcome) for outcome in now.outcomes],
        }

    def _tell(self, *messages: Message) -> None:
        for message in messages:
            self.studio.tell(message)

    # --- what is begun ---

    def resume(self) -> None:
        """Go on with a training that was stopped with the server, if there is one."""
        ready = self.plan.model is not None and self.studio.exists
        if ready and self._training_of((), Remote()).is_stopped:
            self._begin(self._train(None, Remote()))

    def start_run(self, external: str) -> None:
        """Run the network on an input. Raises `UsageError` while something is under way."""
        self._begin(self._run(external))

    def start_training(
        self, examples: tuple[Example, ...], developer: Developer | Remote | None
    ) -> None:
        """Train the network on examples; a `Remote` developer is whoever looks at the page.

        Raises `UsageError` while something is under way.
        """
        if not examples:
            raise UsageError("there is no example to train on; write an input")
        if not isinstance(developer, Remote) and not all(example.truth for example in examples):
            raise UsageError("where nobody looks on, each example requires its right output")
        self._begin(self._train(examples, developer))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._check()
        except UsageError:
            work.close()
            raise
        self._task = asyncio.create_task(self._watched(work))

    def _check(self) -> None:
        """Raise `UsageError` where nothing can be begun now."""
        if self.busy:
            raise UsageError("something is under way already; stop it, or wait until it ends")
        _ = self.plan.model_name, self.studio.lan

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it; what fails is shown on the page, and ends nothing else."""
        try:
            await work
        except PXPError as error:
            self._fail(str(error))
        except asyncio.CancelledError:
            self._fail("stopped")
            raise
        except BaseException as error:
            self._fail(f"{type(error).__name__}: {error}")
            raise
        finally:
            self._last = self._stamp_of_last()

    def _fail(self, why: str) -> None:
        if self.run.running:
            self.run.fail(why)
        self.written = ""
        if self.training.going:
            self.training = TrainingView(ended=f"The training ended: {why}")
            self._trainer = None
        self._tell(*self.messages(), {"type": "notice", "text": why})

    # --- what is done ---

    def _opened(self) -> AbstractAsyncContextManager[LanguageModel]:
        return setup.model_of(self.plan.model_name, self.plan.settings, self._on_wait)

    def _on_wait(self, why: str) -> None:
        self.training.doing = why
        self._tell({"type": "notice", "text": why})

    def _listen(self, event: Told) -> None:
        """Show what a run or a training tells."""
        self._clock(event)
        lan = self.studio.lan
        if isinstance(event, TextWritten) and not self.studio.notes.streams:
            return
        if isinstance(event, RunBegun):
            self.run = LastRun()
            self.training.step = self.training.doing = ""
        if self.run.take(event, lan.network.names):
            self._tell(self._run_message())
            return
        match event:
            case StepBegun(step):
                self.training.step, self.training.doing = str(step), ""
            case CopyTried(strategy, agent, fault):
                on = f" on {agent}" if agent else ""
                self.training.doing = fault or f"{strategy}{on} is tried on a copy"
            case ReplayProgress(done, total, lost):
                self.training.doing = f"{done} of {total} earlier examples run again, {lost} lost"
            case TextWritten(_, text, begins):
                self.written = ("" if begins else self.written) + text
                self.written = self.written[-MOST_TEXT:]
                self._tell(self._written_message())
                return
            case CallEnded() if self.written:
                self.written = ""
                self._tell(self._written_message())
            case Moved(label) if label in ("BEGIN", "RESTART", "RUN_AGAIN"):
                self.training.step, self.training.doing = "", event.detail
        trainer = self._trainer
        if trainer is not None and trainer.progress.run is not None and not self.run.running:
            self.run.complete(trainer.progress.run)
            self._tell(self._run_message())
        self._tell(self._training_message())

    async def _run(self, external: str) -> None:
        async with self._opened() as model:
            lan = Lan(self.studio.lan.history, model, load_prompts(self.plan.prompts))
            try:
                run = await lan.run(external, self._listen, stream=self.studio.notes.streams)
            except NoneActive as error:
                run = error.run
        self.run.complete(run)
        self._tell(self._run_message())
        try:
            serialization.save(run, lan.version, serialization.path_of(self.studio.path))
        except OSError as error:
            self._tell({"type": "notice", "text": f"the run is not kept: {error}"})

    def look(self) -> None:
        """Show the last run that another process has made, if there is one."""
        now = self._stamp_of_last()
        if now != self._last and not self.busy:
            self._last = now
            self._show_last()
            self._tell(self._run_message())

    def _stamp_of_last(self) -> Stamp | None:
        return stamp_of(serialization.path_of(self.studio.path))

    def _show_last(self) -> None:
        """Show the last run that is kept; one that cannot be read is shown as none."""
        if self._last is not None:
            with suppress(PXPError):
                run, version = serialization.load(serialization.path_of(self.studio.path))
                self.run = LastRun(version=version)
                self.run.complete(run)

    async def _train(
        self, examples: tuple[Example, ...] | None, developer: Developer | Remote | None
    ) -> None:
        self.training, self._attended = TrainingView(going=True), isinstance(developer, Remote)
        self._tell(self._training_message())
        training = self._training_of(examples or (), developer)
        outcomes = await training.run(self._listen, self._started)
        self.studio.note_examples(result.example for result in outcomes if not result.handled)
        handled = sum(outcome.handled for outcome in outcomes)
        why = "".join(
            f" {result.example.external}: {result.why}."
            for result in outcomes
            if not result.handled
        )
        ended = f"Handled: {handled} of {len(outcomes)}.{why}"
        self.training, self._trainer = TrainingView(ended=ended), None
        self._tell(*self.messages())

    def _training_of(
        self, examples: tuple[Example, ...], developer: Developer | Remote | None
    ) -> setup.Training:
        return setup.Training(
            self.studio.path,
            examples,
            self.plan.model_name,
            developer,
            limits=self.plan.limits,
            judge=self.plan.judge,
            settings=self.plan.settings,
            database=self.plan.database,
            on_wait=self._on_wait,
            lan=self.studio.lan,
            stream=self.studio.notes.streams,
            updater=self.plan.updater,
            prompts=self.plan.prompts,
        )

    def _started(self, run: Run[setup.TrainingOpening]) -> None:
        trainer = run.opening.trainer
        if trainer is None:
            raise AssertionError("a run that has begun has a trainer")
        self._trainer = trainer
        if trainer.progress.run is not None:
            self.run.complete(trainer.progress.run)
        self._tell(*self.messages())

    # --- what the developer does ---

    def answer(self, question_id: str, raw: Mapping[str, Any], distance: int) -> None:
        """Answer what is asked; `distance` is the UED as done.

        Raises `NotAsked`, `UsageError` or `DataError`.
        """
        trainer = self._trainer
        if trainer is None:
            raise NotAsked("nothing is asked now; look at what is shown")
        response, question = response_from_json(raw), trainer.question
        if isinstance(response, Act):
            response = replace(response, distance=distance)
        trainer.answer(question_id, response)
        if question is not None:
            effort = effort_in(question.view, response)
            if effort.ued or effort.confirms:
                least = _least(question.view, response) if effort.ued else 0
                self.studio.count(effort.ued, least, effort.confirms)
        self.training.doing = ""
        self._tell(self._training_message())

    async def cancel(self) -> None:
        """Stop a run; take a training over, and end one that was taken over or nobody looks at."""
        trainer = self._trainer
        if trainer is not None and self._attended and trainer.state != "HANDED":
            trainer.cancel()
        elif self.busy and self._task is not None:
            self._task.cancel()
            if trainer is not None:
                self.studio.note_examples(trainer.progress.examples[len(trainer.outcomes) :])
            await asyncio.wait([self._task])
            if trainer is not None:
                self._training_of((), Remote()).end()

    async def close(self) -> None:
        """Stop what is under way; a training goes on when the studio is started again."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def _clock(self, event: Told) -> None:
        """Keep the time in which models are waited for."""
        if isinstance(event, CallBegun):
            self.studio.effort.watch.begin()
        elif isinstance(event, CallEnded):
            self.studio.effort.watch.end()


def _least(view: View, response: Response) -> int:
    """The least UED of an answer by which a step is modified."""
    if not isinstance(view, StepView) or not isinstance(response, Act):
        return 0
    shown = view.proposal if view.version is None else view.version
    return act_cost(shown, response.result, response.hint)
