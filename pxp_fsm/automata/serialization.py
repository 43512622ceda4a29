"""A table as a document of its published form (`automata/schema.json`), as TOML and JSON.

The inverse of `pxp_fsm.automata.tables`: what is written is read back as the very same automaton.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product, takewhile
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.automata.expressions import ID, INT, Expression, str_of
from pxp_fsm.automata.rules import ELSE, Declared, Oracle, Register, Rules
from pxp_fsm.automata.table_files import Property
from pxp_fsm.automata.unfolding import GIVEN
from pxp_fsm.errors import UsageError

KEYS = {Kind.SEND: "send", Kind.RECEIVE: "receive", Kind.EVENT: "event"}
"""How a row of the document says what it does."""


def document(automaton: Automaton) -> dict[str, Any]:
    """What a table's file says of `automaton`, in the order in which tables are written."""
    shown = {"source": automaton.source, "note": automaton.note, "peer": automaton.peer}
    final = [state.name for state in automaton.states if state.name in automaton.final]
    whens = automaton.rules.whens
    guards = {
        name: _guard(whens[name], about) if name in whens else about
        for name, about in automaton.guards.items()
    }
    return {
        "format": 1,
        "name": automaton.name,
        "title": automaton.title,
        **{key: text for key, text in shown.items() if text},
        "initial": automaton.initial,
        **({"final": final} if final else {}),
        **_declarations(automaton.rules),
        "states": [_state(state) for state in automaton.states],
        "rows": [row for _, row in rows(automaton.transitions)],
        **({"guards": guards} if guards else {}),
        **({"payloads": dict(automaton.payloads)} if automaton.payloads else {}),
        **({"properties": [*map(_claim, automaton.properties)]} if automaton.properties else {}),
    }


def _claim(stated: Property) -> dict[str, Any]:
    default = Property()
    stated_fields = {
        key: value for key, value in asdict(stated).items() if value != getattr(default, key)
    }
    return stated_fields | ({"assume": list(stated.assume)} if stated.assume else {})


def _guard(when: Expression | None, about: str) -> dict[str, str]:
    written = ELSE if when is None else str_of(when)
    return {"when": written, **({"about": about} if about else {})}


def _declarations(rules: Rules) -> dict[str, Any]:
    """What a table's file declares: every section that is not empty."""
    sections: dict[str, Any] = {
        "parameters": {parameter.name: _typed(parameter) for parameter in rules.parameters},
        "registers": {register.name: _typed(register) for register in rules.registers},
        "enums": {name: list(members) for name, members in rules.enums.items()},
        "oracles": {oracle.name: _typed(oracle) for oracle in rules.oracles},
        "answers": {"ask": rules.asks} if rules.asks != "each" else {},
        "let": {name: str_of(expression) for name, expression in rules.definitions.items()},
        "each": {"message": _updates(rules.on_message)} if rules.on_message else {},
    }
    return {section: declared for section, declared in sections.items() if declared}


def _typed(declared: Declared) -> dict[str, Any]:
    """A parameter, register or declared as the file declares it."""
    if isinstance(declared, Oracle) and declared.relation:
        return {"relation": declared.relation, "of": list(declared.roles)}
    fields: dict[str, Any] = {}
    if declared.type.members:
        fields["of"] = sorted(declared.type.members)
    elif declared.type == INT:
        fields |= (
            {"type": "int"} if isinstance(declared, Oracle) or declared.minimum is None else {}
        )
    elif declared.type == ID or not isinstance(declared, Oracle):
        fields["type"] = declared.type.name
    if isinstance(declared, Register) and declared.type != ID:
        fields["init"] = declared.initial
    return fields if declared.minimum is None else {**fields, "min": declared.minimum}


def _updates(updates: Mapping[str, Expression]) -> dict[str, str]:
    return {name: str_of(expression) for name, expression in updates.items()}


