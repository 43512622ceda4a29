"""The claims about INTERACT over explicit values, without symmetry; the verdicts must agree.

Every session for so many values of y and of e is explored; MATCH and AGREE are equality. A state is
that of `proofs.sessions.packed`, unpacked; it has all that claims look at in a `State`, and the
values.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from proofs.claims.catalogue import Claim
from proofs.claims.checking import Bounds, plain
from proofs.core.explore import Space, TooLarge, explore
from proofs.core.model import Step
from proofs.core.results import Bound, Result, Status, Verdict
from proofs.sessions.model import Sent, SessionModel, State
from proofs.sessions.packed import PackedSessions, Values
from proofs.sessions.relational import Structure, Theory
from proofs.sessions.replay import replay
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.relations import EQUIVALENCE
from pxp_fsm.protocol.rules import Interact

LIMIT = 300_000
"""States that are explored; Python takes about a minute for them."""


class Valued(NamedTuple):
    """A `State` of a session together with the latest values; relations are their equalities."""

    sent: int
    at: tuple[str, str]
    tags: tuple[str, str]
    predictions: Structure
    explanations: Structure
    history: tuple[Sent, Sent]
    over: str
    values: Values


@dataclass(frozen=True)
class Explicit:
    """Sessions over explicit values, as a model whose states claims can be asked about."""

    rules: Interact
    values: int

    @property
    def name(self) -> str:
        return self._packed.name

    @property
    def theory(self) -> Theory:
        """Equality is an equivalence."""
        return Theory(EQUIVALENCE)

    @property
    def both(self) -> tuple[Automaton, Automaton]:
        """The two tables."""
        return (self.rules.automaton, self.rules.automaton)

    def initial(self) -> Iterable[Valued]:
        return map(self._valued, self._packed.initial())

    def successors(self, state: Valued) -> Iterator[Step[Valued]]:
        for step in self._packed.successors(self._numbers[state]):
            yield Step(step.action, self._valued(step.target), step.facts)

    def propositions(self, state: Valued) -> frozenset[str]:
        return self._packed.propositions(self._numbers[state])

    @cached_property
    def _packed(self) -> PackedSessions:
        return PackedSessions(self.rules, self.values)

    @cached_property
    def _numbers(self) -> dict[Valued, int]:
        return {}

    def _valued(self, packed: int) -> Valued:
        control, values = self._packed.unpack(packed)
        state = self._packed.controls.states[control]
        y, e = _equalities(state, values)
        found = Valued(*state[:3], y, e, state.history, state.over, values)
        self._numbers[found] = packed
        return found


def _equalities(state: State, values: Values) -> tuple[Structure, Structure]:
    """Which of the latest values are equal; a value that is not there yet is equal to none."""
    points = sum(map(bool, state.tags))

    def of(left: int, right: int) -> Structure:
        pairs = {(p, p) for p in range(points)}
        if points == 2 and left == right:
            pairs |= {(0, 1), (1, 0)}
        return Structure(points, frozenset(pairs), frozenset(pairs))

    return of(values.y_m, values.y_h), of(values.e_m, values.e_h)


def check_explicit(claims: Iterable[Claim], bounds: Bounds, values: int) -> Iterator[Result]:
    """Each claim about INTERACT over `values` values, up to `bounds`; traces are replayed.

    Left out is what no session decides (`Claim.exact`). Raises `UsageError` for no values.
    """
    model = Explicit(Interact(bounds.n, bounds.k), values)
    as_sessions = cast(SessionModel, model)  # it has all that claims and replays look at
    space: Space[Any] | str | None = None
    for claim in claims:
        if claim.exact or claim.protocol != "interact":
            continue
        started, messages = time.perf_counter(), tuple[Message, ...]()
        if space is None:
            try:
                space = explore(model, LIMIT)
            except TooLarge as error:
                space = str(error)
        if isinstance(space, str):
            verdict = Verdict(Status.UNKNOWN, space)
        else:
            verdict = claim.check(as_sessions, space)
            if verdict.trace is not None:
                messages = replay(as_sessions, plain(verdict.trace))
            if verdict.status is Status.HOLDS:
                bound = Bound(bounds.n, bounds.k, values=values)
                verdict = Verdict(Status.HOLDS_UP_TO, bound=bound)
        seconds = time.perf_counter() - started
        yield claim.result("equivalence", verdict, seconds, model.name, messages)
