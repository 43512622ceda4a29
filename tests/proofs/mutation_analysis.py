"""Which check of `pxp check` catches a mutant: cheapest first, up to the first that does.

`python -m tests.proofs.mutation_analysis` lists every mutant with what catches it, or why it is
equivalent.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from proofs.claims.catalogue import CLAIMS, NAMED
from proofs.claims.checking import Bounds, ClaimChecker, Substitutes
from proofs.claims.theorems import THEOREMS, prove
from proofs.core.results import Status
from proofs.induction.numbers import Inexact, NumberCase, Numbers, Undecided
from proofs.systems import Composition, decide_standard, system_of
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.messages import Tag
from tests.proofs.mutants import Mutant, decision_mutants, table_mutants

LIMIT = 20_000
"""States at most; a mutant of which sessions have more has a verdict UNKNOWN, not expected."""

NUMBERS = Numbers()
TABLES = ("interact", "pxp")


def caught(mutant: Mutant) -> str:
    """By what the mutant is caught; "" if by nothing."""
    if mutant.instead is None:
        return f"loader: {mutant.refused}"
    try:
        return next((name for name, expected in verdicts(mutant.instead) if not expected), "")
    except (Exception, Undecided, Inexact) as error:  # noqa: BLE001 - whatever stops a check, shows it
        return f"the check stops: {type(error).__name__}"


def verdicts(instead: Substitutes) -> Iterator[tuple[str, bool]]:
    """Each check with whether its verdict is the expected one; what is quick comes first."""
    tables = tuple(instead.tables) or TABLES
    for table in instead.tables.values():
        for name, verdict in decide_standard(Composition(system_of([("", table), ("", table)]))):
            yield name, verdict.status is Status.HOLDS
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
        table = instead.tables.get(name, builtin(name))
        theorems = [one for one in THEOREMS.values() if one.subject.name.startswith(name)]
        for proof in prove(theorems, None, (table, table), NUMBERS, instead.functions):
            yield (
                f"{proof.theorem.name} (for all n, k)",
                proof.proved == proof.theorem.induction.provable,
            )


# Mutants that are no mutants.

DOMAINS: dict[str, tuple[Any, ...]] = {
    "bool": (False, True),
    "Category": tuple(Category),
    "str": (*map(str, Tag), ""),
}


def equivalent(mutant: Mutant) -> bool:
    """Whether the changed decision function has the same value for all arguments there are.

    Tags, categories and truth values: all of them, one by one. Numbers: as symbols, Z3 decides.
    """
    if mutant.instead is None or mutant.instead.functions is decisions:
        return False
    name = mutant.change.partition(":")[0]
    old, new = (getattr(one, name) for one in (decisions, mutant.instead.functions))
    kinds = [str(p.annotation) for p in inspect.signature(old).parameters.values()]
    numbers = [
        (f"x{i}", *([None] if kind.endswith("None") else [])) for i, kind in enumerate(kinds)
    ]
    domains = [DOMAINS.get(kind, number) for kind, number in zip(kinds, numbers, strict=True)]

    def same(given: tuple[Any, ...], case: NumberCase) -> bool:
        known = dict(zip([f"x{i}" for i in range(len(given))], given, strict=True))
        values = [case.named(x) if value == x else value for x, value in known.items()]
        return bool(old(*values) == new(*values))

    cases = (NUMBERS.cases((), partial(same, given), {}) for given in product(*domains))
    try:
        return all(agreed for found in cases for _, agreed in found)
    except Inexact:
        return False


def everything() -> Iterator[Mutant]:
    """Every mutant of the two tables and of the decision functions."""
    for table in TABLES:
        yield from table_mutants(table)
    yield from decision_mutants()


def judged(mutant: Mutant) -> str:
    """By what the mutant is caught, or that it is equivalent, or that it survives."""
    return caught(mutant) or ("equivalent" if equivalent(mutant) else "SURVIVES")


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
