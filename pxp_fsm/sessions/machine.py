"""The machine that runs: built from a table with `transitions`, which holds one per table.

The façade is typed and refuses what the library would let pass (an event without a row, two true
guards, a truthy value that is no boolean). `proofs.systems.results` shows for every
state, event and valuation that it does what the table says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from pxp_fsm.automata.automaton import (
    DECIDE,
    Automaton,
    Kind,
    Transition,
    Trigger,
    Valuation,
    happening,
    one_hot,
    receiving,
    sending,
)
from pxp_fsm.automata.rules import Values
from pxp_fsm.automata.unfolding import Registers
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

_PREFIX = {Kind.SEND: "on_send_", Kind.RECEIVE: "on_receive_", Kind.EVENT: "on_event_"}


@dataclass(slots=True)
class _Model:
    """What a machine of `transitions` moves: a state, and the row that was taken last."""

    state: str
    taken: Transition | None = None


class Machine:
    """A running automaton: where it is, and the one way to move it.

    >>> import pxp_fsm as pxp
    >>> machine = pxp.Machine(pxp.load_automaton("interact"))
    >>> machine.receive("INIT").target
    'DECIDE'
    >>> machine.decide({"RAT": True, "REF": False, "REV": False, "REJ": False}).action
    '+RATIFY'

    It moves as it is told, and evaluates no rules: a session does. Where registers are kept beside
    the state (`unfolding.running`), `automaton` is the table as the rules leave it in the present
    state, and a message's `payload` is what updates read of it. It starts in `state`, or else in
    the initial one of the table; `UsageError` where there is no such.
    """

    def __init__(self, automaton: Automaton, state: str | None = None) -> None:
        self.automaton = self._whole = automaton
        if state is not None:
            self._check_state(state)
        self._model = _Model(state or automaton.initial)
        self._events = _events(automaton)
        self._registers = Registers(automaton) if automaton.registers_beside else None
        self.registers: Values = ()
        if self._registers is not None:
            self._hold(self._registers, self._registers.initial)

    def _hold(self, registers: Registers, values: Values) -> None:
        self.registers = values
        self.automaton = registers.here(self.state, values)

    @property
    def state(self) -> str:
        """The name of the present state."""
        return self._model.state

    @property
    def described(self) -> str:
        """The present state, with what registers hold: `WAIT[tries=1]`."""
        if self._registers is None:
            return self.state
        return self._registers.named(self.state, self.registers)

    def return_to(self, state: str, registers: Values | None = None) -> None:
        """Be in `state`, without a transition; `UsageError` where there is no such state.

        Registers that are kept beside it hold what is given, or else what they do.
        """
        self._check_state(state)
        self._model.state = state
        if self._registers is not None:
            self._hold(self._registers, self.registers if registers is None else registers)

    def _check_state(self, state: str) -> None:
        names = [item.name for item in self._whole.states]
        if state not in names:
            raise UsageError(
                f"{self.automaton.name} has no state {state!r}; its states are {', '.join(names)}"
            )

    @property
    def ended(self) -> bool:
        """Whether the present state is an end state."""
        return self.state in self.automaton.final

    def enabled(self) -> tuple[Transition, ...]:
        """The transitions that leave the present state."""
        return self.automaton.leaving(self.state)

    def decide(self, valuation: Valuation) -> Transition:
        """Take the row of the one guard that `valuation` makes true."""
        return self.fire(DECIDE, valuation)

    def send(self, tag: str, partner: str = "") -> Transition:
        """Take the unguarded row that sends `tag` (to `partner`)."""
        return self.fire(sending(tag, partner))

    def receive(self, tag: str, partner: str = "", payload: object = None) -> Transition:
        """Take the row that receives `tag` (from `partner`)."""
        return self.fire(receiving(tag, partner), payload=payload)

    def happen(self, name: str) -> Transition:
        """Take the row of the outside event `name`."""
        return self.fire(happening(name))

    def fire(
        self, event: Trigger, valuation: Valuation | None = None, payload: object = None
    ) -> Transition:
        """Take the row that `event` takes here, and return it.

        Raises `NotEnabled` or `GuardError`, and does not move, where the table has no one row, and
        `UsageError` where a `payload` does not have what its update reads.
        """
        row = self.automaton.step(self.state, event, valuation)
        after = self.registers
        if self._registers is not None:
            after = self._registers.after(row, after, payload)
            if row.guard is not None:  # the rules have excluded the others
                valuation = one_hot(row.guard, self._whole.guards_of(self.state))
        self._model.taken = None
        self._events[_trigger(row.trigger)].trigger(self._model, valuation=valuation)
        if self._model.taken is None:
            raise AssertionError(f"{self.automaton.name}: {event} is in the table but did not move")
        if self._registers is not None:
            self._hold(self._registers, after)
        return self._model.taken


@lru_cache(maxsize=128)
def _events(automaton: Automaton) -> Mapping[str, Any]:
    """The events of a `transitions` machine with its rows; it has no state of its own."""
    import transitions  # heavy: not for the command's help

    states = [item.name for item in automaton.states]
    machine = transitions.Machine(
        model=None, states=states, initial=None, auto_transitions=False, send_event=True
    )
    for row in automaton.transitions:
        machine.add_transition(
            _trigger(row.trigger),
            row.source,
            row.target,
            conditions=[_condition(row.guard)] if row.guard else [],
            before=[_taking(row)],
        )
    return machine.events


def _taking(row: Transition) -> Callable[[Any], None]:
    def note(event: Any) -> None:
        event.model.taken = row

    return note


def _trigger(event: Trigger) -> str:
    if event.kind is None:
        return "on_decide"
    return _PREFIX[event.kind] + event.label + (f"@{event.partner}" if event.partner else "")


def _condition(guard: str) -> Callable[[Any], bool]:
    def holds(event: Any) -> bool:
        valuation: Valuation = event.kwargs["valuation"]
        return valuation[guard]

    return holds
