"""Network files (`*.lan.json`): validated with line numbers, written atomically."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.documents import json_line_of, read, text_of
from pxp_fsm.errors import Fault, FileError, PXPError, format_path
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.plugins.easylan.model.history import Change, History, begun_as, replayed
from pxp_fsm.plugins.easylan.model.network import (
    Edge,
    HandledExample,
    LanAgent,
    Network,
    faults_of,
    size_faults,
)
from pxp_fsm.plugins.easylan.model.operations import (
    WORDS,
    Connect,
    LoggedOperation,
    Operation,
)
from pxp_fsm.schemas import FileKind, read_value

FORMAT, VERSION = "pxp-fsm lan", 1

T = TypeVar("T")


def of_history(history: History) -> dict[str, Any]:
    """A network with its log, as a file holds it."""
    return of_network(history.network) | {"log": list(map(of_change, history.changes))}


def of_network(network: Network) -> dict[str, Any]:
    """A network without a log, as a file may hold it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "task": network.task,
        "agents": _plain(network.agents),
        "edges": sorted(map(list, network.edges)),
        "handled": _plain(network.handled),
    }


def of_change(change: Change) -> dict[str, Any]:
    """A change of a log."""
    fields_written: dict[str, Any] = {"by": str(change.by), "about": change.about}
    for name in ("ued", "completes"):
        if getattr(change, name) is not None:
            fields_written[name] = getattr(change, name)
    if change.undoes is not None:
        return fields_written | {"undoes": change.undoes}
    if change.restores is not None:
        return fields_written | {"restores": change.restores}
    return fields_written | {"operations": list(map(of_operation, change.operations))}


def of_operation(operation: Operation) -> dict[str, Any]:
    """An operation; `do` says which."""
    fields_written = {"do": WORDS[type(operation)], **_plain(operation)}
    if isinstance(operation, Connect) and not operation.required:
        del fields_written["required"]
    return fields_written


def operation(raw: Mapping[str, Any]) -> Operation:
    """An operation, as a log has it."""
    logged: Operation = read_value(LoggedOperation, raw)[0]
    return logged


def _plain(value: Any) -> Any:
    """`value` as JSON has it, without what is empty in it and need not be said."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, tuple):
        return list(map(_plain, value))
    fields_written = {}
    for name, empty in _fields(value.__class__):
        field_value = getattr(value, name)
        if empty is MISSING or field_value != empty:
            fields_written[name] = _plain(field_value)
    return fields_written


@cache
def _fields(kind: type) -> tuple[tuple[str, object], ...]:
    """The fields of a class, each with the empty value that is its default: it need not be said."""
    return tuple(
        (field.name, field.default if field.default in ((), "") else MISSING)
        for field in fields(kind)
    )


MOST_BYTES = 100_000_000


@dataclass(frozen=True)
class NetworkFile:
    """What a network's file says."""

    task: str = option("What the network is for.", least=0)
    agents: tuple[LanAgent, ...] = option("The agents.")
    edges: frozenset[Edge] = option("From one agent to another, by name.", frozenset())
    handled: tuple[HandledExample, ...] = option("The examples that it has learned to handle.", ())
    log: tuple[Change, ...] = option(
        "The changes, in order; the network is what they lead to.",
        (),
        default="the network begins as it is",
        least=1,
    )

    @property
    def network(self) -> Network:
        """The network, without its log."""
        return Network(self.task, self.agents, self.edges, self.handled)


NETWORK = FileKind(
    NetworkFile,
    "a network",
    "A network of LLM agents (a LAN) of pxp-fsm",
    "The network as it is, the examples that it has handled, and the log of everything that was "
    "done to it, to which nothing is ever done but adding. What a schema cannot say (names, "
    "cycles, whether the log leads to the network) is checked by the loader.",
    name="lan",
    header={"format": FORMAT, "version": VERSION},
)


def load(path: Path) -> History:
    """The network in the file `path`, with its log. Raises `FileError`."""
    return parse(text_in(path), str(path))


def text_in(path: Path) -> str:
    """The text of the file `path`. Raises `FileError`."""
    return text_of(path, "a network", " (create one first)", most=MOST_BYTES)


