"""Every single change of the code between the table and the message, and what notices it.

`make mutants` tries them all (`tests.proofs.mutation_page`). Each change is of one expression or
statement of a function; it is put in place of the function in a process of its own. `mutmut` leaves
out methods with a decorator, which are many here; `cosmic-ray` neither swaps arguments nor puts one
name for another, and starts an interpreter for each change.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import chain, count, pairwise
from types import CodeType, ModuleType

from pxp_fsm.automata import actions, automaton, channels, soundness, system, tables
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.protocol import decisions, messages, relations, rules, situation
from pxp_fsm.protocol.decisions import Category, Guard
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.relations import Assumption, Outcome
from pxp_fsm.protocol.rules import Ending, Role
from pxp_fsm.sessions import (
    actors,
    agent,
    functions,
    learning,
    live,
    machine,
    pending,
    policy,
    replay,
    session,
)
from pxp_fsm.sessions.learning import Gated, Keep
from tests.proofs.mutants import difference
from tests.proofs.source_changes import Function
from tests.proofs.source_changes import functions as functions_of


def _rooms(*names: str) -> tuple[ModuleType, ...]:
    return tuple(import_module(f"proofs.{name}") for name in names)


MODULES: Mapping[str, tuple[ModuleType, ...]] = {
    "what runs": (
        *(automaton, actions, channels, soundness, system, tables),
        *(decisions, messages, rules, situation, relations),
        *(machine, live, functions, learning, agent, session, replay),
        *(actors, pending, policy),
    ),
    "systems": _rooms(
        *("systems.checking", "systems.coloring", "systems.compatibility", "systems.encoding"),
        *("systems.fairness", "systems.folding", "systems.partial_order", "systems.paths"),
        *("systems.intervals", "systems.options", "systems.pictures"),
        *("systems.product", "systems.propositions", "systems.reachability"),
        *("systems.receptions", "systems.replay", "systems.results", "systems.standard_checks"),
        *("systems.symmetry", "systems.tables"),
    ),
    "logic": _rooms(
        *("logic.checking", "logic.fairness", "logic.formulas", "logic.graph", "logic.monitor"),
        *("logic.parsing", "logic.product", "logic.satisfiability", "logic.sessions"),
        *("logic.explanations", "logic.past", "logic.tableau", "logic.termination"),
    ),
    "sessions": _rooms(
        *("sessions.answers", "sessions.explicit", "sessions.model"),
        *("sessions.relational", "sessions.replay", "sessions.running"),
    ),
    "core": _rooms(
        *("core.explore", "core.graphs", "core.kernels", "core.limits", "core.properties"),
        *("core.results", "core.satisfiability", "core.table_search", "core.webassembly"),
    ),
    "rules": _rooms("recheck", "rules.certificates", "rules.conditions", "rules.prover"),
    "claims": _rooms(
        *("claims.catalogue", "claims.certificates", "claims.checking", "claims.predicates"),
        *("claims.system_certificates", "claims.theorems"),
    ),
    "refinement": _rooms(
        *("compare", "refinement.behaviour", "refinement.formulas", "refinement.partition"),
        *("refinement.relations", "refinement.saturation", "refinement.simulation"),
        *("refinement.traces", "languages.language", "languages.protocols"),
        "languages.published_code",
    ),
    "requests": _rooms(
        *("audit.findings", "audit.sessions", "audit.systems", "check", "export.commands"),
        *("export.traces", "monitor", "requests", "subjects"),
    ),
}
"""All modules between the table and the message, and the rooms of the checker."""

ENUMS = {
    one.__name__: one
    for one in (Assumption, Category, Ending, Gated, Guard, Keep, Kind, Outcome, Role, Tag)
}
GROUPS: tuple[tuple[type[ast.cmpop], ...], ...] = (
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
)
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
ATTRIBUTES = {"prediction": "explanation", "explanation": "prediction", "left": "right"}
ATTRIBUTES |= {"right": "left", "sender": "receiver", "receiver": "sender"}
CALLS = {"all": "any", "any": "all", "min": "max", "max": "min"}

OPERATORS = """\
- a comparison becomes another, or its opposite; `and` becomes `or`, and loses an operand; a `not`
  goes
- `+` becomes `-`, `|` becomes `&`, and the other way round; a number becomes one more and one less
- a truth value, and the branches of a conditional, change places; a condition becomes true, and
  false
