"""Every single change of a table, of its rows and of its rules, as something to check.

A table is changed as its file would be: the changed file goes through the loader, which may refuse
it. Rules are changed as the syntax trees that sessions compile, one place at a time.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from typing import Any

from proofs.claims.checking import Substitutes
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import (
    BOOL,
    FALSE,
    INT,
    TRUE,
    Compare,
    Conditional,
    Conjunction,
    Constant,
    Disjunction,
    Expression,
    Let,
    Membership,
    Multiple,
    Name,
    Negated,
    Sum,
    Type,
    enumeration,
    str_of,
)
from pxp_fsm.automata.tables import builtin, parse_automaton
from pxp_fsm.errors import TableError
from pxp_fsm.protocol.messages import Tag

ACTIONS = ("send", "receive", "event")


@dataclass(frozen=True)
class Mutant:
    """A change, in words; what is to be checked with it, or why the loader refuses it."""

    subject: str
    change: str
    instead: Substitutes | None
    refused: str = ""


# Tables.

Row = dict[str, Any]


def table_mutants(name: str, step: int = 1) -> Iterator[Mutant]:
    """Every single change of a built-in table, each once; or every `step`th."""
    text = resources.files("pxp_fsm.automata").joinpath("data", f"{name}.toml").read_text("utf-8")
    raw = tomllib.loads(text)
    raw["rows"] = rows = [row for written in raw["rows"] for row in _split(written)]
    seen = {_read(raw).fingerprint}
    for change, changed in [*_row_changes(raw, rows), *_other_changes(raw)][::step]:
        try:
            automaton = _read(changed)
        except TableError as error:
            yield Mutant(name, change, None, str(error).splitlines()[0].partition(": ")[2])
            continue
        if automaton.fingerprint not in seen or automaton.states != _read(raw).states:
            seen.add(automaton.fingerprint)
            yield Mutant(name, change, Substitutes({name: automaton}))


def _read(raw: dict[str, Any]) -> Automaton:
    return parse_automaton(json.dumps(raw), "table.json")


def _split(written: dict[str, Any]) -> Iterator[Row]:
    """A written row as rows with one source and one label each, without a number."""
    (action,) = (key for key in ACTIONS if key in written)
    lists = [[x] if isinstance(x, str) else x for x in (written["from"], written[action])]
    for source, label in product(*lists):
        rest = {key: one for key, one in written.items() if key not in ("number", "from", action)}
        yield {"from": source, **rest, action: label}


def _shown(row: Row) -> str:
    (action,) = (key for key in ACTIONS if key in row)
    sign = "+-!"[ACTIONS.index(action)]
    guard = f" [{row['guard']}]" if "guard" in row else ""
    return f"{row['from']} → {row['to']}{guard} {sign}{row[action]}"


def _row_changes(raw: dict[str, Any], rows: list[Row]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Drop a row; change its source, target, guard, tag or sign; add any row there could be."""
    states = [state["name"] for state in raw["states"]]
    for index, row in enumerate(rows):
        yield f"drop {_shown(row)}", {**raw, "rows": [*rows[:index], *rows[index + 1 :]]}
        for other in _variants(row, raw):
            new = [*rows[:index], other, *rows[index + 1 :]]
            yield f"{_shown(row)} becomes {_shown(other)}", {**raw, "rows": new}
    for source, target in product(states, repeat=2):
        for action, label, guard in product(ACTIONS, _labels(rows), (None, *raw["guards"])):
            row = {"from": source, "to": target, action: label}
            row |= {"guard": guard} if guard else {}
            if row not in rows:
                yield f"add {_shown(row)}", {**raw, "rows": [*rows, row]}


def _labels(rows: list[Row]) -> list[str]:
    """The tags, what else the table speaks of, and something that it does not."""
    used = (row[key] for row in rows for key in ACTIONS if key in row)
    return list(dict.fromkeys([*map(str, Tag), *used, "OTHER"]))


def _variants(row: Row, raw: dict[str, Any]) -> Iterator[Row]:
    (action,) = (key for key in ACTIONS if key in row)
    states = [state["name"] for state in raw["states"]]
    for key, values in (
        ("from", states),
        ("to", states),
        (action, _labels(raw["rows"])),
        ("guard", [*raw["guards"]]),
    ):
        yield from ({**row, key: value} for value in values if value != row.get(key))
    if "guard" in row:
        yield {key: value for key, value in row.items() if key != "guard"}
    for other in ACTIONS:
        if other != action:
            yield {(other if key == action else key): value for key, value in row.items()}


