"""Proof obligations of an inductive invariant for a claim, and where one fails.

Each check takes an invariant and gives None, or the `Obstacle` at which the induction fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from proofs.induction.invariants import Invariant, InvariantEdge, InvariantNode
from proofs.induction.numbers import Whole
from proofs.sessions.model import AGENTS, session
from pxp_fsm.automata.actions import Say
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.protocol.intelligibility import STRONG, ULTRA_STRONG
from pxp_fsm.protocol.messages import Tag

Ranking = tuple[tuple[str, int], ...]
"""A linear ranking function: names with factors; the name "" is the constant."""

RATIFIED = session(Tag.INIT, Tag.RATIFY, Tag.RATIFY)
"""The session that is ratified at once."""

REPLIES: dict[str, frozenset[str]] = {
    "INIT": frozenset({"RATIFY", "REFUTE", "REVISE", "REJECT"}),
    "RATIFY": frozenset({"RATIFY"}),
    "REFUTE": frozenset({"REFUTE", "REVISE", "REJECT"}),
    "REVISE": frozenset({"RATIFY"}),
    "REJECT": frozenset({"REJECT"}),
}
"""PXP's replies under equivalence, TERM aside (arXiv 2301.01819, Prop. 5; REFUTE's are ours)."""

Check = Callable[[Invariant], "Obstacle | None"]


@dataclass(frozen=True)
class Obstacle:
    """Where an induction fails: from `source`, by `step`, to `target`; one node alone if no step.

    The node may stand for no session at all: this is no counterexample.
    """

    source: str
    step: str = ""
    target: str = ""

    def __str__(self) -> str:
        if not self.step:
            return f"not inductive: nothing excludes {self.source}"
        return f"not inductive: from {self.source}, by {self.step}, to {self.target}"


def described(node: InvariantNode) -> str:
    """A node in words."""
    state = node.state
    parts = [f"({', '.join(state.at)})", f"sent {', '.join(node.region[1:])}"]
    parts += [f"{a} said {t}" for a, t in zip(AGENTS, state.tags, strict=True) if str(t) not in "-"]
    if node.said:
        parts.append(f"session {', '.join(map(str, node.said))}")
    return " ".join(parts) + (f", over: {state.over}" if state.over else "")


def no_node(bad: Callable[[Invariant, InvariantNode], bool]) -> Check:
    """No node is `bad`."""

    def check(invariant: Invariant) -> Obstacle | None:
        found = next((node for node in invariant.nodes if bad(invariant, node)), None)
        if found is None:
            return None
        into = next((m for m in invariant.edges if m.target in {found}), None)
        return _at(into) if into else Obstacle(described(found))

    return check


def no_edge(bad: Callable[[Invariant, InvariantEdge], bool]) -> Check:
    """No move is `bad`."""

    def check(invariant: Invariant) -> Obstacle | None:
        return next((_at(move) for move in invariant.edges if bad(invariant, move)), None)

    return check


def _at(move: InvariantEdge) -> Obstacle:
    where = " and ".join(map(str, move.case))
    action = "nothing is possible" if move.action is None else str(move.action)
    step = f"{action} (where {where})" if where else action
    return Obstacle(described(move.source), step, described(move.target))


def ranked(ranking: Ranking) -> Check:
    """Each message makes the ranking smaller by at least 1, and it is never less than 0 after."""

    def bad(invariant: Invariant, move: InvariantEdge) -> bool:
        numbers, values = invariant.numbers, dict(move.values)
        rank = Whole(numbers.anything, (), 0)
        for name, factor in ranking:
            rank = rank + (factor * numbers.named(name) if name else factor)
        down = (-rank).at_most(0).after(values), (rank - 1).at_most(0)
        after = Whole(numbers.anything, down[0].terms, down[0].constant)
        return not (
            numbers.follows(move.case, down[0])
            and numbers.follows(move.case, (-after + 1).at_most(rank))
        )

    return no_edge(bad)


def _tag(move: InvariantEdge) -> str:
    return move.action.tag if isinstance(move.action, Say) else ""


def rejects_early(invariant: Invariant, move: InvariantEdge) -> bool:
    """REJECT is sent at some j <= k."""
    number = dict(move.values).get("sent", 0)
    k = invariant.numbers.named("k")
    return _tag(move) == Tag.REJECT and not invariant.numbers.follows(
        move.case, (k + 1).at_most(number)
    )


def revises_second(invariant: Invariant, move: InvariantEdge) -> bool:
    """REVISE is message 2."""
    second = invariant.numbers.named("sent").equals(1)
    return _tag(move) == Tag.REVISE and invariant.numbers.possible((*move.case, second))


def speaks_after(invariant: Invariant, node: InvariantNode) -> bool:
    """The session is over, yet a table is not at its end, or sends something there."""
    return (
        bool(node.state.over)
        and node.state.over != "stuck"
        and not all(
            at in table.final and not any(row.kind is Kind.SEND for row in table.leaving(at))
            for table, at in zip(invariant.tables, node.state.at, strict=True)
        )
    )


def _room_for_three(invariant: Invariant, node: InvariantNode) -> bool:
    n = invariant.numbers.named("n")
    return invariant.numbers.possible((*invariant.given(node.region), (3 - n).at_most(0)))


def unanswered(invariant: Invariant) -> Obstacle | None:
    """After INIT, RATIFY the session goes on (n >= 3), and RATIFY ends it."""
    answered = no_edge(
        lambda _, m: (
            m.source.said == RATIFIED[:2]
            and (m.action != RATIFIED[2] or m.target.state.over != "ratified")
        )
    )
    ended = no_node(
        lambda i, n: n.said == RATIFIED[:2] and bool(n.state.over) and _room_for_three(i, n)
    )
    return answered(invariant) or ended(invariant)


def strong_otherwise(invariant: Invariant, node: InvariantNode) -> bool:
    """The responder is Strong at the end of another session than the one ratified at once."""
    strong = bool(node.state.over) and STRONG.holds(node.replied or frozenset())
    return strong and node.said != RATIFIED and _room_for_three(invariant, node)


def ultra_strong(_: Invariant, node: InvariantNode) -> bool:
    """The responder is Ultra-Strong at the end."""
    return bool(node.state.over) and ULTRA_STRONG.holds(node.replied or frozenset())


def deadlock(_: Invariant, node: InvariantNode) -> bool:
    """The rules demand what the tables do not allow, or nothing is possible."""
    return node.state.over == "stuck"


def loops_on(invariant: Invariant, node: InvariantNode) -> bool:
    """Some self-loop of PXP(k) was taken more than k times."""
    k, named = invariant.numbers.named("k"), invariant.numbers.named
    given = invariant.given(node.region)
    return any(
        invariant.numbers.possible((*given, (k + 1).at_most(named(tag)))) for tag in invariant.loops
    )


def tags_are(sequence: tuple[Say, ...]) -> Check:
    """The session so far is `sequence`; it must be watched for."""
    return no_node(lambda _, node: node.said == sequence)


def disagree(_: Invariant, node: InvariantNode) -> bool:
    """After two RATIFYs the last answers do not match, or do not agree."""
    data = (node.state.predictions, node.state.explanations)
    return node.state.over == "ratified" and not all((0, 1) in d.left for d in data)


def replies_beyond(tag: str) -> Check:
    """Every answer to `tag` is one of `REPLIES`, or TERM."""
    return no_edge(lambda _, m: _received(m) == tag and _tag(m) not in REPLIES[tag] | {Tag.TERM})


def answers(received: str, tag: str) -> Callable[[Invariant, InvariantEdge], bool]:
    """`received` is answered by `tag`."""
    return lambda _, move: (_received(move), _tag(move)) == (received, tag)


def _received(move: InvariantEdge) -> str:
    """The tag that a move answers."""
    if move.action is None:
        return ""
    return str(move.source.state.tags[1 - AGENTS.index(move.action.agent)])


def replies(invariant: Invariant) -> dict[str, frozenset[str]]:
    """For each tag, the answers to it that the invariant does not exclude, TERM aside."""
    found: dict[str, set[str]] = {}
    for move in invariant.edges:
        received = _received(move)
        if received and _tag(move) != Tag.TERM:
            found.setdefault(received, set()).add(_tag(move))
    return {tag: frozenset(answers) for tag, answers in found.items()}


def endless(invariant: Invariant) -> Obstacle | None:
    """A step of the finite part that can be taken again and again, if there is one."""
    reached = {node: [move.target for move in moves] for node, moves in invariant.nodes.items()}
    try:
        TopologicalSorter(reached).prepare()
    except CycleError as error:
        last, node = error.args[1][1], error.args[1][0]  # each is in what the next one leads to
        moves = (*invariant.nodes[node], *invariant.nodes[last])
        return next(_at(move) for move in moves if {move.source, move.target} == {node, last})
    return None
