"""The update pipeline: a machine of the table `lan_pipeline`, and the actions of its rows.

Which row is taken, the table and `pxp_fsm.protocol.network_decisions` say; here is only what
happens in each state, and what each row does. Source: EasyLAN (Pan, Yu, Li, Shi), section 4, Figure
3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pxp_fsm.automata.automaton import Transition, one_hot
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.edits import apply
from pxp_fsm.networks.model.history import Author, Change
from pxp_fsm.networks.model.network import ControlExample, ExecutionExample, HandledExample, Network
from pxp_fsm.networks.model.operations import Handle, Learn, Operation
from pxp_fsm.networks.model.soundness import Unsound
from pxp_fsm.networks.running.execution import Event, Memory, Run, Runner
from pxp_fsm.networks.running.requests import Requester, bundled
from pxp_fsm.networks.training.developer import Confirms, Developer
from pxp_fsm.networks.training.proposals import Context, Proposer
from pxp_fsm.networks.training.regressions import Regression, holds, remembered, replay
from pxp_fsm.networks.training.steps import CAUSE_OF, Strategy, UpdateStep, problem_of
from pxp_fsm.networks.training.strategies import Update, protected
from pxp_fsm.networks.training.supervision import Agreement, Supervision
from pxp_fsm.prompting.model import Model
from pxp_fsm.protocol.network_decisions import (
    PIPELINE,
    Counters,
    Facts,
    counted,
    is_beginning,
    pipeline_guard,
)
from pxp_fsm.protocol.relations import Relation
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.machine import Machine


@dataclass(frozen=True, slots=True)
class Example:
    """A training example: an input of the network, and the output that is asked for."""

    external: str
    truth: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The pipeline took a row of its table; `facts` are what its guard looked at."""

    row: Transition
    facts: Facts | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """What came of an example: handled after how many iterations, or not, and why."""

    example: Example
    handled: bool
    iterations: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many iterations an example has, and how many retries an iteration."""

    iterations: int = 5
    retries: int = 5

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.retries < 0:
            raise UsageError("an example needs at least 1 iteration, and at least 0 retries")


Told = Moved | Event | Agreement


@dataclass
class _Hand:
    """What the pipeline has in hand about the present example."""

    example: Example = Example("", "")
    run: Run | None = None
    satisfied: bool = False
    values: dict[UpdateStep, object] = field(default_factory=dict)
    strategy: Strategy | None = None
    operations: tuple[Operation, ...] = ()
    copy: Network | None = None
    refused: tuple[object, str] | None = None
    regressions: tuple[Regression, ...] = ()
    steps: int = 0
    why: str = ""

    @property
    def ran(self) -> Run:
        if self.run is None:
            raise AssertionError("no step is made before the network has run")
        return self.run

    @property
    def agent(self) -> str:
        """The agent that the error is about; empty where it is about none."""
        found = self.values.get(UpdateStep.REASON)
        return str(found.get("agent_name", "")) if isinstance(found, dict) else ""


class Trainer:
    """Trains `lan` by examples, asking `model`; without a `developer`, unattended.

    `same` judges whether an output will do where nobody else says so. `name` begins the names of
    the sessions. `on_event` is told of each row taken, each agent's turn, each step's end.
    """

    def __init__(
        self,
        lan: Lan,
        model: Model,
        same: Relation,
        developer: Developer | None = None,
        *,
        limits: Limits = Limits(),
        supervision: Supervision | None = None,
        name: str = "lan",
        on_event: Callable[[Told], None] = lambda _event: None,
    ) -> None:
        self.lan = lan
        self.machine = Machine(builtin(PIPELINE))
        self.outcomes: list[ExampleResult] = []
        self._same = same
        self._developer = developer
        self._limits = limits
        self._supervision = supervision or Supervision()
        self._name = name
        self._on_event = on_event
        self._memory: Memory = remembered(lan.network)
        self._runner = Runner(Requester(model, bundled()), self._memory)
        self._proposer = Proposer(self._runner.asker)
        self._counters = Counters()
        self._version = lan.version
        self._hand = _Hand()

    @property
    def calls(self) -> int:
        """How often the agents of the network have asked the model."""
        return self._runner.calls

    async def train(self, examples: Iterable[Example]) -> tuple[ExampleResult, ...]:
        """Handle the examples in turn. Raises `Halted` where the run cannot go on now."""
        for example in examples:
            await self.handle(example)
        self._take(self.machine.happen("FINISH"))
        return tuple(self.outcomes)

    async def handle(self, example: Example) -> ExampleResult:
        """Iterate until the example is handled, or given up."""
        if self.machine.state != "IDLE":
            raise UsageError(f"the pipeline is in state {self.machine.state}, not waiting")
        self._hand = _Hand(example)
        row = self._take(self.machine.happen("EXAMPLE"))
        while self.machine.state != "IDLE":
            row = await self._advance()
        handled = row.label == "RECORD"
        outcome = ExampleResult(
            example, handled, self._counters.iterations, "" if handled else self._hand.why
        )
        self.outcomes.append(outcome)
        return outcome

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
            await self._apply()
        return row

    def _take(self, row: Transition, facts: Facts | None = None) -> Transition:
        """What taking `row` does at once: nothing can come between its guard and this."""
        if row.label == "COMMIT":
            self._commit(f"{self._hand.strategy}: {self._hand.agent}", self._hand.operations)
        elif row.label == "RECORD":
            self._record()
        elif row.label == "BEGIN":
            self._hand.values.clear()
            self._hand.strategy = self._hand.refused = None
        elif row.label in Strategy.__members__:
            self._hand.strategy = Strategy(row.label)
            self._hand.refused = None
        self._counters = counted(self._counters, row.label)
        if is_beginning(row.label):
            self._version = self.lan.version
        self._on_event(Moved(row, facts, self._hand.why))
        return row

    def _facts(self, state: str) -> Facts:
        hand = self._hand
        step = UpdateStep(state.removesuffix("_MADE")) if state.endswith("_MADE") else None
        value = hand.values.get(step) if step is not None else None
        complete = step is not None and (
            problem_of(step, value, self.lan.network, hand.strategy) is None
        )
        reason = value.get("reason_type") if isinstance(value, dict) else None
        return Facts(
            satisfied=hand.satisfied,
            complete=complete,
            fresh=self._version == self.lan.version,
            valid=hand.copy is not None,
            clean=not hand.regressions,
            iterations_left=self._counters.iterations < self._limits.iterations,
            retries_left=self._counters.retries < self._limits.retries,
            attended=self._developer is not None,
            cause=CAUSE_OF.get(str(reason), ""),
        )

    async def _happens(self, state: str) -> str:
        """What happens in a state in which the pipeline waits for something."""
        if state in UpdateStep.__members__:
            return await self._step(UpdateStep(state))
        return await {
            "RUN": self._run,
            "REPLAY": self._replay,
            "REGRESSION": self._weigh,
            "HANDED": self._handed,
        }[state]()

    async def _run(self) -> str:
        hand = self._hand
        try:
            hand.run = await self._runner.run(
                self.lan.network, hand.example.external, self._on_event
            )
            self.lan.last = hand.run
            hand.satisfied = await self._satisfied(hand.run, hand.example.truth)
        except NoAnswer as error:
            hand.why = str(error)
            return "FAILED"
        hand.why = "" if hand.satisfied else f"the output was {quoted(hand.run.output)}"
        return "RAN"

    async def _satisfied(self, run: Run, truth: str) -> bool:
        if self._developer is not None:
            return await self._developer.satisfied(run, truth, self.lan)
        return await holds(self._same, run.output, truth)

    async def _step(self, step: UpdateStep) -> str:
        """A step as a session between the system and the developer."""
        hand = self._hand
        hand.steps += 1
        try:
            context = Context(
                step,
                self.lan,
                hand.ran,
                hand.example.truth,
                hand.strategy if step is UpdateStep.PARAMETERS else None,
                hand.agent,
                dict(hand.values),
                hand.refused,
            )
            x = self._proposer.told(context)
        except UsageError as error:
            hand.why = str(error)
            return "FAILED"
        session = f"{self._name}/{len(self.outcomes) + 1}/{hand.steps}"
        agreed = await self._supervision.step(
            session,
            x,
            self._developer or Confirms(),
            context.view,
            self._proposer.propose(context, session),
            context.problem,
        )
        self._on_event(agreed)
        hand.why = agreed.why
        if agreed.ending is Ending.RATIFIED:
            hand.values[step] = agreed.value
            return "AGREED"
        return "REJECTED" if agreed.ending in (Ending.REJECTED, Ending.BOUND) else "FAILED"

    async def _apply(self) -> None:
        """Apply the strategy to a copy; a copy that could not be saved is none."""
        hand = self._hand
        hand.copy, hand.operations = None, ()
        value = hand.values[UpdateStep.PARAMETERS]
        if hand.strategy is None or not isinstance(value, dict):
            raise AssertionError("a strategy is chosen, and its parameters are of their form")
        update = Update(hand.strategy, hand.agent, value["parameters"])
        try:
            hand.operations, hand.copy = await protected(update, self.lan.network, self._runner)
        except (UsageError, Unsound, NoAnswer) as error:
            hand.why = str(error)
            hand.refused = (value, hand.why)

    async def _replay(self) -> str:
        hand = self._hand
        if hand.copy is None:
            raise AssertionError("only a copy that is valid is replayed")
        hand.regressions = await replay(hand.copy, self._runner, self._same)
        if hand.regressions:
            lost = ", ".join(quoted(one.handled.external) for one in hand.regressions)
            hand.why = f"earlier examples would no longer be right: {lost}"
            hand.refused = (hand.values[UpdateStep.PARAMETERS], hand.why)
        return "REPLAYED"

    async def _weigh(self) -> str:
        hand = self._hand
        if self._developer is None or hand.copy is None:
            raise AssertionError("only a developer weighs a regression")
        return str(await self._developer.weigh(hand.regressions, hand.copy, self.lan))

    async def _handed(self) -> str:
        if self._developer is None:
            raise AssertionError("only a developer takes over")
        return str(await self._developer.handed(self._hand.why, self.lan))

    def _commit(self, about: str, operations: tuple[Operation, ...]) -> None:
        change = Change(Author.SYSTEM, about.rstrip(": "), operations)
        self.lan.history = self.lan.history.after(change)

    def _record(self) -> None:
        """The inputs and outputs of every module in this run become its examples.

        What the network holds already is no change: repeating a training that is over makes none.
        """
        run, network, example = self._hand.ran, self.lan.network, self._hand.example
        operations: list[Operation] = []
        for name, turn in run.turns.items():
            agent = network.agent(name)
            asked = agent.control_version if turn.guard in ("ON", "OFF") else ""
            decision = ControlExample(turn.received, turn.active, asked)
            results: tuple[ExecutionExample, ...] = ()
            if turn.result is not None:
                made_by = agent.execution_version
                results = (ExecutionExample(turn.received, turn.result, made_by),)
            operations.append(Learn(name, (decision,), results))
        handled = HandledExample(example.external, example.truth, run.output, run.results)
        new: list[Operation] = [one for one in operations if apply(network, one) != network]
        if handled not in network.handled:
            new.append(Handle(handled))
        if new:
            self._commit(f"handled {quoted(example.external)}", tuple(new))
