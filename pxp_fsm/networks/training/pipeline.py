"""The update pipeline: a machine of the table `lan_pipeline`, and the actions of its rows.

Which row is taken, the table and `pxp_fsm.protocol.network_decisions` say; here is only what
happens in each state, and what each row does. Source: EasyLAN (Pan, Yu, Li, Shi), section 4, Figure
3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pxp_fsm.automata.automaton import Transition, one_hot
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.edits import applied
from pxp_fsm.networks.model.history import Author, Change
from pxp_fsm.networks.model.network import Network
from pxp_fsm.networks.model.operations import Forget, Operation
from pxp_fsm.networks.model.soundness import Unsound
from pxp_fsm.networks.running.execution import Memory, NoneActive, Run, Runner
from pxp_fsm.networks.running.requests import Requester, bundled
from pxp_fsm.networks.training.developer import Confirms, Developer, RegressionChoice
from pxp_fsm.networks.training.events import Kept, Moved, Resumed, Told
from pxp_fsm.networks.training.progress import Example, ExampleResult, Progress, digest_of
from pxp_fsm.networks.training.proposals import Context, Proposer
from pxp_fsm.networks.training.regressions import accepted, holds, recorded, remembered, replay
from pxp_fsm.networks.training.steps import CAUSE_OF, Strategy, UpdateStep, problem_of
from pxp_fsm.networks.training.strategies import Update, protected
from pxp_fsm.networks.training.supervision import Supervision
from pxp_fsm.prompting.model import Model
from pxp_fsm.protocol.network_decisions import (
    PIPELINE,
    Facts,
    counted,
    is_beginning,
    pipeline_guard,
)
from pxp_fsm.protocol.relations import Relation
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.session import Entry


@dataclass(frozen=True, slots=True)
class Limits:
    """How many iterations an example has, and how many retries an iteration."""

    iterations: int = 5
    retries: int = 5

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.retries < 0:
            raise UsageError("an example needs at least 1 iteration, and at least 0 retries")


EDITED = "the network changed"
"""Why the pipeline runs the network again."""


class Trainer:
    """Trains `lan` by examples, asking `model`; without a `developer`, unattended.

    `same` judges whether an output will do where nobody else says so. `name` begins the names of
    the sessions. `on_event` is told of each row taken, each agent's turn, each step's end.
    `progress` is that of a training that was stopped, which goes on from there; `keep` is called
    with it whenever something has happened.
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
        progress: Progress | None = None,
        keep: Callable[[Progress], None] = lambda _progress: None,
    ) -> None:
        self.lan = lan
        self.progress = progress or Progress(version=lan.version)
        self.progress.name = name
        self._same = same
        self._developer = developer
        self._limits = limits
        self._supervision = supervision or Supervision()
        self._on_event = on_event
        self._keep = keep
        self._memory: Memory = remembered(lan.network)
        self._runner = Runner(Requester(model, bundled()), self._memory)
        self._proposer = Proposer(self._runner.asker)
        self._example = Example("", "")
        self._satisfied = False
        self._copy: Network | None = None
        self.machine = Machine(builtin(PIPELINE), self._state())

    @property
    def calls(self) -> int:
        """How often the agents of the network have asked the model."""
        return self._runner.calls

    @property
    def outcomes(self) -> list[ExampleResult]:
        """What came of each example so far."""
        return self.progress.outcomes

    async def train(self, examples: Iterable[Example]) -> tuple[ExampleResult, ...]:
        """Handle the examples in turn. Raises `Halted` where the run cannot go on now.

        Those of which the progress tells what came of them are not handled again.
        """
        some = tuple(examples)
        self.progress.data = digest_of(some)
        for example in some[len(self.outcomes) :]:
            await self.handle(example)
        self._take(self.machine.happen("FINISH"))
        return tuple(self.outcomes)

    async def handle(self, example: Example) -> ExampleResult:
        """Iterate until the example is handled, or given up."""
        self._example = example
        if self.machine.state == "IDLE":
            row = self._take(self.machine.happen("EXAMPLE"))
        else:
            number = len(self.outcomes) + 1
            self._on_event(Resumed(example, number, self.machine.state))
        while self.machine.state != "IDLE":
            row = await self._advance()
        handled, now = row.label == "RECORD", self.progress
        why = "" if handled else now.why
        outcome = ExampleResult(example, handled, now.counters.iterations, why)
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
            if self._is_fresh:
                self._copy = applied(self.lan.network, pending)
        if self._developer is None:  # whoever was asked is there no longer
            return {"REGRESSION": "WEIGH", "HANDED": "HAND_OVER"}.get(now.state, now.state)
        return now.state

    @property
    def _is_fresh(self) -> bool:
        return self.progress.version == self.lan.version

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
        now.counters = counted(now.counters, row.label)
        if is_beginning(row.label):
            now.version, now.run = self.lan.version, None
        if row.label in ("EXAMPLE", "COMMIT", "RESUME"):
            now.agreed.clear()
            now.verdicts.clear()
        if row.label == "EXAMPLE":
            now.steps = 0
        if row.label in ("RESTART", "RUN_AGAIN"):
            now.why = EDITED
        self._on_event(Moved(row, facts, now.why))
        now.state = row.target
        if row.target in _WAITING:
            self._kept()
        return row

    def _kept(self) -> None:
        self._keep(self.progress)

    def _facts(self, state: str) -> Facts:
        now = self.progress
        step = UpdateStep(state.removesuffix("_MADE")) if state.endswith("_MADE") else None
        value = now.values.get(step) if step is not None else None
        complete = step is not None and (
            problem_of(step, value, self.lan.network, now.strategy) is None
        )
        reason = value.get("reason_type") if isinstance(value, dict) else None
        return Facts(
            satisfied=self._satisfied,
            complete=complete,
            fresh=self._is_fresh,
            valid=self._copy is not None,
            clean=not now.regressions,
            iterations_left=now.counters.iterations < self._limits.iterations,
            retries_left=now.counters.retries < self._limits.retries,
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
        now = self.progress
        try:
            if now.run is None or not self._is_fresh:
                now.version = self.lan.version
                now.run = await self._ran()
                self._kept()
            self.lan.last = now.run
            self._satisfied = await self._verdict(now.run)
        except NoAnswer as error:
            now.why = str(error)
            return "FAILED"
        now.why = "" if self._satisfied else f"the output was {quoted(now.run.output)}"
        if not now.run.active:
            now.why = "no agent was active: the output is the input"
        return "RAN"

    async def _ran(self) -> Run:
        """The network's run; where no agent is active, the input is forwarded as its output."""
        try:
            return await self._runner.run(self.lan.network, self._example.external, self._on_event)
        except NoneActive as error:
            return error.run

    async def _verdict(self, run: Run) -> bool:
        """Whether the output will do; nobody is asked twice about one output."""
        truth, verdicts = self._example.truth, self.progress.verdicts
        if not run.active:
            return False
        if any(
            (one.external, one.truth, one.output) == (run.external, truth, run.output)
            for one in self.lan.network.handled
        ):
            return True
        if run.output not in verdicts:
            if self._developer is not None:
                verdicts[run.output] = await self._developer.satisfied(run, truth, self.lan)
            else:
                verdicts[run.output] = await holds(self._same, run.output, truth)
        return verdicts[run.output]

    async def _step(self, step: UpdateStep) -> str:
        """A step as a session between the system and the developer."""
        now = self.progress
        if not self._is_fresh:
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
            self._on_event(Kept(step, known[1]))
            return "AGREED"
        now.steps += not now.entries
        session = f"{now.name}/{len(self.outcomes) + 1}/{now.steps}"
        agreed = await self._supervision.step(
            session,
            x,
            self._developer or Confirms(),
            context.view,
            self._proposer.propose(context, session),
            context.problem,
            now.entries,
            self._said,
        )
        now.entries = ()
        self._on_event(agreed)
        now.why = agreed.why
        if agreed.ending is Ending.RATIFIED:
            now.values[step] = agreed.value
            now.agreed[step] = plain, agreed.value
            return "AGREED" if self._is_fresh else "RESTART"
        if agreed.ending in (Ending.REJECTED, Ending.BOUND):
            return "REJECTED"
        return "FAILED" if self._is_fresh else "RESTART"

    def _context(self, step: UpdateStep) -> Context:
        now = self.progress
        if now.run is None:
            raise AssertionError("no step is made before the network has run")
        strategy = now.strategy if step is UpdateStep.PARAMETERS else None
        values, truth = dict(now.values), self._example.truth
        return Context(step, self.lan, now.run, truth, strategy, now.agent, values, now.refused)

    def _said(self, entries: tuple[Entry, ...]) -> None:
        self.progress.entries = entries
        self._kept()

    async def _apply(self) -> None:
        """Apply the strategy to a copy; a copy that could not be saved is none."""
        now = self.progress
        self._copy, now.operations = None, ()
        value = now.values[UpdateStep.PARAMETERS]
        if now.strategy is None or not isinstance(value, dict):
            raise AssertionError("a strategy is chosen, and its parameters are of their form")
        update = Update(now.strategy, now.agent, value["parameters"])
        try:
            now.operations, self._copy = await protected(update, self.lan.network, self._runner)
        except (UsageError, Unsound, NoAnswer) as error:
            now.why = str(error)
            now.refused = (value, now.why)

    async def _replay(self) -> str:
        now = self.progress
        now.regressions = ()
        if not self._is_fresh:
            return "REPLAYED"
        if self._copy is None:
            raise AssertionError("only a copy that is valid is replayed")
        now.regressions = await replay(self._copy, self._runner, self._same)
        if now.regressions:
            lost = ", ".join(quoted(one.handled.external) for one in now.regressions)
            now.why = f"earlier examples would no longer be right: {lost}"
            now.refused = (now.values[UpdateStep.PARAMETERS], now.why)
        return "REPLAYED"

    async def _weigh(self) -> str:
        now = self.progress
        if not self._is_fresh:
            return "RESTART"
        if self._developer is None or self._copy is None:
            raise AssertionError("only a developer weighs a regression")
        choice = await self._developer.weigh(now.regressions, self._copy, self.lan)
        if not self._is_fresh:
            return "RESTART"
        if choice is RegressionChoice.ACCEPT:
            now.operations += accepted(self._copy, now.regressions)
        elif choice is RegressionChoice.FORGET:
            now.operations += tuple(Forget(one.handled.external) for one in now.regressions)
        return str(choice)

    async def _handed(self) -> str:
        if self._developer is None:
            raise AssertionError("only a developer takes over")
        return str(await self._developer.handed(self.progress.why, self.lan))

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
        new = recorded(self.lan.network, run, self._example.truth)
        if new:
            self._commit(f"handled {quoted(run.external)}", new)


_WAITING = frozenset({"RUN", *UpdateStep.__members__, "REPLAY", "REGRESSION", "HANDED"})
"""The states in which something is waited for: those in which a training can be stopped."""
