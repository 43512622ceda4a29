"""An agent of a network as a model: its table, with arbitrary replies of its model.

The guards are those that run (`pxp_fsm.plugins.easylan.decisions`); `gate` can be another one, and
`without` takes an oracle out, so that what it holds back can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from proofs.core.explore import Step
from proofs.core.results import Bound
from pxp_fsm.automata.actions import Decide, External
from pxp_fsm.automata.automaton import DECIDE, Automaton, Transition, one_hot
from pxp_fsm.errors import NotEnabled
from pxp_fsm.plugins.easylan.decisions import Inputs, gate_guard, reply_guard

MEANINGS = {"CONTROLLED": ("ON", "OFF"), "EXECUTED": ("DONE",)}
"""What a usable reply can mean, by the state that follows it."""


class AgentState(NamedTuple):
    """A state of the table; `tries` are those of the present module, `usable` of its last reply."""

    at: str
    blocked: bool
    enabled: bool
    tries: int = 0
    usable: bool = True
    asked: bool = False


@dataclass(frozen=True)
class NetworkAgent:
    """The agent of `table`, blocked or not, its control module enabled or not.

    A module is asked `tries` times at most; None is any number of tries at once.
    """

    table: Automaton
    tries: int | None = 3
    without: frozenset[str] = frozenset()
    gate: Callable[[Inputs], str] = gate_guard

    @property
    def name(self) -> str:
        out = f", without {', '.join(sorted(self.without))}" if self.without else ""
        return f"{self.table.name} (tries = {self.tries or 'any'}{out})"

    @property
    def bound(self) -> Bound:
        """How far its verdicts reach."""
        return Bound(tries=self.tries or "all")

    def initial(self) -> Iterable[AgentState]:
        for blocked, enabled in product((False, True), repeat=2):
            yield AgentState(self.table.initial, blocked, enabled)

    def successors(self, place: AgentState) -> Iterator[Step[AgentState]]:
        guards = self.table.guards_of(place.at)
        for guard, left in self._guards(place) if guards else ():
            try:
                row = self.table.step(place.at, DECIDE, one_hot(guard, guards))
            except NotEnabled:  # a table that lacks the row is stuck there
                continue
            yield Step(Decide(guard, row.label), self._moved(place, row), (left,))
        for row in self.table.leaving(place.at):
            if row.guard is None:
                for usable in (True, False) if row.label == "REPLY" else (True,):
                    yield Step(External(row.label), self._moved(place, row)._replace(usable=usable))

    def propositions(self, place: AgentState) -> frozenset[str]:
        flags = ("blocked", "enabled", "usable", "asked")
        return frozenset({f"@{place.at}", *(flag for flag in flags if getattr(place, flag))})

    def ended(self, place: AgentState) -> bool:
        """Whether the agent's turn is over."""
        return place.at in self.table.final

    def _guards(self, place: AgentState) -> Iterator[tuple[str, bool]]:
        if place.at == "GATE":
            yield self.gate(Inputs(place.blocked, place.enabled)), True
            return
        open_tries = (False, True) if self.tries is None else (place.tries < self.tries,)
        for left, meaning in product(open_tries, MEANINGS[place.at]):
            usable = place.usable or "usable" in self.without
            yield reply_guard(usable, left or "tries_left" in self.without, meaning), left

    def _moved(self, place: AgentState, row: Transition) -> AgentState:
        tries = place.tries
        if row.label in ("CONSULT", "ACTIVATE"):
            tries = 0
        if row.label == "REPLY" and self.tries is not None:
            tries = min(tries + 1, self.tries)
        asked = place.asked or row.target == "CONTROL"
        return place._replace(at=row.target, tries=tries, asked=asked)
