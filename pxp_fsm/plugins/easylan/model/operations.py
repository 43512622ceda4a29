"""Operations on a network, as data: the entries of its log.

Manual editing is `MANUAL` (EasyLAN, section 4.2.2, and forgetting an example). An update makes no
others than `AUTOMATIC` ones by itself: it deletes nothing, and changes no task (section 4.1.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pxp_fsm.plugins.easylan.model.network import (
    ControlExample,
    Edge,
    ExecutionExample,
    HandledExample,
    LanAgent,
)


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

MANUAL = (ChangeTask, Create, Delete, Connect, Disconnect, Edit, Forget)
AUTOMATIC = (Create, Connect, Teach, Split, Learn, Handle)
