"""Symmetry of equal members: states that differ only in which of them is where are one.

Two members are interchangeable where exchanging their names changes no table: they follow the same
rows, and everybody else deals with both alike. Of all states that renaming leads to, one stands for
the others (Emerson and Sistla, Symmetry and model checking, FMSD 9, 1996). That is sound for
formulas whose propositional parts do not tell interchangeable members apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, permutations, product
from math import factorial, prod
from typing import overload

from proofs.core.explore import Step
from proofs.logic.formulas import And, Formula, Or, atoms, children
from proofs.systems.encoding import BitField
from proofs.systems.product import Action, Composition
from proofs.systems.propositions import (
    AtState,
    Empty,
    Full,
    GuardTaken,
    Has,
    NotedState,
    Noting,
    OfStep,
    Proposition,
    ReceivedTag,
    SentTag,
    is_propositional,
    named,
    value,
)
from pxp_fsm.automata.actions import Choose, Decide, External
from pxp_fsm.automata.system import System

Renaming = tuple[int, ...]
"""For each member's number the one whose place it takes."""

LARGEST_GROUP = 720
"""Up to how many renamings are all tried, where sorting the members does not settle it."""

MOST_ATOMS = 12
"""Of how many propositions the truth table of a propositional part is looked at."""


def interchangeable(system: System) -> tuple[tuple[int, ...], ...]:
    """The classes of members of which any two are interchangeable; those alone are left out."""
    classes: list[list[int]] = []
    for place in range(len(system.members)):
        for alike in classes:
            if _can_swap(system, alike[0], place):
                alike.append(place)
                break
        else:
            classes.append([place])
    return tuple(tuple(alike) for alike in classes if len(alike) > 1)


def why_not(system: System, formula: Formula | None) -> str:
    """Why symmetry cannot be used for `formula` (None: the standard checks); "" where it can."""
    classes = interchangeable(system)
    if not classes:
        return (
            "no two members are interchangeable: their tables differ, or somebody tells them apart"
        )
    if formula is None:
        return ""
    known = named(Composition(system))
    for part in _propositional(formula):
        for alike in classes:
            for first, second in pairwise(alike):
                reason = _tells_apart(system, known, part, first, second)
                if reason:
                    return reason
    return ""


class Symmetry:
    """Chooses a state to stand for all that differ from it only by a renaming."""

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.classes = interchangeable(composition.system)
        self._members = range(len(composition.system.members))
        self._same: Renaming = tuple(self._members)
        inside = {place for alike in self.classes for place in alike}
        self._apart = not any(inside.issuperset(link) for link in composition.encoding.links)
        size = prod(factorial(len(alike)) for alike in self.classes)
        self._all = tuple(self._renamings()) if size <= LARGEST_GROUP and not self._apart else ()
        self._shifts: dict[Renaming, tuple[tuple[BitField, BitField], ...]] = {}

    def standing_for(self, state: int) -> tuple[int, Renaming]:
        """The state that stands for `state`, and the renaming that leads to it."""
        # Any choice is sound that is the same for all renamings of a state, or for fewer of them:
        # then a class has more than one state, which costs memory and no verdict.
        if not self._all:
            renaming = self._sorted(state)
            return self.renamed(state, renaming), renaming
        return min((self.renamed(state, renaming), renaming) for renaming in self._all)

    def renamed(self, state: int, renaming: Renaming) -> int:
        """`state` with each member where `renaming` puts it."""
        if renaming == self._same:
            return state
        if renaming not in self._shifts:
            self._shifts[renaming] = tuple(self._moved(renaming))
        renamed_state = state
        for source, target in self._shifts[renaming]:
            renamed_state += source.of(state) - target.of(state) << target.shift
        return renamed_state

    def renamed_action(self, action: Action, renaming: Renaming) -> Action:
        """An action after `renaming`."""
        if renaming == self._same:
            return action
        places, members = self.composition.system.places, self.composition.system.members

        def other(name: str) -> str:
            return members[renaming[places[name]]].name

        match action:
            case External():
                return action
            case Choose() | Decide():
                return replace(action, member=other(action.member))
            case _:
                sender, receiver = other(action.sender), other(action.receiver)
                return replace(action, sender=sender, receiver=receiver)

    def _sorted(self, state: int) -> Renaming:
        """The renaming that sorts the members of each class by what is seen of each.

        Where no link joins two members of a class, what is seen of each moves with it as a whole:
        its state and its buffers. Then two renamings of a state are sorted alike, up to members of
        which the same is seen, and those may stand in any order.
        """
        renaming = list(self._same)
        for alike in self.classes:
            order = sorted(alike, key=lambda place: self._seen_of(state, place))
            for place, member in zip(alike, order, strict=True):
                renaming[member] = place
        return tuple(renaming)

    def _seen_of(self, state: int, place: int) -> tuple[int, ...]:
        return tuple(field.of(state) for field in self._fields_of[place])

    @cached_property
    def _fields_of(self) -> tuple[tuple[BitField, ...], ...]:
        """For each member its field, and its buffers in an order that is alike in its class."""
        composition = self.composition
        return tuple(
            (
                composition.encoding.fields[place],
                *(
                    field
                    for end in (0, 1)
                    for link, field in zip(
                        composition.encoding.links, composition.encoding.buffers, strict=True
                    )
                    if self._apart and link[end] == place
                ),
            )
            for place in self._members
        )

    def _renamings(self) -> Iterator[Renaming]:
        for orders in product(*(permutations(alike) for alike in self.classes)):
            renaming = list(self._same)
            for alike, order in zip(self.classes, orders, strict=True):
                for place, member in zip(alike, order, strict=True):
                    renaming[member] = place
            yield tuple(renaming)

    def _moved(self, renaming: Renaming) -> Iterator[tuple[BitField, BitField]]:
        composition = self.composition
        for place, target in enumerate(renaming):
            if place != target:
                yield composition.encoding.fields[place], composition.encoding.fields[target]
        buffers = dict(zip(composition.encoding.links, composition.encoding.buffers, strict=True))
        for link, field in buffers.items():
            target_link = (renaming[link[0]], renaming[link[1]])
            if target_link != link:
                yield field, buffers[target_link]


