"""Paths of a system as numbers of moves, and the nearest state in which something holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from proofs.core.explore import TooLarge
from proofs.core.limits import Effort
from proofs.logic.formulas import Formula, atoms
from proofs.logic.parsing import unknown
from proofs.systems.product import Composition, Move
from proofs.systems.propositions import NotedState, Noting, is_propositional, value, vocabulary
from pxp_fsm.errors import Refused, UsageError

Choices = tuple[int, ...]
"""A path from the first state: in each state the number of the move that is taken, from 0."""


def states_along(
    composition: Composition, choices: Sequence[int], start: int | None = None
) -> tuple[int, ...]:
    """The states on a path from `start`, or the first state; `start` itself is the first of them.

    Raises `Refused` where a state has no such move.
    """
    (state,) = composition.initial() if start is None else (start,)
    states = [state]
    for number, choice in enumerate(choices, start=1):
        moves = composition.moves(state)
        if not 0 <= choice < len(moves):
            raise Refused(
                f"step {number} of the trace takes move {choice}, and there are {len(moves)} moves "
                f"there, numbered from 0; the trace is of another system"
            )
        state += moves[choice].difference
        states.append(state)
    return tuple(states)


def check_cycle(states: Sequence[int], cycle: int) -> None:
    """Raise `Refused` where the last `cycle` steps do not come back to their first state.

    `states` are those along the trace; 0 is no cycle.
    """
    begin = len(states) - 1 - cycle
    if cycle and (cycle < 0 or begin < 0 or states[begin] != states[-1]):
        raise Refused(f"the last {cycle} steps of the trace do not come back to where they begin")


def choices_of(composition: Composition, actions: Iterable[Hashable]) -> Choices:
    """The path that a sequence of actions takes; `Refused` where one cannot happen.

    >>> import pxp_fsm as pxp
    >>> (result,) = pxp.check("pxp", "G !1.TERM")
    >>> composition = Composition(pxp.System.load("pxp"))
    >>> choices_of(composition, [step.action for step in result.trace.steps])
    (1, 0)
    """
    (state,) = composition.initial()
    choices = list[int]()
    for action in actions:
        moves = composition.moves(state)
        places = (place for place, move in enumerate(moves) if move.action == action)
        place = next(places, None)
        if place is None:
            raise Refused(f"{composition.name} does not allow {action} in step {len(choices) + 1}")
        choices.append(place)
        state += moves[place].difference
    return tuple(choices)


def nearest(composition: Composition, start: int, goal: Formula, effort: Effort) -> Choices | None:
    """A shortest path of one step or more from `start` to a state in which `goal` holds.

    `goal` is propositional; what it says of a step is said of the last one. None where there is no
    such path. Raises `UsageError` for a goal with a temporal operator or an unknown proposition,
    `TooLarge` where `effort` does not suffice.
    """
    if not is_propositional(goal):
        raise UsageError(
            "a goal is a proposition of one state, without A, E, X, N, U, R, W, M, F, G"
        )
    names = set(atoms(goal))
    known = vocabulary(composition, names)
    if names - known:
        raise unknown(names - known, known, "there is no")
    noting = Noting(composition, names)

    def holds(state: int, move: Move) -> bool:
        there = noting.propositions(NotedState(state, noting.latest(move)))
        return value(goal, {name: name in there for name in names})

    return _shortest(composition, start, holds, effort)


def nearest_end(composition: Composition, start: int, effort: Effort) -> Choices | None:
    """A shortest path from `start` to a state in which nothing can happen; None if there is none.

    Raises `TooLarge` where `effort` does not suffice.
    """
    if not composition.moves(start):
        return ()
    return _shortest(composition, start, lambda state, _: not composition.moves(state), effort)


def _shortest(
    composition: Composition, start: int, wanted: Callable[[int, Move], bool], effort: Effort
) -> Choices | None:
    parents: dict[int, tuple[int, int]] = {start: (start, -1)}
    queue, depth, level = deque([start]), 0, 1
    expanded = 0
    while queue:
        if expanded == level:
            depth, level = depth + 1, len(parents)
        if not expanded & 1023 or len(parents) > effort.states:
            reason = effort.spent(len(parents), depth, len(queue))
            if reason:
                raise TooLarge(reason)
        state = queue.popleft()
        expanded += 1
        for choice, move in enumerate(composition.moves(state)):
            target = state + move.difference
            if wanted(target, move):
                return (*path_to(parents, state), choice)
            if target not in parents:
                parents[target] = (state, choice)
                queue.append(target)
    return None


def path_to(parents: dict[int, tuple[int, int]], state: int) -> Choices:
    """The path by which a search came to `state`; `parents` are states before, with their moves.

    The move that leads to the first state is -1.
    """
    choices = list[int]()
    while (step := parents[state])[1] >= 0:
        choices.append(step[1])
        state = step[0]
    return tuple(reversed(choices))
