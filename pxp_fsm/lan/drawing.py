"""A network as a diagram: agents and edges, those that were active in a run marked."""

from __future__ import annotations

from collections.abc import Iterable

from pxp_fsm.diagrams import Edge, Node, Row, StateDiagram
from pxp_fsm.lan.network import Network


def diagram(network: Network, active: Iterable[str] = ()) -> StateDiagram:
    """The network in the diagrams' own model; `active` agents are marked."""
    marked = frozenset(active)
    nodes = (
        Node(agent.name, about=agent.task, marked=agent.name in marked)
        for agent in map(network.agent, network.order)
    )
    edges = (Edge(one, other, (Row(""),)) for one, other in sorted(network.edges))
    handled = len(network.handled)
    note = f"{handled} example{'' if handled == 1 else 's'} handled"
    return StateDiagram(network.task, note, tuple(nodes), tuple(edges))
