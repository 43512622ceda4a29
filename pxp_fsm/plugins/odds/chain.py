"""INTERACT as a Markov chain: the checked model, with random judgements.

Every move is taken by `SessionModel.answering`, which is what `pxp check` explores: the category
and the tag come from the protocol's decision functions, the rows from its table. A number decides
nothing but j > k (claim `interact.decides-as-written`, for all n, k and j) and the end at n, so the
chain has two stages, each the same at every message; the bound is not part of it. States that
nothing asked here can tell apart are one: the coarsest such partition is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from math import lcm
from typing import Generic, NamedTuple, TypeVar

from proofs.sessions.model import SentSoFar, SessionModel, SessionState, tag_of
from proofs.sessions.relational import EMPTY, Said, Theory
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds.behaviour import Cell, Player
from pxp_fsm.protocol.decisions import Category, Guard
from pxp_fsm.protocol.relations import NOISY
from pxp_fsm.protocol.rules import Ending, Interact

EARLY, LATE = 0, 1
"""The stages: messages up to k, and after it."""

ENDLESS = "endless"
"""Where there is no bound: a session that never ends."""


class Classes(NamedTuple):
    """What a session is for one agent: `pxp_fsm.protocol.intelligibility` of what it has sent."""

    one_way: bool
    one_way_any: bool
    strong: bool
    ultra_strong: bool


def classes(sent: SentSoFar) -> Classes:
    """The classes of an agent that has sent this."""
    strong = sent.accepted and sent.only_accepted
    return Classes(
        sent.accepted and not sent.rejected, sent.accepted, strong, strong and sent.revised
    )


class Conclusion(NamedTuple):
    """What a session comes to: why it is over, and its classes for m and for h."""

    ending: str
    classes: tuple[Classes, Classes]


class Draw(NamedTuple):
    """Who draws, and the tag that it answers, "" where its behaviour does not go by that."""

    agent: int
    received: str


class Branch(NamedTuple):
    """The outcomes of a draw that send `tag`, and where they lead: a state's place, or a result."""

    draw: Draw
    cells: frozenset[Cell]
    tag: str
    target: int | Conclusion


Gathered = Mapping[
    "int | Conclusion", tuple[tuple[tuple[Draw, frozenset[Cell]], tuple[int, ...]], ...]
]
"""For each target the draws, with their outcomes, that lead to it, and from which states."""


@dataclass(frozen=True)
class Chain:
    """The chain after message 1: `moves[stage][state]`; states are numbered from 0, the start.

    `speakers` says who sends next, `bounds` what a session comes to that the bound ends there.
    """

    moves: tuple[tuple[tuple[Branch, ...], ...], tuple[tuple[Branch, ...], ...]]
    speakers: tuple[int, ...]
    bounds: tuple[Conclusion, ...]

    @cached_property
    def gathered(self) -> tuple[tuple[Gathered, Gathered], tuple[Gathered, Gathered]]:
        """For each stage and speaker, what leads to each target: draws, and the states they are in.

        A draw with its outcomes is one entry, in however many states it is made.
        """
        (early_m, early_h), (late_m, late_h) = (
            tuple(self._gathered(stage, speaker) for speaker in (0, 1)) for stage in (EARLY, LATE)
        )
        return (early_m, early_h), (late_m, late_h)

    @cached_property
    def draws(self) -> frozenset[tuple[Draw, frozenset[Cell]]]:
        """Every draw with its outcomes that is the same move."""
        moves = (
            move for stage in self.moves for moves_of_state in stage for move in moves_of_state
        )
        return frozenset((move.draw, move.cells) for move in moves)

    def _gathered(self, stage: int, speaker: int) -> Gathered:
        by_target: dict[int | Conclusion, dict[tuple[Draw, frozenset[Cell]], list[int]]] = {}
        for state, moves in enumerate(self.moves[stage]):
            if self.speakers[state] == speaker:
                for move in moves:
                    states = by_target.setdefault(move.target, {})
                    states.setdefault((move.draw, move.cells), []).append(state)
        return {
            target: tuple((key, tuple(states)) for key, states in by.items())
            for target, by in by_target.items()
        }

    def stages(self, n: int, k: int) -> tuple[tuple[int, int], ...]:
        """Stage and number of messages of each part of a session after message 1, in order."""
        early = max(0, min(n, k) - 1)
        return (EARLY, early), (LATE, n - 1 - early)


_Histories = tuple[SentSoFar, SentSoFar]


class _Node(NamedTuple):
    """Who sends next, the state without its number, and what each agent has sent."""

    speaker: int
    state: SessionState
    sent: _Histories


