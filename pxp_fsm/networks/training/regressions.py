"""Regression tests: earlier examples, run on a copy before it is committed.

Calls are known by the version of the module and by what it received, so that they need not be made
again for agents that an update did not touch.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pxp_fsm.errors import NoAnswer
from pxp_fsm.networks.model.network import Handled, Network
from pxp_fsm.networks.running.execution import Memory, Runner
from pxp_fsm.networks.running.modules import Module, Said, known_as
from pxp_fsm.protocol.relations import Outcome, Relation, reply_of

AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Regression:
    """An earlier example that a copy would no longer handle; `output` is None where it has none."""

    handled: Handled
    output: str | None
    why: str


def remembered(network: Network) -> Memory:
    """What the modules said when they made their examples, as far as they are still the same."""
    memory: Memory = {}
    for agent in network.agents:
        for decision in agent.control.examples:
            if decision.made_by == agent.control_version:
                key = known_as(agent, Module.CONTROL, decision.received)
                memory[key] = Said(decision.active)
        for result in agent.examples:
            if result.made_by == agent.execution_version:
                memory[known_as(agent, Module.EXECUTION, result.received)] = Said(result.result)
    return memory


async def replay(network: Network, runner: Runner, same: Relation) -> tuple[Regression, ...]:
    """The earlier examples that `network` does not handle, in their order.

    One is handled if the output is what it was, or if it is the `same` as what was asked for.
    """
    found: list[Regression | None] = []
    for start in range(0, len(network.handled), AT_ONCE):
        some = network.handled[start : start + AT_ONCE]
        found += await asyncio.gather(*(_lost(one, network, runner, same) for one in some))
    return tuple(one for one in found if one is not None)


async def _lost(
    handled: Handled, network: Network, runner: Runner, same: Relation
) -> Regression | None:
    try:
        run = await runner.run(network, handled.external)
    except NoAnswer as error:
        return Regression(handled, None, str(error))
    try:
        if run.output == handled.output or await holds(same, run.output, handled.truth):
            return None
    except NoAnswer as error:
        return Regression(handled, run.output, str(error))
    return Regression(handled, run.output, "another output")


async def holds(relation: Relation, left: str, right: str) -> bool:
    """Whether a relation holds; unsure counts as not. Raises `NoAnswer` where it is not decided."""
    outcome = reply_of(await relation.holds(left, right), relation).outcome
    if outcome in (Outcome.LATE, Outcome.BROKEN):
        raise NoAnswer(f"{relation.name}: {outcome}")
    return outcome is Outcome.YES
