"""What the studio's page is sent of a network: agents with their places, edges, examples, log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from pxp_fsm.automata.tables import builtin
from pxp_fsm.diagrams import Edge, EdgeRow, Node, StateDiagram
from pxp_fsm.diagrams.graphviz import Placement, place
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.model.history import History
from pxp_fsm.plugins.easylan.model.network import (
    ControlExample,
    ExecutionExample,
    LanAgent,
    Network,
)
from pxp_fsm.web.views import MemberView, member_view

MOST_EXAMPLES = 50
"""The examples of a module that are sent at once, the latest first."""


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent, without its examples, and where it is drawn: its middle and its size, in points."""

    name: str
    task: str
    output: str
    enabled: bool
    required: tuple[str, ...]
    control_knowledge: tuple[str, ...]
    knowledge: tuple[str, ...]
    decisions: int
    results: int
    x: float
    y: float
    width: float
    height: float
    moved: bool


@dataclass(frozen=True, slots=True)
class EdgeView:
    """An edge; `path` is as SVG writes it, empty where an end was moved by hand."""

    source: str
    target: str
    required: bool
    path: str


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change of the log, counted from 1; `undone` says whether it was undone since."""

    number: int
    by: str
    about: str
    undone: bool


@dataclass(frozen=True, slots=True)
class HandledView:
    """An example that the network handles."""

    input: str
    truth: str
    output: str


@dataclass(frozen=True, slots=True)
class NetworkView:
    """A network of a version, as it is drawn."""

    version: int
    task: str
    agents: tuple[AgentView, ...]
    edges: tuple[EdgeView, ...]
    handled: tuple[HandledView, ...]
    log: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True)
class ModuleExample:
    """An example of a module: what the agent received, with its authors, and what came of it."""

    external: str
    pieces: tuple[tuple[str, str], ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class ExamplesView:
    """The latest examples of an agent's modules, at most `MOST_EXAMPLES` of each."""

    decisions: tuple[ModuleExample, ...]
    results: tuple[ModuleExample, ...]


Positions = Mapping[str, tuple[float, float]]


def view_of(history: History, positions: Positions) -> NetworkView:
    """The network that a log leads to; agents stand at their `positions`, or where Graphviz puts
    them."""
    network = history.network
    placed = placement_of(network.order, tuple(sorted(network.edges)))
    boxes = dict(zip(network.order, placed.states, strict=True))
    paths = {(arrow.source, arrow.target): arrow.path for arrow in placed.arrows}

    def agent(name: str) -> AgentView:
        lan_agent, box = network.agent(name), boxes[name]
        x, y = positions.get(name, (box.x, box.y))
        return AgentView(
            lan_agent.name,
            lan_agent.task,
            lan_agent.output,
            lan_agent.control.enabled,
            lan_agent.control.required,
            lan_agent.control.knowledge,
            lan_agent.knowledge,
            len(lan_agent.control.examples),
            len(lan_agent.examples),
            x,
            y,
            box.width,
            box.height,
            name in positions,
        )

    def edge(source: str, target: str) -> EdgeView:
        path = "" if {source, target} & set(positions) else paths[source, target]
        required = source in network.agent(target).control.required
        return EdgeView(source, target, required, path)

    return NetworkView(
        history.version,
        network.task,
        tuple(map(agent, network.order)),
        tuple(edge(*pair) for pair in sorted(network.edges)),
        tuple(
            HandledView(example.external, example.truth, example.output)
            for example in network.handled
        ),
        log_of(history),
    )


def log_of(history: History) -> tuple[ChangeView, ...]:
    """The changes of a log."""
    return tuple(
        ChangeView(number, str(change.by), change.about, number in history.undone_changes)
        for number, change in enumerate(history.changes, start=1)
    )


@lru_cache(maxsize=64)
def placement_of(names: tuple[str, ...], edges: tuple[tuple[str, str], ...]) -> Placement:
    """Where Graphviz puts agents and edges."""
    arrows = (Edge(source, target, (EdgeRow(""),)) for source, target in edges)
    return place(StateDiagram("", "", tuple(map(Node, names)), tuple(arrows)))


def examples_of(agent: LanAgent) -> ExamplesView:
    """The latest examples of an agent's modules."""
    return ExamplesView(
        tuple(map(_example, reversed(agent.control.examples[-MOST_EXAMPLES:]))),
        tuple(map(_example, reversed(agent.examples[-MOST_EXAMPLES:]))),
    )


def _example(example: ControlExample | ExecutionExample) -> ModuleExample:
    received = example.received
    pieces = tuple((piece.author, piece.text) for piece in received.pieces)
    if isinstance(example, ExecutionExample):
        return ModuleExample(received.external, pieces, example.result)
    return ModuleExample(received.external, pieces, "active" if example.active else "inactive")


@cache
def session_automaton() -> MemberView:
    """The automaton of a step's session, laid out."""
    return member_view("developer", builtin("interact"))


def warm(network: Network | None) -> None:
    """Load what places agents, which takes seconds the first time."""
    session_automaton()
    if network is not None:
        placement_of(network.order, tuple(sorted(network.edges)))
