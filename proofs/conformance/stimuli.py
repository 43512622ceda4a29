"""What can be done to an agent of a table, and what the table says it answers: a Mealy machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofs.conformance.mealy import Mealy
from pxp_fsm.automaton import DECIDE, Automaton, Event, Kind, Valuation, one_hot, receiving
from pxp_fsm.errors import PXPError

UNHEARD = "SOMETHING_UNHEARD_OF"
"""A tag that no built-in table has; lengthened where a table happens to have it."""

_WORDS = {Kind.SEND: "send", Kind.RECEIVE: "receive", Kind.EVENT: "event"}


@dataclass(frozen=True, slots=True)
class Stimulus:
    """An event and, where guards are to decide, what they say."""

    event: Event
    truths: tuple[tuple[str, bool], ...] | None = None

    @property
    def valuation(self) -> Valuation | None:
        """What the guards say; None where the event is not a decision."""
        return None if self.truths is None else dict(self.truths)

    def __str__(self) -> str:
        if self.event.kind is not None:
            return f"{_WORDS[self.event.kind]} {self.event.label}"
        true = [name for name, holds in self.truths or () if holds]
        if true:
            return "decide " + "+".join(true)
        return "decide none of " + " ".join(name for name, _ in self.truths or ())


Answer = str | None
"""What an agent does: the action as at a table's arrow (`+RATIFY`), or None: it refuses."""


def stimuli(automaton: Automaton) -> tuple[Stimulus, ...]:
    """Everything that a test of `automaton` may do to an agent, in a fixed order.

    Each event of the table; each tag of the table as received, and one unheard of; for each set of
    guards that decides in some state, each one true alone, none true, and all true.
    """
    tags = {t.label: None for t in automaton.transitions if t.kind is not Kind.EVENT}
    unheard = UNHEARD
    while unheard in tags:
        unheard += "_"
    events = [t.event for t in automaton.transitions if t.event != DECIDE]
    events += [receiving(tag) for tag in (*tags, unheard)]
    plain = tuple(Stimulus(event) for event in dict.fromkeys(events))
    guards = dict.fromkeys(state.guards for state in automaton.states if state.guards)
    said = dict.fromkeys(
        Stimulus(DECIDE, tuple(valuation.items()))
        for names in guards
        for valuation in _valuations(names)
    )
    return plain + tuple(said)


def _valuations(guards: tuple[str, ...]) -> Iterator[Valuation]:
    for guard in guards:
        yield one_hot(guard, guards)
    yield dict.fromkeys(guards, False)
    if len(guards) > 1:
        yield dict.fromkeys(guards, True)


def answer_of(automaton: Automaton, state: str, stimulus: Stimulus) -> tuple[Answer, str]:
    """What the table answers to `stimulus` in `state`, and where it leads."""
    try:
        taken = automaton.step(state, stimulus.event, stimulus.valuation)
    except PXPError:
        return None, state
    return taken.action, taken.target


def as_mealy(
    automaton: Automaton, inputs: tuple[Stimulus, ...] | None = None
) -> Mealy[Stimulus, Answer]:
    """`automaton` as seen from outside: a state for each of its states, complete and deterministic.

    What the table refuses is answered by None and does not move it. `inputs` are by default all
    that its tests may do (see `stimuli`); those of another table show how it would fare there.
    """
    inputs = stimuli(automaton) if inputs is None else inputs
    names = [state.name for state in automaton.states]
    steps = [[answer_of(automaton, name, given) for given in inputs] for name in names]
    return Mealy(
        inputs,
        tuple(tuple(names.index(target) for _, target in row) for row in steps),
        tuple(tuple(said for said, _ in row) for row in steps),
        names.index(automaton.initial),
    )
