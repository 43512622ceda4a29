"""Networks that have handled examples, for the benchmarks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    ControlExample,
    ExecutionExample,
    HandledExample,
    LanAgent,
    Network,
    Piece,
)


def learned(
    agent: LanAgent,
    names: Collection[str],
    edges: Iterable[tuple[str, str]],
    handled: int,
    external: str = "input {}",
    output: str = "so",
) -> Network:
    """Agents like `agent` with an example of both modules for each of so many handled inputs.

    `external` is an input with its number in it, `output` what every agent puts out.
    """
    edges, inputs = frozenset(edges), [external.format(number) for number in range(handled)]

    def of(name: str) -> LanAgent:
        senders = sorted(one for one, other in edges if other == name)
        pieces = tuple(Piece(one, output) for one in senders)
        received = [AgentInput(one, pieces) for one in inputs]
        decisions = tuple(ControlExample(one, True, agent.control_version) for one in received)
        results = tuple(ExecutionExample(one, output, agent.execution_version) for one in received)
        control = replace(agent.control, examples=decisions)
        return replace(agent, name=name, control=control, examples=results)

    outputs = tuple((name, output) for name in names)
    kept = tuple(HandledExample(one, output, output, outputs) for one in inputs)
    return Network("a task", tuple(map(of, names)), edges, kept)
