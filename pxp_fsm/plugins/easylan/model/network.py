"""A network of LLM agents (a LAN) as frozen data: agents with modules, edges, knowledge.

Source: EasyLAN (Pan, Yu, Li, Shi), section 3, Tables 1 and 2.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.prompting.framing import CLOSING, OPENING, encoded

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
            {"from": one.author}
            | ({"subtask": tasks[one.author]} if one.author in tasks else {})
            | {"output": one.text}
            for one in self.pieces
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
        return _framed([one.shown for one in self.control.examples])

    @cached_property
    def shown_results(self) -> str:
        """The execution module's examples in a frame; empty where it has none."""
        return _framed([one.shown for one in self.examples])


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
        said = asdict(self)
        said["edges"] = sorted(self.edges)
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def initial(task: str, *, name: str = "Solver", output: str = "the result of the task") -> Network:
    """The network that a task begins with: one agent, always active, whose subtask is the task."""
    return Network(task, (LanAgent(name, task, output),))


def _sided(pairs: Iterable[Edge]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
    return {one: tuple(sorted(others)) for one, others in found.items()}


def _framed(examples: list[str]) -> str:
    """Examples that are written already, in one frame."""
    return f'{OPENING}{{"examples": [{", ".join(examples)}]}}{CLOSING}' if examples else ""


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
