"""Which certificate speaks of the sessions of given rules, and which claims cover them.

Certificates of the built-in tables come with the package; `pxp check --certificates DIR` writes
those of the tables and decision functions at hand. One is about a session only if table and
decision functions are the very ones that the session follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.certificate import FORMAT, PROVED, decided
from pxp_fsm.relations import Assumption
from pxp_fsm.rules import Rules

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

    None where none of `folders` has one of this table and these decision functions.
    """
    assumed = frozenset(map(Assumption, assumptions))
    for folder in folders:
        for path in sorted(folder.glob(f"{rules.name}-{rules.automaton.fingerprint[:12]}.json")):
            document = _read(path)
            if document is not None and _speaks_of(document, rules):
                try:
                    claims = dict.fromkeys(_claims(document, rules, assumed))
                except (KeyError, TypeError, AttributeError):
                    continue  # it is damaged
                return Coverage(path, tuple(claims))
    return None


def _speaks_of(document: dict[str, Any], rules: Rules) -> bool:
    wanted = (FORMAT, rules.name, rules.automaton.fingerprint, decided(rules.functions))
    return tuple(map(document.get, ("format", "protocol", "fingerprint", "decisions"))) == wanted


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


def _read(path: Path) -> dict[str, Any] | None:
    """The certificate in a file; None where it is none (another program may have written it)."""
    try:
        if path.stat().st_size > LONGEST:
            return None
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
