"""The chain with weights: each move's probability, over one denominator for each agent.

Numerators are elements of a ring: integers; pairs of a value and its derivative; polynomials in
one parameter. One pass over the chain serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Generic, TypeVar

from proofs.odds.behaviour import Cell, Player
from proofs.odds.chain import Chain, Draw, Move, Result, chain
from pxp_fsm.messages import Tag

R = TypeVar("R")

Players = tuple[Player, Player]
"""The initiator m and the responder h."""

LENGTH = "length"
"""Where the expected number of messages is added up, beside the results."""

Target = int | Result


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
        Draw(agent, str(tag)) for agent, player in enumerate(players) for tag in player.after
    )


def spanned(
    players: Players, further: Players, element: Callable[[int, int], R], factor: int = 1
) -> Weighted[R]:
    """The chain of players who differ in one parameter, between 0 (`players`) and 1 (`further`).

    `element(c, s)` makes the weight that is c with the parameter at 0 and c + s with it at 1, both
    over the agent's denominator, times `factor`.
    """
    built = chain(draws(players))
    tables = [
        {draw: (_cells(players, draw), _cells(further, draw)) for draw in _all_draws(built, agent)}
        for agent in (0, 1)
    ]
    scales = [
        lcm(*(v.denominator for pair in table.values() for cells in pair for v in cells.values()))
        for table in tables
    ]

    def into(stage: int, speaker: int) -> _Into[R]:
        gathered: dict[Target, dict[tuple[int, int], list[int]]] = {}
        for state, moves in enumerate(built.moves[stage]):
            if built.speakers[state] != speaker:
                continue
            for target, weight in _row(moves, tables[speaker], scales[speaker]).items():
                gathered.setdefault(target, {}).setdefault(weight, []).append(state)
        return {
            target: tuple((element(*weight), tuple(states)) for weight, states in by.items())
            for target, by in gathered.items()
        }

    return Weighted(
        built,
        ((into(0, 0), into(0, 1)), (into(1, 0), into(1, 1))),
        (scales[0] * factor, scales[1] * factor),
    )


def fixed(players: Players) -> Weighted[int]:
    """The chain of players whose every parameter is given."""
    return spanned(players, players, lambda constant, _slope: constant)


_Table = Mapping[Draw, tuple[Mapping[Cell, Fraction], Mapping[Cell, Fraction]]]


def _row(moves: tuple[Move, ...], table: _Table, scale: int) -> dict[Target, tuple[int, int]]:
    """Where one state leads: for each target its weight with the parameter at 0, and its slope."""
    row: dict[Target, tuple[int, int]] = {}
    for move in moves:
        low, high = (
            int(sum((cells[cell] for cell in move.cells), Fraction(0)) * scale)
            for cells in table[move.draw]
        )
        constant, slope = row.get(move.target, (0, 0))
        row[move.target] = (constant + low, slope + high - low)
    return {target: weight for target, weight in row.items() if weight != (0, 0)}


def _all_draws(built: Chain, agent: int) -> set[Draw]:
    return {
        move.draw
        for stage in built.moves
        for moves in stage
        for move in moves
        if move.draw.agent == agent
    }


def _cells(players: Players, draw: Draw) -> dict[Cell, Fraction]:
    return players[draw.agent].answering(Tag(draw.received) if draw.received else "").cells()
