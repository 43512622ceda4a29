"""Theorems: the claims of the catalogue that are proved for all n and k, with their proofs.

A claim is a condition on the nodes and moves of an inductive invariant
(`proofs.induction.invariants`), or a ranking function. `prove` gives a `Proof` each; one that is
not proved says where the induction fails, which is no counterexample: the exploration of sessions
has those.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from proofs.claims.catalogue import CLAIMS, Claim, Induction
from proofs.induction.invariants import (
    INTERACT,
    PXP,
    PXP_K,
    Invariant,
    KeptPast,
    SymbolicProtocol,
    invariant_of,
)
from proofs.induction.numbers import Numbers, Unknown
from proofs.induction.obligations import RATIFIED, Obstacle
from proofs.sessions.relational import Theory
from pxp_fsm.automata.actions import Say
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.relations import Assumption

Tables = tuple[Automaton, Automaton]

SUBJECTS = {subject.name: subject for subject in (INTERACT, PXP, PXP_K)}
WATCHED = (RATIFIED,)
"""The sequences that claims about whole sessions speak of."""


@dataclass(frozen=True)
class Theorem:
    """A claim of the catalogue that is proved by induction, and how."""

    claim: Claim
    induction: Induction

    @property
    def name(self) -> str:
        """The claim's name with its protocol's."""
        return self.claim.id

    @property
    def subject(self) -> SymbolicProtocol:
        """What it is about."""
        return SUBJECTS[self.claim.protocol]


@dataclass(frozen=True)
class Proof:
    """What came of a theorem: proved under `assumptions`, or what stands against it.

    That is where the induction fails, or why none was tried.
    """

    theorem: Theorem
    assumptions: frozenset[Assumption]
    obstacle: Obstacle | Unknown | None
    nodes: int
    moves: int
    seconds: float

    @property
    def proved(self) -> bool:
        return self.obstacle is None

    @property
    def reason(self) -> str:
        """What stands against it, in words."""
        return f"{'induction step: ' * isinstance(self.obstacle, Obstacle)}{self.obstacle or ''}"


THEOREMS = {
    claim.id: Theorem(claim, claim.induction) for claim in CLAIMS if claim.induction is not None
}
"""Every claim for all n and k, by protocol and name, each with assumptions that suffice."""


@dataclass(frozen=True)
class ProofPart:
    """One invariant under one set of assumptions, with what was proved from it."""

    invariant: Invariant
    assumptions: frozenset[Assumption]
    proofs: tuple[Proof, ...]


def prove_parts(
    theorems: Iterable[Theorem] = tuple(THEOREMS.values()),
    assumptions: frozenset[Assumption] | None = None,
    tables: Tables | None = None,
    numbers: Numbers | None = None,
    functions: Decisions = decisions,
) -> list[ProofPart]:
    """Prove `theorems`, each under what its claim needs or all under `assumptions`.

    `tables` are the two agents', by default each protocol's own; `functions` are the decision
    functions. Claims about one protocol under the same assumptions are read off one invariant.
    Raises `Unknown` where Z3 gives up, or the functions are beyond what is proved about.
    """
    numbers = numbers or Numbers()
    groups: dict[tuple[str, tuple[Assumption, ...], tuple[Say, ...], int | None], list[Theorem]]
    groups = {}
    for theorem in theorems:
        for assumed in theorem.claim.tried if assumptions is None else (assumptions,):
            keep = theorem.induction.keep
            key = theorem.subject.name, tuple(sorted(assumed)), keep.along, keep.free
            groups.setdefault(key, []).append(theorem)
    parts = []
    for (_, names, _, _), group in groups.items():
        started, assumed = time.perf_counter(), frozenset(names)
        invariant = invariant_of(
            group[0].subject, Theory(assumed), _kept(group), tables, numbers, functions
        )
        size = len(invariant.nodes), sum(map(len, invariant.nodes.values()))
        proofs = []
        for theorem in group:
            obstacle = theorem.induction.check(invariant)
            now = time.perf_counter()
            proofs.append(Proof(theorem, assumed, obstacle, *size, now - started))
            started = now
        parts.append(ProofPart(invariant, assumed, tuple(proofs)))
    return parts


def prove(
    theorems: Iterable[Theorem] = tuple(THEOREMS.values()),
    assumptions: frozenset[Assumption] | None = None,
    tables: Tables | None = None,
    numbers: Numbers | None = None,
    functions: Decisions = decisions,
) -> list[Proof]:
    """The proofs of `prove_parts`, without the invariants."""
    parts = prove_parts(theorems, assumptions, tables, numbers, functions)
    return [proof for part in parts for proof in part.proofs]


def unproved(claims: Iterable[Claim], reason: Unknown) -> list[Proof]:
    """What came of `claims` where nothing could be proved at all, for this reason."""
    return [
        Proof(THEOREMS[claim.id], assumed, reason, 0, 0, 0.0)
        for claim in claims
        if claim.id in THEOREMS
        for assumed in claim.tried
    ]


def _kept(theorems: list[Theorem]) -> KeptPast:
    keeps = [theorem.induction.keep for theorem in theorems]
    return KeptPast(
        WATCHED,
        any(keep.replied for keep in keeps),
        any(keep.data for keep in keeps),
        any(keep.others for keep in keeps),
        keeps[0].along,
        keeps[0].free,
    )
