"""The certificates of INTERACT, PXP and PXP(k), and what they prove of sessions.

A certificate is of the built-in table if it has all that `proofs.recheck` demands of the protocol;
of a variant it has those claims that are proved of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from proofs import recheck
from proofs.claims.catalogue import CLAIMS
from proofs.claims.theorems import ASSUMED, TABLES, Proof, assumed_by, prove_protocol, read_off
from proofs.rules.certificates import RulesCertificate, certificate_of, digest_of
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.tables import builtin
from pxp_fsm.documents import text_of
from pxp_fsm.errors import FileError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import LIMITED, Rules

SHIPPED = Path(__file__).with_name("certificates")
"""The folder of the certificates that come with the package."""

LONGEST = 10_000_000
"""Bytes of a file that is read as a certificate."""


@dataclass(frozen=True)
class Certified:
    """What came of proving a protocol's claims: the certificate of what holds, and every proof."""

    certificate: RulesCertificate | None
    proofs: tuple[Proof, ...]


def certify(protocol: str, automaton: Automaton | None = None) -> Certified:
    """Prove every claim of `interact`, `pxp` or `pxp(k)` between two agents with `automaton`.

    Raises `UsageError` for what is none of these protocols.
    """
    if not isinstance(protocol, str) or protocol not in TABLES:
        raise UsageError(
            f"certify proves the claims of {', '.join(TABLES)}, not {quoted(protocol)}; a system "
            "is certified by certify_system, and a claim of its own by pxp check (pxp help proofs)"
        )
    table = automaton or builtin(TABLES[protocol])
    parts = prove_protocol(protocol, table)
    whole = not any(part.obstacles for part in parts)
    own = digest_of(table) == recheck.DIGESTS[protocol] and whole
    certificate = certificate_of({"m": table, "h": table}, parts, protocol if own else "")
    certificate = certificate and replace(certificate, filename=filename_of(table))
    claims = [claim for claim in CLAIMS if claim.protocol == protocol and claim.proved_by]
    return Certified(certificate, tuple(read_off(claims, parts)))


def filename_of(table: Automaton) -> str:
    """What the certificate of a protocol's table is called."""
    return f"{table.name}-{digest_of(table)[:12]}.json"


def proved_table(rules: Rules) -> Automaton | None:
    """The table that proofs about sessions under `rules` are about; None where there is none.

    The machines of PXP(k) follow PXP's table, and its guard FULL is the TERM of row 8.
    """
    table = rules.automaton
    if rules.n is None and rules.k is not None:
        return builtin(LIMITED) if table.fingerprint == builtin("pxp").fingerprint else None
    return table if table.rules.deciding else None


@dataclass(frozen=True)
class Coverage:
    """The certificate of some rules, and the names of the claims proved of their sessions."""

    path: Path
    claims: tuple[str, ...]


def coverage(
    rules: Rules, assumptions: Iterable[str], folders: Iterable[Path] = (SHIPPED,)
) -> Coverage | None:
    """The certificate of `rules`, with the claims that hold of a session under `assumptions`.

    None where none of `folders` has one of their table that the independent checker accepts.
    """
    assumed = frozenset(map(Assumption, assumptions))
    protocol = _protocol(rules)
    for path, certificate in _certificates(rules, folders):
        parts = [part for part in certificate["parts"] if assumed_by(part) <= assumed]
        return Coverage(path, tuple(_claims(protocol, parts)))
    return None


def shipped_proofs(rules: Rules) -> list[Proof] | None:
    """The proofs in the certificate of the rules of a protocol that comes with the package.

    The independent checker has accepted it just now, for their table; None where there is none.
    """
    started, protocol = time.perf_counter(), _protocol(rules)
    for _, certificate in _certificates(rules, (SHIPPED,)):
        seconds, proofs = time.perf_counter() - started, list[Proof]()
        for claim in CLAIMS:
            for assumed in dict.fromkeys(map(assumed_by, certificate["parts"])):
                parts = [part for part in certificate["parts"] if assumed_by(part) == assumed]
                if claim.protocol == protocol and claim.name in _claims(protocol, parts):
                    proofs.append(Proof(claim, assumed, seconds=seconds))
        return proofs
    return None


def _protocol(rules: Rules) -> str:
    return f"{rules.name}(k)" if rules.n is None and rules.k is not None else rules.name


def _claims(protocol: str, parts: list[Any]) -> Iterator[str]:
    """The claims of the catalogue of which all that they say stands in `parts`, as it is due."""
    proved = {
        entry["name"]
        for part in parts
        for entry in part["claims"]
        if _is_due(protocol, part, entry)
    }
    for claim in CLAIMS:
        if claim.protocol == protocol and claim.proved_by and proved.issuperset(claim.proved_by):
            yield claim.name


def _is_due(protocol: str, part: Any, claim: Any) -> bool:
    """Whether a claim says what is due under its name, under the assumptions that are due."""
    stated = {key: value for key, value in claim.items() if key != "ranks"}
    keys = ("relations", "starts", "assume", "ghosts", "while")
    return any(
        stated in due["claims"] and all(part[key] == due[key] for key in keys)
        for due in recheck.DUE[protocol]
    )


def _certificates(rules: Rules, folders: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The certificates of the table of `rules` that are accepted."""
    table = proved_table(rules)
    if table is None:
        return
    for folder in folders:
        path = folder / filename_of(table)
        certificate = _accepted(path, table)
        if certificate is not None:
            yield path, certificate


def _accepted(path: Path, table: Automaton) -> dict[str, Any] | None:
    """The certificate in a file, if the independent checker accepts it for this table.

    Another program may have written it.
    """
    try:
        text = text_of(path, "a certificate", most=LONGEST)
    except FileError:
        return None
    return _checked(text, json.dumps(document(table)))


@cache
def _checked(certificate: str, table: str) -> dict[str, Any] | None:
    """The texts say all that is checked, so each pair of them is checked once in a process."""
    try:
        contents: dict[str, Any] = recheck.read(certificate)
        lines = list(recheck.check_rules(contents, json.loads(table)))
        is_pair = [name for name, _ in contents["members"]] == ["m", "h"]
        fine = is_pair and all({*part["relations"]} <= ASSUMED.keys() for part in contents["parts"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return contents if fine and lines and all(accepted for accepted, _ in lines) else None
