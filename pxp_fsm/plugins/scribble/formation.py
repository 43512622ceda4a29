"""Well-formedness: what can be reached, and who can know what was chosen.

Three conditions of Scribble's (Hu and Yoshida, Hybrid Session Verification through Endpoint API
Generation, FASE 2016):

- no statement stands behind one that never comes to an end for its roles, nor behind a repetition;
- in each branch of a choice its subject acts first, and nobody sends before it has received
  something there: until then it does not know of the choice;
- no branch is empty.

That all roles can tell the branches apart is seen when they are projected
(`pxp_fsm.plugins.scribble.projection`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from pxp_fsm.errors import Fault
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.scribble.flow import (
    END,
    Beginning,
    Branching,
    ProtocolGraph,
    Sending,
    escapes,
    roles_of,
)
from pxp_fsm.plugins.scribble.syntax import (
    Block,
    GlobalChoice,
    Interaction,
    Recursion,
    Repeat,
    Statement,
    fault_at,
)


def faults_of_form(
    filename: str, body: Block, flow: ProtocolGraph, roles: frozenset[str]
) -> list[Fault]:
    """Every fault of a protocol whose calls are written out; the later checks need the earlier."""
    faults = [*_empty(filename, body), *_unreachable(filename, body)]
    return faults or _Knowledge(filename, flow).faults(roles)


def _empty(filename: str, block: Block) -> Iterator[Fault]:
    for statement in block:
        if isinstance(statement, Recursion):
            yield from _empty(filename, statement.body)
        if isinstance(statement, GlobalChoice):
            for branch in statement.branches:
                if not branch:
                    chooser = statement.subject
                    message = f"a branch of the choice at {chooser} is empty; let it send something"
                    yield fault_at(filename, statement.at, message)
                yield from _empty(filename, branch)


def _unreachable(filename: str, block: Block) -> Iterator[Fault]:
    for place, statement in enumerate(block):
        rest = block[place + 1 :]
        blocks = [statement.body] if isinstance(statement, Recursion) else []
        blocks += statement.branches if isinstance(statement, GlobalChoice) else ()
        for inner in blocks:
            yield from _unreachable(filename, inner)
        if not rest:
            continue
        roles = roles_of((statement,))
        if escapes(statement, frozenset()):
            message = "it cannot be reached: a statement before it goes back to the beginning"
            yield fault_at(filename, rest[0].at, message)
        elif not _ends(statement):
            for later in rest:
                if roles & roles_of((later,)) or (roles and isinstance(later, Repeat)):
                    message = "it cannot be reached: a statement before it never ends"
                    yield fault_at(filename, later.at, message)
                    break


def _ends(statement: Statement) -> bool:
    """Whether a statement can come to its end."""
    match statement:
        case Interaction():
            return True
        case Recursion():
            return all(map(_ends, statement.body))
        case GlobalChoice():
            return any(all(map(_ends, branch)) for branch in statement.branches)
    return False


@dataclass
class _Knowledge:
    """Who knows of a choice: the subject, and who has received something from one who knows."""

    filename: str
    flow: ProtocolGraph
    found: dict[tuple[object, str], Fault] = field(default_factory=dict)
    known: dict[int, frozenset[str] | None] = field(default_factory=dict)

    def faults(self, roles: frozenset[str]) -> list[Fault]:
        self._walk(self.flow.start, roles, END)
        return list(self.found.values())

    def _walk(self, node: int, knowing: frozenset[str], stop: int) -> frozenset[str] | None:
        """Who knows when the way from a node comes to `stop`; None where it does not come there.

        The way may leave the branch by a repetition: who then acts must know, too.
        """
        seen = set[tuple[int, frozenset[str]]]()
        while node != stop and (node, knowing) not in seen:
            seen.add((node, knowing))
            if node == END:
                return None
            reached = self.flow.nodes[node]
            match reached:
                case Sending(_, sender, receiver, after, at):
                    if sender not in knowing:
                        message = f"{sender} sends before it can know which branch was chosen"
                        self.found.setdefault((at, sender), fault_at(self.filename, at, message))
                    knowing, node = knowing | {receiver}, after
                case Beginning(body, _, _, _):
                    node = body
                case Branching(subject, _, after, at):
                    if subject not in knowing:
                        message = f"{subject} decides before it can know which branch was chosen"
                        self.found.setdefault((at, subject), fault_at(self.filename, at, message))
                    everywhere = self._after(node, reached)
                    if everywhere is None:
                        return None
                    knowing, node = knowing | everywhere, after
        return knowing if node == stop else None

    def _after(self, node: int, branching: Branching) -> frozenset[str] | None:
        """Who knows after a choice, whatever was chosen; None where no branch comes to its end.

        While the branches are looked at, a way that comes back to the choice adds nothing.
        """
        if node not in self.known:
            self.known[node] = frozenset()
            ways = [
                self._walk(branch, frozenset([branching.subject]), branching.after)
                for branch in branching.branches
            ]
            ending = [way for way in ways if way is not None]
            self.known[node] = frozenset.intersection(*ending) if ending else None
        return self.known[node]
