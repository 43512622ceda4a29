"""Formulas whose satisfiability others published: the checker agrees, and its models are models.

A sample comes with the tests. All formulas of BLACK's index are decided by the long tests where
the environment variable BLACK names a clone of it.
"""

from __future__ import annotations

import os
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from bench_satisfiability import (
    FORMULAS,
    TERMS,
    Decision,
    NotDecided,
    decide,
    listed,
    read,
)

from proofs.core.explore import TooLarge, explore
from proofs.logic import Runs, parse, satisfiability, satisfying_run
from proofs.logic.formulas import And, Atom, Exists, Formula, Not
from proofs.logic.satisfiability import WitnessRun, short_lasso
from proofs.logic.tableau import TRUE, Tableau
from tests.oracles.graphs import NAMES, Graph, random_path
from tests.oracles.ltl import PlainChecker
from tests.oracles.runs import satisfied

SAMPLE = [
    line.split(";", 2)
    for line in (Path(__file__).parent / "black_formulas.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def check(found: Decision, verdict: str) -> None:
    """The verdict is the published one, and a model satisfies the formula by its definition."""
    assert found.satisfiable == (verdict == "SAT")
    if found.run is not None:
        assert satisfied(found.formula, found.run.states, found.run.cycle, holds)


def holds(part: Formula, state: frozenset[str]) -> bool:
    """Whether a proposition is true in a state of a run."""
    assert isinstance(part, Atom)
    return part.name in state


@pytest.mark.parametrize(("verdict", "path", "text"), SAMPLE, ids=[line[1] for line in SAMPLE])
def test_a_published_verdict_is_ours(verdict: str, path: str, text: str) -> None:
    check(decide(text, finite=path.startswith("finite_models")), verdict)


def test_formulas_of_others_are_read_as_theirs() -> None:
    assert read("~ (a) => True") == read("!a -> True")
    assert isinstance(read(" ~  (a)"), Not)


def test_terms_of_a_theory_are_not_read() -> None:
    with pytest.raises(NotDecided) as raised:
        decide("x + 1 = 2")
    assert raised.value.reason == TERMS


@pytest.mark.parametrize(
    ("text", "satisfiable"),
    [
        ("Y True", False),
        ("Z False", True),
        ("X Y p & !p", False),
        ("F (p & Y Y Y Z False) & G (p -> Y Y Z False)", False),
        ("F (p & Y Y Z False)", True),
        ("G (p -> O q) & !q & p", False),
        ("F (p & (q S r)) & G !r", False),
        ("F (p & (q S r)) & G (r -> X X !q & X !p)", True),
        ("G (H p -> X p) & p & F !p", False),
        ("F (q T r) & G !r", False),
    ],
)
def test_operators_of_the_past_are_taken_away(text: str, satisfiable: bool) -> None:
    assert decide(text).satisfiable is satisfiable


def test_a_lasso_that_is_near_is_found_where_the_search_goes_far() -> None:
    waits = " & ".join(f"(X p{one} | X X p{one}) & F G !p{one}" for one in range(4))
    formula = parse(f"{waits} & G (r -> X X X r) & F r")
    run = short_lasso(Tableau(formula), 4)
    assert run is not None and len(run.states) == 4
    assert satisfied(formula, run.states, run.cycle, holds)
    assert short_lasso(Tableau(formula), 1) is None
    assert short_lasso(Tableau(parse("p & G F !p & G F p & X X X p & X !p")), 2) is None


@pytest.mark.deep
@pytest.mark.skipif("BLACK" not in os.environ, reason="BLACK names no clone of black-sat/black")
def test_every_published_verdict_is_ours() -> None:
    folder = Path(os.environ["BLACK"])
    decided = 0
    for path, verdict in listed(folder):
        text = (folder / FORMULAS / path).read_text("utf-8")
        try:
            found = decide(text, finite=path.startswith("finite_models"))
        except NotDecided as error:
            assert error.reason == TERMS
            continue
        check(found, verdict)
        decided += 1
    assert decided == 3_124


def everything(*, ends: bool) -> Graph:
    """All sets of the oracle's propositions, each followed by each; with `ends`, each may be last:
    there is another state with the set, that nothing comes after.
    """
    states = [frozenset(chosen) for size in range(3) for chosen in combinations(NAMES, size)]
    edges = tuple(range(len(states) * (1 + ends)))
    return Graph((edges,) * len(states) + ((),) * (len(states) * ends), tuple(states * (1 + ends)))


@pytest.mark.deep
@pytest.mark.parametrize("runs", Runs)
def test_random_formulas_are_satisfiable_if_some_run_of_all_satisfies_them(runs: Runs) -> None:
    agree_with_a_search_of_everything(range(20), runs)


@pytest.mark.deep
@pytest.mark.parametrize("runs", Runs)
def test_more_random_formulas(runs: Runs) -> None:
    agree_with_a_search_of_everything(range(1_000, 1_300), runs)


def agree_with_a_search_of_everything(seeds: range, runs: Runs) -> None:
    """Compare with the second checker; both verdicts are met."""
    model, found = everything(ends=runs is not Runs.INFINITE), set[bool]()
    space = explore(model)
    plain = PlainChecker(model, space, runs)
    finite, infinite = runs is not Runs.INFINITE, runs is not Runs.FINITE
    for seed in seeds:
        chance = random.Random(seed)
        formula = random_path(chance, 2)
        for _ in range(chance.choice((0, 1, 2, 3))):
            formula = And(formula, random_path(chance, 2))
        run = satisfying_run(formula, finite=finite, infinite=infinite)
        assert (run is not None) == any(
            plain.holds(Exists(formula), state) for state in space.steps
        ), (seed, formula)
        if run is not None:
            assert satisfied(formula, run.states, run.cycle, holds)
            assert runs is Runs.COMPLETE or (run.cycle > 0) == (runs is Runs.INFINITE)
        found.add(run is not None)
    assert found == {True, False}


@pytest.mark.parametrize(
    "text",
    [
        "X (X p & N false) | X (N false & q)",
        "X (N false & q) | X (X p & N false)",
        "X (p & N false) & X (q | X r)",
        "N (N false & X p) & (X X q | p)",
    ],
)
def test_a_run_may_end_where_no_step_leads_on(text: str) -> None:
    formula, model = parse(text), everything(ends=True)
    space = explore(model)
    plain = PlainChecker(model, space, Runs.FINITE)
    run = satisfying_run(formula, finite=True, infinite=False)
    assert run is not None and satisfied(formula, run.states, 0, holds)
    assert any(plain.holds(Exists(formula), state) for state in space.steps)


def test_whatever_is_true_of_every_run_is_true_of_one_state() -> None:
    assert satisfying_run(parse("p | !p")) == WitnessRun((frozenset(),), 1)
    assert satisfying_run(parse("true"), finite=True, infinite=False) == WitnessRun(
        (frozenset(),), 0
    )


def test_what_some_run_does_is_no_proposition_of_a_lasso() -> None:
    run = short_lasso(Tableau(parse("q & X E X p & X G (q & !r)")), 2)
    assert run is not None and set(run.states) == {frozenset({"q"})}


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("p U (p U q)", "p U q"),
        ("p R (p R q)", "p R q"),
        ("F (p U q)", "F q"),
        ("G (p R q)", "G q"),
        ("F F q", "F q"),
        ("G F G F q", "G F q"),
    ],
)
def test_what_means_no_more_has_no_more_parts(text: str, short: str) -> None:
    assert len(Tableau(parse(text)).promised) == len(Tableau(parse(short)).promised)


