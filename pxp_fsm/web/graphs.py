"""The picture of a system's reachable states: folded, laid out, and what is not drawn counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from proofs.systems.folding import Fold, Group, StateGraph, state_graph
from proofs.systems.paths import states_along
from proofs.systems.product import Composition
from pxp_fsm.diagrams.dot import Layout
from pxp_fsm.diagrams.model import Edge, Node, Row, StateDiagram
from pxp_fsm.diagrams.placement import Placement, place
from pxp_fsm.diagrams.text import shortened

MOST_STATES = 20_000
"""The states that are looked at; of a larger system these are the nearest."""

MOST_NODES, MOST_ARROWS = 40, 80
"""The nodes and arrows that are drawn: more cannot be read."""

MOST_LINES = 3
"""The actions at an arrow."""

DOWN = Layout("TB", tight=True, wrap=30, joined=False)


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node: the trace to its nearest state, how many states it is, and how many of those are
    deadlocks; `more` arrows lead from it to nodes that are not drawn."""

    choices: tuple[int, ...]
    states: int
    deadlocks: int
    more: int


@dataclass(frozen=True, slots=True)
class GraphView:
    """The picture, its nodes in the order of the layout, and how much of the system it is.

    `path` are the numbers of the nodes along a trace, None where a node is not drawn.
    """

    layout: Placement
    nodes: tuple[NodeView, ...]
    count: str
    path: tuple[int | None, ...]


class StatePicture:
    """The reachable states of a system as one picture; the nearest nodes are drawn.

    >>> import pxp_fsm as pxp
    >>> picture = StatePicture(Composition(pxp.System.load("pxp", channel="fifo:1")), Fold.CONTROL)
    >>> picture.count
    '17 states in 9 groups, 26 steps in 14 arrows: all are drawn.'
    """

    def __init__(self, composition: Composition, fold: Fold) -> None:
        self.graph: StateGraph = state_graph(composition, fold, MOST_STATES)
        self.fold = fold
        self.drawn = self._fitting()

    def _fitting(self) -> int:
        """How many of the nearest nodes are drawn: with all arrows between them there is room."""
        last = Counter(max(arc.source, arc.target) for arc in self.graph.arcs)
        arrows = 0
        for number in range(min(len(self.graph.groups), MOST_NODES)):
            arrows += last[number]
            if arrows > MOST_ARROWS:
                return max(1, number)
        return min(len(self.graph.groups), MOST_NODES)

    @cached_property
    def count(self) -> str:
        """How many states and steps there are, and how many of them are drawn."""
        graph, drawn = self.graph, self.drawn
        states, groups = len(graph.numbers), len(graph.groups)
        steps, arrows = sum(arc.steps for arc in graph.arcs), len(graph.arcs)
        told = f"{states:,} states" + (f" in {groups:,} groups" if groups < states else "")
        told += f", {steps:,} steps" + (f" in {arrows:,} arrows" if arrows < steps else "")
        if not graph.complete:
            told = f"The nearest {told}; there are more"
        shown = sum(max(arc.source, arc.target) < drawn for arc in graph.arcs)
        if drawn == groups and shown == arrows:
            return f"{told}: all are drawn."
        kind = "groups" if groups < states else "states"
        return (
            f"{told}. Drawn are the nearest {drawn} {kind} and the {shown} arrows between them; "
            f"{groups - drawn:,} {kind} and {arrows - shown:,} arrows are not; (+2) at a node "
            f"counts 2 of these."
        )

    @cached_property
    def diagram(self) -> StateDiagram:
        """What is drawn."""
        composition = self.graph.composition
        names = [
            f"{number} {self._name(group)}" + (f" (+{node.more})" if node.more else "")
            for number, (group, node) in enumerate(zip(self.graph.groups, self.nodes, strict=False))
        ]
        nodes = tuple(
            Node(
                names[number],
                self._about(group),
                initial=number == 0,
                final=composition.ended(group.state),
            )
            for number, group in enumerate(self.graph.groups[: self.drawn])
        )
        edges = tuple(
            Edge(names[arc.source], names[arc.target], tuple(_lines(arc.actions)))
            for arc in self.graph.arcs
            if max(arc.source, arc.target) < self.drawn
        )
        return StateDiagram(composition.name, self.count, nodes, edges)

    def _name(self, group: Group) -> str:
        here = self.graph.composition.encoding.configuration(group.state)
        settled = here.chosen or ("",) * len(here.at)
        at = ", ".join(
            f"{name}·{guard}" if guard else name
            for name, guard in zip(here.at, settled, strict=True)
        )
        waiting = "" if self.fold is Fold.CONTROL else " ".join(sum(here.buffers, ()))
        return shortened(f"{at} | {waiting}" if waiting else at, 34)

    def _about(self, group: Group) -> str:
        """All that is true of a node, in words."""
        composition = self.graph.composition
        here = composition.encoding.configuration(group.state)
        told = [
            f"{member.name} in {state}" + (f", has settled {guard}" if guard else "")
            for member, state, guard in zip(
                composition.system.members,
                here.at,
                here.chosen or ("",) * len(here.at),
                strict=True,
            )
        ]
        if self.fold is not Fold.CONTROL:
            told += [
                f"on the way {composition.encoding.link_name(link)}: {', '.join(buffer)}"
                for link, buffer in zip(composition.encoding.links, here.buffers, strict=True)
                if buffer
            ]
        told += [f"{group.size:,} states"] if group.size > 1 else []
        told += ["a deadlock" if group.size == 1 else f"deadlocks: {group.deadlocks:,}"] * bool(
            group.deadlocks
        )
        return "; ".join(told)

    @cached_property
    def layout(self) -> Placement:
        """The picture, laid out."""
        return place(self.diagram, DOWN)

    @cached_property
    def nodes(self) -> tuple[NodeView, ...]:
        """The nodes that are drawn."""
        beyond = Counter(
            arc.source for arc in self.graph.arcs if arc.source < self.drawn <= arc.target
        )
        return tuple(
            NodeView(group.choices, group.size, group.deadlocks, beyond[number])
            for number, group in enumerate(self.graph.groups[: self.drawn])
        )

    def number(self, state: int) -> int | None:
        """The number of the node of a state; None where it is not drawn."""
        found = self.graph.numbers.get(state)
        return found if found is not None and found < self.drawn else None

    def view(self, choices: Sequence[int]) -> GraphView:
        """The picture with the nodes along a trace; `Refused` where the system does not have it."""
        path = tuple(map(self.number, states_along(self.graph.composition, choices)))
        return GraphView(self.layout, self.nodes, self.count, path)


def _lines(actions: Sequence[str]) -> list[Row]:
    """The first actions at an arrow, and how many there are besides."""
    more = len(actions) - MOST_LINES
    if more <= 1:
        return [Row(action) for action in actions[: MOST_LINES + 1]]
    return [*(Row(action) for action in actions[:MOST_LINES]), Row(f"and {more} more")]