- a member of an enumeration becomes the next; `all` becomes `any`, `min` becomes `max`
- two neighbouring arguments change places; a parameter is taken for its neighbour
- `prediction` becomes `explanation`, `left` becomes `right`, `sender` becomes `receiver`, and back
- a statement is left out; `break` and `continue` change places
"""
"""What is changed, for the page."""


Put = Callable[[ast.AST], None]
Code = tuple[object, ...]


@dataclass(frozen=True)
class Mutant:
    """One change of a function, in words, with the source of the function so changed."""

    module: ModuleType
    name: str
    change: str
    source: str
    lines: range
    """The lines of the file of which one must run before the change can be noticed."""

    @property
    def key(self) -> str:
        """What tells it from all others, as long as the function stays as it is."""
        text = f"{self.module.__name__} {self.name} {self.source}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def function(self) -> Function:
        """The function with the change."""
        (found,) = ast.parse(self.source).body
        assert isinstance(found, Function)
        return found

    @property
    def file(self) -> str:
        """The file of the module."""
        return self.module.__name__.replace(".", "/") + ".py"

    def __str__(self) -> str:
        return f"{self.file} {self.name}: {self.change}"


@cache
def mutants(*modules: ModuleType, every: int = 1, start: int = 0) -> tuple[Mutant, ...]:
    """Every change of every function of `modules`, or of all, each once.

    With `every` only each change with a number that it divides, counted from `start`, is looked
    at, module by module.
    """
    return tuple(
        mutant
        for module in modules or chain.from_iterable(MODULES.values())
        for mutant in _all_of(module, every, start)
    )


def unchanged(module: ModuleType, name: str) -> Mutant:
    """The mutant that changes nothing of a function, by its very text: no judge may notice it."""
    function = dict(functions_of(module))[name]
    lines = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
    return Mutant(module, name, "nothing is changed", ast.unparse(function), lines)


def _all_of(module: ModuleType, every: int, start: int) -> Iterator[Mutant]:
    number = count(-start)
    for name, function in functions_of(module):
        yield from _of(module, name, function, lambda: next(number) % every == 0)


def _of(
    module: ModuleType, name: str, function: Function, wanted: Callable[[], bool]
) -> Iterator[Mutant]:
    said, original = _only_said(function), ast.unparse(function)
    body = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
    seen = {_compiled(function)}
    for node, put, lines in list(_places(function, body)):
        for new in () if id(node) in said else _changes(node, function):
            if not wanted():
                continue
            put(new)
            source = ast.unparse(function)
            try:
                code = _compiled(function)
            except SyntaxError:  # a name that a function inside calls nonlocal is no longer bound
                continue
            finally:
                put(node)
            if code not in seen:
                seen.add(code)
                before, after = difference(original, source)
                yield Mutant(module, name, f"`{before}` becomes `{after}`", source, lines)


def _compiled(function: Function) -> Code:
    """What the compiler makes of it: where that is the same, so are the functions."""
    tree = ast.fix_missing_locations(ast.Module([function], []))
    return _code(compile(tree, "", "exec", dont_inherit=True))


def _code(code: CodeType) -> Code:
    consts = (_code(c) if isinstance(c, CodeType) else (type(c), repr(c)) for c in code.co_consts)
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_exceptiontable, code.co_flags, names, *consts


def _places(parent: ast.AST, lines: range) -> Iterator[tuple[ast.AST, Put, range]]:
    """Every node below `parent`, what puts another in its place, and the lines that it is part of.

    These are those of the statement; of one with a body, of what comes before the body.
    """
    for field, value in ast.iter_fields(parent):
        for place, one in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(one, ast.AST):
                put = partial(value.__setitem__, place) if isinstance(value, list) else None
                own = _head(one) or lines
                yield one, put or partial(setattr, parent, field), own
                yield from _places(one, own)


def _head(node: ast.AST) -> range | None:
    if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
        return None
    first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    body = getattr(node, "body", None)
    last = max(first, body[0].lineno - 1) if body else getattr(node, "end_lineno", None) or first
    return range(first, last + 1)


def _only_said(function: Function) -> set[int]:
    """What is for people or for the type checker: docstring, annotations, texts, raised errors."""
    parts: list[ast.AST | None] = [*function.decorator_list, function.returns]
    for node in ast.walk(function):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.arg):
            parts.append(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.append(node)
        if isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
        if isinstance(node, Function):
            parts.append(node.returns)
    return {id(n) for part in parts if part is not None for n in ast.walk(part)} | {
        id(function.args)
    }


def _changes(node: ast.AST, function: Function) -> Iterator[ast.AST]:
    """What may stand in place of `node`."""
    match node:
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Return() | ast.If() | ast.For():
            yield ast.Pass()
        case ast.expr():
            yield from _expressions(node, function)
    if isinstance(node, ast.If | ast.While):
        for truth in (True, False) if isinstance(node, ast.If) else (False,):
            changed = copy.copy(node)
            changed.test = ast.Constant(truth)
            yield changed


def _expressions(node: ast.expr, function: Function) -> Iterator[ast.expr]:  # noqa: PLR0912 - one branch per operator
    names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    match node:
        case ast.Compare(left, [operator], [right]):
            group = next(group for group in GROUPS if isinstance(operator, group))
            for other in group:
                yield ast.Compare(left, [other()], [right])
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), values)
            for left_out in values:
                rest = [one for one in values if one is not left_out]
                yield ast.BoolOp(operator, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.IfExp(test, body, orelse):
            yield from (ast.IfExp(test, orelse, body), body, orelse)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Attribute(ast.Name(name), member, ast.Load()) if name in ENUMS:
            members = [one.name for one in ENUMS[name]]
            if member in members:
                after = members[(members.index(member) + 1) % len(members)]
                yield ast.Attribute(ast.Name(name, ast.Load()), after, ast.Load())
        case ast.Attribute(of, member, ast.Load()) if member in ATTRIBUTES:
            yield ast.Attribute(of, ATTRIBUTES[member], ast.Load())
        case ast.Name(name, ast.Load()) if name in names and name not in ("self", "cls"):
            others = [one for one in names if one not in ("self", "cls")]
            if len(others) > 1:
                yield ast.Name(others[(others.index(name) + 1) % len(others)], ast.Load())
        case ast.Call(called, arguments, keywords):
            if isinstance(called, ast.Name) and called.id in CALLS:
                yield ast.Call(ast.Name(CALLS[called.id], ast.Load()), arguments, keywords)
            for place, (one, two) in enumerate(pairwise(arguments)):
                swapped = [*arguments[:place], two, one, *arguments[place + 2 :]]
                yield ast.Call(called, swapped, keywords)
