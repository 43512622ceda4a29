"""Labelled transition systems in CADP's Aldebaran format (.aut): one automaton, or a state graph.

`(0, "!ASK", 1)` sends ASK and `?ASK` receives it; `server!ASK` and `server?ASK` name the partner,
and `[FREE] !ASK` the guard. Any other label is an event from outside. `exit`, as in LOTOS, says
that its source is an end state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proofs.logic.formulas import Formula
from proofs.systems.product import Composition
from proofs.systems.reachability import reach
from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.foreign_names import ForeignNames, with_names
from pxp_fsm.errors import Fault, Place, TableError, UsageError
from pxp_fsm.plugins.exports.foreign import parsed, table_of
from pxp_fsm.plugins.exports.syntax import WrittenFiles

EXIT = "exit"
"""The label by which a state is an end state."""

_GUARD = re.compile(r"\[(\w+)\]\s*(.*)")
_ACTION = re.compile(r"(?:(?P<partner>\w+)\s*)?(?P<sign>[!?])\s*(?P<tag>\w+)")
_KEYS = {"!": "send", "?": "receive"}
_SIGNS = {Kind.SEND: "!", Kind.RECEIVE: "?", Kind.EVENT: ""}
_WORDS = {
    "DES": "des",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": "a comma",
    "INT": "a number",
    "LABEL": "a label",
    "$END": "the end",
}


def from_aldebaran(text: str, filename: str = "graph.aut") -> Automaton:
    """The automaton that an Aldebaran text means. Raises `TableError` with line and column."""
    tree = parsed("aldebaran", text, filename, _WORDS)
    parts: list[Any] = tree.children
    initial, _, count, *edges = parts
    places: dict[Place, tuple[int, int]] = {(): (1, 1)}
    tags, partners, events, guards = (
        ForeignNames("t"),
        ForeignNames("p"),
        ForeignNames("e"),
        ForeignNames("g"),
    )
    decided: dict[str, dict[str, None]] = {}
    ends, sinks, rows = dict[int, None](), set[int](), list[dict[str, Any]]()
    size, states = int(str(count)), {int(str(initial)): None}
    faults = [*_outside(initial, size, filename)]
    for edge in edges:
        source_node, quoted_label, other = edge.children
        faults += [*_outside(source_node, size, filename), *_outside(other, size, filename)]
        source, target = int(str(source_node)), int(str(other))
        label = str(quoted_label).strip('"').strip()
        if label == EXIT:
            ends[source] = None
            sinks.add(target)
            states[source] = None
            continue
        states |= {source: None, target: None}
        row: dict[str, Any] = {"from": f"S{source}", "to": f"S{target}"}
        guarded = _GUARD.fullmatch(label)
        if guarded is not None:
            row["guard"], label = guards.of(guarded[1]), guarded[2]
            decided.setdefault(f"S{source}", {})[row["guard"]] = None
        match = _ACTION.fullmatch(label)
        if match is None:
            row["event"] = events.of(label)
        else:
            row[_KEYS[match["sign"]]] = tags.of(match["tag"])
            if match["partner"]:
                row["partner"] = partners.of(match["partner"])
        places["rows", len(rows)] = (source_node.line, source_node.column)
        rows.append(row)
    if faults:
        raise TableError(faults)
    stem = re.split(r"[/\\]", filename)[-1].rpartition(".")[0] or "graph"
    raw = {
        "format": 1,
        "name": ForeignNames("t", lower=True).of(stem),
        "title": with_names(stem, tags, partners, events, guards),
        "initial": f"S{initial}",
        **({"final": [f"S{number}" for number in ends]} if ends else {}),
        "states": [_state(f"S{number}", decided) for number in states],
        "rows": rows,
        "guards": {guard: "" for own in decided.values() for guard in own},
    }
    return table_of(raw, places, filename)


def _state(name: str, decided: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    return {"name": name, **({"guards": [*decided[name]]} if name in decided else {})}


def _outside(number: Any, size: int, filename: str) -> list[Fault]:
    if int(str(number)) < size:
        return []
    message = f"there is no state {number}; the first line says that there are {size}, from 0"
    return [Fault((), message, file=filename, line=number.line, column=number.column)]


def to_aldebaran(automaton: Automaton) -> str:
    """`automaton` as an Aldebaran text, its states in their order."""
    automaton = automaton.without_rules()  # guards are free, as in every check of a system
    names = [automaton.initial, *(s.name for s in automaton.states if s.name != automaton.initial)]
    numbers = {name: number for number, name in enumerate(names)}
    edges = [(numbers[r.source], label_of(r), numbers[r.target]) for r in automaton.transitions]
    ends = [numbers[name] for name in names if name in automaton.final]
    edges += [(number, EXIT, len(names)) for number in ends]
    return _written(edges, len(names) + bool(ends))


def label_of(row: Transition) -> str:
    """What a row does, as a label."""
    guard = f"[{row.guard}] " if row.guard is not None else ""
    return f"{guard}{row.partner}{_SIGNS[row.kind]}{row.label}"


def graph_to_aldebaran(
    composition: Composition, formulas: Sequence[tuple[str, Formula]] = ()
) -> WrittenFiles:
    """Every reachable state of a system and what happens between them, as an Aldebaran text.

    Raises `UsageError` for formulas, and for a system with too many states.
    """
    if formulas:
        raise UsageError("an Aldebaran text holds no formulas; leave them out")
    reached = reach(composition)
    if reached.cut:
        raise UsageError(f"{composition.name} is too large to be written out: {reached.cut}")
    numbers = {int(state): number for number, state in enumerate(reached.states)}
    edges = [
        (number, str(move.action), numbers[state + move.difference])
        for state, number in numbers.items()
        for move in composition.moves(state)
    ]
    return WrittenFiles(_written(edges, len(numbers)))


def _written(edges: Sequence[tuple[int, str, int]], size: int) -> str:
    lines = [f'({source}, "{label}", {target})' for source, label, target in edges]
    return "\n".join([f"des (0, {len(edges)}, {size})", *lines, ""])