class Quotient:
    """A model of which each state stands for all that differ from it by a renaming."""

    def __init__(self, noting: Noting, symmetry: Symmetry) -> None:
        self.noting = noting
        self.symmetry = symmetry
        self.name = f"{noting.name}, up to symmetry"

    def initial(self) -> Iterable[NotedState]:
        return (self.standing_for(state)[0] for state in self.noting.initial())

    def successors(self, state: NotedState) -> Iterator[Step[NotedState]]:
        for step in self.noting.successors(state):
            yield Step(step.action, self.standing_for(step.target)[0])

    def propositions(self, state: NotedState) -> frozenset[str]:
        return self.noting.propositions(state)

    def standing_for(self, state: NotedState) -> tuple[NotedState, Renaming]:
        """The state that stands for `state`, and the renaming that leads to it."""
        representative, renaming = self.symmetry.standing_for(state.state)
        latest = frozenset(moved(fact, renaming) for fact in state.latest)
        return NotedState(representative, latest & self.noting.noted), renaming


def unfolded(
    symmetry: Symmetry, start: int, steps: Sequence[tuple[Hashable, int]], cycle: int
) -> tuple[list[Step[int]], int]:
    """The steps of the composition that a trace of the quotient stands for, and how many repeat.

    A cycle of the quotient may lead to a renamed state: it is taken until it comes back.
    """
    # `here` is the state of the quotient where the trace is, `back` the renaming that leads from
    # it to the state of the composition that the real machines are in. The quotient takes a step to
    # `target`, and stands for it by `renaming`; so the way back undoes that first.
    composition = symmetry.composition
    here, back = start, tuple(range(len(composition.system.members)))
    walked: list[Step[int]] = []

    def take(action: Hashable, reached: int) -> None:
        nonlocal here, back
        move = next(
            move
            for move in composition.moves(here)
            if move.action == action and symmetry.standing_for(here + move.difference)[0] == reached
        )
        target, renaming = symmetry.standing_for(here + move.difference)
        there = symmetry.renamed(here + move.difference, back)
        walked.append(Step(symmetry.renamed_action(move.action, back), there))
        here, back = target, _after(_inverse(renaming), back)

    for action, reached in steps[: len(steps) - cycle]:
        take(action, reached)
    # Each round renames the members once more in the same way. Renamings are finitely many, so one
    # round leads back to the very state; before, the states on it are equal to those of the first.
    stem, first = len(walked), symmetry.renamed(here, back)
    while cycle:
        for action, reached in steps[len(steps) - cycle :]:
            take(action, reached)
        if walked[-1].target == first:
            break
    return walked, len(walked) - stem if cycle else 0


