"""The reachable states of a system as one picture."""

from __future__ import annotations

from proofs.systems.folding import Fold, reach, state_graph
from proofs.systems.product import Composition
from pxp_fsm.automata.system import System
from pxp_fsm.diagrams.model import Edge, EdgeRow, Node, StateDiagram
from pxp_fsm.errors import UsageError

MOST_DRAWN = 200
"""States beyond which nobody could read a drawing."""


def product_diagram(system: System, most: int = MOST_DRAWN) -> StateDiagram:
    """Every reachable state of `system` and every step, grouped by the state of its first member.

    >>> import pxp_fsm as pxp
    >>> diagram = product_diagram(pxp.System.load("m=pxp", "h=pxp"))
    >>> len(diagram.nodes), diagram.nodes[0].name
    (4, 'IDLE[h: IDLE]')

    Raises `UsageError` where there are more than `most` states.
    """
    composition = Composition(system)
    reached = reach(composition, most)
    if not reached.complete:
        raise UsageError(
            f"{system.name} over {system.channel.name} has more than {most:,} states, and a "
            f"drawing at most that many; pxp serve shows parts of it"
        )
    graph, encoding = state_graph(reached, Fold.NONE), composition.encoding
    names = list[str]()
    nodes = list[Node]()
    for number, group in enumerate(graph.groups):
        here = encoding.configuration(group.state)
        settled = here.chosen or ("",) * len(here.at)
        first, *others = [
            f"{state}·{guard}" if guard else state
            for state, guard in zip(here.at, settled, strict=True)
        ]
        members = [member.name for member in system.members]
        lines = [f"{name}: {state}" for name, state in zip(members[1:], others, strict=True)]
        lines += [
            f"{encoding.link_name(link)}: {' '.join(buffer)}"
            for link, buffer in zip(encoding.links, here.buffers, strict=False)
            if buffer
        ]
        lines += ["deadlock"] if group.deadlocks else []
        names.append(f"{first}[{', '.join(lines)}]")
        nodes.append(
            Node(
                names[-1],
                initial=number == 0,
                final=composition.ended(group.state),
                group=first,
            )
        )
    edges = tuple(
        Edge(names[arc.source], names[arc.target], tuple(map(EdgeRow, arc.actions)))
        for arc in graph.arcs
    )
    note = f"over {system.channel.name}: {len(nodes)} states, by that of {system.members[0].name}"
    return StateDiagram(system.name, note, tuple(nodes), edges)
