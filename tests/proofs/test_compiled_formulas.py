"""Formulas on graphs in arrays: the verdicts and the lengths of traces are the interpreter's."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core.explore import explore
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.logic.checking import FormulaChecker, Runs
from proofs.logic.fairness import Demand, Strength, demand
from proofs.logic.formulas import Atom, atoms
from proofs.logic.parsing import parse
from proofs.systems import Composition, Reduction, check
from proofs.systems.propositions import Noting, of_steps, vocabulary
from proofs.systems.reachability import reach
from pxp_fsm.errors import UsageError
from tests.proofs.random_systems import (
    random_channel,
    random_formula,
    random_system,
    symmetric_system,
)

pytest.importorskip("numba", reason="Numba compiles the loops")

MOST = 200


def random_question(
    seed: int, *, branching: bool
) -> tuple[Composition, random.Random, list[str]] | None:
    chance = random.Random(seed)
    system = (symmetric_system if seed % 3 == 0 else random_system)(
        chance, guards=chance.choice((0, 0.5, 1))
    )
    composition = Composition(system.over(random_channel(chance)))
    if reach(composition, Effort(MOST), compiled=False).cut:
        return None
    return composition, chance, chance.sample(sorted(vocabulary(composition)), 3)


def same(fast: Verdict, slow: Verdict) -> None:
    assert (fast.status, fast.detail) == (slow.status, slow.detail)
    assert (fast.trace is None) == (slow.trace is None)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1_000_000), st.booleans(), st.sampled_from(Runs))
def test_random_formulas(seed: int, branching: bool, runs: Runs) -> None:
    question = random_question(seed, branching=branching)
    if question is None:
        return
    composition, chance, names = question
    formula = random_formula(
        chance, lambda: Atom(chance.choice(names)), 2, branching=branching, nexts=True
    )
    slow = check(composition, formula, runs, compiled=False)
    fast = check(composition, formula, runs, compiled=True)
    same(fast, slow)
    if fast.trace is not None and slow.trace is not None:
        assert fast.cycle == slow.cycle
        assert fast.trace == slow.trace


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from(("AG EF", "AG", "G EF")))
def test_what_edges_decide_is_what_the_tableau_finds(seed: int, temporal: str) -> None:
    question = random_question(seed, branching=True)
    if question is None:
        return
    composition, chance, names = question
    one, other = chance.sample(["ended", *names], 2)
    formula = parse(f"{temporal} ({one} {chance.choice('&|')} !{other})")
    noting, known = Noting(composition, atoms(formula)), vocabulary(composition)
    slow = FormulaChecker(noting, explore(noting), Runs.COMPLETE, vocabulary=known).check(formula)
    buffered = not composition.channel.synchronous and not of_steps(composition) & {one, other}
    orders = [Reduction.PARTIAL_ORDER] * buffered
    for verdict in [check(composition, formula, compiled=how) for how in (False, True)]:
        same(verdict, slow)
        lengths = [one.trace and len(one.trace.steps) for one in (verdict, slow)]
        assert lengths[0] == lengths[1]
    for reduction in orders:
        assert check(composition, formula, reduction=reduction).status is slow.status


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from(Runs), st.lists(st.integers(0, 5), max_size=3))
def test_fair_runs(seed: int, runs: Runs, asked: list[int]) -> None:
    question = random_question(seed, branching=False)
    if question is None:
        return
    composition, chance, names = question
    texts = ("weak:rows", "strong:rows", "weak:agents", "strong:agents")
    demands = [demand(texts[one]) for one in asked if one < len(texts)]
    for strength in Strength:
        if len(texts) + list(Strength).index(strength) in asked:
            demands.append(Demand(strength, Atom(names[0])))
    formula = random_formula(
        chance, lambda: Atom(chance.choice(names)), 2, branching=seed % 4 == 0, nexts=False
    )
    slow = check(composition, formula, runs, demands=demands, compiled=False)
    fast = check(composition, formula, runs, demands=demands, compiled=True)
    same(fast, slow)
    if fast.trace is not None and slow.trace is not None:
        stems = [len(one.trace.steps) - one.cycle for one in (fast, slow) if one.trace]
        assert stems[0] == stems[1]
        assert (fast.cycle > 0) == (slow.cycle > 0)


def test_what_is_not_known_is_refused_alike() -> None:
    question = random_question(1, branching=False)
    assert question is not None
    for compiled in (False, True):
        with pytest.raises(UsageError, match="no reachable state has"):
            check(question[0], parse("F nowhere@ALL"), compiled=compiled)
        with pytest.raises(UsageError, match="no step leads to"):
            asked = [demand("weak:nowhere@ALL")]
            check(question[0], parse("F ended"), demands=asked, compiled=compiled)


def test_too_little_effort_is_unknown() -> None:
    question = random_question(1, branching=False)
    assert question is not None
    found = check(question[0], parse("F ended"), effort=Effort(2), compiled=True)
    assert found.status is Status.UNKNOWN
