"""The machine that runs does what the table says: every state, event and valuation, compared.

Everything else is checked on the table; this is what carries those results over to the machines
of a running session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from proofs.core.results import Status, Verdict
from pxp_fsm.automata.automaton import DECIDE, Automaton, Event, Kind, Transition, Valuation
from pxp_fsm.errors import PXPError
from pxp_fsm.sessions.machine import Machine

UNKNOWN = "SOMETHING_UNHEARD_OF"
"""A label that no built-in table has; lengthened where a table happens to have it."""

MOST_CASES = 200_000
"""Cases that a check of a table compares, about a minute."""

Build = Callable[[Automaton, str], Machine]
"""Makes the machine under comparison, in a given state."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What an event did: the transition taken (None where it was refused), where it led, and the
    name of the exception (empty where none was raised)."""

    taken: Transition | None
    state: str
    raised: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case in which machine and table do not do the same.

    `valuation` is the guards that were given with their truth, None where none were given.
    """

    state: str
    event: Event
    valuation: tuple[tuple[str, bool], ...] | None
    machine: Effect
    table: Effect

    def __str__(self) -> str:
        guards = " and ".join(f"{name} = {truth}" for name, truth in self.valuation or ())
        given = f" where {guards}" if guards else ""
        machine, table = self.machine, self.table
        return (
            f"in {self.state} on {self.event}{given} the machine is in {machine.state} "
            f"({machine.raised or 'moved'}), by the table in {table.state} "
            f"({table.raised or 'moved'})"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many cases were compared, and every one that differs; none is the claim."""

    cases: int
    differences: tuple[Difference, ...]


def compare_machine(automaton: Automaton, build: Build = Machine) -> Comparison:
    """Compare a fresh machine of `build` with `Automaton.step`, in every case there is.

    The cases: each state; each event (decide, and each label of the table and one that it does
    not have, as sent, received and from outside, with each partner that the table names); no
    valuation, and all 2^g valuations of the state's g guards. What is compared: the transition
    taken, the state after it (an event that is refused must not move the machine), the type of the
    exception.
    """
    events = _events(automaton)
    differences = []
    cases = 0
    for state in automaton.states:
        for event, valuation in product(events, _valuations(state.guards)):
            cases += 1
            by_table = _table(automaton, state.name, event, valuation)
            by_machine = _machine(build(automaton, state.name), event, valuation)
            if by_machine != by_table:
                given = None if valuation is None else tuple(valuation.items())
                differences.append(Difference(state.name, event, given, by_machine, by_table))
    return Comparison(cases, tuple(differences))


def check_machine(automaton: Automaton, build: Build = Machine) -> Verdict:
    """Whether the machine of `automaton` does what the table says, in every case.

    UNKNOWN where guards have so many valuations that they would be more than `MOST_CASES`.
    """
    cases = sum(2 ** len(state.guards) + 1 for state in automaton.states) * len(_events(automaton))
    if cases > MOST_CASES:
        return Verdict(Status.UNKNOWN, f"{cases:,} cases are more than {MOST_CASES:,}")
    compared = compare_machine(automaton, build)
    if compared.differences:
        return Verdict(Status.FAILS, str(compared.differences[0]))
    return Verdict(Status.HOLDS, f"{compared.cases:,} cases")


def _events(automaton: Automaton) -> tuple[Event, ...]:
    labels = sorted({transition.label for transition in automaton.transitions})
    unknown = UNKNOWN
    while unknown in labels:
        unknown += "_"
    partners = dict.fromkeys(("", UNKNOWN, *(row.partner for row in automaton.transitions)))
    return (
        DECIDE,
        *(
            Event(kind, label, partner)
            for kind in Kind
            for label in (*labels, unknown)
            for partner in (partners if len(partners) > 2 and kind is not Kind.EVENT else ("",))
        ),
    )


def _valuations(guards: tuple[str, ...]) -> Iterator[Valuation | None]:
    yield None
    for truths in product((False, True), repeat=len(guards)):
        yield dict(zip(guards, truths, strict=True))


def _table(automaton: Automaton, state: str, event: Event, valuation: Valuation | None) -> Effect:
    try:
        taken = automaton.step(state, event, valuation)
    except PXPError as error:
        return Effect(None, state, type(error).__name__)
    return Effect(taken, taken.target)


def _machine(machine: Machine, event: Event, valuation: Valuation | None) -> Effect:
    try:
        taken = machine.fire(event, valuation)
    except Exception as error:  # noqa: BLE001 - whatever a wrong machine raises is the finding
        return Effect(None, machine.state, type(error).__name__)
    return Effect(taken, machine.state)