@cache
def chain(contexts: frozenset[Draw] = frozenset()) -> Chain:
    """The chain of INTERACT for behaviours that go by the tags in `contexts`."""
    k = 3  # so that messages 2 and 3 are early, 4 and 5 late
    model = SessionModel(Interact(n=6, k=k), Theory(NOISY), observes=False)
    first = next(iter(model.initial()))
    start = next(iter(model.successors(first))).target
    nodes, moves = _explored(model, _Node(1, _plain(start, 1), start.history), contexts)
    return _quotient(nodes, moves, _partition(nodes, moves))


_ByGuard = list[tuple[frozenset[Cell], tuple[Said, Said]]]
_Moves = tuple[tuple[Branch, ...], tuple[Branch, ...]]
"""What follows a state in either stage; targets are places of states, or results."""


def _plain(state: SessionState, speaker: int) -> SessionState:
    """The state without what decides nothing of `speaker`'s message, nor of any after it.

    That is its number, how the latest values are related, and the speaker's own latest tag.
    """
    _, at, (first, second), _, _, history, loops, over = state
    tags = (first, "") if speaker else ("", second)
    return SessionState(0, at, tags, EMPTY, EMPTY, history, loops, over)


def _explored(
    model: SessionModel, start: _Node, contexts: frozenset[Draw]
) -> tuple[list[_Node], list[_Moves]]:
    """Every state that can be reached, the start first, and what follows each.

    What the agents have sent decides nothing of a move. So the model, which does not observe it, is
    asked once for all states that differ in that alone.
    """
    nodes, places, followed = [start], {start: 0}, list[_Moves]()
    guards = {number: _by_guard(model, number) for number in (2, 3, 4, 5)}

    @cache
    def followers(
        speaker: int, state: SessionState, stage: int
    ) -> list[tuple[frozenset[Cell], str, SessionState]]:
        number = (2 if speaker else 3) + 2 * stage  # one of this stage at which `speaker` sends
        before = SessionState(number - 1, *state[1:])
        steps = ((cells, model.answering(before, *judged)) for cells, judged in guards[number])
        return [(cells, tag_of(step), _plain(step.target, 1 - speaker)) for cells, step in steps]

    def place(node: _Node) -> int:
        if node not in places:
            places[node] = len(nodes)
            nodes.append(node)
        return places[node]

    def moves(node: _Node, stage: int) -> tuple[Branch, ...]:
        speaker, state, sent = node
        draw = Draw(speaker, state.tags[1 - speaker])
        draw = draw if draw in contexts else Draw(speaker, "")
        targets: dict[tuple[str, int | Conclusion], frozenset[Cell]] = {}
        for cells, tag, after in followers(speaker, state, stage):
            history = _sent(sent, speaker, tag)
            over = _result(after.over, history) if after.over else None
            key = tag, over or place(_Node(1 - speaker, after, history))
            targets[key] = targets.get(key, frozenset()) | cells
        return tuple(Branch(draw, cells, tag, target) for (tag, target), cells in targets.items())

    for node in nodes:  # which grows
        followed.append((moves(node, EARLY), moves(node, LATE)))
    return nodes, followed


def _sent(before: _Histories, speaker: int, tag: str) -> _Histories:
    """What the agents have sent after `speaker` sent `tag`, "" where the tables do not allow it."""
    if not tag:
        return before
    initiator, responder = before
    if speaker:
        return initiator, responder.and_then(tag)
    return initiator.and_then(tag), responder


def _by_guard(model: SessionModel, number: int) -> _ByGuard:
    """The cells that make a guard true at a message, by that guard, with the judgements of one."""
    by_guard: dict[Guard, dict[Cell, tuple[Said, Said]]] = {}
    for cell, judged in _JUDGED.items():
        by_guard.setdefault(model.guard(number, *judged), {})[cell] = judged
    return [(frozenset(cells), next(iter(cells.values()))) for cells in by_guard.values()]


def _judged(cell: Cell) -> tuple[Said, Said]:
    """What MATCH and AGREE say of a cell: of what was received, and of one's own new answer."""
    held = not cell.revises
    y = cell.category in (Category.A, Category.B)
    return (y, held), (cell.category in (Category.A, Category.C), held)


_JUDGED = {
    cell: _judged(cell)
    for cell in (Cell(category, revises) for category in Category for revises in (True, False))
}


def _result(ending: str, sent: _Histories) -> Conclusion:
    left, right = map(classes, sent)
    return Conclusion(ending, (left, right))


