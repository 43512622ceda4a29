"""A machine of another library as plain data, and the table that it is.

`transitions` machines, classes of python-statemachine and graphs of LangGraph are read into a
`ForeignMachine`; all that is said of them is said of this value and its table. No callback and no
condition of theirs is called: where a condition chooses, the choice is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.foreign_names import ForeignNames, with_names
from pxp_fsm.automata.tables import build_automaton
from pxp_fsm.errors import Fault
from pxp_fsm.lazy_dataclasses import dataclass

MOST_CONDITIONS = 12
"""Conditions of one trigger in one state whose combinations are all looked at."""


class SourcePlace(NamedTuple):
    """Where something stands in the user's code; line 0 is the file as a whole."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ForeignState:
    """A state, or a node, by its own name."""

    name: str
    final: bool = False
    place: SourcePlace | None = None
    about: str = ""


class Literal(NamedTuple):
    """A condition, and what it must return for a transition to be taken."""

    condition: str
    expected: bool

    def __str__(self) -> str:
        return self.condition if self.expected else f"not {self.condition}"


@dataclass(frozen=True, slots=True)
class ForeignTransition:
    """What a trigger does in a state when all of its conditions are as expected.

    `target` is the source itself where the state does not change. `validators` are functions that
    may raise, by which the trigger is refused.
    """

    trigger: str
    source: str
    target: str
    literals: tuple[Literal, ...] = ()
    validators: tuple[str, ...] = ()
    place: SourcePlace | None = None

    def __str__(self) -> str:
        where = f" where {' and '.join(map(str, self.literals))}" if self.literals else ""
        return f"{self.trigger}: {self.source} → {self.target}{where}"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One thing that a trigger may do in a state: a row of the table.

    `guard` names the choice where there are several, `meaning` says when it is this one. A
    `refused` trigger leaves the state as it is.
    """

    trigger: str
    source: str
    target: str
    guard: str = ""
    meaning: str = ""
    refused: bool = False


class Shadowed(NamedTuple):
    """A transition that never happens, and the earlier ones that take its trigger first."""

    transition: ForeignTransition
    earlier: tuple[ForeignTransition, ...]


@dataclass(frozen=True)
class ForeignMachine:
    """A machine of `library`: its states in their order, and what its triggers do.

    `word` is what the library calls a state. `regions` are names for sets of states. `cycles` says
    what bounds its cycles, `notes` what was left out or taken in a certain way.
    """

    library: str
    name: str
    states: tuple[ForeignState, ...]
    initial: str
    alternatives: tuple[Alternative, ...]
    shadowed: tuple[Shadowed, ...] = ()
    triggers: tuple[str, ...] = ()
    word: str = "state"
    cycles: str = "nothing bounds it"
    notes: tuple[str, ...] = ()
    place: SourcePlace | None = None
    places: dict[str, SourcePlace] = field(default_factory=dict)
    regions: dict[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def ends(self) -> frozenset[str]:
        """The final states; where none is declared, those without a way out."""
        declared = frozenset(state.name for state in self.states if state.final)
        return declared or frozenset(
            state.name
            for state in self.states
            if not any(a.source == state.name and not a.refused for a in self.alternatives)
        )

    @cached_property
    def table(self) -> Automaton:
        """The machine as a table of events; its findings are in the library's words.

        Raises `TableError` where it is too large for a table.
        """
        states, events, guards = ForeignNames("S_"), ForeignNames("E_"), _GuardNames()
        rows = []
        for name in (*(state.name for state in self.states), *self.regions):
            states.of(name)
        for alternative in self.alternatives:
            row = {
                "from": states.of(alternative.source),
                "to": states.of(alternative.target),
                "event": events.of(alternative.trigger),
            }
            if alternative.guard:
                row["guard"] = guards.of(alternative)
            rows.append(row)
        title = with_names(f"{self.name}, of {self.library}", states, events)
        table = build_automaton(
            ForeignNames("m_", lower=True).of(self.name),
            rows,
            initial=states.of(self.initial),
            final=[states.of(state.name) for state in self.states if state.name in self.ends],
            states={states.of(state.name): state.about for state in self.states},
            guards=guards.meanings,
            title=title,
        )
        regions = {
            states.of(name): frozenset(map(states.of, some)) for name, some in self.regions.items()
        }
        return replace(table, findings=tuple(self.findings()), regions=regions)

    def findings(self) -> Iterator[Fault]:
        """What is probably a mistake, in the words of the library, with its place in the code."""
        reached = self.reached
        for state in self.states:
            if state.name not in reached:
                leading = [a for a in self.alternatives if a.target == state.name != a.source]
                why = state.about or "nothing leads to it"
                if leading:
                    why = "what leads to it cannot be reached either"
                yield self._finding(
                    f"{self.word} {state.name} cannot be reached from {self.initial}: {why}",
                    "unreachable-state",
                    state,
                )
        yield from self._dead_ends()
        taken = {a.trigger for a in self.alternatives if a.source in reached and not a.refused}
        for trigger in self.triggers:
            if trigger not in taken:
                at = [a.source for a in self.alternatives if a.trigger == trigger]
                why = f"only in {', '.join(dict.fromkeys(at))}" if at else "it has no transition"
                yield self._fault(
                    f"trigger {trigger} is taken in no {self.word} that can be reached: {why}",
                    "dead-trigger",
                    self.places.get(trigger),
                )
        for transition, earlier in self.shadowed:
            first = "; ".join(map(str, earlier))
            yield self._fault(
                f"transition {transition} never happens: an earlier one takes its trigger first "
                f"({first})",
                "shadowed-transition",
                transition.place,
            )

    def _dead_ends(self) -> Iterator[Fault]:
        """The states that are reached and lead to no end; of those that lead to each other alone
        all are one finding, and what only leads to them is none.
        """
        if not self.ends:
            return
        ending = _closed(self.ends, ((a.target, a.source) for a in self.alternatives))
        left = {
            state.name: self._after(state.name)
            for state in self.states
            if state.name in self.reached and state.name not in ending
        }
        ends = ", ".join(state.name for state in self.states if state.name in self.ends)
        told = set[str]()
        for state in self.states:
            if state.name not in left or state.name in told:
                continue
            around = left[state.name] | {state.name}
            if any(state.name not in left[other] for other in around - {state.name}):
                continue  # it leads on to a dead end, and is none itself
            told |= around
            names = ", ".join(other.name for other in self.states if other.name in around)
            if len(around) > 1:
                text = f"{self.word}s {names} are a dead end: they lead to each other alone"
            elif any(a.source == state.name and not a.refused for a in self.alternatives):
                text = f"{self.word} {names} is a dead end: it leads to itself alone"
            else:
                text = f"{self.word} {names} is a dead end: nothing leads out of it"
            about = f" ({state.about})" if state.about else ""
            yield self._finding(f"{text}{about}, and to no end ({ends})", "trap", state)

    def _after(self, name: str) -> set[str]:
        """The states that can follow `name`."""
        steps = [(a.source, a.target) for a in self.alternatives]
        return _closed([target for source, target in steps if source == name], steps)

    def _finding(self, text: str, kind: str, state: ForeignState) -> Fault:
        return self._fault(text, kind, state.place)

    def _fault(self, text: str, kind: str, place: SourcePlace | None) -> Fault:
        at = place or self.place
        if at is None:
            return Fault((), text, kind)
        return Fault((), text, kind, file=at.file, line=at.line or None)

    @cached_property
    def reached(self) -> frozenset[str]:
        """The states that can be reached."""
        return frozenset(_closed([self.initial], ((a.source, a.target) for a in self.alternatives)))

    def cycle(self) -> tuple[Alternative, ...]:
        """A shortest cycle that is reached, in which no trigger is refused; empty without one."""
        moves: dict[str, list[Alternative]] = {}
        for alternative in self.alternatives:
            if not alternative.refused and alternative.source in self.reached:
                moves.setdefault(alternative.source, []).append(alternative)
        shortest: tuple[Alternative, ...] = ()
        for state in moves:
            way = _way_back(state, moves)
            if way and (not shortest or len(way) < len(shortest)):
                shortest = way
        return shortest

    @property
    def choices(self) -> tuple[str, ...]:
        """The guards that are free choices, as the library's user knows them."""
        return tuple(dict.fromkeys(a.meaning for a in self.alternatives if a.guard))


