"""The parser of formulas: one grammar, and errors with position and expectation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from proofs.logic.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Past,
    Release,
    Since,
    Triggered,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    eventually,
    globally,
    historically,
    implies,
    on_all,
    once,
    parts,
)
from pxp_fsm.errors import UsageError, quoted

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

_OTHERS = (
    ("&", ("∧", "⋀", "/\\", "and", "AND")),
    ("|", ("∨", "⋁", "\\/", "or", "OR")),
    ("!", ("¬", "~", "not", "NOT")),
    ("->", ("→", "⇒", "⟶", "⟹", "=>", "implies", "–>", "—>", "- >")),
    ("<->", ("↔", "⇔", "<=>", "iff", "≡")),
    ("G", ("□", "[]", "◻", "⊡")),
    ("F", ("◇", "<>", "♢", "⋄")),
    ("X", ("◯", "○", "()")),
    ("E", ("∃",)),
    ("A", ("∀",)),
    ("true", ("⊤",)),
    ("false", ("⊥",)),
    (">=", ("≥",)),
    ("<=", ("≤",)),
    ("!=", ("≠",)),
    ("=", ("==",)),
    ("R", ("V",)),
    ("( and )", ("[", "{")),
    ('"', ("'", "“", "”", "`", "‘", "’")),
)
"""How others write what is written here in another way; the longest that fits counts."""

_SHOWN = 20
"""How many names a list in an error has; of more, one of each form stands for all."""


def hint(rest: str, *, whole: bool = False) -> str:
    """What to write in place of another notation's operator, or of a letter that only looks so.

    With `whole`, `rest` is a word that was read as a name.
    """
    foreign = [
        (other, ours)
        for ours, others in _OTHERS
        for other in others
        if (rest == other if whole else _begins(rest, other))
    ]
    if foreign:
        other, ours = max(foreign, key=lambda pair: len(pair[0]))
        return f"; write {ours} for {other}"
    if not whole and rest[:1] in ("<", ">", "="):
        return "; a comparison is of a name with a whole number, as in number>=3"
    if rest and not rest[0].isascii():
        name = unicodedata.name(rest[0], "a character without a name")
        return f'; {name} is not allowed in a formula (put names that have it in "...")'
    return ""


def _begins(rest: str, other: str) -> bool:
    """Whether `rest` begins with `other`, as a word of its own where it is one."""
    return rest.startswith(other) and not (
        other.isalnum() and rest[len(other) :][:1].isalnum() and other.isascii()
    )


def unknown(names: Iterable[str], known: Collection[str], whose: str) -> UsageError:
    """The error for propositions that there are none of; `whose` begins it."""
    asked = sorted(names)
    folded = {name.casefold(): name for name in (*known, "true", "false")}
    meant = dict.fromkeys(
        folded[near] for name in asked for near in get_close_matches(name.casefold(), folded, n=3)
    )
    told = f"{whose} {', '.join(map(quoted, asked))}"
    if meant:
        told += f"; did you mean {' or '.join(meant)}?"
    there = sorted(known)
    if len(there) > _SHOWN:
        forms = {re.sub(r"\w+", "x", name): name for name in reversed(there)}
        kinds = ", ".join(sorted(forms.values())[:_SHOWN])
        return UsageError(f"{told}; there are {len(there)} names like: {kinds} (pxp help logic)")
    return UsageError(f"{told}; there are: {', '.join(there) or 'none'}")


GRAMMAR = r"""
?start: iff
?iff: implication ("<->" implication)*
?implication: either ("->" implication)?
?either: both (("|" | "||") both)*
?both: binary (("&" | "&&") binary)*
?binary: unary (BINARY binary)?
?unary: "!" unary -> negation
      | UNARY unary -> unary
      | "(" iff ")"
      | "true" -> true
      | "false" -> false
      | COMPARED -> compared
      | NAME -> atom
      | QUOTED -> quoted

