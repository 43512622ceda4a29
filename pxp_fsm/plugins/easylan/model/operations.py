"""Operations on a network, as data (the entries of its log), and what comes of them.

Manual editing is `MANUAL` (EasyLAN, section 4.2.2, and forgetting an example). An update makes no
others than `AUTOMATIC` ones by itself: it deletes nothing, and changes no task (section 4.1.4).
Applying them is pure: the next network, or a refusal. Source: EasyLAN (Pan, Li, Yu, Shi), sections
4.1.3, 4.1.4 and 4.2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, TypeVar

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    Control,
    ControlExample,
    Edge,
    ExecutionExample,
    HandledExample,
    LanAgent,
    Network,
    Piece,
    check_network,
)
from pxp_fsm.schemas import Tagged


class AgentField(StrEnum):
    """What of an agent can be edited."""

    NAME = "name"
    TASK = "task"
    OUTPUT = "output"
    KNOWLEDGE = "knowledge"
    CONTROL_KNOWLEDGE = "control_knowledge"
    ENABLED = "enabled"
    REQUIRED = "required"


class SplitKind(StrEnum):
    """How an agent is split: into steps, or by conditions."""

    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"


@dataclass(frozen=True, slots=True)
class Begin:
    """A network for `task`, without agents."""

    task: str


@dataclass(frozen=True, slots=True)
class ChangeTask:
    """The network is for another task."""

    task: str


@dataclass(frozen=True, slots=True)
class Create:
    """A new agent, without edges."""

    agent: LanAgent


@dataclass(frozen=True, slots=True)
class Delete:
    """An agent goes, with its edges."""

    name: str


@dataclass(frozen=True, slots=True)
class Connect:
    """A new edge; with `required`, its target is inactive where its source is."""

    source: str
    target: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Disconnect:
    """An edge goes; the target no longer requires the source."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A field of an agent has another value: a text, a list of texts, true or false."""

    name: str
    field: AgentField
    value: str | tuple[str, ...] | bool


@dataclass(frozen=True, slots=True)
class Teach:
    """A piece of knowledge is added to an agent's control module, or its execution module."""

    name: str
    knowledge: str
    control: bool


@dataclass(frozen=True, slots=True)
class Split:
    """An agent is replaced by its parts, which keep its place between the others.

    `chosen` names, for an input, the part that stands for the agent there; else it is the last one.
    `edges` are those between the parts, and between them and the agent's neighbours; none are those
    of its kind: each part receives what the agent did, and sequential ones one another's results.
    """

    name: str
    kind: SplitKind
    parts: tuple[LanAgent, ...]
    chosen: tuple[tuple[str, str], ...] = ()
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Learn:
    """Examples are added to an agent's modules; each takes the place of one of the same input."""

    name: str
    decisions: tuple[ControlExample, ...] = ()
    results: tuple[ExecutionExample, ...] = ()


@dataclass(frozen=True, slots=True)
class Handle:
    """An example was handled; one of the same input takes the older one's place."""

    handled: HandledExample


@dataclass(frozen=True, slots=True)
class Forget:
    """A handled example goes, and with it what every module learned from its input."""

    external: str


Operation = (
    Begin
    | ChangeTask
    | Create
    | Delete
    | Connect
    | Disconnect
    | Edit
    | Teach
    | Split
    | Learn
    | Handle
    | Forget
)

WORDS: Mapping[type, str] = {
    Begin: "begin",
    ChangeTask: "task",
    Create: "create",
    Delete: "delete",
    Connect: "connect",
    Disconnect: "disconnect",
    Edit: "edit",
    Teach: "teach",
    Split: "split",
    Learn: "learn",
    Handle: "handle",
    Forget: "forget",
}
"""The word of each operation in files and for people."""

LoggedOperation = Annotated[Operation, Tagged("do", WORDS)]
"""An operation as a file has it: `do` says which."""

MANUAL = (ChangeTask, Create, Delete, Connect, Disconnect, Edit, Forget)
AUTOMATIC = (Create, Connect, Teach, Split, Learn, Handle)


_Example = TypeVar("_Example", bound=ControlExample | ExecutionExample)
Naming = Callable[[str, str], str]
"""The name that an author has from now on: (name, network's input) to name."""


def applied(network: Network, operations: Iterable[Operation]) -> Network:
    """The network after the operations, in their order, checked.

    Raises `UsageError` where one of them is about an agent or edge that is not there (or is there
    already), and `Unsound` where what comes of them all could not be saved.
    """
    for operation in operations:
        network = apply(network, operation)
    check_network(network)
    return network


