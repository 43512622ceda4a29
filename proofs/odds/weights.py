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
from proofs.odds.chain import Chain, Conclusion, Draw, chain

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
        found = {
            target: tuple((weights[key], states) for key, states in each if key in weights)
            for target, each in built.gathered[stage][speaker].items()
        }
        return {target: terms for target, terms in found.items() if terms}

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
    tables = {draw: (_cells(players, draw), _cells(further, draw)) for draw in drawn}
    scales = [
        lcm(
            *(
                value.denominator
                for draw, pair in tables.items()
                if draw.agent == agent
                for cells in pair
                for value in cells.values()
            )
        )
        for agent in (0, 1)
    ]

    def weigh(draw: Draw, cells: frozenset[Cell]) -> R | None:
        low, high = (
            int(sum((shares[cell] for cell in cells), Fraction(0)) * scales[draw.agent])
            for shares in tables[draw]
        )
        return element(low, high - low) if low or high else None

    return weighed(built, weigh, (scales[0] * factor, scales[1] * factor))


def fixed(players: Players) -> Weighted[int]:
    """The chain of players whose every parameter is given."""
    return spanned(players, players, lambda constant, _slope: constant)


def _cells(players: Players, draw: Draw) -> dict[Cell, Fraction]:
    return players[draw.agent].answering(draw.received).cells()
