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
        senders = sorted(sender for sender, other in edges if other == name)
        pieces = tuple(Piece(sender, output) for sender in senders)
        received = [AgentInput(external_input, pieces) for external_input in inputs]
        decisions = tuple(
            ControlExample(received_input, True, agent.control_version)
            for received_input in received
        )
        results = tuple(
            ExecutionExample(received_input, output, agent.execution_version)
            for received_input in received
        )
        control = replace(agent.control, examples=decisions)
        return replace(agent, name=name, control=control, examples=results)

    outputs = tuple((name, output) for name in names)
    kept = tuple(HandledExample(handled_input, output, output, outputs) for handled_input in inputs)
    return Network("a task", tuple(map(of, names)), edges, kept)
