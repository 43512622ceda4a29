"""Projection: what each role does of a global protocol, as a table.

The projection of a choice that another role makes is the merge of its branches: the role receives,
from one sender, the messages of all of them. Where two branches begin with one message for it, what
follows has to be the same, up to bisimilarity: it could not tell them apart (full merging, Scalas
and Yoshida, Less is More, POPL 2019, with equality in place of the merge behind one message).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from proofs.core.kernels import Interpreter
from proofs.refinement.partition import Labelled, refined
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.tables import build_automaton
from pxp_fsm.errors import Fault
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.scribble.flow import Head, ProtocolGraph
from pxp_fsm.plugins.scribble.syntax import Position, fault_at

_SCHEMAS: Mapping[str, Any] = {
    "java.lang.String": {"type": "string", "examples": ["text"]},
    "java.lang.Integer": {"type": "integer", "examples": [1]},
    "java.lang.Long": {"type": "integer", "examples": [1]},
    "java.lang.Boolean": {"type": "boolean", "examples": [True]},
    "java.lang.Float": {"type": "number", "examples": [0.5]},
    "java.lang.Double": {"type": "number", "examples": [0.5]},
}
"""The JSON Schemas of types that messages carry; others may be anything."""


class TagNames:
    """Operators as tags of ours: letters, digits and _, a letter first; two never become one."""

    def __init__(self) -> None:
        self._tags: dict[str, str] = {}

    def of(self, operator: str) -> str:
        """The tag of an operator."""
        if operator not in self._tags:
            plain = re.sub(r"[^A-Za-z0-9_]", "_", operator) or "EMPTY"
            plain = plain if plain[0].isalpha() else f"M{plain}"
            candidate, number = plain, 1
            while candidate in self._tags.values():
                number += 1
                candidate = f"{plain}_{number}"
            self._tags[operator] = candidate
        return self._tags[operator]

    @property
    def changed(self) -> Mapping[str, str]:
        """Tags by the operators that differ from them."""
        return {theirs: ours for theirs, ours in self._tags.items() if theirs != ours}


@dataclass(frozen=True)
class LocalView:
    """What one role does: its positions, the nodes between its actions."""

    flow: ProtocolGraph
    role: str

    @cached_property
    def positions(self) -> Mapping[int, tuple[frozenset[Head], bool]]:
        """By each position what the role can do next, and whether it may be over."""
        by_node: dict[int, tuple[frozenset[Head], bool]] = {}
        left = [self.flow.start]
        while left:
            node = left.pop()
            if node not in by_node:
                by_node[node] = self.flow.heads(node, self.role)
                left += (head.after for head in by_node[node][0])
        return by_node

    @cached_property
    def classes(self) -> Mapping[int, int]:
        """The class of each position: those from which the role does the same."""
        places = {node: place for place, node in enumerate(self.positions)}
        actions: dict[object, int] = {}
        offsets, targets, labels = array("i", [0]), array("i"), array("i")
        over = len(places)
        for heads, ended in self.positions.values():
            for head in sorted(heads):
                targets.append(places[head.after])
                labels.append(actions.setdefault(head[:3], len(actions)))
            if ended:
                targets.append(over)
                labels.append(actions.setdefault("over", len(actions)))
            offsets.append(len(targets))
        offsets.append(len(targets))
        partition = refined(Labelled(Interpreter(), offsets, targets, labels))
        return {node: int(partition.class_of[place]) for node, place in places.items()}

    def problems(self) -> Iterator[tuple[Position | None, str]]:
        """Why the role cannot know what to do, and where the first message that it is about is."""
        for heads, problem in self._problems():
            met = {(head.kind, head.partner, head.operator) for head in heads}
            yield (
                min((at for at, *head in self._sendings() if (*head,) in met), default=None),
                problem,
            )

    def _sendings(self) -> Iterator[tuple[Position, Kind, str, str]]:
        """The messages of the role: each with its place."""
        for message in self.flow.messages():
            if message.sender == self.role:
                yield message.at, Kind.SEND, message.receiver, message.signature.operator
            elif message.receiver == self.role:
                yield message.at, Kind.RECEIVE, message.sender, message.signature.operator

    def _problems(self) -> Iterator[tuple[Iterable[Head], str]]:
        for heads, ended in self.positions.values():
            sending = [head for head in heads if head.kind is Kind.SEND]
            receiving = [head for head in heads if head.kind is Kind.RECEIVE]
            senders = sorted({head.partner for head in receiving})
            if sending and receiving:
                uncertainty = f"send {_listed(sending)} or to receive {_listed(receiving)}"
                yield heads, f"{self.role} cannot know whether to {uncertainty}"
            elif ended and heads:
                uncertainty = f"it is over or {_listed([*sending, *receiving])} follows"
                yield heads, f"{self.role} cannot know whether {uncertainty}"
            elif len(senders) > 1:
                uncertainty = f"learns of one choice from {' or '.join(senders)}"
                yield receiving, f"{self.role} {uncertainty}; let one role tell it in every branch"
            else:
                yield from self._alike(heads)

    def _alike(self, heads: frozenset[Head]) -> Iterator[tuple[Iterable[Head], str]]:
        """Messages that stand for two branches that go on differently."""
        after: dict[tuple[Kind, str, str], set[int]] = {}
        for kind, partner, operator, node in heads:
            after.setdefault((kind, partner, operator), set()).add(self.classes[node])
        for (kind, partner, operator), classes in after.items():
            if len(classes) > 1:
                way = "to" if kind is Kind.SEND else "from"
                alike = [head for head in heads if head[:3] == (kind, partner, operator)]
                yield (
                    alike,
                    f"{self.role} cannot tell two branches apart that both begin with "
                    f"{operator}() {way} {partner}; use two messages",
                )

    def table(
        self, name: str, title: str, tags: TagNames, payloads: Mapping[str, Any]
    ) -> Automaton:
        """What the role does as a table; the protocol is well-formed, and `problems` are none."""
        start = self.classes[self.flow.start]
        names: dict[int, str] = {}
        rows, final, left = list[dict[str, Any]](), list[str](), [self.flow.start]
        done = set[int]()
        while left:
            node = left.pop(0)
            own = self.classes[node]
            if own in done:
                continue
            done.add(own)
            heads, ended = self.positions[node]
            if ended:
                final.append(_state(names, own))
            unlike = {(head.kind, head.partner, head.operator): head for head in sorted(heads)}
            for head in unlike.values():
                way = "send" if head.kind is Kind.SEND else "receive"
                rows.append(
                    {
                        "from": _state(names, own),
                        "to": _state(names, self.classes[head.after]),
                        way: tags.of(head.operator),
                        "partner": head.partner,
                    }
                )
                left.append(head.after)
        used = {tags.of(head.operator) for heads, _ in self.positions.values() for head in heads}
        return build_automaton(
            name,
            rows,
            final=final,
            initial=_state(names, start),
            title=title,
            payloads={tag: schema for tag, schema in payloads.items() if tag in used},
        )


def _state(names: dict[int, str], number: int) -> str:
    return names.setdefault(number, f"S{len(names) + 1}")


def _listed(heads: Sequence[Head]) -> str:
    listed = sorted(f"{head.operator}() of {head.partner}" for head in heads)
    return " or ".join(listed)


def faults_of_roles(filename: str, views: Sequence[LocalView], at: Position) -> list[Fault]:
    """Why some role cannot be projected; `at` is where the protocol begins."""
    problems = dict.fromkeys(problem for view in views for problem in view.problems())
    return [fault_at(filename, place or at, problem) for place, problem in problems]


def payloads_of(flow: ProtocolGraph, types: Mapping[str, str], tags: TagNames) -> dict[str, Any]:
    """The JSON Schema of what each tag carries, where all its messages carry the same."""
    by_tag: dict[str, list[Any]] = {}
    for message in flow.messages():
        carried = [_SCHEMAS.get(types.get(name, name), {}) for name in message.signature.payload]
        if len(carried) > 1:
            schema: Any = {
                "type": "array",
                "prefixItems": carried,
                "minItems": len(carried),
                "maxItems": len(carried),
                "examples": [[item.get("examples", [None])[0] for item in carried]],
            }
        else:
            schema = carried[0] if carried else {}
        by_tag.setdefault(tags.of(message.signature.operator), []).append(schema)
    return {
        tag: schemas[0]
        for tag, schemas in by_tag.items()
        if schemas[0] and all(schema == schemas[0] for schema in schemas)
    }
