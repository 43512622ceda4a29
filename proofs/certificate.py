"""The certificate: what was proved for all n and k, with all that is needed to check it again.

A certificate is a JSON document. Its `parts` hold an inductive invariant each, as the list of its
states with the region of their numbers, under the assumptions named, and the verdict on each claim
with its ranking function, if it has one. `proofs.recheck` checks it without any code of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.induction import INTERACT, PXP, Invariant, Node
from proofs.numbers import Numbers
from proofs.relational import EMPTY, Structure
from proofs.theorems import CLAIMS, Part, Proof, prove_parts
from pxp_fsm.automaton import Automaton

FORMAT = 1
PROVED, NOT_INDUCTIVE = "proved", "not inductive"
PROTOCOLS = {"interact": INTERACT, "pxp": PXP}
"""The protocols that have a certificate; PXP's also speaks of PXP(k)."""


@dataclass(frozen=True)
class Certificate:
    """What was proved of `protocol` between two agents that both have the table `automaton`."""

    protocol: str
    automaton: Automaton
    parts: tuple[Part, ...]

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """Every proof, and every claim that could not be proved."""
        return tuple(proof for part in self.parts for proof in part.proofs)

    @property
    def filename(self) -> str:
        """A name that tells protocol and table."""
        return f"{self.protocol}-{self.automaton.fingerprint[:12]}.json"

    def document(self) -> dict[str, Any]:
        """The certificate as JSON data; the same for the same table and code, always."""
        return {
            "format": FORMAT,
            "protocol": self.protocol,
            "fingerprint": self.automaton.fingerprint,
            "parts": [_part(part) for part in self.parts],
        }

    def text(self) -> str:
        """The certificate as it is written: a line a state."""
        document = self.document()
        parts = []
        for part in document.pop("parts"):
            states = ",\n".join(f"  {_json(state)}" for state in part.pop("states"))
            parts.append(f'{_json(part)[:-1]}, "states": [\n{states}\n ]}}')
        return f'{_json(document)[:-1]}, "parts": [\n {f",{chr(10)} ".join(parts)}\n]}}\n'

    def write(self, folder: Path) -> Path:
        """Write the certificate into `folder`; returns the file."""
        path = folder / self.filename
        path.write_text(self.text(), "utf-8")
        return path


def certify(
    protocol: str, automaton: Automaton | None = None, numbers: Numbers | None = None
) -> Certificate:
    """Prove every claim of a protocol (of `PROTOCOLS`) between two agents with `automaton`."""
    table = automaton or PROTOCOLS[protocol].automaton()
    claims = [c for c in CLAIMS.values() if c.subject.name.startswith(protocol)]
    parts = prove_parts(claims, tables=(table, table), numbers=numbers)
    return Certificate(protocol, table, tuple(parts))


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _part(part: Part) -> dict[str, Any]:
    invariant = part.invariant
    claims = []
    for proof in part.proofs:
        claim: dict[str, Any] = {"name": proof.claim.name}
        claim["verdict"] = PROVED if proof.proved else NOT_INDUCTIVE
        if proof.claim.ranking:
            claim["ranking"] = dict(proof.claim.ranking)
        claims.append(claim)
    bounds = invariant.features[0].alternatives
    return {
        "subject": invariant.subject.name,
        "assumptions": sorted(part.assumptions),
        "bounds": [sorted(map(str, atoms)) for atoms in bounds.values()],
        "claims": claims,
        "states": _distinct(_state(invariant, node) for node in invariant.nodes),
    }


def _distinct(states: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({_json(state): state for state in states}.values())


def _state(invariant: Invariant, node: Node) -> dict[str, Any]:
    state = node.state
    names = [feature.name for feature in invariant.features[1:]]
    ended = bool(state.over)
    last = [str(tag) for tag in state.tags if tag and str(tag) not in "-"]
    return {
        "at": list(state.at),
        "last": last[0] if last else "",
        "y": _related(invariant, EMPTY if ended else state.predictions),
        "e": _related(invariant, EMPTY if ended else state.explanations),
        "said": None if node.said is None else list(node.said),
        "replied": None if node.replied is None else sorted(node.replied),
        "numbers": dict(zip(names, node.region[1:], strict=True)),
        "over": state.over,
    }


def _related(invariant: Invariant, structure: Structure) -> list[list[list[int]]] | None:
    """Both agents' relations between the latest values; None where they are no sets of pairs."""
    if not invariant.theory.deterministic:
        return None
    return [[list(pair) for pair in sorted(pairs)] for pairs in (structure.left, structure.right)]