UNARY.2: /((A|E)?[GFXN]|[AEYZOH])\b(?![@.:?])/
BINARY.2: /[URWMST]\b(?![@.:?])/
COMPARED.3: /[A-Za-z0-9_][A-Za-z0-9_@.:?]*\s*(<=|>=|!=|<|>|=)\s*([0-9]+|[A-Za-z_][A-Za-z0-9_]*)/
NAME: /[A-Za-z0-9_][A-Za-z0-9_@.:?]*/
QUOTED: /"[^"\n]+"/
%ignore /\s+/
"""

LONGEST = 100_000
"""Characters of a formula that are read."""

DEEPEST = 200
"""Levels of a formula that are read: operators inside each other, and what the innermost is about.
Any number of & in a row is one level, and so is one of | and one of <->."""

LARGEST = 200_000
"""Operators and propositions of a formula where each <-> is written as two implications, so that
it doubles what it joins."""

_WORDS = {
    "NAME": "a proposition",
    "COMPARED": "a comparison (number>=3)",
    "QUOTED": 'a proposition in quotes ("...")',
    "UNARY": "a temporal operator (G F X N, A E, AG EF ..., of the past Y Z O H)",
    "BINARY": "U, R, W or M, of the past S or T",
    "$END": "the end",
    "TRUE": "true",
    "FALSE": "false",
    "LPAR": "(",
    "RPAR": ")",
    "BANG": "!",
}


_DIGITS = 9


def parse(text: str) -> Formula:
    """The formula that `text` means; `UsageError` says where it goes wrong and what was expected.

    Operators from the tightest: ! and the unary temporal ones; U R W M S T (to the right); &; |; ->
    (to the right); <->. A name in quotes may hold any character but a quote. A comparison
    (`number >= 3`) is a proposition whose name has no spaces.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    if len(text) > LONGEST:
        raise UsageError(f"the formula is too large: at most {LONGEST:,} characters are read")
    try:
        tree = _parser().parse(text)
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        expected = _accepted(text[:at])
    except UnexpectedToken as error:
        end = error.token.type == "$END"
        at, expected = len(text) if end else error.pos_in_stream or 0, error.accepts or set()
    except UnexpectedInput as error:
        at, expected = error.pos_in_stream or 0, set()
    else:
        depth, size = _measured(tree)
        if depth > DEEPEST:
            raise UsageError(f"the formula is nested too deeply: at most {DEEPEST} levels")
        if size > LARGEST:
            raise UsageError(
                f"the formula is too large: each <-> doubles what it joins, and at most "
                f"{LARGEST:,} operators and propositions are read"
            )
        formula = _formula(tree)
        check_past(formula)
        return formula
    raise UsageError(_explained(text, at, expected))


def check_past(formula: Formula) -> None:
    """Raise `UsageError` where a past operator stands over what is to come, or below A or E.

    A in front of the whole formula changes nothing.
    """
    future = (Next, WeakNext, Until, Release, Exists)
    path = formula.of.path if isinstance(formula, Not) and isinstance(formula.of, Exists) else None
    for part in parts(formula if path is None else path):
        inner = {type(child) for child in parts(part)}
        if isinstance(part, Past) and not inner.isdisjoint(future):
            raise UsageError(
                "Y, Z, O, H, S and T speak of what has been, and here one of them is about X, N, "
                "F, G, U, R, W, M, A or E; write what is to come outside: G (paid -> O asked)"
            )
        if isinstance(part, Exists) and any(isinstance(child, Past) for child in parts(part)):
            raise UsageError(
                "Y, Z, O, H, S and T are of formulas about every run; leave out the A and E that "
                "they stand in"
            )


def _explained(text: str, at: int, expected: set[str]) -> str:
    words = {
        terminal.name: str(terminal.pattern.value) for terminal in _parser().terminals
    } | _WORDS
    shown = sorted({words[name] for name in expected})
    rest = text[at:].strip()
    where = (
        f"cannot be read at character {at + 1}, {quoted(rest, 30)}" if rest else "ends too early"
    )
    told = f"the formula {where}; expected there: {', '.join(shown) or 'a formula'}"
    before = text[:at].split()
    return told + (hint(text[at:].lstrip()) or hint(before[-1] if before else "", whole=True))


def _accepted(before: str) -> set[str]:
    """What may come after `before`, which can be read."""
    reading = _parser().parse_interactive(before)
    reading.exhaust_lexer()
    accepted: set[str] = reading.accepts()  # type: ignore[no-untyped-call] # Lark leaves it so
    return accepted


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(GRAMMAR, parser="lalr", maybe_placeholders=False)