class _GuardNames:
    """Names of guards: one for each meaning that a choice of a trigger has."""

    def __init__(self) -> None:
        self._names = ForeignNames("g_")
        self.meanings: dict[str, str] = {}

    def of(self, alternative: Alternative) -> str:
        """The guard of an alternative."""
        text, number = alternative.guard, 1
        while (
            self.meanings.get(name := self._names.of(text), alternative.meaning)
            != alternative.meaning
        ):
            number += 1
            text = f"{alternative.guard} {number}"
        self.meanings[name] = alternative.meaning
        return name


def _way_back(state: str, moves: dict[str, list[Alternative]]) -> tuple[Alternative, ...]:
    """A shortest way from `state` back to it."""
    ways: dict[str, tuple[Alternative, ...]] = {state: ()}
    waiting = [state]
    for at in waiting:
        for alternative in moves.get(at, ()):
            if alternative.target == state:
                return (*ways[at], alternative)
            if alternative.target not in ways:
                ways[alternative.target] = (*ways[at], alternative)
                waiting.append(alternative.target)
    return ()


def _closed(states: Iterable[str], steps: Iterable[tuple[str, str]]) -> set[str]:
    """`states` and all that `steps` lead to."""
    following: dict[str, list[str]] = {}
    for source, target in steps:
        following.setdefault(source, []).append(target)
    reached = set(states)
    waiting = list(reached)
    while waiting:
        new = {after for after in following.get(waiting.pop(), ()) if after not in reached}
        reached |= new
        waiting += new
    return reached


