"""A protocol as a graph: what happens next, and where a role comes to act.

A node is a message, a choice, a recursion or the end. A role sees of the way from one of its
actions to the next only that it leads on; what it can do next are the heads of a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from pxp_fsm.automata.automaton import Kind
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.scribble.syntax import (
    Block,
    GlobalChoice,
    Interaction,
    Position,
    Recursion,
    Repeat,
    Signature,
    Statement,
)

END = 0
"""The node of the end."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A message, and the node after it."""

    signature: Signature
    sender: str
    receiver: str
    after: int
    at: Position


@dataclass(frozen=True, slots=True)
class Branching:
    """A choice: where each branch begins, and the node after all of them."""

    subject: str
    branches: tuple[int, ...]
    after: int
    at: Position


@dataclass(frozen=True, slots=True)
class Beginning:
    """A recursion: where its body begins, the roles that act in it, and the node after it.

    One that `repeats` another, in which it stands, leads out of itself for every role.
    """

    body: int
    roles: frozenset[str]
    repeats: bool
    after: int


Node = Sending | Branching | Beginning


class Head(NamedTuple):
    """What a role can do next: send or receive a message, and the node after that."""

    kind: Kind
    partner: str
    operator: str
    after: int


@dataclass(frozen=True)
class ProtocolGraph:
    """The graph of a protocol; `start` is where it begins."""

    nodes: Mapping[int, Node]
    start: int

    def heads(self, node: int, role: str) -> tuple[frozenset[Head], bool]:
        """What a role can do next, and whether it may be over for it.

        A recursion in which it does not act is nothing to it. A loop in which it does not act
        leads nowhere.
        """
        heads, ended, seen, left = set[Head](), False, set[int](), [node]
        while left:
            number = left.pop()
            if number in seen:
                continue
            seen.add(number)
            if number == END:
                ended = True
                continue
            reached = self.nodes[number]
            match reached:
                case Sending(signature, sender, receiver, after, _):
                    if sender == role:
                        heads.add(Head(Kind.SEND, receiver, signature.operator, after))
                    elif receiver == role:
                        heads.add(Head(Kind.RECEIVE, sender, signature.operator, after))
                    else:
                        left.append(after)
                case Branching():
                    left += reached.branches
                case Beginning(body, roles, repeats, after):
                    left.append(body if role in roles or repeats else after)
        return frozenset(heads), ended or not heads

    def messages(self) -> Iterator[Sending]:
        """Every message."""
        return (node for node in self.nodes.values() if isinstance(node, Sending))


def flow_of(body: Block) -> ProtocolGraph:
    """The graph of a body without calls."""
    builder = _Builder()
    start = builder.block(body, END, {})
    return ProtocolGraph(builder.nodes, start)


def roles_of(block: Block) -> frozenset[str]:
    """The roles that send or receive in a block."""
    roles = set[str]()
    for statement in block:
        match statement:
            case Interaction():
                roles |= {statement.sender, *statement.receivers}
            case GlobalChoice():
                roles |= frozenset().union(*map(roles_of, statement.branches))
            case Recursion():
                roles |= roles_of(statement.body)
    return frozenset(roles)


def escapes(statement: Statement, inside: frozenset[str]) -> bool:
    """Whether a statement repeats a recursion that it stands in; `inside` are those within."""
    match statement:
        case Repeat(name, _):
            return name not in inside
        case Recursion(name, body, _):
            return any(escapes(inner, inside | {name}) for inner in body)
        case GlobalChoice(_, branches, _):
            return any(escapes(inner, inside) for branch in branches for inner in branch)
    return False


@dataclass
class _Builder:
    nodes: dict[int, Node] = field(default_factory=dict)
    count: int = 0

    def _fresh(self) -> int:
        self.count += 1
        return self.count

    def block(self, block: Block, after: int, bound: Mapping[str, int]) -> int:
        """The node where a block begins, built from its end."""
        for statement in reversed(block):
            match statement:
                case Interaction():
                    for receiver in reversed(statement.receivers):
                        number = self._fresh()
                        sent = (
                            statement.signature,
                            statement.sender,
                            receiver,
                            after,
                            statement.at,
                        )
                        self.nodes[number], after = Sending(*sent), number
                case GlobalChoice():
                    branches = tuple(
                        self.block(branch, after, bound) for branch in statement.branches
                    )
                    number = self._fresh()
                    decided = Branching(statement.subject, branches, after, statement.at)
                    self.nodes[number], after = decided, number
                case Recursion():
                    number = self._fresh()
                    body = self.block(statement.body, after, {**bound, statement.name: number})
                    roles, repeats = roles_of(statement.body), escapes(statement, frozenset())
                    self.nodes[number] = Beginning(body, roles, repeats, after)
                    after = number
                case Repeat():
                    after = bound[statement.name]
        return after
