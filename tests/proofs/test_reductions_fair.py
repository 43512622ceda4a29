"""Reductions with fairness: what is kept, and why the rest is refused."""

from __future__ import annotations

import random

import pytest

from proofs.core.explore import Space, explore
from proofs.core.limits import Effort
from proofs.core.results import Status
from proofs.logic import Formula, Runs, parse
from proofs.logic.checking import FormulaChecker
from proofs.logic.fairness import demand, fairness
from proofs.logic.formulas import atoms
from proofs.logic.graph import graph_of
from proofs.systems import (
    Composition,
    NotReducible,
    Reduction,
    check,
    parse_channel,
    system_of,
)
from proofs.systems.fairness import acting, taking
from proofs.systems.partial_order import PartialOrder
from proofs.systems.propositions import NotedState, Noting, vocabulary
from proofs.systems.reachability import reach
from proofs.systems.symmetry import Quotient, Symmetry
from tests.proofs.random_systems import (
    random_channel,
    random_system,
)
from tests.proofs.test_reductions import HUB, MOST, WORKER, workers
from tests.proofs.text_tables import table
from tests.sampling import swept


@pytest.mark.parametrize(
    ("reduction", "fair", "formula", "reason"),
    [
        ("symmetry", "weak:agents", "F ended", "Emerson and Sistla"),
        ("partial-order", "weak:rows", "F ended", "Apt, Francez and Katz"),
        ("partial-order", "strong:ended", "F ended", "save to agents"),
        ("partial-order", "weak:agents", "AG EF ended", "no E or A inside"),
    ],
)
def test_fairness_that_a_reduction_loses_is_refused(
    reduction: str, fair: str, formula: str, reason: str
) -> None:
    with pytest.raises(NotReducible, match=reason):
        check(workers(2), parse(formula), reduction=Reduction(reduction), demands=[demand(fair)])


def test_fairness_to_the_outside_is_refused_with_partial_order() -> None:
    system = system_of([("a", table("a", "[A] -> [B] event GO")), ("b", WORKER), ("hub", HUB)])
    composition = Composition(system.over(parse_channel("fifo:1")))
    with pytest.raises(NotReducible, match="no event comes from outside"):
        asked = [demand("weak:agents")]
        check(composition, parse("F a@B"), reduction=Reduction.PARTIAL_ORDER, demands=asked)


@pytest.mark.parametrize("seeds", [40, pytest.param(swept(800), marks=pytest.mark.deep)])
def test_partial_order_keeps_fairness_to_agents(seeds: int) -> None:
    met: dict[Status, int] = {}
    decisive = 0
    for seed in range(seeds):
        chance = random.Random(seed)
        system = random_system(chance, guards=0.7 * (seed % 2))
        composition = Composition(system.over(random_channel(chance, system, buffered=True)))
        if composition.events or reach(composition, Effort(MOST)).cut:
            continue
        places = sorted(
            f"{one.name}@{state.name}" for one in system.members for state in one.automaton.states
        )
        shapes = ("F {}", "G F {}", "F G {}", "F !{}", "G F !{}", "F {} & F {}", "G F {} | F G {}")
        for runs in (Runs.COMPLETE, Runs.INFINITE):
            shape = chance.choice(shapes)
            formula = parse(shape.format(chance.choice(places), chance.choice(places)))
            fair = [demand(chance.choice(("weak:agents", "strong:agents")))]
            full = check(composition, formula, runs, demands=fair)
            reduced = check(
                composition, formula, runs, reduction=Reduction.PARTIAL_ORDER, demands=fair
            )
            assert reduced.status is full.status, (seed, formula, runs)
            met[full.status] = met.get(full.status, 0) + 1
            decisive += full.status is not check(composition, formula, runs).status
    assert min(met[Status.HOLDS], met[Status.FAILS]) >= 5
    assert decisive >= seeds // 100


def judged(composition: Composition, formula: Formula, fair: str, how: Reduction) -> Status:
    """The verdict on the states that a reduction keeps, were it not refused with fairness."""
    noting = Noting(composition, atoms(formula))
    if how is Reduction.SYMMETRY:
        quotient = Quotient(noting, Symmetry(composition))
        return _judged(quotient, explore(quotient), composition, formula, fair)
    order = PartialOrder(composition, atoms(formula))
    return _judged(noting, explore(noting, followed=order.steps), composition, formula, fair)


def _judged(
    model: Noting | Quotient,
    space: Space[NotedState],
    composition: Composition,
    formula: Formula,
    fair: str,
) -> Status:
    known = vocabulary(composition)
    runs = fairness([demand(fair)], model, space, known, taking(composition), acting(composition))
    return FormulaChecker(graph_of(model, space, runs, known)).check(formula).status


def test_a_fair_run_goes_on_everywhere() -> None:
    ping = "A -> B send X to c{0}\nB -> A receive Y from c{0}"
    pong = "A -> B receive X from p{0}\nB -> A send Y to p{0}"
    members = [
        (f"{name}{number}", table(name, text.format(number)))
        for number in range(3)
        for name, text in (("p", ping), ("c", pong))
    ]
    composition = Composition(system_of(members).over(parse_channel("fifo:1")))
    formula, fair = parse("G F c2@B"), [demand("weak:agents")]
    reduction = Reduction.PARTIAL_ORDER
    assert check(composition, formula, reduction=reduction).status is Status.FAILS
    assert check(composition, formula, reduction=reduction, demands=fair).status is Status.HOLDS
    order = PartialOrder(composition, atoms(formula))
    assert (len(reach(composition).states), reach(composition).transitions) == (4**3, 3 * 4**3)
    assert reach(composition, reduction=order).transitions < 3 * 4**3 / 2


def test_why_symmetry_goes_without_fairness() -> None:
    hub = table("hub", "[A] -> [A] receive X\n[A] -> [A] send Y")
    worker = table("w", "[A] -> B event TICK\nB -> [A] receive Y from hub\n[A] -> B send X to hub")
    composition = Composition(system_of([("hub", hub), ("w1", worker), ("w2", worker)]))
    formula, fair = parse("F (w1@B & w2@B)"), "weak:rows"
    assert check(composition, formula, demands=[demand(fair)]).status is Status.FAILS
    assert judged(composition, formula, fair, Reduction.SYMMETRY) is Status.HOLDS


def test_why_partial_order_goes_without_fairness() -> None:
    a = table("a", "[A] -> B send Y to b\nB -> B receive X\nB -> [A] send Y to b")
    b = table("b", "[A] -> [B] send X to a\n[A] -> [A] receive Y\n[B] -> [B] send X to a")
    system = system_of([("a", a), ("b", b)]).over(parse_channel("fifo:2"))
    composition, formula, fair = Composition(system), parse("F G b@B"), "weak:rows"
    assert check(composition, formula, demands=[demand(fair)]).status is Status.HOLDS
    assert judged(composition, formula, fair, Reduction.PARTIAL_ORDER) is Status.FAILS