def _other_changes(raw: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Another initial state, other final states, other declarations of a state."""
    states = [state["name"] for state in raw["states"]]
    for name in states:
        if name != raw["initial"]:
            yield f"initial {name}", {**raw, "initial": name}
        final = [f for f in raw["final"] if f != name] + [name] * (name not in raw["final"])
        yield f"final {', '.join(final) or 'none'}", {**raw, "final": final}
        for old in raw["final"]:
            if old != name:
                yield f"final {name}", {**raw, "final": [name]}
    for index, state in enumerate(raw["states"]):
        others = [{**state, "guards": [*raw["guards"]], "exclusive": True, "complete": True}]
        others += [{**state, key: False} for key in ("exclusive", "complete") if key in state]
        for guard in state.get("guards", ()):
            others.append({**state, "guards": [g for g in state["guards"] if g != guard]})
        for other in others:
            if other != state:
                new = [*raw["states"][:index], other, *raw["states"][index + 1 :]]
                yield f"state {state['name']} declared otherwise", {**raw, "states": new}
        left = [*raw["states"][:index], *raw["states"][index + 1 :]]
        yield f"drop state {state['name']}", {**raw, "states": left}
    yield "add state OTHER", {**raw, "states": [*raw["states"], {"name": "OTHER"}]}
    for guard in raw["guards"]:
        fewer = {name: text for name, text in raw["guards"].items() if name != guard}
        yield f"drop guard {guard}", {**raw, "guards": fewer}
    yield "add guard OTHER", {**raw, "guards": {**raw["guards"], "OTHER": ""}}


# Rules.


def rule_mutants(name: str, step: int = 1) -> Iterator[Mutant]:
    """Every single change of an expression by which a built-in table decides, counts or closes."""
    text = resources.files("pxp_fsm.automata").joinpath("data", f"{name}.toml").read_text("utf-8")
    raw, table = tomllib.loads(text), builtin(name)
    found = [*_rule_changes(raw, table)][::step]
    seen = {table.fingerprint}
    for change, changed in found:
        try:
            automaton = _read(changed)
        except TableError as error:
            yield Mutant(f"{name} rules", change, None, str(error).splitlines()[0])
            continue
        if automaton.fingerprint not in seen:
            seen.add(automaton.fingerprint)
            yield Mutant(f"{name} rules", change, Substitutes({name: automaton}))


def _rule_changes(raw: dict[str, Any], table: Automaton) -> Iterator[tuple[str, dict[str, Any]]]:
    rules = table.rules
    for guard, when in rules.whens.items():
        for new in _texts(when, rules.types) if when is not None else ():
            guards = {**raw["guards"], guard: {**raw["guards"][guard], "when": new}}
            yield f"{guard} when {new}", {**raw, "guards": guards}
    for register, update in rules.on_message.items():
        for new in _texts(update, rules.types):
            each = {"message": {**raw["each"]["message"], register: new}}
            yield f"message {register} = {new}", {**raw, "each": each}
    for index, row in enumerate(raw["rows"]):
        if "when" in row:
            when = next(one.when for one in table.transitions if one.when is not None)
            for new in _texts(when, rules.types):
                rows = [*raw["rows"][:index], {**row, "when": new}, *raw["rows"][index + 1 :]]
                yield f"{_shown_rule(row)} when {new}", {**raw, "rows": rows}
    for one in rules.registers:
        if one.type == INT:
            declared = {**raw["registers"][one.name], "init": 1}
            registers = {**raw["registers"], one.name: declared}
            yield f"{one.name} begins with 1", {**raw, "registers": registers}


def _shown_rule(row: dict[str, Any]) -> str:
    return f"!{row['event']}"


def _texts(expression: Expression, types: Mapping[str, Type]) -> Iterator[str]:
    """The texts of an expression with one place changed, each once."""
    known = dict(types) | {"tag": enumeration([*map(str, Tag)])}
    whole = str_of(expression, expanded=True)
    for changed in _changed(_expanded(expression), known):
        if (text := str_of(changed)) != whole:
            yield text


def _expanded(expression: Expression) -> Expression:
    """The expression without names of [let]."""
    if isinstance(expression, Let):
        return _expanded(expression.value)
    return _with_parts(expression, [*map(_expanded, _parts(expression))])


def _parts(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Conjunction(parts) | Disjunction(parts) | Sum(parts):
            return parts
        case Negated(of) | Membership(of) | Multiple(_, of):
            return (of,)
        case Compare(_, left, right):
            return (left, right)
        case Conditional(test, then, otherwise):
            return (test, then, otherwise)
    return ()


def _with_parts(expression: Expression, parts: list[Expression]) -> Expression:
    match expression:
        case Conjunction() | Disjunction() | Sum():
            return replace(expression, parts=tuple(parts))
        case Negated() | Membership() | Multiple():
            return replace(expression, of=parts[0])
        case Compare():
            return replace(expression, left=parts[0], right=parts[1])
        case Conditional():
            return replace(expression, test=parts[0], then=parts[1], otherwise=parts[2])
    return expression


def _changed(expression: Expression, types: Mapping[str, Type]) -> Iterator[Expression]:
    """The expression with itself or one of its parts changed."""
    yield from _replacements(expression, types)
    parts = [*_parts(expression)]
    for place, part in enumerate(parts):
        for other in _changed(part, types):
            yield _with_parts(expression, [*parts[:place], other, *parts[place + 1 :]])


def _replacements(expression: Expression, types: Mapping[str, Type]) -> Iterator[Expression]:
    if expression.type == BOOL and not isinstance(expression, Constant):
        yield from (TRUE, FALSE)
        yield expression.of if isinstance(expression, Negated) else Negated(expression)
    match expression:
        case Conjunction(parts) | Disjunction(parts):
            other = Disjunction if isinstance(expression, Conjunction) else Conjunction
            yield other(parts)
            yield from parts
        case Compare(operator, left, right):
            signs = ("==", "!=", "<=", ">=", "<", ">") if left.type == INT else ("==", "!=")
            yield from (Compare(sign, left, right) for sign in signs if sign != operator)  # type: ignore[arg-type]
        case Conditional(test, then, otherwise, type_):
            yield from (Conditional(test, otherwise, then, type_), then, otherwise)
        case Constant(value, type_) if type_ == INT:
            yield from (Constant(int(value) + 1, INT), Constant(abs(int(value) - 1), INT))
        case Constant(value, type_) if type_.members:
            yield from (Constant(str(tag), enumeration([tag])) for tag in Tag if tag != value)
        case Name(name, type_):
            yield from (Name(x, one) for x, one in types.items() if one == type_ and x != name)


def difference(old: str, new: str) -> tuple[str, str]:
    """The lines in which two sources differ, each on one line."""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    first, second = (
        "; ".join(map(str.strip, part)).removesuffix("pass") or "nothing"
        for part in (before, after)
    )
    return first, second