def to_json(automaton: Automaton) -> str:
    """`automaton` as JSON; text that UTF-8 cannot hold (half of a surrogate pair) is escaped."""
    for ascii_alone in (False, True):
        text = json.dumps(document(automaton), indent=2, ensure_ascii=ascii_alone) + "\n"
        if ascii_alone or _is_utf8(text):
            break
    return text


def canonical_json(automaton: Automaton) -> str:
    """`automaton` as one line of JSON, the same for the same table, as sessions store it.

    One that was unfolded is written as the table that it was made from, with the parameters that
    were `given`: what registers hold follows from them.
    """
    made = automaton.unfolding
    if made is None:
        content = document(automaton)
    else:
        content = {**document(made.table), GIVEN: dict(made.parameters)}
    return json.dumps(content, separators=(",", ":"))


def to_toml(automaton: Automaton) -> str:
    """`automaton` as TOML, a state and a row each on a line of its own.

    Raises `UsageError` for a text that is none (half of a surrogate pair), which only JSON holds.
    """
    import tomlkit

    written = tomlkit.document()
    for key, value in document(automaton).items():
        written[key] = _lines(value) if key in ("states", "rows", "properties") else value
    text = tomlkit.dumps(written)
    if not _is_utf8(text):
        raise UsageError(
            f"{automaton.name}: a text of the table holds half of a surrogate pair, which TOML "
            f"cannot; mend the text, or write JSON"
        )
    return text


def _is_utf8(text: str) -> bool:
    return re.search("[\ud800-\udfff]", text) is None


def _lines(tables: list[dict[str, Any]]) -> Any:
    """An array of tables as TOML that people like to edit: one table a line."""
    import tomlkit

    array = tomlkit.array().multiline(True)
    for table in tables:
        line = tomlkit.inline_table()
        line.update(table)
        array.append(line)
    return array


def _state(state: State) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": state.name}
    if state.about:
        fields["about"] = state.about
    if state.guards:
        fields["guards"] = list(state.guards)
    return fields


def rows(transitions: Sequence[Transition]) -> list[tuple[int, dict[str, Any]]]:
    """The written rows that unfold into `transitions`, each with the index of its first one.

    Transitions that differ in source and tag alone stand together, as they were written.
    """
    written = list[tuple[int, dict[str, Any]]]()
    start = 0
    while start < len(transitions):
        first = transitions[start]
        alike = takewhile(lambda t: _alike(t, first), transitions[start:])  # noqa: B023 - used up
        sources, labels = _rectangle(list(alike))
        row = {
            **({"number": first.row} if first.row != len(written) + 1 else {}),
            "from": _one_or_many(sources),
            "to": first.target,
            **({"guard": first.guard} if first.guard is not None else {}),
            KEYS[first.kind]: _one_or_many(labels),
            **({"partner": first.partner} if first.partner else {}),
            **({"when": str_of(first.when)} if first.when is not None else {}),
            **({"urgent": True} if first.urgent else {}),
            **({"do": _updates(dict(first.do))} if first.do else {}),
            **({"carry": first.carry} if first.carry != "new" else {}),
            **({"by": first.by} if first.by != "world" else {}),
        }
        written.append((start, row))
        start += len(sources) * len(labels)
    return written


def _alike(first: Transition, other: Transition) -> bool:
    return replace(first, source=other.source, label=other.label) == other


def _rectangle(rows: Sequence[Transition]) -> tuple[list[str], list[str]]:
    """The most sources and labels whose pairs are how `rows` begin, as a written row unfolds."""
    pairs = [(row.source, row.label) for row in rows]
    width = next((n for n, (source, _) in enumerate(pairs) if source != pairs[0][0]), len(pairs))
    labels = [label for _, label in pairs[:width]]
    sources = [source for source, _ in pairs[::width]]
    while list(product(sources, labels)) != pairs[: len(sources) * width]:
        sources.pop()
    return sources, labels


def _one_or_many(names: list[str]) -> str | list[str]:
    return names[0] if len(names) == 1 else names