def first_match(
    transitions: Sequence[ForeignTransition],
) -> tuple[list[Alternative], list[Shadowed]]:
    """What triggers do whose transitions are tried in this order, until one has its conditions.

    A transition for which no values of the conditions are left is shadowed. Conditions are taken to
    have one value while a trigger is tried, and any: whether two of them can be true at once is not
    known. Where none may be taken, or a validator may raise, the trigger is refused.
    """
    tried: dict[tuple[str, str], list[ForeignTransition]] = {}
    for transition in transitions:
        tried.setdefault((transition.source, transition.trigger), []).append(transition)
    alternatives, shadowed = list[Alternative](), list[Shadowed]()
    for (source, trigger), some in tried.items():
        first = _first_by_values(some)
        possible = dict.fromkeys(index for index in first if index is not None)
        refusable = None in first or any(some[index].validators for index in possible)
        many = len(possible) + refusable > 1
        for index, transition in enumerate(some):
            if index not in possible:
                shadowed.append(Shadowed(transition, tuple(some[:index])))
                continue
            own = {Literal(lit.condition, not lit.expected) for lit in transition.literals}
            before = [other for other in some[:index] if not own.intersection(other.literals)]
            alternatives.append(
                Alternative(
                    trigger,
                    source,
                    transition.target,
                    f"{trigger} {_guard(transition, index)}" if many else "",
                    _meaning(transition, before),
                )
            )
        if refusable:
            why = _refusal(some)
            alternatives.append(
                Alternative(
                    trigger, source, source, f"{trigger} refused" if many else "", why, True
                )
            )
    return alternatives, shadowed


def _first_by_values(some: Sequence[ForeignTransition]) -> set[int | None]:
    """The places of the transitions that are taken for some values; None is that none is."""
    conditions = list(
        dict.fromkeys(lit.condition for transition in some for lit in transition.literals)
    )
    if len(conditions) > MOST_CONDITIONS:
        # More than can be: each counts that has not all conditions of an earlier one.
        sets = [frozenset(transition.literals) for transition in some]
        kept: set[int | None] = {
            index
            for index, own in enumerate(sets)
            if not any(other <= own for other in sets[:index])
        }
        return kept if any(not own for own in sets) else {*kept, None}
    places = set[int | None]()
    for values in product((True, False), repeat=len(conditions)):
        truth = dict(zip(conditions, values, strict=True))
        places.add(
            next(
                (
                    index
                    for index, transition in enumerate(some)
                    if all(truth[lit.condition] is lit.expected for lit in transition.literals)
                ),
                None,
            )
        )
    return places


def _guard(transition: ForeignTransition, index: int) -> str:
    return " and ".join(map(str, transition.literals)) or ("else" if index else "passes")


def _meaning(transition: ForeignTransition, before: Sequence[ForeignTransition]) -> str:
    own = " and ".join(map(str, transition.literals))
    others = "; ".join(" and ".join(map(str, other.literals)) for other in before)
    if own and others:
        return f"{own}, and none of: {others}"
    return own or (f"none of: {others}" if others else "")


def _refusal(some: Sequence[ForeignTransition]) -> str:
    raised = [name for transition in some for name in transition.validators]
    parts = []
    if not any(not transition.literals for transition in some):
        listed = "; ".join(" and ".join(map(str, transition.literals)) for transition in some)
        parts.append(f"refused: none of: {listed}")
    if raised:
        parts.append(f"refused: {', '.join(dict.fromkeys(raised))} raises")
    return ", or ".join(parts)
