"""Network files (`*.lan.json`): validated with line numbers, written atomically."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.documents import faults, json_line_of, read, text_of
from pxp_fsm.errors import Fault, FileError, PXPError, format_path
from pxp_fsm.plugins.easylan.model.history import Author, Change, History, begun_as, replayed
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    Control,
    ControlExample,
    ExecutionExample,
    HandledExample,
    LanAgent,
    Network,
    Piece,
    faults_of,
    size_faults,
)
from pxp_fsm.plugins.easylan.model.operations import (
    WORDS,
    AgentField,
    Begin,
    ChangeTask,
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Forget,
    Handle,
    Learn,
    Operation,
    Split,
    SplitKind,
    Teach,
)

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
    said: dict[str, Any] = {"by": str(change.by), "about": change.about}
    if change.ued is not None:
        said["ued"] = change.ued
    if change.undoes is not None:
        return said | {"undoes": change.undoes}
    if change.restores is not None:
        return said | {"restores": change.restores}
    return said | {"operations": list(map(of_operation, change.operations))}


def of_operation(operation: Operation) -> dict[str, Any]:
    """An operation; `do` says which."""
    found = {"do": WORDS[type(operation)], **_plain(operation)}
    if isinstance(operation, Connect) and not operation.required:
        del found["required"]
    return found


def network_from_json(raw: Mapping[str, Any]) -> Network:
    """The network that a file holds."""
    return Network(
        raw["task"],
        tuple(map(agent, raw["agents"])),
        frozenset((one, other) for one, other in raw.get("edges", ())),
        tuple(map(handled_example, raw.get("handled", ()))),
    )


def change(raw: Mapping[str, Any]) -> Change:
    """A change of a log."""
    operations = tuple(map(operation, raw.get("operations", ())))
    numbers = (raw.get(key) for key in ("undoes", "restores", "ued"))
    return Change(Author(raw["by"]), raw["about"], operations, *numbers)


def operation(raw: Mapping[str, Any]) -> Operation:  # noqa: PLR0911 - a case each
    """An operation."""
    match raw["do"]:
        case "begin":
            return Begin(raw["task"])
        case "task":
            return ChangeTask(raw["task"])
        case "create":
            return Create(agent(raw["agent"]))
        case "delete":
            return Delete(raw["name"])
        case "connect":
            return Connect(raw["source"], raw["target"], raw.get("required", False))
        case "disconnect":
            return Disconnect(raw["source"], raw["target"])
        case "edit":
            value = raw["value"]
            kept = tuple(value) if isinstance(value, list) else value
            return Edit(raw["name"], AgentField(raw["field"]), kept)
        case "teach":
            return Teach(raw["name"], raw["knowledge"], raw["control"])
        case "split":
            parts = tuple(map(agent, raw["parts"]))
            chosen = tuple((one, other) for one, other in raw.get("chosen", ()))
            edges = tuple((one, other) for one, other in raw.get("edges", ()))
            return Split(raw["name"], SplitKind(raw["kind"]), parts, chosen, edges)
        case "learn":
            decisions = tuple(map(_decision, raw.get("decisions", ())))
            return Learn(raw["name"], decisions, tuple(map(_result, raw.get("results", ()))))
        case "forget":
            return Forget(raw["external"])
        case _:
            return Handle(handled_example(raw["handled"]))


def agent(raw: Mapping[str, Any]) -> LanAgent:
    """An agent."""
    control = raw.get("control", {})
    return LanAgent(
        raw["name"],
        raw["task"],
        raw["output"],
        Control(
            control.get("enabled", False),
            tuple(control.get("required", ())),
            tuple(control.get("knowledge", ())),
            tuple(map(_decision, control.get("examples", ()))),
        ),
        tuple(raw.get("knowledge", ())),
        tuple(map(_result, raw.get("examples", ()))),
    )


def _decision(raw: Mapping[str, Any]) -> ControlExample:
    return ControlExample(received(raw["received"]), raw["active"], raw.get("made_by", ""))


def _result(raw: Mapping[str, Any]) -> ExecutionExample:
    return ExecutionExample(received(raw["received"]), raw["result"], raw.get("made_by", ""))


def received(raw: Mapping[str, Any]) -> AgentInput:
    """What an agent received."""
    pieces = (Piece(one["author"], one["text"]) for one in raw.get("pieces", ()))
    return AgentInput(raw["external"], tuple(pieces))


def handled_example(raw: Mapping[str, Any]) -> HandledExample:
    """An example that was handled."""
    results = tuple((name, result) for name, result in raw["results"])
    return HandledExample(raw["external"], raw["truth"], raw["output"], results)


def _plain(value: Any) -> Any:
    """`value` as JSON has it, without what is empty in it and need not be said."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, tuple):
        return list(map(_plain, value))
    found = {}
    for name, empty in _fields(value.__class__):
        one = getattr(value, name)
        if empty is MISSING or one != empty:
            found[name] = _plain(one)
    return found


