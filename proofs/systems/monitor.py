"""Monitors of systems' sessions, live or recorded: the verdict on a formula after each action.

A monitor decides over what the system still allows, where it has not too many states for that; else
over the formula by itself.
"""

from __future__ import annotations

from typing import Any

from proofs.core.explore import TooLarge
from proofs.logic.formulas import Atom, Formula, atoms
from proofs.logic.monitor import Deterministic, Letter, MonitorVerdict, atoms_of, by_itself, over
from proofs.logic.parsing import unknown
from proofs.systems.product import Composition
from proofs.systems.propositions import Noted, Noting, named
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.errors import Refused

_STATES = 20_000
"""States of a system, times a formula's valuations, that a monitor decides over."""


class SystemMonitor:
    """A formula, to be watched in any number of sessions of `system`.

    >>> from proofs.logic import parse
    >>> import pxp_fsm as pxp
    >>> system = pxp.System.load("m=interact", "h=interact")
    >>> watch = SystemMonitor(parse("G !h@DECIDE"), system).watch()
    >>> from pxp_fsm.automata.actions import Exchange
    >>> watch.hear(Exchange("m", "h", "INIT")).value
    'false'

    Raises `UsageError` for a formula that cannot be monitored, or that speaks of what the system
    has not.
    """

    def __init__(self, formula: Formula, system: System) -> None:
        composition = Composition(system)
        names = set(atoms(formula))
        known = named(composition).keys()
        if names - known:
            raise unknown(names - known, frozenset(known), "there is no")
        self.system = system
        self.noting = Noting(composition, names)
        self.model: Deterministic[Any, str] | None
        try:
            self.model = over(formula, self.noting, _STATES)
        except TooLarge:
            self.model = None
        self.itself = by_itself(formula) if self.model is None else None
        self._order = [one.name for one in atoms_of(formula) if isinstance(one, Atom)]

    @property
    def over_the_protocol(self) -> bool:
        """Whether it decides over what the system allows."""
        return self.model is not None

    def watch(self) -> SystemWatch:
        """A new session, before its first action."""
        return SystemWatch(self)

    def letter(self, state: Noted) -> Letter:
        """The truth of the formula's atoms in `state`."""
        there = self.noting.propositions(state)
        return tuple(name in there for name in self._order)


class SystemWatch:
    """One session as a monitor follows it: `hear` each action in order, then see the `outlook`."""

    def __init__(self, monitor: SystemMonitor) -> None:
        self._monitor = monitor
        (self._state,) = monitor.noting.initial()
        self._place = 0
        if monitor.itself is not None:
            start = monitor.itself.start
            self._place = monitor.itself.after(start, monitor.letter(self._state))

    def hear(self, action: SystemAction) -> MonitorVerdict:
        """How the formula stands after `action`; `Refused` where the system does not allow it."""
        model, itself = self._monitor.model, self._monitor.itself
        if model is not None:
            self._place = model.after(self._place, str(action))
        elif itself is not None:
            steps = self._monitor.noting.successors(self._state)
            found = next((step.target for step in steps if step.action == action), None)
            if found is None:
                raise Refused(f"{self._monitor.system.name} does not allow {action} here")
            self._state = found
            self._place = itself.after(self._place, self._monitor.letter(found))
        return self.outlook

    @property
    def outlook(self) -> MonitorVerdict:
        """How the formula stands."""
        decided = self._monitor.model or self._monitor.itself
        assert decided is not None  # noqa: S101 - one of the two is always there
        return decided.outlooks[self._place]
