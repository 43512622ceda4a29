"""The checker of claims: explore, decide, replay every trace, compare with the expected verdict."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from proofs.claims.catalogue import Claim, assumptions_of
from proofs.claims.theorems import Proof
from proofs.core.explore import Space, TooLarge, Trace, explore_as_read
from proofs.core.results import Bound, Result, Status, Verdict, stopped
from proofs.sessions.model import SessionModel, SessionState
from proofs.sessions.relational import Theory
from proofs.sessions.replay import ReplayPoint, replay
from pxp_fsm import defaults
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.rules import Interact, Pxp, Rules


@dataclass(frozen=True)
class Substitutes:
    """What is checked in place of what is built in: tables by name, both agents'."""

    tables: Mapping[str, Automaton] = field(default_factory=dict)


AS_BUILT = Substitutes()


@dataclass(frozen=True)
class Bounds:
    """The n and k up to which sessions are explored; k also bounds the self-loops of PXP(k)."""

    n: int = defaults.N
    k: int = defaults.K

    def rules(self, protocol: str, instead: Substitutes = AS_BUILT) -> Rules:
        """The rules of `interact`, `pxp` or `pxp(k)` with these bounds."""
        if protocol == "interact":
            return Interact(self.n, self.k, instead.tables.get("interact"))
        return Pxp(self.k if protocol == "pxp(k)" else None, table=instead.tables.get("pxp"))


_DEFAULTS = Bounds()


class ClaimChecker:
    """Checks claims; each model is explored once.

    `instead` names other tables to check: what would be so of them. What
    `proofs` establish for all n and k is not explored for some of them.
    """

    def __init__(
        self,
        bounds: Bounds = _DEFAULTS,
        limit: int = 5_000_000,
        instead: Substitutes = AS_BUILT,
        proofs: Sequence[Proof] = (),
    ) -> None:
        self.bounds = bounds
        self._instead = instead
        self._limit = limit
        self._proofs: dict[str, list[Proof]] = {}
        for proof in proofs:
            self._proofs.setdefault(proof.claim.id, []).append(proof)
        self._models: dict[tuple[str, str], SessionModel] = {}
        self._spaces: dict[tuple[str, str], Space[SessionState]] = {}

    def model(self, protocol: str, assumptions: str) -> SessionModel:
        """The sessions of a protocol under a named set of assumptions."""
        key = protocol, assumptions
        if key not in self._models:
            rules = self.bounds.rules(protocol, self._instead)
            theory = Theory(assumptions_of(assumptions))
            self._models[key] = SessionModel(rules, theory, observes=protocol == "interact")
        return self._models[key]

    def space(self, protocol: str, assumptions: str) -> tuple[SessionModel, Space[SessionState]]:
        """The model of a protocol under a named set of assumptions, with its reachable states.

        They are explored as far as they are read.
        """
        key, model = (protocol, assumptions), self.model(protocol, assumptions)
        if key not in self._spaces:
            self._spaces[key] = explore_as_read(model, self._limit)
        return model, self._spaces[key]

    def check(self, claim: Claim, assumptions: str) -> Result:
        """The verdict on `claim`; a trace is replayed through the real machines."""
        started = time.perf_counter()
        messages: tuple[Message, ...] = ()
        model = self.model(claim.protocol, assumptions)
        try:
            if self._is_proved(claim, assumptions):
                seconds = time.perf_counter() - started
                return claim.result(assumptions, _for_all(claim), seconds, model.name)
            if claim.explores:
                model, space = self.space(claim.protocol, assumptions)
            else:
                space = Space({}, {})
            verdict = claim.check(model, space)
            if verdict.trace is not None:
                messages = replay(model, plain(verdict.trace))
            proofs = self._proofs.get(claim.id, ())
            verdict = settled(self._bounded(claim, verdict), proofs, assumptions)
        except TooLarge as error:
            verdict = Verdict(Status.UNKNOWN, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a function of the user does
            verdict = stopped(error)
        seconds = time.perf_counter() - started
        return claim.result(assumptions, verdict, seconds, model.name, messages)

    def _bounded(self, claim: Claim, verdict: Verdict) -> Verdict:
        """What was explored for one n and k holds up to them; PXP without k has neither."""
        if verdict.status is not Status.HOLDS or claim.protocol == "pxp" or claim.exact:
            return verdict
        n = self.bounds.n if claim.protocol == "interact" else None
        bound = replace(verdict.bound or Bound(), n=n, k=self.bounds.k)
        return Verdict(Status.HOLDS_UP_TO, verdict.reason, bound=bound)

    def _is_proved(self, claim: Claim, assumptions: str) -> bool:
        """Whether it is proved from no more than these assumptions."""
        assumed = assumptions_of(assumptions)
        proofs = self._proofs.get(claim.id, ())
        return any(proof.proved and proof.assumptions <= assumed for proof in proofs)


def _for_all(claim: Claim) -> Verdict:
    """What is proved holds for all n and k; PXP without k has neither."""
    if claim.protocol == "pxp":
        return Verdict(Status.HOLDS)
    return Verdict(
        Status.HOLDS, bound=Bound("all" if claim.protocol == "interact" else None, "all")
    )


def settled(verdict: Verdict, proofs: Iterable[Proof], assumptions: str) -> Verdict:
    """A bounded `verdict`, after proofs were tried from no more than `assumptions`, in vain.

    Nothing is known beyond the bound then, which is UNKNOWN: a proof that fails is no
    counterexample.
    """
    assumed = assumptions_of(assumptions)
    tried = [proof for proof in proofs if proof.assumptions <= assumed]
    if verdict.status is not Status.HOLDS_UP_TO or verdict.bound is None or not tried:
        return verdict
    return Verdict(Status.UNKNOWN, tried[0].obstacle, bound=verdict.bound)


def plain(trace: Trace[SessionState] | Trace[ReplayPoint[SessionState]]) -> Trace[SessionState]:
    """A trace of the session model itself, without the places along a word."""

    return trace.map(_state)


def _state(state: SessionState | ReplayPoint[SessionState]) -> SessionState:
    return state.state if isinstance(state, ReplayPoint) else state
