"""Formulas on graphs in arrays: the verdicts and the lengths of traces are the interpreter's."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core.explore import Step, explore
from proofs.core.kernels import Compiled
from proofs.core.limits import Effort
from proofs.core.results import Status, Verdict
from proofs.logic import checking
from proofs.logic import graph as graphs
from proofs.logic.checking import FormulaChecker, Runs
from proofs.logic.fairness import Demand, FairClass, Fairness, Strength, demand, fairness
from proofs.logic.formulas import Atom, Formula, atoms
from proofs.logic.graph import Graph, graph_of
from proofs.logic.parsing import parse
from proofs.systems import Composition, Reduction, check
from proofs.systems.checking import home_space
from proofs.systems.fairness import acting, asked, taking
from proofs.systems.propositions import Noting, of_steps, vocabulary
from proofs.systems.reachability import reach
from proofs.systems.replay import shown
from pxp_fsm.errors import UsageError
from tests.oracles.graphs import NAMES, random_branching, random_graph, random_path
from tests.oracles.graphs import Graph as RandomGraph
from tests.oracles.ltl import PlainChecker
from tests.proofs.random_systems import (
    random_channel,
    random_formula,
    random_system,
    symmetric_system,
)
from tests.proofs.test_logic import breaks

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


def plainly(
    composition: Composition, formula: Formula, runs: Runs, demands: Sequence[Demand] = ()
) -> Verdict:
    """The verdict of the second checker."""
    known, names = vocabulary(composition), {*atoms(formula), *asked(demands)}
    noting = Noting(composition, names)
    space = explore(noting)
    fairly = fairness(demands, noting, space, known, taking(composition), acting(composition))
    found = PlainChecker(noting, space, runs, fairly, known).check(formula)
    trace = None if found.trace is None else shown(composition, found.trace)
    return Verdict(found.status, found.detail, trace, found.cycle)


def same(found: Verdict, expected: Verdict, *, fair: bool = False) -> None:
    """The verdicts are equal, and so are the lengths of the stem and of the cycle.

    The second checker does not rewrite formulas. So what breaks one may be shown earlier here (X
    false is broken before any step), and the way to a fair cycle, which may be another, be shorter.
    """
    assert (found.status, found.detail) == (expected.status, expected.detail)
    assert (found.trace is None) == (expected.trace is None)
    if found.trace is not None and expected.trace is not None:
        stem, other = (len(one.trace.steps) - one.cycle for one in (found, expected) if one.trace)
        assert (found.cycle > 0) == (expected.cycle > 0)
        assert stem <= other
        if found.cycle and not fair:
            assert (stem, found.cycle) == (other, expected.cycle)


def decided(graph: Graph, formula: Formula, runs: Runs) -> list[Verdict]:
    """By the interpreter, and by compiled kernels that trap where they are not exact."""
    found = [FormulaChecker(graph, runs).check(formula)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "COMPILE_FROM", 0)
        patch.setattr(graphs, "Compiled", partial(Compiled, checked=True))
        found.append(FormulaChecker(graph, runs).check(formula))
    return found


def _leads_to(goal: int, _state: int, step: Step[int]) -> bool:
    return step.target == goal


def is_fair(model: RandomGraph, fair: FairClass[int], found: Verdict) -> bool:
    """Whether the cycle of a lasso is fair to the class, by the definition."""
    assert found.trace is not None
    states = [found.trace.start, *(step.target for step in found.trace.steps)]
    sources, steps = states[-found.cycle - 1 : -1], found.trace.steps[-found.cycle :]
    if any(fair.contains(state, step) for state, step in zip(sources, steps, strict=True)):
        return True
    can = [any(fair.contains(one, step) for step in model.successors(one)) for one in sources]
    return not (any(can) if fair.strength is Strength.STRONG else all(can))


def same_on_random_graphs(seeds: Iterable[int]) -> set[tuple[Status, bool]]:
    """Compare with the second checker on so many graphs; what was met, with a cycle or without."""
    met = set[tuple[Status, bool]]()
    for seed in seeds:
        chance = random.Random(seed)
        states = chance.choice((3, 4, 5, 7))
        model, runs = random_graph(chance, states), chance.choice(list(Runs))
        formula = random_branching(chance, 3) if seed % 3 == 0 else random_path(chance, 3)
        goals = [chance.randrange(states) for _ in range(chance.choice((0, 0, 1, 2, 20)))]
        classes = [
            FairClass[int](chance.choice(list(Strength)), partial(_leads_to, goal))
            for goal in goals
        ]
        fairly, space, known = Fairness(tuple(classes)), explore(model), frozenset(NAMES)
        expected = PlainChecker(model, space, runs, fairly, known).check(formula)
        both = decided(graph_of(model, space, fairly, known), formula, runs)
        assert (both[0].trace, both[0].cycle) == (both[1].trace, both[1].cycle)
        for found in both:
            same(found, expected, fair=bool(classes))
            if found.cycle and found.trace is not None and seed % 3:
                assert breaks(model, formula, found.trace, found.cycle), (seed, formula, model)
                assert all(is_fair(model, each, found) for each in classes), (seed, formula, model)
        met.add((expected.status, expected.cycle > 0))
    return met


@pytest.mark.parametrize("goals", [(3,), (3, 4), (4, 3, 2)])
def test_a_fair_cycle_takes_every_way_that_it_must(goals: tuple[int, ...]) -> None:
    """Two promises are kept again and again, and a step is taken that neither of them needs."""
    petals = tuple((0,) for _ in range(4))
    true = frozenset[str](), frozenset({"p"}), frozenset({"q"}), frozenset[str](), frozenset[str]()
    model, known = RandomGraph(((1, 2, 3, 4), *petals), true), frozenset(NAMES)
    classes = [FairClass[int](Strength.STRONG, partial(_leads_to, goal)) for goal in goals]
    formula, space = parse("F G !p | F G !q"), explore(model)
    fairly = Fairness(tuple(classes))
    for found in decided(graph_of(model, space, fairly, known), formula, Runs.COMPLETE):
        assert found.status is Status.FAILS and found.trace is not None
        assert breaks(model, formula, found.trace, found.cycle)
        assert all(is_fair(model, each, found) for each in classes)


def test_random_graphs() -> None:
    met = same_on_random_graphs(range(60))
    assert {(Status.FAILS, True), (Status.FAILS, False), (Status.HOLDS, False)} <= met


def test_a_product_with_sets_of_duties_has_the_same_verdicts() -> None:
    assert duties_agree(range(90)) >= {Status.FAILS, Status.HOLDS}


@pytest.mark.deep
def test_more_products_with_sets_of_duties() -> None:
    duties_agree(range(1_000, 2_500))


def duties_agree(seeds: Iterable[int]) -> set[Status]:
    """Compare products that read the tableau as what holds at least; the verdicts that were met.

    Their lassos break the formula and are fair, but need not be shortest ones.
    """
    met = set[Status]()
    for seed in seeds:
        chance = random.Random(seed)
        states = chance.choice((3, 4, 5, 7))
        model, runs = random_graph(chance, states), chance.choice(list(Runs))
        formula = random_branching(chance, 3) if seed % 3 == 0 else random_path(chance, 3)
        goals = [chance.randrange(states) for _ in range(chance.choice((0, 0, 1, 2, 20)))]
        classes = [
            FairClass[int](chance.choice(list(Strength)), partial(_leads_to, goal))
            for goal in goals
        ]
        fairly, space, known = Fairness(tuple(classes)), explore(model), frozenset(NAMES)
        expected = PlainChecker(model, space, runs, fairly, known).check(formula)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checking, "MOST_EXACT", 0)
            found = FormulaChecker(graph_of(model, space, fairly, known), runs).check(formula)
        assert (found.status, found.detail) == (expected.status, expected.detail), (seed, formula)
        assert (found.cycle > 0) == (expected.cycle > 0)
        if found.cycle and found.trace is not None and seed % 3:
            assert breaks(model, formula, found.trace, found.cycle), (seed, formula, model)
            assert all(is_fair(model, each, found) for each in classes), (seed, formula, model)
        met.add(found.status)
    return met


@pytest.mark.deep
def test_more_random_graphs() -> None:
    same_on_random_graphs(range(2_000, 4_000))


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
    expected = plainly(composition, formula, runs)
    for compiled in (False, True):
        found = check(composition, formula, runs, compiled=compiled)
        # What is decided by the edges alone has a shortest trace, as good as any other.
        same(found, expected, fair=home_space(composition, formula) is not None)


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
    slow = PlainChecker(noting, explore(noting), Runs.COMPLETE, vocabulary=known).check(formula)
    buffered = not composition.channel.synchronous and not of_steps(composition) & {one, other}
    orders = [Reduction.PARTIAL_ORDER] * buffered
    for verdict in [check(composition, formula, compiled=how) for how in (False, True)]:
        assert (verdict.status, verdict.detail) == (slow.status, slow.detail)
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
    expected = plainly(composition, formula, runs, demands)
    for compiled in (False, True):
        found = check(composition, formula, runs, demands=demands, compiled=compiled)
        same(found, expected, fair=True)


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
