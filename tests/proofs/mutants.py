"""Every single change of a table and of the decision functions, as something to check.

A table is changed as its file would be: the changed file goes through the loader, which may refuse
it. The decision functions are changed as syntax trees of our own source, one place at a time.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import json
import linecache
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import product
from types import ModuleType
from typing import Any, cast

from proofs.claims.checking import Substitutes
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import TableError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.decisions import Category, Guard
from pxp_fsm.protocol.interfaces import Decisions
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

Row = dict[str, str]


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
        guard = {"guard": written["guard"]} if "guard" in written else {}
        yield {"from": source, "to": written["to"], **guard, action: label}


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


# Decision functions.

SOURCE = inspect.getsource(decisions)
ENUMS = {"Category": Category, "Guard": Guard, "Tag": Tag}
OPERATORS: tuple[tuple[type[ast.cmpop], ...], ...] = (
    (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
)
ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mod: (ast.FloorDiv, ast.Mult),
}


def decision_mutants() -> Iterator[Mutant]:
    """Every single change of a decision function, each once."""
    for function in _functions():
        seen = {ast.dump(function)}
        texts = [n for n in ast.walk(function) if isinstance(n, ast.JoinedStr)]
        said = {id(part) for text in texts for part in ast.walk(text)}
        for number, node in enumerate(ast.walk(function)):
            for changed in _changes(node, function) if id(node) not in said else ():
                mutant = copy.deepcopy(function)
                (place,) = (n for i, n in enumerate(ast.walk(mutant)) if i == number)
                mutant = _put(mutant, place, changed)
                if ast.dump(mutant) in seen:
                    continue
                seen.add(ast.dump(mutant))
                before, after = difference(ast.unparse(function), ast.unparse(mutant))
                change = f"{function.name}: {before} becomes {after}"
                yield Mutant("decisions", change, Substitutes(functions=_compiled(mutant)))


def _functions() -> Iterator[ast.FunctionDef]:
    """The decision functions, without their docstrings and annotations."""
    for node in ast.parse(SOURCE).body:
        if isinstance(node, ast.FunctionDef):
            node.body, node.returns = node.body[1:], None
            for argument in node.args.args:
                argument.annotation = None
            yield node


def _compiled(function: ast.FunctionDef) -> Decisions:
    """The decision functions with `function` in place of the one of its name."""
    module = ModuleType(decisions.__name__)
    vars(module).update({k: v for k, v in vars(decisions).items() if not k.startswith("__")})
    # what calls the function must call the changed one, so all of them are made anew
    whole = [f if f.name != function.name else function for f in _functions()]
    text = ast.unparse(ast.Module(cast("list[ast.stmt]", whole), []))
    name = f"<mutant {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), vars(module))  # noqa: S102 - our own source, changed
    return cast(Decisions, module)


def _put(tree: ast.FunctionDef, place: ast.AST, new: ast.AST | None) -> ast.FunctionDef:
    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return (new or ast.Pass()) if node is place else self.generic_visit(node)

    return cast(ast.FunctionDef, Put().visit(tree))


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


def _changes(  # noqa: PLR0912 - a branch for each kind of change
    node: ast.AST, function: ast.FunctionDef
) -> Iterator[ast.AST | None]:
    """What may stand in place of `node`; None for a statement that is left out."""
    if isinstance(node, ast.stmt) and node is not function:
        yield None
    match node:
        case ast.Compare(left, [operator], [right]):
            for group in OPERATORS:
                if isinstance(operator, group):
                    yield from (ast.Compare(left, [o()], [right]) for o in group)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), values)
            yield from values
        case ast.BinOp(left, ast.BitOr(), right):
            yield from (left, right)
        case ast.BinOp(left, operator, right):
            yield from (ast.BinOp(left, o(), right) for o in ARITHMETIC[type(operator)])
        case ast.IfExp(test, body, orelse):
            yield from (ast.IfExp(test, orelse, body), body, orelse)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Tuple(elements):
            for left_out in elements:
                yield ast.Tuple([one for one in elements if one is not left_out], ast.Load())
        case ast.Attribute(ast.Name(name), member) if name in ENUMS:
            others = (one.name for one in ENUMS[name] if one.name != member)
            yield from (ast.Attribute(ast.Name(name, ast.Load()), o, ast.Load()) for o in others)
        case ast.Constant(value) if type(value) is int:
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Name(name, ast.Load()):
            given = [argument.arg for argument in function.args.args]
            if name in given:
                yield from (ast.Name(other, ast.Load()) for other in given if other != name)
    if isinstance(node, ast.Compare | ast.BoolOp) or _is_test(node, function):
        yield ast.UnaryOp(ast.Not(), cast(ast.expr, node))
        yield from (ast.Constant(True), ast.Constant(False))


def _is_test(node: ast.AST, function: ast.FunctionDef) -> bool:
    tests = (n.test for n in ast.walk(function) if isinstance(n, ast.If | ast.IfExp))
    operands = (v for n in ast.walk(function) if isinstance(n, ast.BoolOp) for v in n.values)
    return any(node is one for one in (*tests, *operands))
