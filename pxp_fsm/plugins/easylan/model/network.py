"""A network of LLM agents (a LAN) as frozen data: agents with modules, edges, knowledge.

A network that runs or is saved is sound; its faults are messages for its editor. Names of agents
are texts that people and models write, so what could steer a terminal or hide in a list is refused.
Source: EasyLAN (Pan, Li, Yu, Shi), section 3, Tables 1 and 2, and section 4.2.2.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from functools import cached_property

from pxp_fsm.errors import DataError, Fault, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.framing import CLOSING, OPENING, encoded
from pxp_fsm.protocol.messages import text_problem

Edge = tuple[str, str]
"""From the output module of one agent to the input module of another, by their names."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text that an agent received, under the name of the agent whose result it is."""

    author: str
    text: str


@dataclass(frozen=True, slots=True)
class AgentInput:
    """What an input module holds: the network's input, and what the predecessors put out."""

    external: str
    pieces: tuple[Piece, ...] = ()

    def holds(self, other: AgentInput) -> bool:
        """Whether `other` is what is here, or a part of it: inputs may have been added since."""
        return self.external == other.external and set(other.pieces) <= set(self.pieces)

    def shown(self, tasks: Mapping[str, str], **more: object) -> dict[str, object]:
        """It as data for a model, with the authors' subtasks where `tasks` has them."""
        pieces = [
            {"from": piece.author}
            | ({"subtask": tasks[piece.author]} if piece.author in tasks else {})
            | {"output": piece.text}
            for piece in self.pieces
        ]
        return {"input": self.external, "received": pieces, **more}


@dataclass(frozen=True)
class ControlExample:
    """For this input the agent was active, or was not.

    `made_by` is the version of the control module that said so; empty where it was told to.
    """

    received: AgentInput
    active: bool
    made_by: str = ""

    @cached_property
    def shown(self) -> str:
        """It as JSON in a frame."""
        return encoded(self.received.shown({}, active=self.active))


@dataclass(frozen=True)
class ExecutionExample:
    """For this input this was the result; `made_by` as in `ControlExample`."""

    received: AgentInput
    result: str
    made_by: str = ""

    @cached_property
    def shown(self) -> str:
        """It as JSON in a frame."""
        return encoded(self.received.shown({}, result=self.result))


@dataclass(frozen=True)
class Control:
    """The control module: whether the agent is active (Table 1).

    Not `enabled`, it is active under any input and nothing is asked; but not where one of the
    `required` predecessors is inactive.
    """

    enabled: bool = False
    required: tuple[str, ...] = ()
    knowledge: tuple[str, ...] = ()
    examples: tuple[ControlExample, ...] = ()


@dataclass(frozen=True)
class LanAgent:
    """An agent: its control module, and what its execution module does (Table 2).

    `task` is the subtask, `output` says what its output is.
    """

    name: str
    task: str
    output: str
    control: Control = Control()
    knowledge: tuple[str, ...] = ()
    examples: tuple[ExecutionExample, ...] = ()

    @cached_property
    def control_version(self) -> str:
        """A digest of whatever the control module decides by, its examples apart."""
        return _digest(["control", self.task, self.control.knowledge])

    @cached_property
    def execution_version(self) -> str:
        """A digest of whatever the execution module computes by, its examples apart."""
        return _digest(["execution", self.task, self.output, self.knowledge])

    @cached_property
    def shown_decisions(self) -> str:
        """The control module's examples in a frame; empty where it has none."""
        return _framed([example.shown for example in self.control.examples])

    @cached_property
    def shown_results(self) -> str:
        """The execution module's examples in a frame; empty where it has none."""
        return _framed([example.shown for example in self.examples])


@dataclass(frozen=True, slots=True)
class HandledExample:
    """An example that the network has learned to handle, as the network then ran on it.

    `results` holds, by the agents' names, what each put out itself; None where it was inactive.
    `truth` is the output that was asked for, `output` the one that was found good enough.
    """

    external: str
    truth: str
    output: str
    results: tuple[tuple[str, str | None], ...]

    @property
    def active(self) -> frozenset[str]:
        """The agents that were active."""
        return frozenset(name for name, result in self.results if result is not None)