_IN_A_ROW = ("both", "either")
"""What may be joined in any order."""


def _measured(tree: Tree[Token]) -> tuple[int, int]:
    """The levels of `tree`, and its size with each <-> written out; found without recursion."""
    order, depth = [(tree, 1)], 1
    for node, level in order:  # grows while it is read
        depth = max(depth, level)
        for child in _trees(node):
            same = node.data == child.data and node.data in _IN_A_ROW
            order.append((child, level if same else level + 1))
    sizes: dict[int, int] = {}
    for node, _ in reversed(order):
        size, *others = [sizes[id(child)] for child in _trees(node)] or [0]
        for other in others:
            size = 2 * (size + other) if node.data == "iff" else size + other
        sizes[id(node)] = min(size + 1, LARGEST + 1)
    return depth, sizes[id(tree)]


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    from lark import Tree

    return [child for child in tree.children if isinstance(child, Tree)]


def _in_a_row(tree: Tree[Token]) -> list[Any]:
    """What & or | joins, of all that are directly inside each other."""
    joined, left = list[Any](), list(reversed(tree.children))
    while left:
        item = left.pop()
        if getattr(item, "data", None) == tree.data:
            left += reversed(item.children)  # type: ignore[union-attr] # a tree has children
        else:
            joined.append(item)
    return joined


def _formula(tree: Tree[Token] | Token) -> Formula:  # noqa: PLR0911, PLR0912 - a case a rule
    from lark import Token

    if isinstance(tree, Token):
        raise TypeError(f"a token where a formula was expected: {tree}")
    items: list[Any] = tree.children
    match tree.data:
        case "true":
            return TRUE
        case "false":
            return FALSE
        case "atom":
            return Atom(str(items[0]))
        case "compared":
            return Atom(_compared(str(items[0])))
        case "quoted":
            return Atom(str(items[0])[1:-1])
        case "negation":
            return Not(_formula(items[0]))
        case "unary":
            return _temporal(str(items[0]), _formula(items[1]))
        case "binary":
            return _joined(str(items[1]), _formula(items[0]), _formula(items[2]))
        case "both":
            return _folded(And, [_formula(item) for item in _in_a_row(tree)])
        case "either":
            return _folded(Or, [_formula(item) for item in _in_a_row(tree)])
    operands = [_formula(item) for item in items]
    match tree.data:
        case "implication":
            return implies(operands[0], operands[1])
        case _:
            result = operands[0]
            for other in operands[1:]:
                result = And(implies(result, other), implies(other, result))
            return result


def _compared(text: str) -> str:
    name = "".join(text.split())
    number = re.split("[<>=]", name)[-1]
    if number.isdigit() and len(number) > _DIGITS:
        raise UsageError(f"a number in a formula has at most {_DIGITS} digits, not {len(number)}")
    return name


def _folded(kind: type[And | Or], joined: list[Formula]) -> Formula:
    """All of them joined, as a tree that is no deeper than it must be."""
    if len(joined) == 1:
        return joined[0]
    middle = len(joined) // 2
    return kind(_folded(kind, joined[:middle]), _folded(kind, joined[middle:]))


def _temporal(operator: str, of: Formula) -> Formula:  # noqa: PLR0911 - a case an operator
    if len(operator) == 2:
        return _temporal(operator[0], _temporal(operator[1], of))
    match operator:
        case "G":
            return globally(of)
        case "F":
            return eventually(of)
        case "X":
            return Next(of)
        case "N":
            return WeakNext(of)
        case "E":
            return Exists(of)
        case "A":
            return on_all(of)
        case "Y":
            return Yesterday(of)
        case "Z":
            return WeakYesterday(of)
        case "O":
            return once(of)
        case _:
            return historically(of)


def _joined(operator: str, left: Formula, right: Formula) -> Formula:
    match operator:
        case "U":
            return Until(left, right)
        case "R":
            return Release(left, right)
        case "W":
            return Release(right, Or(left, right))
        case "M":
            return Until(right, And(left, right))
        case "S":
            return Since(left, right)
        case _:
            return Triggered(left, right)
