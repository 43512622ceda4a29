"""Checking claims: explore, give the verdict, replay every trace, compare with what is expected."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs.claims import ASSUMPTIONS, CLAIMS, Claim
from proofs.explore import Space, TooLarge, Trace, explore
from proofs.following import Place
from proofs.model import Step
from proofs.relational import Theory
from proofs.replay import replay
from proofs.sessions import SessionModel, State
from proofs.verdicts import Status, Verdict
from pxp_fsm.messages import Message
from pxp_fsm.rules import Interact, Pxp, Rules


@dataclass(frozen=True)
class Result:
    """A claim under one set of assumptions: the verdict, what was expected, and the time, in s.

    `messages` are those of the real session that the trace was replayed in.
    """

    claim: Claim
    assumptions: str
    model: str
    verdict: Verdict
    seconds: float
    messages: tuple[Message, ...] = ()

    @property
    def expected(self) -> Status | None:
        """The verdict that is expected; None where nothing is."""
        return self.claim.expected.get(self.assumptions)

    @property
    def as_expected(self) -> bool:
        """Whether it is: a bounded HOLDS is no contradiction to an expected one."""
        reached = self.verdict.status
        if reached is Status.HOLDS_UP_TO:
            reached = Status.HOLDS
        return self.expected is None or reached is self.expected


@dataclass(frozen=True)
class Bounds:
    """The n and k up to which sessions are explored; k also bounds the self-loops of PXP(k)."""

    n: int = 10
    k: int = 3

    def rules(self, protocol: str) -> Rules:
        """The rules of `interact`, `pxp` or `pxp(k)` with these bounds."""
        if protocol == "interact":
            return Interact(self.n, self.k)
        return Pxp(self.k if protocol == "pxp(k)" else None)


class Checker:
    """Checks claims; each model is explored once."""

    def __init__(self, bounds: Bounds = Bounds(), limit: int = 5_000_000) -> None:
        self.bounds = bounds
        self._limit = limit
        self._spaces: dict[tuple[str, str], tuple[SessionModel, Space[State]]] = {}

    def space(self, protocol: str, assumptions: str) -> tuple[SessionModel, Space[State]]:
        """The model of a protocol under a named set of assumptions, with its reachable states."""
        key = (protocol, assumptions)
        if key not in self._spaces:
            rules, theory = self.bounds.rules(protocol), Theory(ASSUMPTIONS[assumptions])
            model = SessionModel(rules, theory, observes=protocol == "interact")
            self._spaces[key] = (model, explore(model, self._limit))
        return self._spaces[key]

    def check(self, claim: Claim, assumptions: str) -> Result:
        """The verdict on `claim`; a trace is replayed through the real machines."""
        started = time.perf_counter()
        messages: tuple[Message, ...] = ()
        try:
            model, space = self.space(claim.protocol, assumptions)
            name = model.name
            verdict = claim.check(model, space)
            if verdict.trace is not None:
                messages = replay(model, plain(verdict.trace))
            verdict = self._bounded(claim, verdict)
        except TooLarge as error:
            name, verdict = claim.protocol, Verdict(Status.UNKNOWN, str(error))
        return Result(claim, assumptions, name, verdict, time.perf_counter() - started, messages)

    def check_all(
        self, claims: Iterable[Claim] = CLAIMS, assumptions: Iterable[str] | None = None
    ) -> Iterator[Result]:
        """Every claim under every set of assumptions for which something is expected of it."""
        wanted = None if assumptions is None else tuple(assumptions)
        for claim in claims:
            for name in claim.expected if wanted is None else wanted:
                yield self.check(claim, name)

    def _bounded(self, claim: Claim, verdict: Verdict) -> Verdict:
        """What was explored for one n and k holds up to them; PXP without k has neither."""
        if verdict.status is not Status.HOLDS or claim.protocol == "pxp" or claim.exact:
            return verdict
        bound = f"k = {self.bounds.k}"
        if claim.protocol == "interact":
            bound = f"n = {self.bounds.n}, {bound}"
        detail = f"{bound}; {verdict.detail}" if verdict.detail else bound
        return Verdict(Status.HOLDS_UP_TO, detail)


def plain(trace: Trace[State] | Trace[Place[State]]) -> Trace[State]:
    """A trace of the session model itself, without the places along a word."""

    def state_of(state: State | Place[State]) -> State:
        return state.state if isinstance(state, Place) else state

    return Trace(
        state_of(trace.start),
        tuple(Step(step.label, state_of(step.target), step.facts) for step in trace.steps),
    )
