"""Theorems: the claims of the catalogue that are proved for all n and k, from the tables' rules.

What each says in the language of rules, and under which assumptions it is proved, stands in
`proofs.recheck.DUE`, which the independent checker demands; here is what helps to find the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from proofs import recheck
from proofs.claims.catalogue import CLAIMS, Claim
from proofs.rules.prover import PartProof, prove
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import builtin
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import Assumption

TABLES = {"interact": "interact", "pxp": "pxp", "pxp(k)": "pxp_k"}
"""The built-in table of each protocol that something is proved of."""

ASSUMED = {
    "d": Assumption.DETERMINISTIC,
    "h": Assumption.SHARED,
    "r": Assumption.REFLEXIVE,
    "s": Assumption.SYMMETRIC,
    "t": Assumption.TRANSITIVE,
}
"""The assumptions by their letters in the language of rules."""

_LOOPS = ("m.ratified", "m.refuted", "m.revised", "m.rejected")
_HINTS = {
    "at-most-n": ["m.j == sent"],
    "reject-after-k": ["m.j == sent"],
    # Two self-loops are taken at most, and at most five messages take none.
    "within-2k-and-5": [
        *(f"{loop} <= {bound}" for loop in _LOOPS for bound in ("0", "k")),
        *(f"sent == {' + '.join(_LOOPS)} + {others}" for others in range(8)),
    ],
}
"""Comparisons that states have to know of, by the name of a claim; they need not be believed."""


@dataclass(frozen=True)
class Proof:
    """What came of a claim: proved under `assumptions`, or what stands against it.

    That is where its proof fails, or why none was tried; `states` were looked at.
    """

    claim: Claim
    assumptions: frozenset[Assumption]
    obstacle: str = ""
    states: int = 0
    seconds: float = 0.0

    @property
    def proved(self) -> bool:
        return not self.obstacle


THEOREMS = {claim.id: claim for claim in CLAIMS if claim.proved_by}
"""Every claim that is proved for all n and k, by protocol and name."""


def assumed_by(part: Any) -> frozenset[Assumption]:
    """What a part of a certificate assumes of MATCH and AGREE."""
    return frozenset(ASSUMED[letter] for letter in part["relations"])


def amalgamates(assumptions: frozenset[Assumption]) -> bool:
    """Whether a new value can be joined with any earlier ones, so that two suffice to be kept.

    Where relations are not deterministic they are no sets of pairs; equality is joined then.

    >>> amalgamates(frozenset(Assumption))
    True
    """
    letters = frozenset(
        letter for letter, assumption in ASSUMED.items() if assumption in assumptions
    )
    return recheck.amalgamates(letters & recheck.EQUALITY if "d" in letters else recheck.EQUALITY)


def prove_protocol(
    protocol: str, automaton: Automaton | None = None, names: Iterable[str] = ()
) -> list[PartProof]:
    """The proofs of what is due of `interact`, `pxp` or `pxp(k)`, part by part.

    Both agents have the table `automaton`, by default the protocol's own. With `names` only those
    claims of `proofs.recheck.DUE` are tried.
    """
    table, wanted = automaton or builtin(TABLES[protocol]), frozenset(names)
    proofs = list[PartProof]()
    for part in recheck.DUE[protocol]:
        claims = [claim for claim in part["claims"] if not wanted or claim["name"] in wanted]
        hints = [hint for claim in claims for hint in _HINTS.get(claim["name"], ())]
        if claims:
            proofs.append(prove({"m": table, "h": table}, {**part, "claims": claims}, hints))
    return proofs


def proofs_of(claims: Iterable[Claim], automaton: Automaton | None = None) -> list[Proof]:
    """What comes of claims that can be proved, under each set of assumptions that suffices."""
    proofs, claims = list[Proof](), [claim for claim in claims if claim.proved_by]
    for protocol in dict.fromkeys(claim.protocol for claim in claims):
        own = [claim for claim in claims if claim.protocol == protocol]
        names = [name for claim in own for name in claim.proved_by]
        proofs += read_off(own, prove_protocol(protocol, automaton, names))
    return proofs


def read_off(claims: Iterable[Claim], parts: Sequence[PartProof]) -> list[Proof]:
    """What parts prove of claims: one is proved where all that it says is."""
    proofs = list[Proof]()
    for claim in claims:
        for assumed in dict.fromkeys(assumed_by(part.evidence) for part in parts):
            own = [part for part in parts if assumed_by(part.evidence) == assumed]
            known = {name for part in own for name in (*part.proved, *part.obstacles)}
            if known.issuperset(claim.proved_by):
                obstacles = (part.obstacles.get(name) for part in own for name in claim.proved_by)
                obstacle = next(filter(None, obstacles), "")
                states = sum(part.nodes for part in own)
                seconds = sum(part.seconds for part in own) / len(known)
                proofs.append(Proof(claim, assumed, obstacle, states, seconds))
    return proofs
