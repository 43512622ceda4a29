"""What the explorer's page is sent: systems, states, verdicts, traces, the picture of all states.

Everything that a page shows is computed here or below; a page arranges it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from proofs.core.results import Result
from proofs.systems import Composition, System
from proofs.systems.folding import Fold, FoldedGroup, ReachedStates, StateGraph, folds, state_graph
from proofs.systems.options import MoveOption, Options
from proofs.systems.paths import Choices, choices_of, states_along
from proofs.systems.product import Move
from proofs.systems.propositions import named, vocabulary
from pxp_fsm.automata.actions import SystemAction, Unreceived, record_of
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.unfolding import as_written
from pxp_fsm.diagrams import state_diagram
from pxp_fsm.diagrams.dot import Layout
from pxp_fsm.diagrams.graphviz import Placement, place
from pxp_fsm.diagrams.model import Edge, EdgeRow, Node, StateDiagram
from pxp_fsm.diagrams.text import shortened
from pxp_fsm.errors import PXPError
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowView:
    """A transition of a member's table; `row` is the number of the written row."""

    row: int
    source: str
    target: str
    guard: str
    action: str


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a system and its automaton, laid out."""

    name: str
    title: str
    note: str
    guards: dict[str, str]
    rows: tuple[RowView, ...]
    layout: Placement


@dataclass(frozen=True, slots=True)
class SystemView:
    """A system: its members, the links that have a buffer, the propositions that there are, and how
    its states can be folded in a picture."""

    name: str
    channel: str
    capacities: tuple[int, ...]
    fingerprint: str
    members: tuple[MemberView, ...]
    links: tuple[tuple[str, str], ...]
    propositions: tuple[str, ...]
    folds: tuple[Fold, ...]


@dataclass(frozen=True, slots=True)
class MoveView:
    """Something that can happen: its text, the action as words, and the rows that members take.

    A row is given by the member's number and its place in the member's `rows`.
    """

    text: str
    kind: str
    member: str
    partner: str
    label: str
    guard: str
    rows: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BlockedView:
    """A row of a member's present state that cannot be taken, or not with each partner: why."""

    member: int
    row: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeadlockView:
    """Nothing can happen: a sentence for each message that nobody receives and each member that
    waits, and those messages (sender, receiver, tag)."""

    sentences: tuple[str, ...]
    unreceived: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class StateView:
    """A state of a system: where each member is, the guard that it has settled, the buffers."""

    at: tuple[str, ...]
    settled: tuple[str, ...]
    buffers: tuple[tuple[str, ...], ...]
    ended: bool
    deadlock: DeadlockView | None
    moves: tuple[MoveView, ...]
    blocked: tuple[BlockedView, ...]


@dataclass(frozen=True, slots=True)
class ResultView:
    """A verdict on `subject`; `choices` is its trace in numbers of moves.

    They are None where there is none to play. The last `cycle` steps of the trace repeat for ever.
    """

    subject: str
    name: str
    title: str
    assumptions: str
    status: str
    as_expected: bool
    explanation: str
    seconds: float
    choices: tuple[int, ...] | None
    cycle: int


