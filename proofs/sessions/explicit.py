"""The claims about INTERACT over explicit values, without symmetry; the verdicts must agree.

Every session for so many values of y and of e is explored; MATCH and AGREE are equality. What is
explored are packed integers. A state is what `SessionModel` keeps of a session apart from its data
(the number of messages, the latest tag of each agent, what each has sent, whether and how it is
over: a *control*), with the latest prediction and explanation of each agent, which are 0 before its
first message. Controls are few; they come from the tables and decision functions that sessions run
on, and the rest is arithmetic on

    state = ((control · V + y_m) · V + e_m) · V² + y_h · V + e_h

for V values of y and V of e. Every message carries any fresh pair, so each state of a session that
is not over has V² transitions. Claims look at the unpacked state: a `SessionState`, and the values.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, cast

from proofs.claims.catalogue import Claim
from proofs.claims.checking import plain
from proofs.core.explore import Space, Step, TooLarge, explore
from proofs.core.results import Bound, Result, Status, Verdict
from proofs.sessions.model import SentSoFar, SessionModel, SessionState
from proofs.sessions.relational import Structure, Theory
from proofs.sessions.replay import replay
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.relations import EQUIVALENCE
from pxp_fsm.protocol.rules import Interact

OUTCOMES = tuple(product((False, True), repeat=4))
"""What the speaker's relations can say, in the order of `Controls.follow`: MATCH and AGREE between
the received pair and its own, then between the fresh pair and its own."""

RESPONDER, FIRST, OVER = 1, 2, 4
"""Bits of `Controls.kinds`: who speaks next, whether for the first time, or nobody."""


class Values(NamedTuple):
    """The latest values of the initiator and of the responder; 0 before the first message."""

    y_m: int
    e_m: int
    y_h: int
    e_h: int


@dataclass(frozen=True)
class Controls:
    """All that sessions can be apart from their data, in breadth-first order.

    `steps[c]` are the steps of `states[c]`, one an outcome; `follow[16 c + outcome]` the number of
    the control to which it leads; `kinds[c]` says who speaks. Whoever speaks for the first time
    has no earlier pair: its fresh one takes its place.
    """

    states: tuple[SessionState, ...]
    steps: tuple[tuple[Step[SessionState], ...], ...]
    follow: tuple[int, ...]
    kinds: tuple[int, ...]


@dataclass(frozen=True)
class PackedSessions:
    """The model: sessions under `rules` with `values` values of y and as many of e.

    Raises `UsageError` for no values, and for rules other than INTERACT's.
    """

    rules: Interact
    values: int
    tables: tuple[Automaton, Automaton] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Interact):
            raise UsageError("sessions over explicit values follow INTERACT's rules only")
        if self.values < 1:
            raise UsageError(f"a prediction has at least one value; it had {self.values}")

    @property
    def name(self) -> str:
        return f"{self._sessions.name} with {self.values} values"

    def initial(self) -> Iterable[int]:
        yield 0

    def successors(self, state: int) -> Iterator[Step[int]]:
        control, values = self.unpack(state)
        if not self.controls.kinds[control] & OVER:
            for y, e in product(range(self.values), repeat=2):
                yield self.step(control, values, y, e)

    def step(self, control: int, values: Values, y: int, e: int) -> Step[int]:
        """The step in which the next speaker's fresh pair is (y, e)."""
        kind = self.controls.kinds[control]
        outcome = OUTCOMES.index(_outcome(kind, values, y, e))
        step = self.controls.steps[control][outcome]
        target = self.controls.follow[len(OUTCOMES) * control + outcome]
        return Step(step.action, self.pack(target, _put(kind, values, y, e)), step.facts)

    def earlier(self, kind: int, values: Values) -> Iterator[Values]:
        """The values that may have been there before the speaker of `kind` put its latest pair."""
        if kind & FIRST:
            yield _put(kind, values, 0, 0)
        else:
            for y, e in product(range(self.values), repeat=2):
                yield _put(kind, values, y, e)

    def propositions(self, state: int) -> frozenset[str]:
        return self._sessions.propositions(self.controls.states[self.unpack(state)[0]])

    def pack(self, control: int, values: Values) -> int:
        """The integer that stands for a control with values."""
        state = control
        for value in values:
            state = state * self.values + value
        return state

    def unpack(self, state: int) -> tuple[int, Values]:
        """The number of the control, and the values, that `state` stands for."""
        control, data = divmod(state, self.values**4)
        initiator, responder = divmod(data, self.values**2)
        return control, Values(*divmod(initiator, self.values), *divmod(responder, self.values))

    @cached_property
    def size(self) -> int:
        """How many integers stand for a state, reachable or not."""
        return len(self.controls.states) * self.values**4

    @cached_property
    def controls(self) -> Controls:
        """The controls, from the tables and the decision functions."""
        model = self._sessions
        (start,) = model.initial()
        numbers = {start: 0}
        order, steps_of = [start], []
        for state in order:  # grows while it is read
            steps = self._steps(state)
            steps_of.append(steps)
            for step in steps:
                if step.target not in numbers:
                    numbers[step.target] = len(order)
                    order.append(step.target)
        follow = tuple(
            numbers[target]
            for steps in steps_of
            for target in ([step.target for step in steps] or [start] * len(OUTCOMES))
        )
        return Controls(tuple(order), tuple(steps_of), follow, tuple(map(_kind, order)))

    @cached_property
    def _sessions(self) -> SessionModel:
        return SessionModel(self.rules, Theory(frozenset()), self.tables)

    def _steps(self, state: SessionState) -> tuple[Step[SessionState], ...]:
        if state.over:
            return ()
        if state.sent == 0:
            (step,) = self._sessions.successors(state)
            return (step,) * len(OUTCOMES)
        return tuple(
            self._sessions.answering(state, (same_y, kept_y), (same_e, kept_e))
            for same_y, same_e, kept_y, kept_e in OUTCOMES
        )


