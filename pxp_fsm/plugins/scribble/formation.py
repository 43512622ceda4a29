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
from dataclasses import dataclass, field

from pxp_fsm.errors import Fault
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
    found = [*_empty(filename, body), *_unreachable(filename, body)]
    return found or _Knowledge(filename, flow).faults(roles)


def _empty(filename: str, block: Block) -> Iterator[Fault]:
    for one in block:
        if isinstance(one, Recursion):
            yield from _empty(filename, one.body)
        if isinstance(one, GlobalChoice):
            for branch in one.branches:
                if not branch:
                    said = (
                        f"a branch of the choice at {one.subject} is empty; let it send something"
                    )
                    yield fault_at(filename, one.at, said)
                yield from _empty(filename, branch)


def _unreachable(filename: str, block: Block) -> Iterator[Fault]:
    for place, one in enumerate(block):
        rest = block[place + 1 :]
        blocks = [one.body] if isinstance(one, Recursion) else []
        blocks += one.branches if isinstance(one, GlobalChoice) else ()
        for inner in blocks:
            yield from _unreachable(filename, inner)
        if not rest:
            continue
        roles = roles_of((one,))
        if escapes(one, frozenset()):
            said = "it cannot be reached: a statement before it goes back to the beginning"
            yield fault_at(filename, rest[0].at, said)
        elif not _ends(one):
            for later in rest:
                if roles & roles_of((later,)) or (roles and isinstance(later, Repeat)):
                    said = "it cannot be reached: a statement before it never ends"
                    yield fault_at(filename, later.at, said)
                    break


def _ends(one: Statement) -> bool:
    """Whether a statement can come to its end."""
    match one:
        case Interaction():
            return True
        case Recursion():
            return all(map(_ends, one.body))
        case GlobalChoice():
            return any(all(map(_ends, branch)) for branch in one.branches)
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
            one = self.flow.nodes[node]
            match one:
                case Sending(_, sender, receiver, after, at):
                    if sender not in knowing:
                        said = f"{sender} sends before it can know which branch was chosen"
                        self.found.setdefault((at, sender), fault_at(self.filename, at, said))
                    knowing, node = knowing | {receiver}, after
                case Beginning(body, _, _, _):
                    node = body
                case Branching(subject, _, after, at):
                    if subject not in knowing:
                        said = f"{subject} decides before it can know which branch was chosen"
                        self.found.setdefault((at, subject), fault_at(self.filename, at, said))
                    everywhere = self._after(node, one)
                    if everywhere is None:
                        return None
                    knowing, node = knowing | everywhere, after
        return knowing if node == stop else None

    def _after(self, node: int, one: Branching) -> frozenset[str] | None:
        """Who knows after a choice, whatever was chosen; None where no branch comes to its end.

        While the branches are looked at, a way that comes back to the choice adds nothing.
        """
        if node not in self.known:
            self.known[node] = frozenset()
            ways = [
                self._walk(branch, frozenset([one.subject]), one.after) for branch in one.branches
            ]
            ending = [way for way in ways if way is not None]
            self.known[node] = frozenset.intersection(*ending) if ending else None
        return self.known[node]
