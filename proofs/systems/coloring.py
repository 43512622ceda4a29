"""The truth of a formula's parts along a path of a system."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from proofs.core.explore import explore
from proofs.core.limits import Effort
from proofs.logic.checking import FormulaChecker
from proofs.logic.explanations import explain
from proofs.logic.formulas import (
    FALSE,
    TRUE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Past,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    atoms,
    parts,
    path_parts,
)
from proofs.logic.graph import graph_of
from proofs.logic.parsing import unknown
from proofs.systems.paths import check_cycle
from proofs.systems.product import Composition
from proofs.systems.propositions import NotedState, Noting, describe, named, vocabulary
from pxp_fsm.errors import Refused
from pxp_fsm.lazy_dataclasses import dataclass

Values = dict[Formula, tuple[bool, ...]]
"""By part of a formula: whether it holds at each state of a run."""


def values_along(
    formula: Formula, length: int, cycle: int, holds: Callable[[Formula, int], bool]
) -> Values:
    """Whether each part of `formula` holds at each of the `length` states of a run.

    The last `cycle` states repeat for ever; with 0 the run ends at its last state. `holds` says of
    atoms, and of what begins with E, whether they hold at a place (from 0). A part is given after
    those that it is made of.
    """
    truth: Values = {}
    # What has been differs from round to round of the cycle, until each past operator has settled.
    rounds = cycle and sum(isinstance(part, Past) for part in parts(formula))
    whole = length + rounds * cycle
    after = [*range(1, whole), whole - cycle if cycle else whole]

    def there(part: Formula, place: int) -> bool:
        return holds(part, place if place < length else length - cycle + (place - length) % cycle)

    for part in parts(formula):
        truth[part] = _values(part, after, truth, there)
    return {part: values[:length] for part, values in truth.items()}


def _values(  # noqa: PLR0911, PLR0912 - a case for each kind of formula
    part: Formula, after: Sequence[int], known: Values, holds: Callable[[Formula, int], bool]
) -> tuple[bool, ...]:
    places, end = range(len(after)), len(after)
    match part:
        case Truth(constant):
            return tuple(constant for _ in places)
        case Atom() | Exists():
            return tuple(holds(part, place) for place in places)
        case Not(of):
            return tuple(not value for value in known[of])
        case And(left, right):
            return tuple(a and b for a, b in zip(known[left], known[right], strict=True))
        case Or(left, right):
            return tuple(a or b for a, b in zip(known[left], known[right], strict=True))
        case Next(of):
            return tuple(then < end and known[of][then] for then in after)
        case WeakNext(of):
            return tuple(then == end or known[of][then] for then in after)
        case Yesterday(of):
            return (False, *known[of][:-1])
        case WeakYesterday(of):
            return (True, *known[of][:-1])
        case Since(left, right):
            return _remembered(known[left], known[right], since=True)
        case Triggered(left, right):
            return _remembered(known[left], known[right], since=False)
        case Until(left, right):
            return _fixpoint(after, known[left], known[right], least=True)
        case Release(left, right):
            return _fixpoint(after, known[left], known[right], least=False)


def _remembered(left: Sequence[bool], right: Sequence[bool], *, since: bool) -> tuple[bool, ...]:
    """S and T at each place, from the place before."""
    remembered, before = list[bool](), not since
    for holds, other in zip(left, right, strict=True):
        before = other or (holds and before) if since else other and (holds or before)
        remembered.append(before)
    return tuple(remembered)


def _fixpoint(
    after: Sequence[int], left: Sequence[bool], right: Sequence[bool], *, least: bool
) -> tuple[bool, ...]:
    """U is the least solution of its expansion, R the greatest; two rounds reach it on a lasso."""
    solution = [not least] * (len(after) + 1)
    for _ in range(2):
        for place in reversed(range(len(after))):
            then = solution[after[place]]
            if least:
                solution[place] = right[place] or (left[place] and then)
            else:
                solution[place] = right[place] and (left[place] or then)
    return tuple(solution[:-1])


_PLAIN = re.compile(r"(?!(true|false|[AE]?[GFXN]|[AEURWMYZOHST])\b)[A-Za-z0-9_][A-Za-z0-9_@.:?]*")


def text_of(formula: Formula) -> str:  # noqa: PLR0911, PLR0912 - a case for each kind of formula
    """`formula` as text that `parse` reads as the same formula.

    >>> from proofs.logic import parse
    >>> text_of(parse("A G (1.INIT -> F ended)"))
    'A (G (!1.INIT | F ended))'
    """
    match formula:
        case Truth(constant):
            return "true" if constant else "false"
        case Atom(name):
            return name if _PLAIN.fullmatch(name) else f'"{name}"'
        case Not(Exists(Not(path))):
            return f"A {_inner(path)}"
        case Not(of):
            return f"!{_inner(of)}"
        case Until(left, right) if left == TRUE:
            return f"F {_inner(right)}"
        case Release(left, right) if left == FALSE:
            return f"G {_inner(right)}"
        case Since(left, right) if left == TRUE:
            return f"O {_inner(right)}"
        case Triggered(left, right) if left == FALSE:
            return f"H {_inner(right)}"
        case Yesterday(of):
            return f"Y {_inner(of)}"
        case WeakYesterday(of):
            return f"Z {_inner(of)}"
        case Next(of):
            return f"X {_inner(of)}"
        case WeakNext(of):
            return f"N {_inner(of)}"
        case Exists(path):
            return f"E {_inner(path)}"
        case And(left, right):
            return f"{_inner(left)} & {_inner(right)}"
        case Or(left, right):
            return f"{_inner(left)} | {_inner(right)}"
        case Until(left, right):
            return f"{_inner(left)} U {_inner(right)}"
        case Release(left, right):
            return f"{_inner(left)} R {_inner(right)}"
        case Since(left, right):
            return f"{_inner(left)} S {_inner(right)}"
        case Triggered(left, right):
            return f"{_inner(left)} T {_inner(right)}"


def _inner(formula: Formula) -> str:
    text = text_of(formula)
    return text if isinstance(formula, Atom | Truth) else f"({text})"


@dataclass(frozen=True, slots=True)
class FormulaPart:
    """A part of a formula, what it says, and whether it holds at each state of a path."""

    text: str
    words: str
    values: tuple[bool, ...]


def color(
    composition: Composition,
    formula: Formula,
    choices: Sequence[int],
    cycle: int,
    effort: Effort,
) -> tuple[FormulaPart, ...]:
    """Whether each part of `formula` holds at each state of a path, the whole formula first.

    The path is read as a run: it ends at its last state, or its last `cycle` steps repeat for ever.
    What begins with A or E is decided over all states, with at most `effort.states` nodes: states,
    times what each A or E has to remember of a run. Raises `Refused` for a path that the system
    does not have, `UsageError` for an unknown proposition, `TooLarge` where `effort` does not
    suffice.
    """
    names = set(atoms(formula))
    known = vocabulary(composition, names)
    if names - known:
        raise unknown(names - known, known, "there is no")
    noting = Noting(composition, names)
    run = _noted(noting, choices)
    check_cycle([noted_state.state for noted_state in run], cycle)
    checker, numbers = None, dict[NotedState, int]()
    nodes = sum(map(_nodes, parts(formula)))
    if nodes:
        less = replace(effort, states=effort.states // nodes)
        space = explore(noting, effort=less)
        numbers = {state: number for number, state in enumerate(space.steps)}
        checker = FormulaChecker(graph_of(noting, space, vocabulary=known))

    def holds(part: Formula, place: int) -> bool:
        if isinstance(part, Atom):
            return part.name in noting.propositions(run[place])
        assert checker is not None  # noqa: S101 - there is one where a part begins with E
        return bool(checker.holds(part)[numbers[run[place]]])

    truth = values_along(formula, len(run), cycle, holds)
    shown = [part for part in reversed(truth) if not isinstance(part, Truth)]
    words = partial(describe, named(composition), composition)
    return tuple(FormulaPart(text_of(part), explain(part, words), truth[part]) for part in shown)


def _nodes(part: Formula) -> int:
    """How many nodes a state can have in the product for what begins with A or E."""
    if not isinstance(part, Exists):
        return 0
    temporal = (Next, WeakNext, Until, Release)
    return 1 << sum(isinstance(child, temporal) for child in path_parts(part.path))


def _noted(noting: Noting, choices: Sequence[int]) -> list[NotedState]:
    (state,) = noting.initial()
    noted = [state]
    for choice in choices:
        moves = noting.composition.moves(state.state)
        if not 0 <= choice < len(moves):
            raise Refused(f"there is no move {choice} in step {len(noted)} of the trace")
        move = moves[choice]
        state = NotedState(state.state + move.difference, noting.latest(move))
        noted.append(state)
    return noted