class Views:
    """The views of one system and its states.

    >>> views = Views(System.load("machine=interact", "human=interact"))
    >>> [move.text for move in views.state(views.start).moves]
    ['machine>human INIT', 'human>machine INIT']
    """

    def __init__(self, system: System) -> None:
        self.composition = Composition(system)
        (self.start,) = self.composition.initial()
        self._options = Options(self.composition)
        self.rows = [
            {row: number for number, row in enumerate(member.automaton.transitions)}
            for member in system.members
        ]
        of_states = [n for n in named(self.composition) if not n.split("@")[0].isdigit()]
        self._shown = frozenset(of_states)

    def system(self) -> SystemView:
        """The system itself."""
        system, links = self.composition.system, self.composition.encoding.links
        names = [member.name for member in system.members]
        return SystemView(
            system.name,
            system.channel.name,
            tuple(system.channel_of(link).capacity for link in links),
            system.fingerprint,
            tuple(member_view(member.name, member.automaton) for member in system.members),
            tuple((names[sender], names[receiver]) for sender, receiver in links),
            tuple(sorted(vocabulary(self.composition) & self._shown)),
            folds(self.composition),
        )

    def state(self, state: int) -> StateView:
        """One state of it."""
        moves = self.composition.moves(state)
        here = self.composition.encoding.configuration(state)
        options = self._options.of(state, moves)
        return StateView(
            here.at,
            here.chosen or ("",) * len(here.at),
            here.buffers,
            self.composition.ended(state),
            self.deadlock(state),
            tuple(map(self.move, moves)),
            tuple(self._blocked(option) for option in options if option.reasons),
        )

    def propositions(self, state: int, part: int) -> frozenset[str]:
        """What is true of one part of a state."""
        encoding, members = self.composition.encoding, self.composition.system.members
        beyond = part - len(members)
        name = members[part].name if beyond < 0 else encoding.link_name(encoding.links[beyond])
        true = self.composition.propositions(state) & self._shown
        return frozenset(text for text in true if text.startswith(f"{name}@"))

    def deadlock(self, state: int) -> DeadlockView | None:
        """Why nothing can happen in a state, if nothing can."""
        deadlock = self._options.deadlock(state)
        if deadlock is None:
            return None
        sentences = tuple(map(str, (*deadlock.unreceived, *deadlock.waiting)))
        return DeadlockView(sentences, tuple(map(_message, deadlock.unreceived)))

    def move(self, move: Move) -> MoveView:
        """Something that can happen."""
        rows = tuple((place, self.rows[place][row]) for place, row in move.rows)
        return MoveView(str(move.action), *record_of(move.action), rows)

    def _blocked(self, option: MoveOption) -> BlockedView:
        return BlockedView(
            option.place, self.rows[option.place][option.row], tuple(map(str, option.reasons))
        )

    def result(self, result: Result) -> ResultView:
        """A verdict, with its trace as choices where it is a trace of this system."""
        return ResultView(
            result.subject,
            result.name,
            result.title,
            result.assumptions,
            result.status.value,
            result.as_expected,
            result.verdict.detail,
            round(result.seconds, 3),
            self._choices(result),
            result.cycle,
        )

    def _choices(self, result: Result) -> tuple[int, ...] | None:
        if result.trace is None:
            return None
        actions = [step.action for step in result.trace.steps]
        try:
            return choices_of(self.composition, actions)
        except PXPError:
            pass
        try:  # of tables that are shown as they are written
            written = (as_written(action) for action in actions if isinstance(action, SystemAction))
            return choices_of(self.composition, written)
        except PXPError:
            return None

    def choices_along(self, actions: Sequence[SystemAction]) -> Choices:
        """The choices that take `actions`, as far as they can happen."""
        state, choices = self.start, list[int]()
        for action in actions:
            moves = self.composition.moves(state)
            place = next((n for n, move in enumerate(moves) if move.action == action), None)
            if place is None:
                break
            choices.append(place)
            state += moves[place].difference
        return tuple(choices)

    def actions(self, choices: Sequence[int]) -> tuple[SystemAction, ...]:
        """What happens on a path that the system has."""
        state, actions = self.start, list[SystemAction]()
        for choice in choices:
            move = self.composition.moves(state)[choice]
            actions.append(move.action)
            state += move.difference
        return tuple(actions)


def member_view(name: str, automaton: Automaton) -> MemberView:
    """A member and its automaton, laid out."""
    return MemberView(
        name,
        automaton.title,
        automaton.note,
        dict(automaton.guards),
        tuple(
            RowView(row.row, row.source, row.target, row.guard or "", row.action)
            for row in automaton.transitions
        ),
        place(state_diagram(automaton)),
    )


def _message(unreceived: Unreceived) -> tuple[str, str, str]:
    return unreceived.sender, unreceived.receiver, unreceived.tag


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
    >>> composition = Composition(pxp.System.load("pxp", channel="fifo:1"))
    >>> picture = StatePicture(reach(composition, MOST_STATES), Fold.CONTROL)
    >>> picture.count
    '17 states in 9 groups, 26 steps in 14 arrows: all are drawn.'
    """

    def __init__(self, reached: ReachedStates, fold: Fold) -> None:
        self.graph: StateGraph = state_graph(reached, fold)
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

    def _name(self, group: FoldedGroup) -> str:
        here = self.graph.composition.encoding.configuration(group.state)
        settled = here.chosen or ("",) * len(here.at)
        at = ", ".join(
            f"{name}·{guard}" if guard else name
            for name, guard in zip(here.at, settled, strict=True)
        )
        waiting = "" if self.fold is Fold.CONTROL else " ".join(sum(here.buffers, ()))
        return shortened(f"{at} | {waiting}" if waiting else at, 34)

    def _about(self, group: FoldedGroup) -> str:
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
        number = self.graph.numbers.get(state)
        return number if number is not None and number < self.drawn else None

    def view(self, choices: Sequence[int]) -> GraphView:
        """The picture with the nodes along a trace; `Refused` where the system does not have it."""
        path = tuple(map(self.number, states_along(self.graph.composition, choices)))
        return GraphView(self.layout, self.nodes, self.count, path)


def _lines(actions: Sequence[str]) -> list[EdgeRow]:
    """The first actions at an arrow, and how many there are besides."""
    more = len(actions) - MOST_LINES
    if more <= 1:
        return [EdgeRow(action) for action in actions[: MOST_LINES + 1]]
    return [*(EdgeRow(action) for action in actions[:MOST_LINES]), EdgeRow(f"and {more} more")]