@cache
def _fields(kind: type) -> tuple[tuple[str, object], ...]:
    """The fields of a class, each with the empty value that is its default: it need not be said."""
    return tuple(
        (one.name, one.default if one.default in ((), "") else MISSING) for one in fields(kind)
    )


MOST_BYTES = 100_000_000


def schema() -> dict[str, Any]:
    """The JSON Schema of such files, as published with the package."""
    text = (
        resources.files("pxp_fsm.plugins.easylan.model").joinpath("schema.json").read_text("utf-8")
    )
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def load(path: Path) -> History:
    """The network in the file `path`, with its log. Raises `FileError`."""
    return parse(text_in(path), str(path))


def text_in(path: Path) -> str:
    """The text of the file `path`. Raises `FileError`."""
    return text_of(path, "a network", " (create one first)", most=MOST_BYTES)


def parse(text: str, filename: str = "network.lan.json") -> History:
    """The network that a JSON text holds, with its log. Raises `FileError`."""
    raw = read(text, filename, is_json=True)
    found = draft_faults(raw)
    if found:
        raise FileError(_located(text, filename, fault) for fault in found)
    network = network_from_json(raw)
    try:
        if "log" not in raw:
            return begun_as(network)
        history = replayed(map(change, raw["log"]))
    except PXPError as error:
        raise FileError((_located(text, filename, Fault(("log",), str(error))),)) from error
    if history.network != network:
        said = (
            "the log does not lead to the network that the file holds; undo what was changed by "
            "hand, and use pxp lan edit, or take the log out: the network then begins as it is"
        )
        raise FileError((_located(text, filename, Fault(("log",), said)),))
    return history


def draft_faults(raw: object) -> list[Fault]:
    """Every fault of a network as JSON, which may be half written; empty where it can be saved.

    Of a document that is not of the form of a file (`format`, `version`, `task`, `agents`, …), the
    faults of its form; else those of the network: a cycle, an empty text, a name twice.
    """
    document = raw if isinstance(raw, Mapping) else {}
    large = size_faults(*(_length(document.get(name)) for name in ("agents", "edges")))
    found = large or faults(document, schema())
    return list(found) or list(faults_of(network_from_json(document)))


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
            "agents": [self._agent(one) for one in network.agents],
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
            found = _plain(replace(agent, control=control, examples=()))
            if agent.control.examples:
                found["control"]["examples"] = decisions
            if agent.examples:
                found["examples"] = results
            known = _Part(agent, _Encoded(_written(found, 2)))
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
                id(one): kept.get(id(one)) or _Encoded(json.dumps(plain(one), ensure_ascii=False))
                for one in some
            }
            text = _written([lines[id(one)] for one in some], depth)
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
        parts = (f"{json.dumps(key)}: {_written(one, depth + 1)}" for key, one in value.items())
        return f"{{{inner}{f',{inner}'.join(parts)}{outer}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(_written(one, depth + 1) for one in value)}{outer}]"
    return json.dumps(value, ensure_ascii=False)


def _located(text: str, filename: str, fault: Fault) -> Fault:
    named = f"{format_path(fault.path)}: "
    known = fault.message.startswith(named) or not fault.path
    message = fault.message if known else named + fault.message
    line = json_line_of(text, fault.path)
    return replace(fault, message=message, file=filename, line=line)
