"""The reachable states of a system as a graph whose nodes are states, or groups of states.

States are grouped up to symmetry (they differ only in which interchangeable member is where), or by
control (they differ only in what is on its way). Every state and every step is in the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from proofs.systems.paths import Choices, path_to
from proofs.systems.product import Action, Composition
from proofs.systems.symmetry import Symmetry, interchangeable
from pxp_fsm.lazy_dataclasses import dataclass


class Fold(StrEnum):
    """Which states are one node."""

    NONE = "none"
    SYMMETRY = "symmetry"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class FoldedGroup:
    """A node: the nearest of its states, how one comes to that, and how many states there are.

    `deadlocks` are those of them in which nothing can happen before every member has ended.
    """

    state: int
    choices: Choices
    size: int
    deadlocks: int


@dataclass(frozen=True, slots=True)
class Arc:
    """The steps from one group to another, by their numbers: how many, and what happens in them."""

    source: int
    target: int
    steps: int
    actions: tuple[str, ...]


@dataclass(frozen=True)
class StateGraph:
    """The states that were reached, the nearest first; `complete` where these are all there are."""

    composition: Composition
    groups: tuple[FoldedGroup, ...]
    arcs: tuple[Arc, ...]
    complete: bool
    numbers: dict[int, int]
    """The number of the group of each state."""


def folds(composition: Composition) -> tuple[Fold, ...]:
    """The ways in which states of a system can be grouped.

    >>> import pxp_fsm as pxp
    >>> [str(fold) for fold in folds(Composition(pxp.System.load("pxp", channel="fifo:1")))]
    ['none', 'symmetry', 'control']
    """
    possible = [Fold.NONE]
    if interchangeable(composition.system):
        possible.append(Fold.SYMMETRY)
    if composition.encoding.links:
        possible.append(Fold.CONTROL)
    return tuple(possible)


@dataclass(frozen=True)
class ReachedStates:
    """The states that were reached, breadth first, and the steps between them.

    `parents` has the state and the choice by which each was reached first; `deadlocks` are those in
    which nothing can happen before every member has ended. `complete` says that these are all.
    """

    composition: Composition
    parents: dict[int, tuple[int, int]]
    steps: tuple[tuple[int, int, str], ...]
    deadlocks: frozenset[int]
    complete: bool


def reach(composition: Composition, most: int) -> ReachedStates:
    """The reachable states, or the nearest `most` of them."""
    (start,) = composition.initial()
    parents: dict[int, tuple[int, int]] = {start: (start, -1)}
    order, complete = [start], True
    steps, texts = list[tuple[int, int, str]](), dict[Action, str]()
    deadlocks = set[int]()
    for state in order:  # grows while it is read
        moves = composition.moves(state)
        if not moves and not composition.ended(state):
            deadlocks.add(state)
        for choice, (action, difference, _) in enumerate(moves):
            target = state + difference
            if target not in parents:
                if len(order) == most:
                    complete = False
                    continue
                parents[target] = (state, choice)
                order.append(target)
            text = texts.get(action)
            if text is None:
                text = texts[action] = str(action)
            steps.append((state, target, text))
    return ReachedStates(composition, parents, tuple(steps), frozenset(deadlocks), complete)


def state_graph(reached: ReachedStates, fold: Fold) -> StateGraph:
    """The graph of the states that were reached.

    >>> import pxp_fsm as pxp
    >>> composition = Composition(pxp.System.load("pxp"))
    >>> reached = reach(composition, 100)
    >>> [len(state_graph(reached, fold).groups) for fold in folds(composition)]
    [9, 5]
    """
    composition = reached.composition
    key = _key(composition, fold)
    groups: dict[int, int] = {}
    numbers, first = dict[int, int](), list[int]()
    sizes, deadlocks = Counter[int](), Counter[int]()

    for state in reached.parents:
        number = numbers[state] = groups.setdefault(key(state), len(groups))
        if number == len(first):
            first.append(state)
        sizes[number] += 1
        deadlocks[number] += state in reached.deadlocks
    arcs = dict[tuple[int, int], dict[str, int]]()
    for source, target, text in reached.steps:
        arc = arcs.setdefault((numbers[source], numbers[target]), {})
        arc[text] = arc.get(text, 0) + 1
    return StateGraph(
        composition,
        tuple(
            FoldedGroup(state, path_to(reached.parents, state), sizes[number], deadlocks[number])
            for number, state in enumerate(first)
        ),
        tuple(Arc(*ends, sum(actions.values()), tuple(actions)) for ends, actions in arcs.items()),
        reached.complete,
        numbers,
    )


def _key(composition: Composition, fold: Fold) -> Callable[[int], int]:
    """What states have in common that are one node."""
    if fold is Fold.SYMMETRY:
        symmetry = Symmetry(composition)
        return lambda state: symmetry.standing_for(state)[0]
    if fold is Fold.CONTROL:
        members = sum(part.bits for part in composition.encoding.fields)
        return lambda state: state & members
    return lambda state: state