def parse(text: str, filename: str = "network.lan.json") -> History:
    """The network that a JSON text holds, with its log. Raises `FileError`."""
    raw = read(text, filename, is_json=True)
    file, faults = _read(raw)
    if faults:
        raise FileError(_located(text, filename, fault) for fault in faults)
    network = file.network
    try:
        if not file.log:
            return begun_as(network)
        history = replayed(file.log)
    except PXPError as error:
        raise FileError((_located(text, filename, Fault(("log",), str(error))),)) from error
    if history.network != network:
        message = (
            "the log does not lead to the network that the file holds; undo what was changed by "
            "hand, and use pxp lan edit, or take the log out: the network then begins as it is"
        )
        raise FileError((_located(text, filename, Fault(("log",), message)),))
    return history


def draft_faults(raw: object) -> list[Fault]:
    """Every fault of a network as JSON, which may be half written; empty where it can be saved.

    Of a document that is not of the form of a file (`format`, `version`, `task`, `agents`, …), the
    faults of its form; else those of the network: a cycle, an empty text, a name twice.
    """
    return _read(raw if isinstance(raw, Mapping) else {})[1]


def _read(document: Mapping[str, Any]) -> tuple[NetworkFile, list[Fault]]:
    file, faults = NETWORK.read(document)
    large = size_faults(*(_length(document.get(name)) for name in ("agents", "edges")))
    return file, list(large or faults or faults_of(file.network))


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def save(history: History, path: Path, writer: Writer | None = None) -> str:
    """Write the network with its log into the file `path`; the text that was written.

    A `writer` that has written it before writes only what is new. Raises as `write_atomically`
    does.
    """
    text = (writer or Writer()).text(history)
    write_atomically(path, text)
    return text


class Writer:
    """Writes histories as text, and what is new in it since the last time alone.

    Examples and changes, one line each, are the bulk of a file. In the next version most of them,
    and most agents, are the same objects in the same places.
    """

    def __init__(self) -> None:
        self._before: dict[_Place, _Part] = {}
        self._now: dict[_Place, _Part] = {}

    def text(self, history: History) -> str:
        """What `of_history` says of a history, as a file holds it."""
        self._now = {}
        network = history.network
        document = {
            **of_network(replace(network, agents=(), handled=())),
            "agents": [self._agent(agent) for agent in network.agents],
            "handled": self._lines(("handled",), network.handled, 1, _plain),
            "log": self._lines(("log",), history.changes, 1, of_change),
        }
        self._before = self._now
        return _written(document, 0) + "\n"

    def _agent(self, agent: LanAgent) -> _Encoded:
        place: _Place = ("agent", agent.name)
        decisions = self._lines(("decisions", agent.name), agent.control.examples, 4, _plain)
        results = self._lines(("results", agent.name), agent.examples, 3, _plain)
        known = self._before.get(place)
        if known is None or known.value is not agent:
            control = replace(agent.control, examples=())
            plain = _plain(replace(agent, control=control, examples=()))
            if agent.control.examples:
                plain["control"]["examples"] = decisions
            if agent.examples:
                plain["examples"] = results
            known = _Part(agent, _Encoded(_written(plain, 2)))
        self._now[place] = known
        return known.text

    def _lines(
        self, place: _Place, some: tuple[T, ...], depth: int, plain: Callable[[T], object]
    ) -> _Encoded:
        """A list at `place`, with a line for each element; it stands in `depth` other values."""
        known = self._before.get(place)
        if known is None or known.value is not some:
            kept = {} if known is None else known.lines
            lines = {
                id(element): kept.get(id(element))
                or _Encoded(json.dumps(plain(element), ensure_ascii=False))
                for element in some
            }
            text = _written([lines[id(element)] for element in some], depth)
            known = _Part(some, _Encoded(text), lines)
        self._now[place] = known
        return known.text


_Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A value, which is held so that its identity stays its own, its text, and its elements'."""

    value: object
    text: _Encoded
    lines: Mapping[int, _Encoded] = field(default_factory=dict)


class _Encoded(str):
    """A text that is JSON already."""

    __slots__ = ()


def _written(value: object, depth: int) -> str:
    """JSON with an indent of one, as `json.dumps` writes it."""
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, _Encoded):
        return value
    if isinstance(value, dict) and value:
        parts = (f"{json.dumps(key)}: {_written(item, depth + 1)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(parts)}{outer}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(_written(item, depth + 1) for item in value)}{outer}]"
    return json.dumps(value, ensure_ascii=False)


def _located(text: str, filename: str, fault: Fault) -> Fault:
    named = f"{format_path(fault.path)}: "
    known = fault.message.startswith(named) or not fault.path
    message = fault.message if known else named + fault.message
    line = json_line_of(text, fault.path)
    return replace(fault, message=message, file=filename, line=line)
