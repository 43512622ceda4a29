"""The grammar of expressions of rules as a grammar, which Lark reads: a second parser of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

GRAMMAR = r"""
?start: expression
?expression: either | either _IF either _ELSE expression -> conditional
?either: both (_OR both)*
?both: negation (_AND negation)*
?negation: _NOT negation -> not | comparison
?comparison: sum | sum OPERATOR sum -> compare
           | sum _IN members -> in | sum _NOT _IN members -> outside
?sum: term (SIGN term)*
?term: "-" term -> minus | INT "*" atom -> times | atom
?atom: INT -> number | _TRUE -> true | _FALSE -> false | NAME -> name | "(" expression ")"
members: "{" NAME ("," NAME)* "}"
OPERATOR: "==" | "!=" | "<=" | ">=" | "<" | ">"
SIGN: "+" | "-"
_OR: /or\b/
_AND: /and\b/
_NOT: /not\b/
_IN: /in\b/
_IF: /if\b/
_ELSE: /else\b/
_TRUE: /true\b/
_FALSE: /false\b/
INT: /(0|[1-9][0-9]{0,17})(?![A-Za-z0-9_]|[^\x00-\x7f])/
NAME: /(?!(or|and|not|in|if|else|true|false)\b)([A-Za-z_]|[^\x00-\x7f])([\w.]|[^\x00-\x7f])*/
%ignore /[ \t\r\n]+/
"""

Shape = tuple[Any, ...] | str
"""The name of a rule and the shapes of its parts; the text of a name, a number or a sign."""


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", maybe_placeholders=False)


def shape(text: str) -> Shape | None:
    """How `text` is put together; None where it is no expression."""
    try:
        return _shape(_parser().parse(text))
    except UnexpectedInput:
        return None


def _shape(tree: Tree[Token] | Token) -> Shape:
    if isinstance(tree, Token):
        return str(tree)
    if tree.data in ("name", "number"):
        return str(tree.children[0])
    return (str(tree.data), *map(_shape, tree.children))
