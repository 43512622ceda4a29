"""Scribble's global protocols as they are written: the core of the language, and its parser.

Scribble is a language of multiparty session types (Honda, Yoshida and Carbone, POPL 2008; Yoshida,
Hu, Neykova and Ng, The Scribble Protocol Language, TGC 2013). What is read are messages, `choice
at`, `rec` and `continue`, `do` with roles, signatures and types; what else it has is refused by
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from pxp_fsm.errors import Fault, TableError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from lark import Lark, Token, Tree


class Position(NamedTuple):
    """Line and column in a file, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Signature:
    """What a message is: its operator, which tells messages apart, and the types of what it
    carries. A `named` one stands for another, which a declaration or a caller gives.
    """

    operator: str
    payload: tuple[str, ...] = ()
    named: bool = False

    def __str__(self) -> str:
        return self.operator if self.named else f"{self.operator}({', '.join(self.payload)})"


@dataclass(frozen=True, slots=True)
class Interaction:
    """`sender` sends a message to each of `receivers`."""

    signature: Signature
    sender: str
    receivers: tuple[str, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class GlobalChoice:
    """`subject` decides which of the branches is followed."""

    subject: str
    branches: tuple[Block, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Recursion:
    """A block that is begun again where `Repeat` names it."""

    name: str
    body: Block
    at: Position


@dataclass(frozen=True, slots=True)
class Repeat:
    """`continue NAME`."""

    name: str
    at: Position


@dataclass(frozen=True, slots=True)
class Calling:
    """`do NAME<arguments>(roles)`."""

    name: str
    arguments: tuple[Signature, ...]
    roles: tuple[str, ...]
    at: Position


Statement = Interaction | GlobalChoice | Recursion | Repeat | Calling
Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class GlobalProtocol:
    """A protocol between roles; an auxiliary one is only called by others."""

    name: str
    parameters: tuple[str, ...]
    roles: tuple[str, ...]
    body: Block
    auxiliary: bool
    at: Position


@dataclass(frozen=True)
class ScribbleModule:
    """A file: its protocols, and the types that it declares, each with its name elsewhere."""

    filename: str
    name: str
    protocols: tuple[GlobalProtocol, ...]
    types: Mapping[str, str]

    def protocol(self, name: str) -> GlobalProtocol | None:
        """The protocol that is called so, by its name or with that of this module before it."""
        short = name.removeprefix(f"{self.name}.")
        return next(
            (
                global_protocol
                for global_protocol in self.protocols
                if global_protocol.name == short
            ),
            None,
        )


def fault_at(filename: str, at: Position, message: str) -> Fault:
    """A fault of a file with its place."""
    return Fault((), message, file=filename, line=at.line, column=at.column)


_WORDS = {
    "WORD": "a name",
    "STRING": 'a text in "..."',
    "UNSUPPORTED": "a statement",
    "AUX": "aux",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "SEMICOLON": ";",
    "COMMA": ",",
    "LESSTHAN": "<",
    "MORETHAN": ">",
    "DOT": ".",
    "$END": "the end",
}

MOST = 1_000_000
"""Characters of a file that is read."""

DEEPEST = 60
"""Blocks inside each other that are read."""


@cache
def _grammar() -> Lark:
    from lark import Lark

    text = resources.files(__package__).joinpath("scribble.lark").read_text("utf-8")
    return Lark(text, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def parse(text: str, filename: str) -> ScribbleModule:
    """The protocols of a text.

    Raises `TableError` with line and column of what cannot be read, or is not supported.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    if len(text) > MOST:
        raise TableError((f"{filename}: it has more than {MOST:,} characters",))
    if _depth(text) > DEEPEST:
        raise TableError((f"{filename}: more than {DEEPEST} blocks stand inside each other",))
    try:
        return _Reader(filename).module(_grammar().parse(text))
    except UnexpectedToken as error:
        end = error.token.type == "$END"
        expected = error.accepts or set()
        met = "the end of the file" if end else quoted(str(error.token), 30)
        at = Position(text.count("\n") + 1, 1) if end else Position(error.line, error.column)
    except UnexpectedCharacters as error:
        expected, at = error.allowed or set(), Position(error.line, error.column)
        met = quoted(text[error.pos_in_stream or 0 :][:1])
    except UnexpectedInput as error:
        expected, at, met = set(), Position(error.line, error.column), "this"
    listed = ", ".join(sorted({_WORDS.get(terminal, terminal.lower()) for terminal in expected}))
    message = f"{met} cannot stand here; expected: {listed or 'something else'}"
    raise TableError((fault_at(filename, at, message),))


def _depth(text: str) -> int:
    depth = deepest = 0
    for letter in text:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        deepest = max(deepest, depth)
    return deepest


class _Reader:
    """Makes statements of a syntax tree."""

    def __init__(self, filename: str) -> None:
        self._filename = filename

    def module(self, tree: Tree[Token]) -> ScribbleModule:
        name = next((_dotted(child.children[0]) for child in _of(tree, "module")), "")
        types = {
            str(child.children[3]): str(child.children[1]).strip('"') for child in _of(tree, "type")
        }
        protocols = tuple(self._protocol(child) for child in _of(tree, "protocol"))
        seen: set[str] = set()
        for protocol in protocols:
            if protocol.name in seen:
                self._refuse(
                    protocol.at, f"two protocols are called {protocol.name}; rename one of them"
                )
            seen.add(protocol.name)
        return ScribbleModule(self._filename, name, protocols, types)

    def _refuse(self, at: Position, message: str) -> None:
        raise TableError((fault_at(self._filename, at, message),))

    def _protocol(self, tree: Tree[Token]) -> GlobalProtocol:
        modifiers = [str(child.children[0]) for child in _of(tree, "modifier")]
        at = _at(tree)
        for word in modifiers:
            if word != "aux":
                self._refuse(at, f"{word} is not supported; leave it out")
        name = next(str(child) for child in tree.children if not _is_tree(child))
        roles = tuple(str(child.children[0]) for child in _of(tree, "role"))
        if len(set(roles)) < len(roles):
            self._refuse(at, f"two roles of {name} have one name; rename one of them")
        parameters = tuple(
            str(parameter.children[0])
            for listed in _of(tree, "parameters")
            for parameter in _of(listed, "parameter")
        )
        (block,) = _of(tree, "block")
        return GlobalProtocol(name, parameters, roles, self._block(block), "aux" in modifiers, at)

    def _block(self, tree: Tree[Token]) -> Block:
        return tuple(map(self._statement, _trees(tree.children)))

    def _statement(self, tree: Tree[Token]) -> Statement:
        at, kind = _at(tree), str(tree.data)
        words = [str(child) for child in tree.children if not _is_tree(child)]
        blocks = _of(tree, "block")
        if kind == "message":
            signature = self._signature(next(_trees(tree.children)))
            return Interaction(signature, words[0], tuple(words[1:]), at)
        if kind == "choice":
            return GlobalChoice(words[0], tuple(map(self._block, blocks)), at)
        if kind == "rec":
            return Recursion(words[0], self._block(blocks[0]), at)
        if kind == "continue":
            return Repeat(words[0], at)
        if kind == "do":
            arguments = tuple(
                self._signature(next(_trees(argument.children)))
                for listed in _of(tree, "arguments")
                for argument in _of(listed, "argument")
            )
            (path,) = _of(tree, "path")
            return Calling(_dotted(path), arguments, tuple(words), at)
        word = words[0].split()[0]
        message = f"{word} is not supported; messages, choice, rec, continue and do are read"
        raise TableError((fault_at(self._filename, at, message),))

    def _signature(self, tree: Tree[Token]) -> Signature:
        words = [str(child) for child in tree.children]
        if tree.data == "named":
            return Signature(words[0], named=True)
        # Of `(A)` and `a(A)` the place of the bracket tells which word is the operator.
        begins = [getattr(child, "start_pos", None) for child in tree.children[:1]]
        has_operator = begins == [tree.meta.start_pos]
        operator, payload = (words[0], words[1:]) if has_operator else ("", words)
        return Signature(operator, tuple(payload))


def _is_tree(node: object) -> bool:
    return hasattr(node, "data")


def _of(tree: Tree[Token], kind: str) -> list[Tree[Token]]:
    return [child for child in _trees(tree.children) if child.data == kind]


def _trees(children: Sequence[Tree[Token] | Token]) -> Iterator[Tree[Token]]:
    from lark import Tree

    return (child for child in children if isinstance(child, Tree))


def _dotted(tree: Tree[Token] | Token) -> str:
    return ".".join(str(child) for child in getattr(tree, "children", ()))


def _at(tree: Tree[Token]) -> Position:
    return Position(tree.meta.line, tree.meta.column)
