"""Certificates of what was proved for all n and k, with all that a recheck needs.

A certificate is a JSON document. Its `parts` hold an inductive invariant each, as the list of its
states with the region of their numbers, under the assumptions named, and the verdict on each claim
with its ranking function, if it has one. It names the table and the decision functions by digests.
`proofs.recheck` checks it without any code of ours.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs import recheck
from proofs.claims.theorems import THEOREMS, Proof, ProofPart, prove_parts
from proofs.induction import obligations as must
from proofs.induction.invariants import INTERACT, PXP, Invariant, InvariantNode
from proofs.induction.numbers import Numbers, Unknown
from proofs.induction.source import read
from proofs.sessions.amalgamation import amalgamates
from proofs.sessions.relational import EMPTY, Structure
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Rules

FORMAT = 2
PROVED, NOT_INDUCTIVE = "proved", "not inductive"
PROTOCOLS = {"interact": INTERACT, "pxp": PXP}
"""The protocols that have a certificate; PXP's also speaks of PXP(k)."""


@dataclass(frozen=True)
class Certificate:
    """What was proved of `protocol` between two agents that both have the table `automaton`."""

    protocol: str
    automaton: Automaton
    parts: tuple[ProofPart, ...]

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """Every proof, and every claim that could not be proved."""
        return tuple(proof for part in self.parts for proof in part.proofs)

    @property
    def filename(self) -> str:
        """A name that tells protocol and table."""
        return f"{self.protocol}-{self.automaton.without_rules().fingerprint[:12]}.json"

    def document(self) -> dict[str, Any]:
        """The certificate as JSON data; the same for the same table and code, always."""
        return {
            "format": FORMAT,
            "protocol": self.protocol,
            "fingerprint": self.automaton.without_rules().fingerprint,
            "decisions": read(decisions).digest,
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
    """Prove every claim of a protocol (of `PROTOCOLS`) between two agents with `automaton`.

    Raises `Unknown` where the decision functions are beyond what is proved about.
    """
    table = automaton or PROTOCOLS[protocol].automaton()
    theorems = [one for one in THEOREMS.values() if one.subject.name.startswith(protocol)]
    parts = prove_parts(theorems, tables=(table, table), numbers=numbers)
    return Certificate(protocol, table, tuple(parts))


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


def _part(part: ProofPart) -> dict[str, Any]:
    invariant = part.invariant
    claims = []
    for proof in part.proofs:
        claim: dict[str, Any] = {"name": proof.theorem.name}
        claim["verdict"] = PROVED if proof.proved else NOT_INDUCTIVE
        if proof.theorem.induction.ranking:
            claim["ranking"] = dict(proof.theorem.induction.ranking)
        claims.append(claim)
    bounds = invariant.features[0].alternatives
    return {
        "subject": invariant.subject.name,
        "assumptions": sorted(part.assumptions),
        "along": list(map(str, invariant.keep.along)),
        "free": invariant.keep.free,
        "amalgamates": amalgamates(part.assumptions),
        "bounds": [sorted(map(str, atoms)) for atoms in bounds.values()],
        "claims": claims,
        "states": _distinct(
            _state(invariant, node)
            for node in invariant.nodes
            if not must.deadlock(invariant, node)
        ),
    }


def _distinct(states: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({_json(state): state for state in states}.values())


def _state(invariant: Invariant, node: InvariantNode) -> dict[str, Any]:
    state = node.state
    names = [feature.name for feature in invariant.features[1:]]
    ended = bool(state.over)
    last = [str(tag) for tag in state.tags if tag and str(tag) not in "-"]
    return {
        "at": list(state.at),
        "last": last[0] if last else "",
        "y": _related(invariant, EMPTY if ended else state.predictions),
        "e": _related(invariant, EMPTY if ended else state.explanations),
        "said": None if node.said is None else list(map(str, node.said)),
        "replied": None if node.replied is None else sorted(node.replied),
        "numbers": dict(zip(names, node.region[1:], strict=True)),
        "over": state.over,
    }


def _related(invariant: Invariant, structure: Structure) -> list[list[list[int]]] | None:
    """Both agents' relations between the latest values; None where they are no sets of pairs."""
    if not invariant.theory.deterministic:
        return None
    return [[list(pair) for pair in sorted(pairs)] for pairs in (structure.left, structure.right)]


SHIPPED = Path(__file__).with_name("certificates")
"""The folder of the certificates that come with the package."""

LONGEST = 10_000_000
"""Bytes of a file that is read as a certificate."""


@dataclass(frozen=True)
class Coverage:
    """The certificate of some rules, and the names of the claims proved of their sessions."""

    path: Path
    claims: tuple[str, ...]


def coverage(
    rules: Rules, assumptions: Iterable[str], folders: Iterable[Path] = (SHIPPED,)
) -> Coverage | None:
    """The certificate of `rules`, with the claims that hold of a session under `assumptions`.

    None where none of `folders` has one of this table and these decision functions that the
    independent checker accepts, and where the functions have no source to compare.
    """
    assumed = frozenset(map(Assumption, assumptions))
    for path, document in _certificates(rules, folders):
        return Coverage(path, tuple(dict.fromkeys(_claims(document, rules, assumed))))
    return None


def shipped_proofs(rules: Rules) -> list[Proof] | None:
    """The proofs in the certificate of the rules of a protocol that comes with the package.

    The independent checker has accepted it just now, for their table and their decision functions;
    None where there is none such.
    """
    started = time.perf_counter()
    for _, document in _certificates(rules, (SHIPPED,)):
        seconds = time.perf_counter() - started
        return [
            Proof(
                THEOREMS[claim["name"]],
                frozenset(map(Assumption, part["assumptions"])),
                None if claim["verdict"] == PROVED else Unknown(_NOT_PROVED),
                len(part["states"]),
                0,
                seconds,
            )
            for part in document["parts"]
            for claim in part["claims"]
        ]
    return None


_NOT_PROVED = "its induction fails; pxp.prove says where"


def _certificates(rules: Rules, folders: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The certificates of the table and the decision functions of `rules` that are accepted."""
    try:
        digest = read(rules.functions).digest
    except Unknown:
        return
    for folder in folders:
        for path in sorted(
            folder.glob(f"{rules.name}-{rules.automaton.without_rules().fingerprint[:12]}.json")
        ):
            document = _accepted(path, rules.automaton)
            if document and (document["protocol"], document["decisions"]) == (rules.name, digest):
                yield path, document


def _accepted(path: Path, automaton: Automaton) -> dict[str, Any] | None:
    """The certificate in a file, if the independent checker accepts it for this table.

    Another program may have written it.
    """
    kinds = {Kind.SEND: "send", Kind.RECEIVE: "receive", Kind.EVENT: "event"}
    rows = [
        {"from": row.source, "to": row.target, kinds[row.kind]: row.label}
        | ({"guard": row.guard} if row.guard else {})
        for row in automaton.transitions
    ]
    table = {"initial": automaton.initial, "final": sorted(automaton.final), "rows": rows}
    try:
        if path.stat().st_size > LONGEST:
            return None
        document: dict[str, Any] = recheck.read(path.read_text("utf-8"))
        accepted = all(fine for fine, _ in recheck.check_protocol(document, table))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return document if accepted else None


def _claims(
    document: dict[str, Any], rules: Rules, assumed: frozenset[Assumption]
) -> Iterator[str]:
    """What is proved of the subject that the rules are, from no more than is assumed.

    A session of PXP(k) is one of PXP too: TERM, which it demands, PXP allows.
    """
    subjects = [rules.name]
    if rules.n is None and rules.k is not None:
        subjects.append(f"{rules.name}(k)")
    for part in document["parts"]:
        if part["subject"] in subjects and assumed.issuperset(part["assumptions"]):
            for claim in part["claims"]:
                if claim["verdict"] == PROVED:
                    yield claim["name"].rpartition(".")[2]
