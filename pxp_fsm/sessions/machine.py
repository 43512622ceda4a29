"""The machine that runs: one `transitions` machine per agent, built from a table.

The façade is typed and refuses what the library would let pass (an event without a row, two true
guards, a truthy value that is no boolean). `proofs.systems.machine_comparison` shows for every
state, event and valuation that it does what the table says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pxp_fsm.automata.automaton import (
    DECIDE,
    Automaton,
    Event,
    Kind,
    Transition,
    Valuation,
    happening,
    receiving,
    sending,
)
from pxp_fsm.errors import UsageError

_PREFIX = {Kind.SEND: "on_send_", Kind.RECEIVE: "on_receive_", Kind.EVENT: "on_event_"}


class _Model:
    """What `transitions` puts its state and triggers on; nothing of ours, so no name can clash."""

    state: str
    trigger: Callable[..., bool]


class Machine:
    """A running automaton: where it is, and the one way to move it.

    >>> import pxp_fsm as pxp
    >>> machine = pxp.Machine(pxp.load_automaton("interact"))
    >>> machine.receive("INIT").target
    'DECIDE'
    >>> machine.decide({"RAT": True, "REF": False, "REV": False, "REJ": False}).action
    '+RATIFY'

    It starts in `state`, or else in the table's initial one; `UsageError` where there is no such.
    """

    def __init__(self, automaton: Automaton, state: str | None = None) -> None:
        names = [item.name for item in automaton.states]
        self.automaton = automaton
        if state is not None:
            self._check_state(state)
        self._model = _Model()
        self._taken: Transition | None = None
        import transitions  # heavy: not for the command's help

        machine = transitions.Machine(
            model=self._model,
            states=names,
            initial=state or automaton.initial,
            auto_transitions=False,
            send_event=True,
        )
        for transition in automaton.transitions:
            machine.add_transition(
                _trigger(transition.event),
                transition.source,
                transition.target,
                conditions=[_condition(transition.guard)] if transition.guard else [],
                before=[self._taking(transition)],
            )

    @property
    def state(self) -> str:
        """The name of the present state."""
        return self._model.state

    def return_to(self, state: str) -> None:
        """Be in `state`, without a transition; `UsageError` where there is no such state."""
        self._check_state(state)
        self._model.state = state

    def _check_state(self, state: str) -> None:
        names = [item.name for item in self.automaton.states]
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

    def receive(self, tag: str, partner: str = "") -> Transition:
        """Take the row that receives `tag` (from `partner`)."""
        return self.fire(receiving(tag, partner))

    def happen(self, name: str) -> Transition:
        """Take the row of the outside event `name`."""
        return self.fire(happening(name))

    def fire(self, event: Event, valuation: Valuation | None = None) -> Transition:
        """Take the row that `event` takes here, and return it.

        Raises `NotEnabled` or `GuardError`, and does not move, where the table has no one row.
        """
        row = self.automaton.step(self.state, event, valuation)
        self._taken = None
        self._model.trigger(_trigger(row.event), valuation=valuation)
        taken: Transition | None = self._taken
        if taken is None:
            raise AssertionError(f"{self.automaton.name}: {event} is in the table but did not move")
        return taken

    def _taking(self, transition: Transition) -> Callable[[Any], None]:
        def note(_event: Any) -> None:
            self._taken = transition

        return note


def _trigger(event: Event) -> str:
    if event.kind is None:
        return "on_decide"
    return _PREFIX[event.kind] + event.label + (f"@{event.partner}" if event.partner else "")


def _condition(guard: str) -> Callable[[Any], bool]:
    def holds(event: Any) -> bool:
        valuation: Valuation = event.kwargs["valuation"]
        return valuation[guard]

    return holds
