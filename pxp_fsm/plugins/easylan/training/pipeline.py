"""The update pipeline: a session of the table `lan_pipeline`, and the actions of its rows.

Which row is taken, the table and `pxp_fsm.plugins.easylan.decisions` say; here is what each row
does, who can step in, and what happens in each state that waits (`Activities`): runs, steps,
replays, questions; each ends with the label of a row. What is stored of the session carries with
each event what the training had in hand before it, so that a training that was stopped goes on.
Source: EasyLAN (Pan, Li, Yu, Shi), section 4, Figure 3, and section 5.2 and Table 4 for what a
model is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Any, TypeVar

from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import DataError, NoAnswer, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.decisions import (
    PIPELINE,
    Counters,
    Facts,
    counted,
    is_beginning,
    pipeline_guard,
)
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import Author, Change
from pxp_fsm.plugins.easylan.model.network import Network, Unsound
from pxp_fsm.plugins.easylan.model.operations import Forget, Operation, applied
from pxp_fsm.plugins.easylan.running.events import CallBegun, RunBegun, RunReason
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NetworkRunner, NoneActive
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled, text
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    Developer,
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
from pxp_fsm.plugins.easylan.training.events import (
    Answered,
    Asked,
    CopyTried,
    Kept,
    Moved,
    NetworkChanged,
    ReplayProgress,
    Resumed,
    StepBegun,
    Told,
    Withdrawn,
)
from pxp_fsm.plugins.easylan.training.progress import (
    Example,
    ExampleResult,
    TrainingProgress,
    digest_of,
    to_text,
)
from pxp_fsm.plugins.easylan.training.questions import Remote, TrainingQuestions, back_to, identity
from pxp_fsm.plugins.easylan.training.regressions import (
    accepted,
    holds,
    recorded,
    remembered,
    replay,
)
from pxp_fsm.plugins.easylan.training.steps import (
    CAUSE_OF,
    Strategy,
    UpdateStep,
    agents_of,
    fits,
    form_of,
    problem_of,
    value_of,
    written,
)
from pxp_fsm.plugins.easylan.training.strategies import Update, operations_of, protected
from pxp_fsm.plugins.easylan.training.supervision import Propose, Supervision
from pxp_fsm.prompting.framing import encoded, framed
from pxp_fsm.prompting.model import LanguageModel, Reply
from pxp_fsm.prompting.prompts import Prompt
from pxp_fsm.prompting.replies import strict_object, unfenced, whole_text
from pxp_fsm.protocol.messages import Answer, Instance, text_problem
from pxp_fsm.protocol.relations import Judgement, Relation
from pxp_fsm.protocol.rules import FAULTS, Ending
from pxp_fsm.sessions.actors import Actor, Turn
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import Alone
from pxp_fsm.sessions.session import Session, Store


def _network_told(network: Network, run: NetworkRun, truth: str) -> dict[str, Any]:
    """Names and tasks, the data flow of the run (what, from whom, to whom), input and output."""
    flow = [
        {"content": piece.text, "from": piece.author, "to": name}
        for name, turn in run.turns.items()
        for piece in turn.received.pieces
    ]
    return {
        "task": network.task,
        "agents": [{"name": agent.name, "task": agent.task} for agent in network.agents],
        "edges": sorted(map(list, network.edges)),
        "active": [name for name, turn in run.turns.items() if turn.active],
        "data_flow": flow,
        "input": run.external,
        "output": run.output,
        "wanted_output": truth,
    }


def _agent_told(network: Network, name: str, run: NetworkRun) -> dict[str, Any]:
    """What the agent is and knows; what it received, thought and put out in the run."""
    agent, turn = network.agent(name), run.turns.get(name)
    told: dict[str, Any] = {
        "name": agent.name,
        "task": agent.task,
        "output": agent.output,
        "control_knowledge": list(agent.control.knowledge),
        "knowledge": list(agent.knowledge),
        "examples": [
            example.received.shown({}, result=example.result) for example in agent.examples
        ],
    }
    if turn is None:
        return told
    return told | {
        "received": turn.received.shown({}),
        "active": turn.active,
        "control_thoughts": turn.control_thoughts,
        "execution_thoughts": turn.execution_thoughts,
        "result": turn.result,
    }


@dataclass(frozen=True)
class StepContext:
    """A step with whatever it goes by: the earlier steps' results, the last run, the network.

    `refused` is a result of this step that could not be used, and why.
    """

    step: UpdateStep
    lan: Lan = field(repr=False)
    run: NetworkRun = field(repr=False)
    truth: str = ""
    strategy: Strategy | None = None
    agent: str = ""
    values: Mapping[UpdateStep, object] = field(default_factory=dict)
    refused: tuple[object, str] | None = None

    @property
    def view(self) -> StepView:
        """What the developer sees, without a proposal as yet."""
        earlier = (
            update_step for update_step in UpdateStep if update_step.number < self.step.number
        )
        back = tuple(update_step for update_step in earlier if update_step in self.values)
        return StepView(self.step, self.strategy, None, "", self.run, self.truth, back=back)

    def problem(self, value: object) -> str | None:
        """Why a result cannot be used for the network as it is, or None."""
        network = self.lan.network
        problem = problem_of(self.step, value, network, self.strategy)
        if problem is not None or self.strategy is None or not isinstance(value, dict):
            return problem
        try:
            update = Update(self.strategy, self.agent, value["parameters"])
            applied(network, operations_of(update, network))
        except (UsageError, Unsound) as error:
            return str(error)
        return None


@dataclass(frozen=True)
class Proposer:
    """Asks a model for the results of steps.

    If `attended`, a developer may ask again: what a step is told is then kept in prompt caches,
    which costs more at first and much less from then on. Unattended it is told once.
    """

    asker: Requester
    attended: bool

    def told(self, context: StepContext) -> str:
        """The step's context as JSON: what the model is shown, and the session is about.

        Raises `UsageError` where the agent that it is about is there no longer.
        """
        network, run, step = context.lan.network, context.run, context.step
        told: dict[str, Any] = {}
        if step is UpdateStep.REASON:
            told |= _json_object(context.values.get(UpdateStep.GAP))
        if step is UpdateStep.WEAKNESS:
            told["poor_performance"] = _json_object(context.values.get(UpdateStep.REASON)).get(
                "reason_content", ""
            )
        if step is UpdateStep.PARAMETERS:
            told["strategy"] = str(context.strategy)
            told["steps"] = [
                context.values[update_step]
                for update_step in UpdateStep
                if update_step in context.values
            ]
        if step is not UpdateStep.WEAKNESS:
            told["network"] = _network_told(network, run, context.truth)
        if step in (UpdateStep.WEAKNESS, UpdateStep.PARAMETERS) and context.agent:
            told["agent"] = _agent_told(network, context.agent, run)
        if context.refused is not None:
            value, why = context.refused
            told["refused"] = {"result": value, "reason": why}
        return encoded(told)

    def propose(self, context: StepContext, session: str) -> Propose:
        """How results of the step are made in `session`; the function raises `NoAnswer`."""
        wanted = form_of(context.step, context.strategy)
        properties = {"rationale": text("why, in a few sentences"), **_properties(wanted)}
        schema = {**wanted, "properties": properties, "required": list(properties)}
        name = str(context.step).lower()
        prompt = self.asker.prompts[name]

        async def made(own: str, theirs: str, hint: str) -> Answer:
            told = prompt.fill(
                "question", network=framed(_json_object(value_of(self.told(context))))
            )
            more = ""
            if own:
                shown = {
                    "last_result": value_of(own),
                    "developers_version": value_of(theirs),
                    "hint": hint,
                }
                more = prompt.fill("developer", edited=framed(shown))
            kept = value_of(theirs) if own and value_of(theirs) != value_of(own) else None

            def read(reply: Reply) -> Answer:
                return _read(reply, set(properties), context, kept)

            stable, texts = (told, (more,)) if self.attended else ("", (told, more))
            request = self.asker.request(name, schema, *texts, session=session, stable=stable)
            return await self.asker.ask(request, read)

        return made


def _read(reply: Reply, keys: set[str], context: StepContext, kept: object) -> Answer:
    """The result that `reply` holds, which fits what the developer `kept`; raises `DataError`."""
    result = strict_object(unfenced(whole_text(reply)), keys)
    rationale = result.pop("rationale")
    if not isinstance(rationale, str):
        raise DataError(f"rationale must be a text, not {quoted(rationale)}")
    problem = problem_of(context.step, result, context.lan.network, context.strategy)
    if problem is None and kept is not None and not fits(kept, result):
        problem = "it does not keep what the developer has written"
    new_name = agents_of(context.values.get(UpdateStep.REASON))[1]
    if problem is None and kept is None and new_name and context.strategy is Strategy.ADD_AGENT:
        parameters = _json_object(result["parameters"])
        agent = _json_object(parameters["agent"]) | {"name": new_name}  # as step 2 has agreed on
        result["parameters"] = parameters | {"agent": agent}
    content = written(result)
    problem = problem or text_problem(content) or text_problem(rationale)
    if problem is not None:
        raise DataError(problem)
    return Answer(content, rationale)


def _json_object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _properties(schema: Mapping[str, Any]) -> dict[str, object]:
    return dict(schema["properties"])


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
    `copy` is the network that the update would make.
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
            now.satisfied = False
            now.satisfied = await self._verdict(now.run)
        except NoAnswer as error:
            now.why = str(error)
            return "FAILED"
        now.why = "" if now.satisfied else f"the output was {quoted(now.run.output)}"
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
            (example.external, example.output) == (run.external, run.output)
            and truth in ("", example.truth)
            for example in self.lan.network.handled
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
        right = judged.truth or self.example.truth
        truth = right or (run.output if judged.satisfied else "")
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
        # What is asked in a step is told apart by the messages that it shows.
        asked = 0 if isinstance(view, StepView) else now.asked
        question = DeveloperQuestion(identity(number, asked, view), version, number, view)
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
        while self.supervision.is_of_another(self._session, x):
            now.steps += 1
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
            lost = ", ".join(quoted(regression.handled.external) for regression in now.regressions)
            now.why = f"earlier examples would no longer be right: {lost}"
            now.refused = (now.values[UpdateStep.PARAMETERS], now.why)
        return "REPLAYED"

    async def _weigh(self) -> str:
        now = self.progress
        if not self.is_fresh:
            return "RESTART"
        if self.questions is None:  # whoever was asked is there no longer
            return str(RegressionChoice.RETRY)
        if self.copy is None:
            raise AssertionError("only a developer weighs a regression, and of a copy")
        view = RegressionView(now.regressions, now.update)
        choice = await self._ask(view, RegressionChoice, self.copy)
        if choice is RegressionChoice.ACCEPT:
            now.operations += accepted(self.copy, now.regressions)
        elif choice is RegressionChoice.FORGET:
            now.operations += tuple(
                Forget(regression.handled.external) for regression in now.regressions
            )
        return str(choice)

    async def _handed(self) -> str:
        if self.questions is None:
            return str(Continuation.SKIP)
        return str(await self._ask(HandedView(self.progress.why), Continuation))


@dataclass(frozen=True, slots=True)
class TrainingLimits:
    """How many iterations an example has, and how many retries an iteration."""

    iterations: int = 5
    retries: int = 5

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.retries < 0:
            raise UsageError("an example needs at least 1 iteration, and at least 0 retries")


_DEFAULTS = TrainingLimits()

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

    With a `blackboard` the training's `session` of that name is stored there, each event with the
    progress before it: `progress` is then that of the last one stored, and the session is replayed
    to it before it goes on.
    """

    def __init__(
        self,
        lan: Lan,
        model: LanguageModel,
        same: Relation,
        developer: Developer | Remote | None = None,
        *,
        limits: TrainingLimits = _DEFAULTS,
        supervision: Supervision | None = None,
        name: str = "lan",
        on_event: Callable[[Told], None] = lambda _event: None,
        progress: TrainingProgress | None = None,
        keep: Callable[[TrainingProgress], None] = lambda _progress: None,
        stream: bool = False,
        updater: LanguageModel | None = None,
        prompts: Mapping[str, Prompt] | None = None,
        blackboard: Store | None = None,
        session: str = "",
    ) -> None:
        self.lan = lan
        self.progress = progress or TrainingProgress(version=lan.version)
        self.progress.name = name
        self._limits = limits
        self._on_event = on_event = _counted(self.progress, on_event)
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
        self._looked_at: Facts | None = None
        self._is_here = False
        self.session = Session(
            System((Member(PIPELINE, builtin(PIPELINE)),), free_names=True),
            {PIPELINE: Actor(self._decide, guards=self._decide)},
            instance=Instance(name, lan.network.task),
            name=session or f"{name}/{PIPELINE}",
            blackboard=None if blackboard is None else _Remembering(blackboard, self.progress),
            policy=Alone(self._happens),
            on_event=self._take,
            record_faults=blackboard is not None,
        )
        if blackboard is None:
            self.session.live.machines[PIPELINE].return_to(self._state())

    @property
    def state(self) -> str:
        """The pipeline's state."""
        return self.session.states[PIPELINE]

    @property
    def is_over(self) -> bool:
        """Whether there are no more examples."""
        return self.session.live.ended

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
        if self.state in ("IDLE", "HANDED", "END"):
            raise UsageError("nothing is under way that could be cancelled")
        self._stopping = True
        self._questions.withdraw(CANCELLED)
        self._interrupt("CANCEL")

    async def train(self, examples: Iterable[Example] | None = None) -> tuple[ExampleResult, ...]:
        """Handle the examples in turn. Raises `Halted` where the run cannot go on now.

        Those of which the progress tells what came of them are not handled again; without
        `examples` it goes on with those of the progress.
        """
        self.expect(examples)
        with self.watching():
            while self.session.ending is None:
                await self._advance()
        return tuple(self.outcomes)

    def expect(self, examples: Iterable[Example] | None) -> None:
        """Let the session be about these examples; None leaves those of the progress.

        Raises `UsageError` for one without an output where no developer could say it.
        """
        now = self.progress
        if examples is not None:
            some = list(examples)
            if now.data != digest_of(some) or len(now.examples) != len(some):
                now.data, now.examples = digest_of(some), some
        check_truths(now.examples, attended=self._questions is not None)

    def watching(self) -> AbstractContextManager[None]:
        """A block in which the session is told of each change of the network."""
        return self.lan.watched(self._changed)

    async def handle(self, example: Example) -> ExampleResult:
        """Iterate until the example is handled, or given up.

        Where one is `unfinished`, that is what is handled.
        """
        if self.unfinished is None:
            self.progress.examples.append(example)
        with self.watching():
            await self._advance()
            while self.state != "IDLE":
                await self._advance()
        return self.outcomes[-1]

    def _state(self) -> str:
        """The state in which the pipeline goes on: a commit that was written is done."""
        now = self.progress
        if now.state in ("REPLAY", "REGRESSION"):
            if self._is_committed:
                now.version, now.run = now.version + 1, None
                return "RUN"
            self._copy_again(now.state)
        return now.state

    @property
    def _is_committed(self) -> bool:
        """Whether the network's log holds the update that is in hand."""
        now, changes = self.progress, self.lan.history.changes
        pending, made = now.operations, changes[now.version : now.version + 1]
        return bool(pending and made) and made[0].operations[: len(pending)] == pending

    def _copy_again(self, state: str) -> None:
        """Make the copy again that is tried, weighed or asked about in `state`."""
        if state in _TRYING and self._do.is_fresh:
            self._do.copy = applied(self.lan.network, self.progress.operations)

    def _arrive(self) -> None:
        """Go on from what was stored, before the first thing that happens here.

        An event is stored before what its row does is done. Whoever is stopped in between does it
        when they go on: the progress is that before the event.
        """
        if self._is_here:
            return
        self._is_here = True
        if self.session.events:
            self._do_row(self.session.events[-1], again=True)
            self._copy_again(self.state)
            self._do.reason = RunReason.RESUMED
        if self.state != "IDLE":
            self._on_event(Resumed(self._do.example, self._do.number, self.state))

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

    async def _advance(self) -> None:
        """The next event of the session. Raises `NoAnswer` where there can be none."""
        await self.session.step()
        if self.session.ending in FAULTS:
            raise NoAnswer(self.session.cause)

    async def _happens(self, state: str) -> str:
        """The label with which the state's activity ends, or by which it is cut short."""
        self._arrive()
        if state == "IDLE":
            return "FINISH" if self.unfinished is None else "EXAMPLE"
        if state == "HANDED":
            self._stopping = False
        label = "CANCEL" if self._stopping else await self._interruptible(self._do.happen(state))
        if label == "CANCEL":
            self._stopping = False
        if label == MOVED:
            return "RAN" if state == "RUN" else "RESTART"
        return label

    async def _decide(self, turn: Turn) -> str:
        """The guard that is true; what the strategy makes of a copy is found out for it."""
        self._arrive()
        if turn.state == "VALIDATE":
            await self._interruptible(self._do.apply())
        self._looked_at = self._facts(turn.state)
        most = Counters(self._limits.iterations, self._limits.retries)
        return pipeline_guard(turn.state, self._looked_at, self.progress.counters, most)

    def _take(self, event: Event) -> None:
        """What a row does at once: nothing can come between its guard and this."""
        self._do_row(event)

    def _do_row(self, event: Event, again: bool = False) -> None:
        """Do what a row does; `again` where it may have been done before the training stopped.

        What was written into the network then is not written twice, and what others have made of
        the network since is not written over.
        """
        now, label, state = self.progress, event.label, self.state
        if not again or self._do.is_fresh:
            self._write(label)
        self._look_back(label, state)
        now.counters = counted(now.counters, label)
        if is_beginning(label):
            now.version, now.run = self.lan.version, None
            self._do.reason = _REASONS[label]
        if label == "EXAMPLE":
            now.steps = now.asked = 0
        now.why = _WHY.get(label, now.why)
        if label == "CANCEL" or state == "IDLE":
            self._do.abandon(_WHY.get(label, EDITED))
        facts = self._looked_at if event.guard else None
        if not again:
            self._on_event(Moved(label, event.guard, state, facts, now.why))
        now.state = state
        if state == "IDLE":
            handled = label == "RECORD"
            why, iterations = "" if handled else now.why, now.counters.iterations
            self.outcomes.append(ExampleResult(self._do.example, handled, iterations, why))
        if state in _WAITING or state == "IDLE":
            self._kept()

    def _write(self, label: str) -> None:
        """Write into the network what a row with that label does to it."""
        if label == "COMMIT":
            self._commit(self.progress.update, self.progress.operations)
        elif label == "RECORD":
            self._record()

    def _look_back(self, label: str, state: str) -> None:
        """Which results of steps a row with that label makes, keeps and gives up."""
        now = self.progress
        if label == "BEGIN":
            now.values.clear()
            now.strategy = now.refused = None
        elif label in Strategy.__members__:
            now.strategy = Strategy(label)
            now.refused = None
        elif label in ("REPEAT", "RETRY"):
            now.agreed.pop(UpdateStep(state), None)
        elif label in _BACK:
            self._go_back(_BACK[label])
        elif label in ("EXAMPLE", "COMMIT", "RESUME"):
            now.agreed.clear()
            now.reopened.clear()
            now.verdicts.clear()

    def _go_back(self, step: UpdateStep) -> None:
        """Ask about `step` again, beginning with what was agreed on; later results go."""
        now = self.progress
        self._do.abandon(f"the developer went back to step {step.number}")
        known = now.agreed.pop(step, None)
        if known is not None:
            now.reopened[step] = known
        for update_step in UpdateStep:
            if update_step.number >= step.number:
                now.values.pop(update_step, None)
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
            satisfied=now.satisfied,
            complete=complete,
            fresh=do.is_fresh,
            valid=do.copy is not None,
            clean=not now.regressions,
            iterations_left=now.counters.iterations < self._limits.iterations,
            retries_left=now.counters.retries < self._limits.retries,
            attended=self._questions is not None,
            cause=CAUSE_OF.get(str(reason), ""),
        )

    def _commit(
        self, about: str, operations: tuple[Operation, ...], completes: int | None = None
    ) -> None:
        change = Change(Author.SYSTEM, about, operations, completes=completes)
        self.lan.history = self.lan.history.after(change)

    def _record(self) -> None:
        """The inputs and outputs of every module in this run become its examples.

        Repeating a training that is over makes no change.
        """
        run = self.progress.run
        if run is None:
            raise AssertionError("only a run is recorded")
        new = recorded(self.lan.network, run, self._do.example.truth or run.output)
        # Within an iteration the latest change is this example's update, unless somebody edited.
        updated = self.progress.counters.iterations and self.lan.history.changes[-1].is_update
        if new:
            self._commit(
                f"handled {quoted(run.external)}", new, self.lan.version if updated else None
            )