def apply(network: Network, operation: Operation) -> Network:  # noqa: PLR0911, PLR0912 - a case each
    """The network after one operation; what holds of a whole network is not checked."""
    match operation:
        case Begin(task):
            return Network(task)
        case ChangeTask(task):
            return replace(network, task=task)
        case Create(agent):
            return replace(network, agents=(*network.agents, agent))
        case Delete(name):
            return _without(network, network.agent(name).name)
        case Connect(source, target, required):
            return _connected(network, (source, target), required)
        case Disconnect(source, target):
            return _disconnected(network, (source, target))
        case Edit(name, AgentField.NAME, value):
            return _renamed(network, network.agent(name).name, str(value))
        case Edit(name, field, value):
            return _with(network, name, _edited(network.agent(name), field, value))
        case Teach(name, knowledge, control):
            return _with(network, name, _taught(network.agent(name), knowledge, control))
        case Split():
            return _split(network, operation)
        case Learn(name, decisions, results):
            return _with(network, name, _learned(network.agent(name), decisions, results))
        case Handle(handled):
            others = (
                example for example in network.handled if example.external != handled.external
            )
            return replace(network, handled=(*others, handled))
        case Forget(external):
            return _forgotten(network, external)


def _with(network: Network, name: str, agent: LanAgent) -> Network:
    agents = (agent if other.name == name else other for other in network.agents)
    return replace(network, agents=tuple(agents))


def _without(network: Network, name: str) -> Network:
    return replace(
        network,
        agents=tuple(
            _requiring(agent, (required for required in agent.control.required if required != name))
            for agent in network.agents
            if agent.name != name
        ),
        edges=frozenset(edge for edge in network.edges if name not in edge),
        handled=tuple(
            replace(
                example, results=tuple(result for result in example.results if result[0] != name)
            )
            for example in network.handled
        ),
    )


def _forgotten(network: Network, external: str) -> Network:
    kept = tuple(example for example in network.handled if example.external != external)
    if len(kept) == len(network.handled):
        raise UsageError(f"no example with the input {quoted(external)} was handled")

    def others(examples: tuple[_Example, ...]) -> tuple[_Example, ...]:
        return tuple(example for example in examples if example.received.external != external)

    agents = (
        replace(
            agent,
            control=replace(agent.control, examples=others(agent.control.examples)),
            examples=others(agent.examples),
        )
        for agent in network.agents
    )
    return replace(network, agents=tuple(agents), handled=kept)


def _connected(network: Network, edge: Edge, required: bool) -> Network:
    for name in edge:
        network.agent(name)
    if edge in network.edges:
        raise UsageError(f"{quoted(edge[0])} and {quoted(edge[1])} are already connected")
    connected = replace(network, edges=network.edges | {edge})
    if not required:
        return connected
    target = network.agent(edge[1])
    return _with(connected, target.name, _requiring(target, (*target.control.required, edge[0])))


def _disconnected(network: Network, edge: Edge) -> Network:
    if edge not in network.edges:
        raise UsageError(f"there is no edge from {quoted(edge[0])} to {quoted(edge[1])}")
    source, target = edge
    agent = network.agent(target)
    freed = _requiring(
        agent, (required for required in agent.control.required if required != source)
    )
    return replace(_with(network, target, freed), edges=network.edges - {edge})


def _requiring(agent: LanAgent, required: Iterable[str]) -> LanAgent:
    return replace(agent, control=replace(agent.control, required=tuple(required)))


def _edited(agent: LanAgent, field: AgentField, value: str | tuple[str, ...] | bool) -> LanAgent:
    control = agent.control
    match field, value:
        case AgentField.TASK, str():
            return replace(agent, task=value)
        case AgentField.OUTPUT, str():
            return replace(agent, output=value)
        case AgentField.KNOWLEDGE, tuple():
            return replace(agent, knowledge=value)
        case AgentField.CONTROL_KNOWLEDGE, tuple():
            return replace(agent, control=replace(control, knowledge=value))
        case AgentField.REQUIRED, tuple():
            return replace(agent, control=replace(control, required=value))
        case AgentField.ENABLED, bool():
            return replace(agent, control=replace(control, enabled=value))
    raise UsageError(f"{field} of an agent cannot be {quoted(value)}")


def _taught(agent: LanAgent, knowledge: str, control: bool) -> LanAgent:
    """With one more piece of knowledge; a control module that is to weigh it must be enabled."""
    known = agent.control.knowledge if control else agent.knowledge
    if knowledge.strip() in map(str.strip, known):
        raise UsageError(
            f"{quoted(agent.name)} has this piece of knowledge already: {quoted(knowledge)}; add "
            f"another one"
        )
    if not control:
        return replace(agent, knowledge=(*agent.knowledge, knowledge))
    control_module = replace(agent.control, knowledge=(*known, knowledge), enabled=True)
    return replace(agent, control=control_module)


