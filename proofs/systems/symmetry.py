"""Symmetry of equal members: states that differ only in which of them is where are one.

Two members are interchangeable where exchanging their names changes no table: they follow the same
rows, and everybody else deals with both alike. Of all states that renaming leads to, one stands for
the others (Emerson and Sistla, Symmetry and model checking, FMSD 9, 1996). That is sound for
formulas whose propositional parts do not tell interchangeable members apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, permutations, product
from math import factorial, prod

from proofs.logic.formulas import And, Formula, Or, atoms, children
from proofs.model import Step
from proofs.systems.boolean import is_propositional, value
from proofs.systems.product import Composition, Field
from proofs.systems.propositions import Noted, Noting
from proofs.systems.wiring import System

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
        for one in classes:
            if _can_swap(system, one[0], place):
                one.append(place)
                break
        else:
            classes.append([place])
    return tuple(tuple(one) for one in classes if len(one) > 1)


def why_not(system: System, formula: Formula | None) -> str:
    """Why symmetry cannot be used for `formula` (None: the standing checks); "" where it can."""
    classes = interchangeable(system)
    if not classes:
        return (
            "no two members are interchangeable: their tables differ, or somebody tells them apart"
        )
    if formula is None:
        return ""
    for part in _propositional(formula):
        for one in classes:
            for first, second in pairwise(one):
                reason = _tells_apart(system, part, first, second)
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
        inside = {place for one in self.classes for place in one}
        self._apart = not any(inside.issuperset(link) for link in composition.links)
        size = prod(factorial(len(one)) for one in self.classes)
        self._all = tuple(self._renamings()) if size <= LARGEST_GROUP and not self._apart else ()
        self._shifts: dict[Renaming, tuple[tuple[Field, Field], ...]] = {}
        self._names: dict[tuple[Renaming, str], str] = {}

    def standing_for(self, state: int) -> tuple[int, Renaming]:
        """The state that stands for `state`, and the renaming that leads to it."""
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
        found = state
        for source, target in self._shifts[renaming]:
            found += source.of(state) - target.of(state) << target.shift
        return found

    def in_words(self, renaming: Renaming, text: str) -> str:
        """A proposition or a label of a step after `renaming`."""
        if renaming == self._same:
            return text
        if (renaming, text) not in self._names:
            self._names[renaming, text] = _renamed(self.composition.system, renaming, text)
        return self._names[renaming, text]

    def _sorted(self, state: int) -> Renaming:
        """The renaming that sorts the members of each class by what is seen of each."""
        found = list(self._same)
        for one in self.classes:
            order = sorted(one, key=lambda place: self._seen_of(state, place))
            for place, member in zip(one, order, strict=True):
                found[member] = place
        return tuple(found)

    def _seen_of(self, state: int, place: int) -> tuple[int, ...]:
        return tuple(field.of(state) for field in self._fields_of[place])

    @cached_property
    def _fields_of(self) -> tuple[tuple[Field, ...], ...]:
        """For each member its field, and its buffers in an order that is alike in its class."""
        composition = self.composition
        return tuple(
            (
                composition.fields[place],
                *(
                    field
                    for end in (0, 1)
                    for link, field in zip(composition.links, composition.buffers, strict=True)
                    if self._apart and link[end] == place
                ),
            )
            for place in self._members
        )

    def _renamings(self) -> Iterator[Renaming]:
        for orders in product(*(permutations(one) for one in self.classes)):
            found = list(self._same)
            for one, order in zip(self.classes, orders, strict=True):
                for place, member in zip(one, order, strict=True):
                    found[member] = place
            yield tuple(found)

    def _moved(self, renaming: Renaming) -> Iterator[tuple[Field, Field]]:
        composition = self.composition
        for place, target in enumerate(renaming):
            if place != target:
                yield composition.fields[place], composition.fields[target]
        buffers = dict(zip(composition.links, composition.buffers, strict=True))
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

    def initial(self) -> Iterable[Noted]:
        return (self.standing_for(state)[0] for state in self.noting.initial())

    def successors(self, state: Noted) -> Iterator[Step[Noted]]:
        for step in self.noting.successors(state):
            yield Step(step.label, self.standing_for(step.target)[0])

    def propositions(self, state: Noted) -> frozenset[str]:
        return self.noting.propositions(state)

    def standing_for(self, state: Noted) -> tuple[Noted, Renaming]:
        """The state that stands for `state`, and the renaming that leads to it."""
        found, renaming = self.symmetry.standing_for(state.state)
        said = frozenset(self.symmetry.in_words(renaming, one) for one in state.said)
        return Noted(found, said & self.noting.noted), renaming


def unfolded(
    symmetry: Symmetry, start: int, steps: Sequence[tuple[str, int]], cycle: int
) -> tuple[list[Step[int]], int]:
    """The steps of the composition that a trace of the quotient stands for, and how many repeat.

    A cycle of the quotient may lead to a renamed state: it is taken until it comes back.
    """
    composition = symmetry.composition
    here, back = start, tuple(range(len(composition.system.members)))
    found: list[Step[int]] = []

    def take(label: str, reached: int) -> None:
        nonlocal here, back
        difference = next(
            move.difference
            for move in composition.moves(here)
            if move.label == label and symmetry.standing_for(here + move.difference)[0] == reached
        )
        target, renaming = symmetry.standing_for(here + difference)
        found.append(
            Step(symmetry.in_words(back, label), symmetry.renamed(here + difference, back))
        )
        here, back = target, _after(_inverse(renaming), back)

    for label, reached in steps[: len(steps) - cycle]:
        take(label, reached)
    stem, first = len(found), symmetry.renamed(here, back)
    while cycle:
        for label, reached in steps[len(steps) - cycle :]:
            take(label, reached)
        if found[-1].target == first:
            break
    return found, len(found) - stem if cycle else 0


def _inverse(renaming: Renaming) -> Renaming:
    found = list(renaming)
    for place, target in enumerate(renaming):
        found[target] = place
    return tuple(found)


def _after(first: Renaming, second: Renaming) -> Renaming:
    return tuple(second[place] for place in first)


def _can_swap(system: System, first: int, second: int) -> bool:
    names = {system.members[first].name: second, system.members[second].name: first}
    swapped = {old: system.members[new].name for old, new in names.items()}
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
        plain = [one for one in here if is_propositional(one)]
        if plain:
            joined = plain[0]
            for one in plain[1:]:
                joined = type(formula)(joined, one)
            yield joined
        for one in here:
            if one not in plain:
                yield from _propositional(one)
    else:
        for child in children(formula):
            yield from _propositional(child)


def _operands(formula: Formula, kind: type[And | Or]) -> Iterator[Formula]:
    if isinstance(formula, (And, Or)) and isinstance(formula, kind):
        yield from _operands(formula.left, kind)
        yield from _operands(formula.right, kind)
    else:
        yield formula


def _tells_apart(system: System, part: Formula, first: int, second: int) -> str:
    swap = list(range(len(system.members)))
    swap[first], swap[second] = second, first
    names = sorted(set(atoms(part)))
    renamed = {name: _renamed(system, tuple(swap), name) for name in names}
    if all(name == other for name, other in renamed.items()):
        return ""
    both = sorted({*names, *renamed.values()})
    one, other = (system.members[place].name for place in (first, second))
    told = ", ".join(name for name in names if renamed[name] != name)
    if len(both) > MOST_ATOMS:
        return f"{told}: too many propositions to see whether they tell {one} and {other} apart"
    for values in product((False, True), repeat=len(both)):
        here = dict(zip(both, values, strict=True))
        there = {name: here[renamed[name]] for name in names}
        if value(part, here) != value(part, there):
            return (
                f"{told} tells {one} and {other} apart, which are interchangeable; say the same of "
                f"both in one place (joined by & or |), or leave the reduction out"
            )
    return ""


def _renamed(system: System, renaming: Renaming, text: str) -> str:
    """A proposition (`left?TASK`, `hub:left@empty`) or a label (`hub>left TASK`) after renaming."""
    if not any(mark in text for mark in "@.? "):  # `left:GUARD`, or what names nobody
        name, colon, guard = text.partition(":")
        return f"{_member(system, renaming, name)}:{guard}" if colon else text
    ends = [text.find(mark) for mark in ("@", ".", "?", " ") if mark in text]
    subject, rest = text[: min(ends)], text[min(ends) :]
    between = ">" if ">" in subject else ":"
    return between.join(_member(system, renaming, one) for one in subject.split(between)) + rest


def _member(system: System, renaming: Renaming, name: str) -> str:
    if name in system.places:
        return system.members[renaming[system.places[name]]].name
    return str(renaming[int(name) - 1] + 1) if name.isdigit() else name
