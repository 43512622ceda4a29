"""Reading other tools' text: its syntax by a grammar, its faults with places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import automaton_from
from pxp_fsm.errors import Fault, Place, TableError, quoted

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

MOST = 20_000_000
"""Characters of a file that is read."""


@cache
def _grammar(name: str) -> Lark:
    from lark import Lark

    text = resources.files(__package__).joinpath(f"{name}.lark").read_text("utf-8")
    return Lark(text, parser="lalr", propagate_positions=True)


def parsed(grammar: str, text: str, filename: str, words: Mapping[str, str]) -> Tree[Token]:
    """The syntax tree of `text` by one of our grammars; `words` are its terminals for people.

    Raises `TableError` with line and column of what cannot be read, and what was expected there.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    if len(text) > MOST:
        raise TableError((f"{filename}: has more than {MOST:,} characters",))
    try:
        return _grammar(grammar).parse(text)
    except UnexpectedToken as error:
        end = error.token.type == "$END"
        expected, met = error.accepts or set(), "the end" if end else quoted(str(error.token), 30)
        line, column = error.line, error.column
        if end:
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    except UnexpectedCharacters as error:
        expected, line, column = error.allowed or set(), error.line, error.column
        met = quoted(text[error.pos_in_stream : (error.pos_in_stream or 0) + 1])
    except UnexpectedInput as error:
        expected, line, column, met = set(), error.line, error.column, "this"
    shown = {
        words.get(terminal_name) or _literal(grammar, terminal_name) for terminal_name in expected
    }
    listed = ", ".join(sorted(shown)) or "nothing more"
    message = f"{met} cannot stand here; expected: {listed}"
    raise TableError((Fault((), message, file=filename, line=line, column=column),))


def _literal(grammar: str, name: str) -> str:
    """A terminal as it is written."""
    terminal = next(
        (terminal for terminal in _grammar(grammar).terminals if terminal.name == name), None
    )
    return name if terminal is None else str(terminal.pattern.value)


def table_of(
    raw: dict[str, Any], places: Mapping[Place, tuple[int, int]], filename: str
) -> Automaton:
    """The automaton of a document; `places` are lines and columns of its parts in the file.

    Raises `TableError` with every fault.
    """
    return automaton_from(raw, located(places, filename))


def located(
    places: Mapping[Place, tuple[int, int]], filename: str
) -> Callable[[Iterable[Fault]], list[Fault]]:
    """What gives each fault the file, line and column of the nearest part that has one."""

    def locate(faults: Iterable[Fault]) -> list[Fault]:
        return [_located(fault, places, filename) for fault in faults]

    return locate


def _located(fault: Fault, places: Mapping[Place, tuple[int, int]], filename: str) -> Fault:
    at = fault.path
    while at and at not in places:
        at = at[:-1]
    line, column = places.get(at, (1, 1))
    return replace(fault, file=filename, line=line, column=column)