_WAITING = frozenset({"RUN", *UpdateStep.__members__, "REPLAY", "REGRESSION", "HANDED"})
"""The states in which something is waited for."""

_TRYING = frozenset({"REPLAY", "WEIGH", "REGRESSION", "COMMIT"})
"""The states in which there is a copy of the network on which an update is tried."""


def check_truths(examples: Iterable[Example], *, attended: bool) -> None:
    """Raise `UsageError` for an example without an output where no developer could say it."""
    if not attended and not all(example.truth for example in examples):
        raise UsageError("an example without an output requires a developer, who says it")


def _counted(
    progress: TrainingProgress, on_event: Callable[[Told], None]
) -> Callable[[Told], None]:
    """Tells `on_event`, and notes how often models were asked and how long the developer was."""
    since: float | None = None

    def told(event: Told) -> None:
        nonlocal since
        match event:
            case CallBegun():
                progress.calls += 1
            case Asked(question):
                about_output = isinstance(question.view, OutputView)
                since = None if about_output else since or time.perf_counter()
            case Answered() | Withdrawn() if since is not None:
                progress.seconds += time.perf_counter() - since
                since = None
        on_event(event)

    return told


class _Remembering:
    """A blackboard on which each event of a training carries the progress before it."""

    def __init__(self, board: Store, progress: TrainingProgress) -> None:
        self._board = board
        self._progress = progress

    def open(self, session: Session) -> None:
        self._board.open(session)

    def append(self, session: str, event: Event) -> None:
        self._board.append(session, replace(event, memory=to_text(self._progress)))

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        self._board.end(session, ending, cause, judgements)
