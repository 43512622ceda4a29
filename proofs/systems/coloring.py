"""The truth of a formula's parts along a path of a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from proofs.core.explore import explore
from proofs.core.limits import Effort
from proofs.logic.checking import Checker
from proofs.logic.formulas import (
    Atom,
    Exists,
    Formula,
    Next,
    Release,
    Truth,
    Until,
    WeakNext,
    atoms,
    parts,
)
from proofs.logic.parsing import unknown
from proofs.logic.tableau import path_parts
from proofs.logic.valuation import text_of, values_along
from proofs.systems.paths import check_cycle
from proofs.systems.product import Composition
from proofs.systems.propositions import Noted, Noting, vocabulary
from pxp_fsm.errors import Refused


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a formula, and whether it holds at each state of a path."""

    text: str
    values: tuple[bool, ...]


def color(
    composition: Composition,
    formula: Formula,
    choices: Sequence[int],
    cycle: int,
    effort: Effort,
) -> tuple[Part, ...]:
    """Whether each part of `formula` holds at each state of a path, the whole formula first.

    The path is read as a run: it ends at its last state, or its last `cycle` steps repeat for ever.
    What begins with A or E is decided over all states, with at most `effort.states` nodes: states,
    times what each A or E has to remember of a run. Raises `Refused` for a path that the system
    does not have, `UsageError` for an unknown proposition, `TooLarge` where `effort` does not
    suffice.
    """
    names, known = set(atoms(formula)), vocabulary(composition)
    if names - known:
        raise unknown(names - known, known, "there is no")
    noting = Noting(composition, names)
    run = _noted(noting, choices)
    check_cycle([one.state for one in run], cycle)
    checker, nodes = None, sum(map(_nodes, parts(formula)))
    if nodes:
        less = replace(effort, states=effort.states // nodes)
        checker = Checker(noting, explore(noting, effort=less), vocabulary=known)

    def holds(part: Formula, place: int) -> bool:
        if isinstance(part, Atom):
            return part.name in noting.propositions(run[place])
        assert checker is not None  # noqa: S101 - there is one where a part begins with E
        return checker.holds(part, run[place])

    found = values_along(formula, len(run), cycle, holds)
    shown = [part for part in reversed(found) if not isinstance(part, Truth)]
    return tuple(Part(text_of(part), found[part]) for part in shown)


def _nodes(part: Formula) -> int:
    """How many nodes a state can have in the product for what begins with A or E."""
    if not isinstance(part, Exists):
        return 0
    temporal = (Next, WeakNext, Until, Release)
    return 1 << sum(isinstance(one, temporal) for one in path_parts(part.path))


def _noted(noting: Noting, choices: Sequence[int]) -> list[Noted]:
    (state,) = noting.initial()
    found = [state]
    for choice in choices:
        moves = noting.composition.moves(state.state)
        if not 0 <= choice < len(moves):
            raise Refused(f"there is no move {choice} in step {len(found)} of the trace")
        move = moves[choice]
        state = Noted(state.state + move.difference, noting.latest(move))
        found.append(state)
    return found
