"""Which check of `pxp check` catches a mutant: cheapest first, up to the first that does.

`python -m tests.proofs.mutation_analysis` lists every mutant with what catches it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from proofs.claims.catalogue import CLAIMS, NAMED
from proofs.claims.checking import Bounds, ClaimChecker, Substitutes
from proofs.claims.predicates import limits
from proofs.claims.theorems import THEOREMS, proofs_of
from proofs.core.results import Status
from proofs.systems import Composition, decide_standard, system_of
from proofs.systems.results import FINDING
from tests.proofs.mutants import Mutant, rule_mutants, table_mutants

LIMIT = 20_000
"""States at most; a mutant of which sessions have more has a verdict UNKNOWN, not expected."""

TABLES = ("interact", "pxp")
RULED = ("interact", "pxp", "pxp_k")


def caught(mutant: Mutant) -> str:
    """By what the mutant is caught; "" if by nothing."""
    if mutant.instead is None:
        return f"loader: {mutant.refused}"
    try:
        return next((name for name, expected in verdicts(mutant.instead) if not expected), "")
    except Exception as error:  # noqa: BLE001 - whatever stops a check, shows it
        return f"the check stops: {type(error).__name__}"


def verdicts(instead: Substitutes) -> Iterator[tuple[str, bool]]:
    """Each check with whether its verdict is the expected one; what is quick comes first."""
    tables = tuple(instead.tables) or TABLES
    for table in instead.tables.values():
        system = system_of([("", table), ("", table)])
        for name, verdict in decide_standard(Composition(system)):
            yield name, verdict.status is Status.HOLDS
        yield FINDING, not system.findings
        if table.name == "pxp_k":
            yield "pxp.counts-self-loops", next(limits(table), None) is None
    small, full = ClaimChecker(Bounds(5, 1), LIMIT, instead), ClaimChecker(Bounds(), LIMIT, instead)
    asked = [
        (claim, assumptions)
        for claim in CLAIMS
        for assumptions in claim.expected
        if claim.protocol.removesuffix("(k)") in tables
    ]
    for order in range(3):
        for claim, assumptions in asked:
            needs = assumptions not in (*NAMED, "reflexive") or claim.protocol == "pxp(k)"
            if order == (0 if claim.exact else 1 if needs else 2):
                result = (full if order == 2 else small).check(claim, assumptions)
                if result.verdict.error is not None:
                    raise result.verdict.error
                yield f"{claim.id} ({assumptions})", result.as_expected
        if order == 0:
            yield from _proofs(instead, tables)


def _proofs(instead: Substitutes, tables: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    for name in tables:
        protocol = {"pxp_k": "pxp(k)"}.get(name, name)
        claims = [one for one in THEOREMS.values() if one.protocol == protocol]
        for proof in proofs_of(claims, instead.tables.get(name)):
            yield f"{proof.claim.id} (for all n, k)", proof.proved


def everything() -> Iterator[Mutant]:
    """Every mutant of the rows and of the rules of the tables."""
    for table in TABLES:
        yield from table_mutants(table)
    for table in RULED:
        yield from rule_mutants(table)


def judged(mutant: Mutant) -> str:
    """By what the mutant is caught, or that it survives."""
    return caught(mutant) or "SURVIVES"


def main() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for mutant in everything():
        by = judged(mutant)
        counts[mutant.subject, by.partition(":")[0]] += 1
        print(f"{mutant.subject}: {mutant.change} | {by}")
    for (subject, by), number in sorted(counts.items()):
        print(f"{number:5} {subject}: {by}", file=sys.stderr)


if __name__ == "__main__":
    main()
