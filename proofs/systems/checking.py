"""Verdicts on a system over a channel: the standing checks, and formulas of temporal logic."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.effort import Effort
from proofs.explore import TooLarge, explore
from proofs.logic.checking import Checker, Runs
from proofs.logic.formulas import Formula, atoms
from proofs.systems.product import Composition
from proofs.systems.propositions import Noting, vocabulary
from proofs.systems.reaching import reach
from proofs.systems.replaying import shown
from proofs.systems.standing import Standing
from proofs.verdicts import Status, Verdict


def standing_checks(
    composition: Composition, effort: Effort | None = None
) -> Iterator[tuple[str, Verdict]]:
    """What every system must pass, by name; FAILS with a shortest trace, taken by real machines.

    UNKNOWN where `effort` does not suffice and nothing wrong was met.
    """
    standing = Standing(reach(composition, effort))
    for name, check in standing.checks.items():
        yield name, check()


def check(
    composition: Composition,
    formula: Formula,
    runs: Runs = Runs.COMPLETE,
    effort: Effort | None = None,
) -> Verdict:
    """Whether the composition satisfies `formula`; a failing trace was taken by real machines.

    UNKNOWN where `effort` does not suffice. Raises `UsageError` for a proposition that there is
    none of.
    """
    model = Noting(composition, atoms(formula))
    try:
        space = explore(model, effort=effort)
    except TooLarge as error:
        return Verdict(Status.UNKNOWN, str(error))
    checker = Checker(model, space, runs, vocabulary=vocabulary(composition))
    verdict = checker.check(formula)
    if verdict.trace is None:
        return verdict
    return Verdict(verdict.status, verdict.detail, shown(composition, verdict.trace), verdict.cycle)