def _kind(state: SessionState) -> int:
    if state.over:
        return OVER
    number = state.sent + 1
    speaker = 0 if decisions.initiator_speaks(number) else RESPONDER
    return speaker | (0 if state.tags[speaker] else FIRST)


def _outcome(kind: int, values: Values, y: int, e: int) -> tuple[bool, ...]:
    """What the speaker's relations say when its fresh pair is (y, e)."""
    own, received = latest(kind, values), latest(kind ^ RESPONDER, values)
    if kind & FIRST:
        own = (y, e)
    return (received[0] == own[0], received[1] == own[1], y == own[0], e == own[1])


def latest(kind: int, values: Values) -> tuple[int, int]:
    """The latest pair of the agent that speaks in a control of `kind`."""
    return (values.y_h, values.e_h) if kind & RESPONDER else (values.y_m, values.e_m)


def _put(kind: int, values: Values, y: int, e: int) -> Values:
    if kind & RESPONDER:
        return values._replace(y_h=y, e_h=e)
    return values._replace(y_m=y, e_m=e)


LIMIT = 300_000
"""States that are explored; Python takes about a minute for them."""


class Valued(NamedTuple):
    """A `SessionState` together with the latest values; relations are their equalities."""

    sent: int
    at: tuple[str, str]
    tags: tuple[str, str]
    predictions: Structure
    explanations: Structure
    history: tuple[SentSoFar, SentSoFar]
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
        valued = Valued(*state[:3], y, e, state.history, state.over, values)
        self._numbers[valued] = packed
        return valued


def _equalities(state: SessionState, values: Values) -> tuple[Structure, Structure]:
    """Which of the latest values are equal; a value that is not there yet is equal to none."""
    points = sum(map(bool, state.tags))

    def of(left: int, right: int) -> Structure:
        pairs = {(p, p) for p in range(points)}
        if points == 2 and left == right:
            pairs |= {(0, 1), (1, 0)}
        return Structure(points, frozenset(pairs), frozenset(pairs))

    return of(values.y_m, values.y_h), of(values.e_m, values.e_h)


def check_explicit(claims: Iterable[Claim], rules: Interact, values: int) -> Iterator[Result]:
    """Each claim about INTERACT over `values` values, up to its n and k; traces are replayed.

    Left out is what no session decides (`Claim.exact`). Raises `UsageError` for no values.
    """
    model = Explicit(rules, values)
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
                bound = Bound(rules.n, rules.k, values=values)
                verdict = Verdict(Status.HOLDS_UP_TO, bound=bound)
        seconds = time.perf_counter() - started
        yield claim.result("equivalence", verdict, seconds, model.name, messages)