@dataclass(frozen=True)
class Network:
    """A LAN: the task, the agents, the edges between them, the examples it has handled."""

    task: str
    agents: tuple[LanAgent, ...] = ()
    edges: frozenset[Edge] = frozenset()
    handled: tuple[HandledExample, ...] = field(default=(), repr=False)

    @cached_property
    def _by_name(self) -> Mapping[str, LanAgent]:
        return {agent.name: agent for agent in self.agents}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The agents' names, in the order in which they were made."""
        return tuple(agent.name for agent in self.agents)

    def agent(self, name: str) -> LanAgent:
        """The agent `name`; raises `UsageError` where there is none."""
        if name not in self._by_name:
            raise UsageError(
                f"there is no agent {quoted(name)}; there are: {', '.join(self.names) or 'none'}"
            )
        return self._by_name[name]

    @cached_property
    def _before(self) -> Mapping[str, tuple[str, ...]]:
        return _sided((after, before) for before, after in self.edges)

    @cached_property
    def _after(self) -> Mapping[str, tuple[str, ...]]:
        return _sided(self.edges)

    def predecessors(self, name: str) -> tuple[str, ...]:
        """The agents with an edge to `name`, by their names."""
        return self._before.get(name, ())

    def successors(self, name: str) -> tuple[str, ...]:
        """The agents to which `name` has an edge, by their names."""
        return self._after.get(name, ())

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The agents in Kahn's order, ties by name; without those on or after a cycle."""
        waiting = {name: len(self.predecessors(name)) for name in self.names}
        ready = [name for name, count in waiting.items() if not count]
        heapq.heapify(ready)
        ordered: list[str] = []
        while ready:
            ordered.append(heapq.heappop(ready))
            for name in self.successors(ordered[-1]):
                waiting[name] -= 1
                if not waiting[name]:
                    heapq.heappush(ready, name)
        return tuple(ordered)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all of it."""
        content = asdict(self)
        content["edges"] = sorted(self.edges)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def initial(task: str, *, name: str = "Solver", output: str = "the result of the task") -> Network:
    """The network that a task begins with: one agent, always active, whose subtask is the task."""
    return Network(task, (LanAgent(name, task, output),))


def _sided(pairs: Iterable[Edge]) -> dict[str, tuple[str, ...]]:
    neighbours: dict[str, list[str]] = {}
    for agent, other in pairs:
        neighbours.setdefault(agent, []).append(other)
    return {agent: tuple(sorted(others)) for agent, others in neighbours.items()}


def _framed(examples: list[str]) -> str:
    """Examples that are written already, in one frame."""
    return f'{OPENING}{{"examples": [{", ".join(examples)}]}}{CLOSING}' if examples else ""


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


LONGEST_NAME = 80
MOST_AGENTS = 500
MOST_EDGES = 1_000


class Unsound(DataError):
    """A network that cannot be saved or run; `faults` holds every reason."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(fault.message for fault in faults))


def check_network(network: Network) -> None:
    """Raise `Unsound` where the network has a fault."""
    faults = tuple(faults_of(network))
    if faults:
        raise Unsound(faults)


def faults_of(network: Network) -> Iterator[Fault]:
    """Every fault: no agent, an empty text, a name twice, an edge to nobody, a cycle."""
    if not network.task.strip():
        yield Fault(("task",), "the task is empty; say what the network is for")
    large = size_faults(len(network.agents), len(network.edges))
    if large:
        yield from large
        return
    if not network.agents:
        yield Fault(("agents",), "there is no agent; a network has at least one")
    known = set(network.names)
    for index, agent in enumerate(network.agents):
        if agent.name in network.names[:index]:
            yield Fault(
                ("agents", index, "name"), f"two agents are named {quoted(agent.name)}; rename one"
            )
        yield from _agent_faults(agent, index)
        yield from _required_faults(network, agent, index)
    sound = True
    for index, edge in enumerate(sorted(network.edges)):
        for end in edge:
            if end not in known:
                sound = False
                yield Fault(
                    ("edges", index), f"an edge has the end {quoted(end)}, which does not exist"
                )
    if sound:
        cycle = cycle_of(network.edges)
        if cycle:
            way = " → ".join((*cycle, cycle[0]))
            yield Fault(("edges",), f"the network would have a cycle: {way}")


def size_faults(agents: int, edges: int) -> list[Fault]:
    """What there is more of than a network may have, which is then not looked at further."""
    counts = (("agents", agents, MOST_AGENTS), ("edges", edges, MOST_EDGES))
    return [
        Fault((noun,), f"there are {count:,} {noun}; a network has at most {most:,}")
        for noun, count, most in counts
        if count > most
    ]


def cycle_of(edges: frozenset[Edge]) -> tuple[str, ...]:
    """The agents of a cycle, in its order; empty where there is none."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from(sorted(edges))
    if nx.is_directed_acyclic_graph(graph):
        return ()
    return tuple(agent for agent, _other in nx.find_cycle(graph))


def name_problem(name: str) -> str | None:
    """Why `name` cannot be an agent's, or None."""
    if not name.strip():
        return "an agent's name is empty; give it one"
    if name != name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        return (
            f"{quoted(name)} is not a valid agent name: a name is printable, without "
            f"spaces at its ends, and has at most {LONGEST_NAME} characters"
        )
    return None


def _agent_faults(agent: LanAgent, index: int) -> Iterator[Fault]:
    problem = name_problem(agent.name)
    if problem is not None:
        yield Fault(("agents", index, "name"), problem)
    for key, text, noun in (
        ("task", agent.task, "task"),
        ("output", agent.output, "output description"),
    ):
        if not text.strip():
            yield Fault(
                ("agents", index, key), f"the {noun} of {quoted(agent.name)} is empty; write one"
            )
    for path, knowledge in (
        (("knowledge",), agent.knowledge),
        (("control", "knowledge"), agent.control.knowledge),
    ):
        for place, text in enumerate(knowledge):
            if not text.strip():
                yield Fault(
                    ("agents", index, *path, place),
                    f"a piece of knowledge of {quoted(agent.name)} is empty; drop it",
                )
    texts = (agent.name, agent.task, agent.output, *agent.knowledge, *agent.control.knowledge)
    wrong = next(filter(None, map(text_problem, texts)), None)
    if wrong is not None:
        yield Fault(("agents", index), f"{quoted(agent.name)}: {wrong}")


def _required_faults(network: Network, agent: LanAgent, index: int) -> Iterator[Fault]:
    before = network.predecessors(agent.name)
    for place, name in enumerate(agent.control.required):
        if name not in before:
            yield Fault(
                ("agents", index, "control", "required", place),
                f"{quoted(agent.name)} requires {quoted(name)}, which is none of its predecessors; "
                f"connect them, or require another",
            )
