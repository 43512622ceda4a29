"""The claims of the protocols that are proved for all n and k, and how each is proved.

A claim is a condition on the nodes and moves of an inductive invariant (`proofs.induction`), or a
ranking function. `prove` gives a `Proof` each; one that is not proved says where the induction
fails, which is no counterexample: the exploration of sessions has those.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs.induction import INTERACT, NOTHING, PXP, PXP_K, Invariant, Keep, Subject, invariant_of
from proofs.numbers import Numbers
from proofs.obligations import (
    RATIFIED,
    REPLIES,
    Check,
    Obstacle,
    Ranking,
    disagree,
    endless,
    no_move,
    no_node,
    ranked,
    rejects_early,
    replies_beyond,
    revises_second,
    said,
    speaks_after,
    strong_otherwise,
    stuck,
    ultra_strong,
    unanswered,
)
from proofs.relational import Theory
from pxp_fsm.automaton import Automaton
from pxp_fsm.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption

REFLEXIVE = frozenset({Assumption.REFLEXIVE})
Tables = tuple[Automaton, Automaton]

REFUTED = ("m INIT", "h REFUTE", "m REFUTE", "h RATIFY")
REVISED = ("m INIT", "h REVISE", "m REVISE", "h RATIFY", "m RATIFY")
WATCHED = (RATIFIED, REFUTED, REVISED)
"""The sequences that claims speak of; every invariant tells them apart."""


@dataclass(frozen=True)
class Claim:
    """A claim for all n and k: about what, and under which assumptions it is to be proved.

    `provable` is false for what cannot be proved, because it is not so; trying shows where.
    """

    name: str
    text: str
    subject: Subject
    assumptions: frozenset[Assumption]
    check: Check
    keep: Keep = NOTHING
    ranking: Ranking = ()
    provable: bool = True


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


def _both(subject: Subject, assumptions: frozenset[Assumption]) -> Iterator[Claim]:
    name = subject.name
    text = "some message can always be sent, and the receiver can take it"
    yield Claim(f"{name}.never-stuck", text, subject, assumptions, no_node(stuck))
    text = "at the end both tables are in a final state and send nothing more"
    yield Claim(f"{name}.silent-end", text, subject, assumptions, no_node(speaks_after))


def _interact() -> Iterator[Claim]:
    text = "every session ends within n messages"
    rank = (("n", 1), ("sent", -1))
    yield Claim("interact.terminates", text, INTERACT, NOISY, ranked(rank), ranking=rank)
    yield from _both(INTERACT, NOISY)
    text = "REJECT only at j > k"
    yield Claim("interact.reject-after-k", text, INTERACT, NOISY, no_move(rejects_early))
    text = "no REVISE at message 2"
    yield Claim("interact.no-revise-at-2", text, INTERACT, REFLEXIVE, no_move(revises_second))
    text = f"⟨{', '.join(REVISED)}⟩ is impossible"
    yield Claim("interact.revised-never", text, INTERACT, REFLEXIVE, said(REVISED))
    text = "RATIFY at message 2 is answered by RATIFY at 3, which ends the session (n >= 3)"
    yield Claim("interact.ratified-at-3", text, INTERACT, TOLERANCE, unanswered)
    text = f"the responder is Strong only in ⟨{', '.join(RATIFIED)}⟩ (n >= 3)"
    kept = Keep(replied=True)
    check = no_node(strong_otherwise)
    yield Claim("interact.strong-once", text, INTERACT, TOLERANCE, check, kept)
    text = "the responder is never Ultra-Strong"
    yield Claim("interact.never-ultra", text, INTERACT, TOLERANCE, no_node(ultra_strong), kept)
    text = f"⟨{', '.join(REFUTED)}⟩ is impossible"
    yield Claim("interact.refuted-never", text, INTERACT, EQUIVALENCE, said(REFUTED))
    text = "after two RATIFYs the last predictions match and the last explanations agree"
    kept, check = Keep(data=True), no_node(disagree)
    yield Claim("interact.ends-agreed", text, INTERACT, EQUIVALENCE, check, kept, provable=False)


def _replies(subject: Subject) -> Iterator[Claim]:
    for tag, answers in REPLIES.items():
        text = f"{tag} is answered by {', '.join(sorted(answers))} or TERM"
        name = f"{subject.name}.replies-{tag}"
        yield Claim(name, text, subject, EQUIVALENCE, replies_beyond(tag))


def _pxp() -> Iterator[Claim]:
    yield from _both(PXP, NOISY)
    yield from _replies(PXP)
    text = "every session ends"
    yield Claim("pxp.terminates", text, PXP, EQUIVALENCE, endless, provable=False)
    yield from _both(PXP_K, EQUIVALENCE)
    text = "every session ends within 2k + 5 messages, TERM included"
    rank = (("", 5), ("k", 2), ("sent", -1))
    yield Claim("pxp(k).terminates", text, PXP_K, EQUIVALENCE, ranked(rank), ranking=rank)
    yield from _replies(PXP_K)


CLAIMS = {claim.name: claim for claim in (*_interact(), *_pxp())}
"""Every claim for all n and k, by name, each with the assumptions that suffice."""


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
) -> list[Part]:
    """Prove `claims`, each under its own assumptions or all under `assumptions`.

    `tables` are the two agents', by default each protocol's own. Claims about one protocol under
    the same assumptions are read off one invariant. Raises `Unknown` where Z3 gives up.
    """
    numbers = numbers or Numbers()
    groups: dict[tuple[str, tuple[Assumption, ...]], list[Claim]] = {}
    for claim in claims:
        assumed = claim.assumptions if assumptions is None else assumptions
        groups.setdefault((claim.subject.name, tuple(sorted(assumed))), []).append(claim)
    parts = []
    for (_, names), group in groups.items():
        started, assumed = time.perf_counter(), frozenset(names)
        invariant = invariant_of(group[0].subject, Theory(assumed), _kept(group), tables, numbers)
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
) -> list[Proof]:
    """The proofs of `prove_parts`, without the invariants."""
    parts = prove_parts(claims, assumptions, tables, numbers)
    return [proof for part in parts for proof in part.proofs]


def _kept(claims: list[Claim]) -> Keep:
    keeps = [claim.keep for claim in claims]
    return Keep(WATCHED, any(keep.replied for keep in keeps), any(keep.data for keep in keeps))