def _inverse(renaming: Renaming) -> Renaming:
    inverse = list(renaming)
    for place, target in enumerate(renaming):
        inverse[target] = place
    return tuple(inverse)


def _after(first: Renaming, second: Renaming) -> Renaming:
    return tuple(second[place] for place in first)


def _can_swap(system: System, first: int, second: int) -> bool:
    names = {system.members[first].name: second, system.members[second].name: first}
    swapped = {old: system.members[new].name for old, new in names.items()}
    for sender, receiver, own in system.channel.links:
        link = swapped.get(sender, sender), swapped.get(receiver, receiver)
        if system.channel.of(*link) != own:
            return False
    for place in range(len(system.members)):
        image = {first: second, second: first}.get(place, place)
        table, other = system.members[place].automaton, system.members[image].automaton
        if (table.initial, table.final) != (other.initial, other.final):
            return False
        if [state.name for state in table.states] != [state.name for state in other.states]:
            return False
        if _rows(system, place, swapped) != _rows(system, image, {}):
            return False
    return True


def _rows(system: System, place: int, names: Mapping[str, str]) -> frozenset[tuple[str, ...]]:
    return frozenset(
        (
            row.source,
            row.target,
            row.kind,
            row.label,
            names.get(row.partner, row.partner),
            row.guard or "",
        )
        for row in system.members[place].automaton.transitions
    )


def _propositional(formula: Formula) -> Iterator[Formula]:
    """The largest parts without a temporal operator or quantifier."""
    if is_propositional(formula):
        yield formula
    elif isinstance(formula, (And, Or)):
        here = list(_operands(formula, type(formula)))
        plain = [operand for operand in here if is_propositional(operand)]
        if plain:
            joined = plain[0]
            for part in plain[1:]:
                joined = type(formula)(joined, part)
            yield joined
        for part in here:
            if part not in plain:
                yield from _propositional(part)
    else:
        for child in children(formula):
            yield from _propositional(child)


def _operands(formula: Formula, kind: type[And | Or]) -> Iterator[Formula]:
    if isinstance(formula, (And, Or)) and isinstance(formula, kind):
        yield from _operands(formula.left, kind)
        yield from _operands(formula.right, kind)
    else:
        yield formula


def _tells_apart(
    system: System, known: Mapping[str, Proposition], part: Formula, first: int, second: int
) -> str:
    swap = list(range(len(system.members)))
    swap[first], swap[second] = second, first
    names = sorted(set(atoms(part)))
    renamed = {name: moved(known[name], tuple(swap)) for name in names}
    told = ", ".join(name for name in names if renamed[name] != known[name])
    if not told:
        return ""
    both = list(dict.fromkeys([*(known[name] for name in names), *renamed.values()]))
    member, other = (system.members[place].name for place in (first, second))
    if len(both) > MOST_ATOMS:
        return f"{told}: too many propositions to see whether they tell {member} and {other} apart"
    for values in product((False, True), repeat=len(both)):
        true = dict(zip(both, values, strict=True))
        here = {name: true[known[name]] for name in names}
        there = {name: true[renamed[name]] for name in names}
        if value(part, here) != value(part, there):
            return (
                f"{told} tells {member} and {other} apart, which are interchangeable; say the same "
                "of both in one place (joined by & or |), or leave the reduction out"
            )
    return ""


@overload
def moved(proposition: OfStep, renaming: Renaming) -> OfStep: ...
@overload
def moved(proposition: Proposition, renaming: Renaming) -> Proposition: ...
def moved(proposition: Proposition, renaming: Renaming) -> Proposition:
    """A proposition after `renaming`."""
    match proposition:
        case AtState(place):
            return replace(proposition, place=renaming[place])
        case Empty((sender, receiver)) | Full((sender, receiver)) | Has((sender, receiver)):
            return replace(proposition, link=(renaming[sender], renaming[receiver]))
        case GuardTaken(sender):
            return replace(proposition, sender=renaming[sender])
        case SentTag(sender, to):
            to = None if to is None else renaming[to]
            return replace(proposition, sender=renaming[sender], receiver=to)
        case ReceivedTag(by, receiver):
            by = None if by is None else renaming[by]
            return replace(proposition, sender=by, receiver=renaming[receiver])
        case _:
            return proposition