def _partition(nodes: Sequence[_Node], moves: Sequence[_Moves]) -> list[int]:
    """The block of each state, in the coarsest partition whose blocks cannot be told apart.

    It is refined until it is stable. The start is the first state, so its block is number 0.
    """

    def numbered(keys: Iterable[Hashable]) -> list[int]:
        numbers: dict[Hashable, int] = {}
        return [numbers.setdefault(key, len(numbers)) for key in keys]

    blocks = numbered((node.speaker, _result("", node.sent)) for node in nodes)
    while True:
        refined = numbered(
            (block, *(frozenset(_led(branch, blocks) for branch in stage) for stage in following))
            for block, following in zip(blocks, moves, strict=True)
        )
        if max(refined) == max(blocks):
            return refined
        blocks = refined


def _led(branch: Branch, blocks: Sequence[int]) -> Branch:
    """The branch with the block that it leads to, for the state."""
    draw, cells, tag, target = branch
    return branch if isinstance(target, Conclusion) else Branch(draw, cells, tag, blocks[target])


def _quotient(nodes: Sequence[_Node], moves: Sequence[_Moves], blocks: Sequence[int]) -> Chain:
    firsts = [blocks.index(block) for block in range(max(blocks) + 1)]
    early, late = (
        tuple(tuple(_led(branch, blocks) for branch in moves[first][stage]) for first in firsts)
        for stage in (EARLY, LATE)
    )
    return Chain(
        (early, late),
        tuple(nodes[first].speaker for first in firsts),
        tuple(_result(Ending.BOUND, nodes[first].sent) for first in firsts),
    )


R = TypeVar("R")

Players = tuple[Player, Player]
"""The initiator m and the responder h."""

LENGTH = "length"
"""Where the expected number of messages is added up, beside the results."""

Target = int | Conclusion


@dataclass(frozen=True)
class Weighted(Generic[R]):
    """A chain and what its moves weigh.

    `into[stage][speaker]` has for each target its weights, each with the states that it comes from.
    `scales` are the denominators of m and h: weights are numerators over them.
    """

    chain: Chain
    into: tuple[tuple[_Into[R], _Into[R]], tuple[_Into[R], _Into[R]]]
    scales: tuple[int, int]


_Into = Mapping[Target, tuple[tuple[R, tuple[int, ...]], ...]]


def draws(players: Players) -> frozenset[Draw]:
    """The tags that the players' behaviours go by."""
    return frozenset(
        Draw(agent, tag) for agent, player in enumerate(players) for tag in player.after
    )


def weighed(
    built: Chain, weigh: Callable[[Draw, frozenset[Cell]], R | None], scales: tuple[int, int]
) -> Weighted[R]:
    """The chain whose moves weigh what `weigh` says of who draws what; None is nothing."""
    weights = {key: weight for key in built.draws if (weight := weigh(*key)) is not None}

    def into(stage: int, speaker: int) -> _Into[R]:
        by_target = {
            target: tuple((weights[key], states) for key, states in weighted if key in weights)
            for target, weighted in built.gathered[stage][speaker].items()
        }
        return {target: terms for target, terms in by_target.items() if terms}

    return Weighted(built, ((into(0, 0), into(0, 1)), (into(1, 0), into(1, 1))), scales)


def spanned(
    players: Players, further: Players, element: Callable[[int, int], R], factor: int = 1
) -> Weighted[R]:
    """The chain of players who differ in one parameter, between 0 (`players`) and 1 (`further`).

    `element(c, s)` makes the weight that is c with the parameter at 0 and c + s with it at 1, both
    over the agent's denominator, times `factor`.
    """
    built = chain(draws(players))
    drawn = {draw for draw, _ in built.draws}
    ends = (players,) if further is players else (players, further)
    tables = {draw: [_cells(end, draw) for end in ends] for draw in drawn}
    scales = [
        lcm(
            *(
                value.denominator
                for draw, shares in tables.items()
                if draw.agent == agent
                for cells in shares
                for value in cells.values()
            )
        )
        for agent in (0, 1)
    ]

    def weigh(draw: Draw, cells: frozenset[Cell]) -> R | None:
        weights = [
            int(sum((shares[cell] for cell in cells), Fraction(0)) * scales[draw.agent])
            for shares in tables[draw]
        ]
        low, high = weights[0], weights[-1]
        return element(low, high - low) if low or high else None

    return weighed(built, weigh, (scales[0] * factor, scales[1] * factor))


def fixed(players: Players) -> Weighted[int]:
    """The chain of players whose every parameter is given."""
    return spanned(players, players, lambda constant, _slope: constant)


def _cells(players: Players, draw: Draw) -> dict[Cell, Fraction]:
    return players[draw.agent].answering(draw.received).cells()