def _learned(
    agent: LanAgent,
    decisions: tuple[ControlExample, ...],
    results: tuple[ExecutionExample, ...],
) -> LanAgent:
    control = replace(agent.control, examples=_merged(agent.control.examples, decisions))
    return replace(agent, control=control, examples=_merged(agent.examples, results))


def _merged(old: tuple[_Example, ...], new: tuple[_Example, ...]) -> tuple[_Example, ...]:
    again = {example.received for example in new}
    kept = [example for example in old if example.received not in again]
    return (*kept, *new)


def _renamed(network: Network, old: str, new: str) -> Network:
    if new in network.names and new != old:
        raise UsageError(f"there is an agent {quoted(new)} already; choose another name")

    def name(author: str, _external: str) -> str:
        return new if author == old else author

    renamed = _reauthored(network, name)
    agents = (
        _requiring(
            replace(agent, name=name(agent.name, "")),
            (name(required, "") for required in agent.control.required),
        )
        for agent in renamed.agents
    )
    edges = frozenset((name(source, ""), name(target, "")) for source, target in network.edges)
    handled = (
        replace(
            example, results=tuple((name(author, ""), result) for author, result in example.results)
        )
        for example in network.handled
    )
    return replace(renamed, agents=tuple(agents), edges=edges, handled=tuple(handled))


def _reauthored(network: Network, name: Naming) -> Network:
    """With other names of authors in every example."""

    def received(inputs: AgentInput) -> AgentInput:
        pieces = (Piece(name(piece.author, inputs.external), piece.text) for piece in inputs.pieces)
        return AgentInput(inputs.external, tuple(pieces))

    def examples(some: tuple[_Example, ...]) -> tuple[_Example, ...]:
        return tuple(replace(example, received=received(example.received)) for example in some)

    agents = (
        replace(
            agent,
            control=replace(agent.control, examples=examples(agent.control.examples)),
            examples=examples(agent.examples),
        )
        for agent in network.agents
    )
    return replace(network, agents=tuple(agents))


def _split(network: Network, split: Split) -> Network:
    """With the agent's parts in its place, connected as its kind says; nothing it knew is lost."""
    old = network.agent(split.name)
    if len(split.parts) < 2:
        raise UsageError(f"{quoted(old.name)} must be split into two parts or more")
    if split.kind is SplitKind.PARALLEL:
        requiring = [agent.name for agent in network.agents if old.name in agent.control.required]
        if requiring:
            raise UsageError(
                f"{quoted(old.name)} cannot be split into parallel parts: {quoted(requiring[0])} "
                f"requires it, and would require all of them; split it into sequential ones"
            )
    names = [part.name for part in split.parts]
    edges = _split_edges(network, split, names)
    parts = _inheriting(old, split, edges)
    last = names[-1]
    stands_for = dict(split.chosen)
    if not set(stands_for.values()) <= set(names):
        raise UsageError(f"the part for an input must be one of {', '.join(names)}")

    def name(author: str, external: str) -> str:
        return stands_for.get(external, last) if author == old.name else author

    moved = _reauthored(network, name)
    place = network.names.index(old.name)
    kept = [
        _requiring(agent, (name(required, "") for required in agent.control.required))
        for agent in moved.agents
        if agent.name != old.name
    ]
    return replace(
        moved,
        agents=(*kept[:place], *parts, *kept[place:]),
        edges=frozenset(edge for edge in network.edges if old.name not in edge) | edges,
        handled=tuple(_assigned(example, old.name, names, name) for example in network.handled),
    )


def _inheriting(old: LanAgent, split: Split, edges: frozenset[Edge]) -> tuple[LanAgent, ...]:
    """The parts, with what the agent required where they receive it, and what it knew.

    A piece of knowledge that some parts have is theirs alone; what none has goes to the last part,
    or to all: to each parallel part, and to each part's control module.
    """
    shared = {text for part in split.parts for text in part.knowledge}
    left = tuple(text for text in old.knowledge if text not in shared)
    decided = {text for part in split.parts for text in part.control.knowledge}
    known = tuple(text for text in old.control.knowledge if text not in decided)
    parallel = split.kind is SplitKind.PARALLEL
    replaced = []
    for place, part in enumerate(split.parts, start=1):
        takes = left if parallel or place == len(split.parts) else ()
        inherited = (
            required for required in old.control.required if (required, part.name) in edges
        )
        control = Control(
            enabled=part.control.enabled or old.control.enabled or parallel,
            required=tuple(dict.fromkeys((*inherited, *part.control.required))),
            knowledge=(*known, *part.control.knowledge),
            examples=part.control.examples,
        )
        replaced.append(replace(part, control=control, knowledge=(*part.knowledge, *takes)))
    return tuple(replaced)


