"""Examples that are handled: recorded, and run again on a copy before it is committed.

Calls are known by the version of the module and by what it received, so that they need not be made
again for agents that an update did not touch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from pxp_fsm.errors import NoAnswer
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.model.network import (
    ControlExample,
    ExecutionExample,
    HandledExample,
    LanAgent,
    Network,
)
from pxp_fsm.plugins.easylan.model.operations import Forget, Handle, Learn, Operation, apply
from pxp_fsm.plugins.easylan.running.execution import (
    Memory,
    Module,
    ModuleOutput,
    NetworkRun,
    NetworkRunner,
    known_as,
)
from pxp_fsm.protocol.relations import Outcome, Relation, reply_of

AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Regression:
    """An earlier example that a copy would no longer handle; `run` is None without an output."""

    handled: HandledExample
    run: NetworkRun | None
    why: str

    @property
    def output(self) -> str | None:
        """What the copy puts out on it; None where it has no output."""
        return None if self.run is None else self.run.output


def remembered(network: Network) -> Memory:
    """What the modules said when they made their examples, as far as they are still the same."""
    memory: Memory = {}
    for agent in network.agents:
        memory |= remembered_by(agent)
    return memory


def remembered_by(agent: LanAgent) -> Memory:
    """What the modules of one agent said when they made their examples, while they are the same."""
    memory: Memory = {}
    for decision in agent.control.examples:
        if decision.made_by == agent.control_version:
            key = known_as(agent, Module.CONTROL, decision.received)
            memory[key] = ModuleOutput(decision.active)
    for result in agent.examples:
        if result.made_by == agent.execution_version:
            key = known_as(agent, Module.EXECUTION, result.received)
            memory[key] = ModuleOutput(result.result)
    return memory


async def replay(
    network: Network,
    runner: NetworkRunner,
    same: Relation,
    on_progress: Callable[[int, int], None] = lambda _done, _lost: None,
) -> tuple[Regression, ...]:
    """The earlier examples that `network` does not handle, in their order.

    One is handled if the output is what it was, or if it is the `same` as what was asked for.
    `on_progress` is told how many were run, and how many of them are lost.
    """
    regressions: list[Regression | None] = []
    for start in range(0, len(network.handled), AT_ONCE):
        some = network.handled[start : start + AT_ONCE]
        regressions += await asyncio.gather(
            *(_lost(example, network, runner, same) for example in some)
        )
        on_progress(len(regressions), sum(regression is not None for regression in regressions))
    return tuple(regression for regression in regressions if regression is not None)


async def _lost(
    handled: HandledExample, network: Network, runner: NetworkRunner, same: Relation
) -> Regression | None:
    try:
        run = await runner.run(network, handled.external)
    except NoAnswer as error:
        return Regression(handled, None, str(error))
    try:
        if run.output == handled.output or await holds(same, run.output, handled.truth):
            return None
    except NoAnswer as error:
        return Regression(handled, run, str(error))
    return Regression(handled, run, "another output")


def recorded(network: Network, run: NetworkRun, truth: str) -> tuple[Operation, ...]:
    """What makes the inputs and outputs of every module in `run` its examples.

    What the network holds already is no operation. Source: EasyLAN, section 4.1.
    """
    operations: list[Operation] = []
    for name, turn in run.turns.items():
        agent = network.agent(name)
        asked = agent.control_version if turn.guard in ("ON", "OFF") else ""
        decision = ControlExample(turn.received, turn.active, asked)
        results: tuple[ExecutionExample, ...] = ()
        if turn.result is not None:
            results = (ExecutionExample(turn.received, turn.result, agent.execution_version),)
        operations.append(Learn(name, (decision,), results))
    operations.append(Handle(HandledExample(run.external, truth, run.output, run.results)))
    return tuple(operation for operation in operations if not _is_held(network, operation))


def _is_held(network: Network, operation: Operation) -> bool:
    if isinstance(operation, Handle):
        return operation.handled in network.handled
    return apply(network, operation) == network


def accepted(copy: Network, lost: Iterable[Regression]) -> tuple[Operation, ...]:
    """What records the new output of each regression as the right one.

    An example without an output is forgotten.
    """
    operations: list[Operation] = []
    for regression in lost:
        if regression.run is None:
            operations.append(Forget(regression.handled.external))
        else:
            operations += recorded(copy, regression.run, regression.handled.truth)
    return tuple(operations)


async def holds(relation: Relation, left: str, right: str) -> bool:
    """Whether a relation holds; unsure counts as not. Raises `NoAnswer` where it is not decided."""
    outcome = reply_of(await relation.holds(left, right), relation).outcome
    if outcome in (Outcome.LATE, Outcome.BROKEN):
        raise NoAnswer(f"{relation.name}: {outcome}")
    return outcome is Outcome.YES
