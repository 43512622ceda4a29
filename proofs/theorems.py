"""The claims of the catalogue that are proved for all n and k, and their proofs.

A claim is a condition on the nodes and moves of an inductive invariant (`proofs.induction`), or a
ranking function. `prove` gives a `Proof` each; one that is not proved says where the induction
fails, which is no counterexample: the exploration of sessions has those.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs import claims as catalogue
from proofs.claims import REFLEXIVE, REFUTED, REVISED
from proofs.induction import INTERACT, NOTHING, PXP, PXP_K, Invariant, Keep, Subject, invariant_of
from proofs.numbers import Numbers
from proofs.obligations import RATIFIED, Check, Obstacle, Ranking
from proofs.relational import Theory
from pxp_fsm import decisions
from pxp_fsm.automaton import Automaton
from pxp_fsm.interfaces import Decisions
from pxp_fsm.relations import Assumption

__all__ = ["CLAIMS", "REFLEXIVE", "WATCHED", "Claim", "Part", "Proof", "prove", "prove_parts"]

Tables = tuple[Automaton, Automaton]

SUBJECTS = {subject.name: subject for subject in (INTERACT, PXP, PXP_K)}
WATCHED = (RATIFIED, REFUTED, REVISED)
"""The sequences that claims speak of; every invariant tells them apart."""


@dataclass(frozen=True)
class Claim:
    """A claim of the catalogue as the prover takes it: about what, and under which assumptions.

    `provable` is false for what cannot be proved, because it is not so; trying shows where.
    `certified` is false for what stays out of the certificate, because its invariant is large.
    """

    name: str
    text: str
    subject: Subject
    assumptions: frozenset[Assumption]
    check: Check
    keep: Keep = NOTHING
    ranking: Ranking = ()
    provable: bool = True
    certified: bool = True


@dataclass(frozen=True)
class Proof:
    """What came of a claim: proved under `assumptions`, or where the induction fails."""

    claim: Claim
    assumptions: frozenset[Assumption]
    obstacle: Obstacle | None
    nodes: int
    moves: int
    seconds: float

    @property
    def proved(self) -> bool:
        return self.obstacle is None


def _claims() -> Iterator[Claim]:
    for claim in catalogue.CLAIMS:
        how = claim.induction
        if how is not None:
            yield Claim(
                f"{claim.protocol}.{claim.name}",
                claim.title,
                SUBJECTS[claim.protocol],
                how.assumptions,
                how.check,
                how.keep,
                how.ranking,
                how.provable,
                how.certified,
            )


CLAIMS = {claim.name: claim for claim in _claims()}
"""Every claim for all n and k, by protocol and name, each with assumptions that suffice."""


@dataclass(frozen=True)
class Part:
    """One invariant under one set of assumptions, with what was proved from it."""

    invariant: Invariant
    assumptions: frozenset[Assumption]
    proofs: tuple[Proof, ...]


def prove_parts(
    claims: Iterable[Claim] = tuple(CLAIMS.values()),
    assumptions: frozenset[Assumption] | None = None,
    tables: Tables | None = None,
    numbers: Numbers | None = None,
    functions: Decisions = decisions,
) -> list[Part]:
    """Prove `claims`, each under its own assumptions or all under `assumptions`.

    `tables` are the two agents', by default each protocol's own; `functions` are the decision
    functions. Claims about one protocol under the same assumptions are read off one invariant.
    Raises `Unknown` where Z3 gives up.
    """
    numbers = numbers or Numbers()
    groups: dict[tuple[str, tuple[Assumption, ...]], list[Claim]] = {}
    for claim in claims:
        assumed = claim.assumptions if assumptions is None else assumptions
        groups.setdefault((claim.subject.name, tuple(sorted(assumed))), []).append(claim)
    parts = []
    for (_, names), group in groups.items():
        started, assumed = time.perf_counter(), frozenset(names)
        invariant = invariant_of(
            group[0].subject, Theory(assumed), _kept(group), tables, numbers, functions
        )
        size = len(invariant.nodes), sum(map(len, invariant.nodes.values()))
        proofs = []
        for claim in group:
            obstacle = claim.check(invariant)
            now = time.perf_counter()
            proofs.append(Proof(claim, assumed, obstacle, *size, now - started))
            started = now
        parts.append(Part(invariant, assumed, tuple(proofs)))
    return parts


def prove(
    claims: Iterable[Claim] = tuple(CLAIMS.values()),
    assumptions: frozenset[Assumption] | None = None,
    tables: Tables | None = None,
    numbers: Numbers | None = None,
    functions: Decisions = decisions,
) -> list[Proof]:
    """The proofs of `prove_parts`, without the invariants."""
    parts = prove_parts(claims, assumptions, tables, numbers, functions)
    return [proof for part in parts for proof in part.proofs]


def _kept(claims: list[Claim]) -> Keep:
    keeps = [claim.keep for claim in claims]
    return Keep(
        WATCHED,
        any(keep.replied for keep in keeps),
        any(keep.data for keep in keeps),
        any(keep.others for keep in keeps),
    )