def test_a_tableau_reaches_what_its_formula_is_made_of() -> None:
    tableau = Tableau(parse("X p & N q"))
    assert TRUE not in tableau.reached
    assert len(tableau.reached) == len(tableau.parts) - 2


def test_what_takes_too_long_is_not_decided() -> None:
    bits = [f"b{bit}" for bit in range(12)]
    counts = [
        f"G ((X {bit} <-> !{bit}) <-> ({' & '.join(bits[:place]) or 'true'}))"
        for place, bit in enumerate(bits)
    ]
    never = parse(" & ".join([*counts, *(f"!{bit}" for bit in bits), f"G !({' & '.join(bits)})"]))
    with pytest.raises(TooLarge, match=r"no answer within 0\.05 seconds of CPU time"):
        satisfying_run(never, seconds=0.05)


@pytest.mark.parametrize(
    ("text", "size"),
    [("X X p | N N !p", 2), ("X X p | N N p", 3), ("N false | X p", 1), ("X p | X !p", 1)],
)
def test_of_a_promise_and_its_negation_one_has_a_bit(text: str, size: int) -> None:
    """And none of what is true or false anyway."""
    assert len(Tableau(parse(text)).choices) == size


@pytest.mark.parametrize(
    ("text", "finite", "size"),
    [
        ("F (X p | X X !q) & F X p & X X !q", True, 3),
        ("N X X p & N !p & F p & X X (F p | X X p)", True, 4),
        ("(p U (X X !q & q)) & X !q", False, 4),
    ],
)
def test_a_run_goes_on_for_no_longer_than_what_was_promised(
    text: str, finite: bool, size: int
) -> None:
    """What is met already is not promised again; a way round a component is a shortest one."""
    formula = parse(text)
    run = satisfying_run(formula, finite=finite, infinite=not finite)
    assert run is not None and len(run.states) == size
    assert satisfied(formula, run.states, run.cycle, holds)


@pytest.mark.parametrize("text", ["N (p & !q) & r", "X p & X X p & q"])
def test_what_is_true_stays_so_where_nothing_else_is_asked(text: str) -> None:
    run = satisfying_run(parse(text))
    assert run is not None
    assert all(run.states[0] <= state for state in run.states)


def test_steps_to_what_led_nowhere_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of such states are given anew: no step leads to another state by that."""
    searches = list[Any]()

    class Noting(satisfiability._Search):
        def run(self) -> WitnessRun | None:
            self.blocked = dict[int, list[int]]()
            searches.append(self)
            return super().run()

        def _block(self, node: Any, duties: int, settled: int) -> None:
            self.blocked.setdefault(id(node), []).append(duties)
            super()._block(node, duties, settled)

    monkeypatch.setattr(satisfiability, "_Search", Noting)
    monkeypatch.setattr(satisfiability, "_LENGTHS", ())
    forgotten = 0
    for seed in range(30):
        chance = random.Random(seed)
        formula = And(random_path(chance, 4), And(random_path(chance, 3), random_path(chance, 3)))
        if satisfying_run(formula, finite=False) is None:
            continue
        search = searches.pop()
        numbers = {node.duties: node.order for node in search._nodes}
        for node in search._nodes:
            blocked = search.blocked.get(id(node), [])
            due = [numbers[duties] for duties in blocked if duties in numbers]
            latest = len(node.edges) - len(due)  # that which closes the run is not blocked
            assert [target for target, _, _ in node.edges][: len(due)] == due
            assert latest == 0 or (latest == 1 and node is search._nodes[-1])
            forgotten += len(blocked) - len(due)
    assert forgotten > 1
