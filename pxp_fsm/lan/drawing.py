"""A network as a picture: its agents and edges, and which of them were active in a run."""

from __future__ import annotations

from pxp_fsm.diagrams.model import Edge, Node, StateDiagram
from pxp_fsm.lan.network import Agent, Network
from pxp_fsm.lan.running import Run


def network_diagram(network: Network, run: Run | None = None, note: str = "") -> StateDiagram:
    """The network as a diagram; of a `run`, the active agents are filled.

    An arrow from nowhere enters agents without predecessors; a double line is around those without
    successors. An agent's tooltip says its subtask, and how much it knows.
    """
    active = frozenset[str]()
    if run is not None:
        active = frozenset(name for name, turn in run.turns.items() if turn.active)
    nodes = tuple(
        Node(
            name,
            _about(network.agent(name)),
            initial=not network.predecessors(name),
            final=not network.successors(name),
            marked=name in active,
        )
        for name in network.order
    )
    edges = tuple(Edge(*edge, ()) for edge in sorted(network.edges))
    said = note
    if run is not None:
        said = "; ".join(filter(None, (note, f"{run.external} → {run.output}")))
    return StateDiagram(network.task, said, nodes, edges)


def _about(agent: Agent) -> str:
    known = len(agent.knowledge) + len(agent.control.knowledge)
    more = f" ({known} pieces of knowledge)" if known else ""
    return f"{agent.task}{more}"