def _split_edges(network: Network, split: Split, names: list[str]) -> frozenset[Edge]:
    """The edges of the parts: as the split says, or as its kind does. Raises `UsageError`.

    By its kind all parts receive what the agent received; the last, or parallel ones all, send on.
    """
    before, after = network.predecessors(split.name), network.successors(split.name)
    parallel = split.kind is SplitKind.PARALLEL
    if split.edges:
        _check_split_edges(split, names, before, after)
        return frozenset(split.edges)
    senders = names if parallel else names[-1:]
    return frozenset(
        (
            *((agent, name) for agent in before for name in names),
            *((name, agent) for agent in after for name in senders),
            *(() if parallel else pairwise(names)),
        )
    )


def _check_split_edges(
    split: Split, names: list[str], before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """Refuse edges of parts by which the agent would lose its place or its meaning."""
    sources, targets = (
        {source for source, _target in split.edges},
        {target for _source, target in split.edges},
    )
    among = {
        (source, target) for source, target in split.edges if source in names and target in names
    }
    for source, target in split.edges:
        inward, outward = source in before and target in names, source in names and target in after
        if not (inward or outward or (source, target) in among):
            raise UsageError(
                f"an edge of the parts cannot lead from {quoted(source)} to {quoted(target)}: it "
                f"leads between the parts, from an agent before {quoted(split.name)}, or to one "
                f"after it"
            )
    lost = [agent for agent in before if agent not in sources]
    lost += [agent for agent in after if agent not in targets]
    if lost:
        raise UsageError(f"{quoted(lost[0])} must stay connected, with one of the parts at least")
    if split.kind is SplitKind.PARALLEL:
        if among:
            raise UsageError("parallel parts are not connected; split it into sequential ones")
        return
    last = names[-1]
    if any(
        source in names and source != last and target in after for source, target in split.edges
    ):
        raise UsageError(f"of sequential parts only the last, {quoted(last)}, sends on")
    idle = [name for name in names[:-1] if not any(source == name for source, _target in among)]
    if idle:
        raise UsageError(f"the part {quoted(idle[0])} sends to none of the parts after it")


def _assigned(handled: HandledExample, old: str, names: list[str], name: Naming) -> HandledExample:
    """What was handled, as if the part that stands for the agent had been active alone."""
    result = dict(handled.results).get(old)
    stands = name(old, handled.external)
    parts = tuple((part, result if part == stands else None) for part in names)
    return replace(
        handled, results=(*(result for result in handled.results if result[0] != old), *parts)
    )


def merging(network: Network, name: str, into: str) -> tuple[Operation, ...]:
    """The operations by which the agent `into` takes over what the agent `name` does.

    It has both subtasks and all their knowledge, and the edges of both; what only `name` requires
    it requires too, where it decides whether it is active. Raises `UsageError` where one of them is
    not there, or both are the same. Whether there would be a cycle, applying them says.
    """
    gone, kept = network.agent(name), network.agent(into)
    if name == into:
        raise UsageError(f"{quoted(name)} cannot be merged into itself; name another agent")
    steps: list[Operation] = []
    sources = [agent for agent in network.predecessors(name) if agent != into]
    targets = [agent for agent in network.successors(name) if agent != into]
    steps += [Connect(agent, into) for agent in sources if agent not in network.predecessors(into)]
    steps += [Connect(into, agent) for agent in targets if agent not in network.successors(into)]
    if (into, name) in network.edges:
        steps.append(Disconnect(into, name))
    steps.append(Delete(name))

    def edit(field: AgentField, value: str | tuple[str, ...], before: object) -> None:
        if value != before:
            steps.append(Edit(into, field, value))

    edit(AgentField.TASK, "\n".join(dict.fromkeys((gone.task, kept.task))), kept.task)
    known = tuple(dict.fromkeys((*gone.knowledge, *kept.knowledge)))
    edit(AgentField.KNOWLEDGE, known, kept.knowledge)
    decided = tuple(dict.fromkeys((*gone.control.knowledge, *kept.control.knowledge)))
    edit(AgentField.CONTROL_KNOWLEDGE, decided, kept.control.knowledge)
    required = tuple(
        dict.fromkeys(
            required
            for required in (*gone.control.required, *kept.control.required)
            if required not in (name, into)
        )
    )
    left = tuple(required for required in kept.control.required if required != name)
    edit(AgentField.REQUIRED, required, left)
    return tuple(steps)
