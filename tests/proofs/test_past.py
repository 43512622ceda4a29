"""Past operators: against their definition on single runs, in checks, monitors and pictures."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest

from proofs.core.explore import Step
from proofs.core.results import Status
from proofs.logic import FairClass, Runs, Strength, parse, satisfying_run
from proofs.logic.formulas import And, Atom, Formula
from proofs.logic.past import MOST_PAST, history_of
from proofs.systems.coloring import text_of, values_along
from pxp_fsm.errors import UsageError
from tests.oracles.graphs import complete_runs, random_graph, random_with_past
from tests.oracles.runs import satisfied
from tests.proofs.test_logic import breaks, checker, on_run
from tests.sampling import first_and_rest


@pytest.mark.parametrize("seeds", first_and_rest(60, 3_000))
def test_verdicts_and_traces_agree_with_the_definition_on_single_runs(seeds: range) -> None:
    met = dict.fromkeys(Status, 0)
    for seed in seeds:
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_with_past(chance, 3)
        verdict = checker(graph).check(formula)
        met[verdict.status] += 1
        if verdict.status is Status.FAILS:
            assert verdict.trace is not None
            assert breaks(graph, formula, verdict.trace, verdict.cycle), (seed, formula, graph)
            continue
        assert verdict.status is Status.HOLDS
        for run, cycle in complete_runs(graph, 6):
            assert on_run(graph, formula, run, cycle), (seed, formula, graph, run, cycle)
    assert min(met[Status.HOLDS], met[Status.FAILS]) > len(seeds) // 10, met


@pytest.mark.deep
@pytest.mark.parametrize("runs", list(Runs))
def test_finite_and_infinite_runs_are_told_apart(runs: Runs) -> None:
    for seed in range(100):
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_with_past(chance, 2)
        verdict = checker(graph, runs).check(formula)
        counting = [
            on_run(graph, formula, run, cycle)
            for run, cycle in complete_runs(graph, 6)
            if runs is Runs.COMPLETE or (cycle > 0) is (runs is Runs.INFINITE)
        ]
        if verdict.status is Status.HOLDS:
            assert all(counting), (seed, formula, graph)
        else:
            assert (verdict.status is Status.VACUOUS) is (not counting), (seed, formula, graph)


def test_fairness_is_that_of_the_steps_themselves() -> None:
    """Fair to a class, a formula without past that means the same has the same verdict."""
    pairs = [
        ("G F (O p)", "F p"),
        ("F H !p", "!p"),
        ("G (q -> O p)", "p R (!q | p)"),
        ("F (q & Y p)", "F (p & X q)"),
    ]
    met = set[Status]()
    for seed in range(60):
        graph = random_graph(random.Random(seed), 4)
        fair = FairClass[int](Strength.STRONG, partial(_enters, seed % 4))
        for past, future in pairs:
            found = [
                checker(graph, Runs.COMPLETE, fair).check(parse(text)) for text in (past, future)
            ]
            assert found[0].status is found[1].status, (seed, past)
            met.add(found[0].status)
    assert met == {Status.HOLDS, Status.FAILS}


def _enters(at: int, _: int, step: Step[int]) -> bool:
    return step.target == at


def test_compiled_kernels_find_what_the_interpreter_finds() -> None:
    for seed in range(25):
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_with_past(chance, 3)
        plain, compiled = checker(graph), checker(graph)
        compiled.graph = compiled.graph.compiled()
        assert plain.check(formula) == compiled.check(formula), (seed, formula)


@pytest.mark.parametrize("seeds", first_and_rest(15, 150))
def test_a_run_that_satisfies_a_formula_is_found_where_there_is_one(seeds: range) -> None:
    found = 0
    for seed in seeds:
        formula = random_with_past(random.Random(seed), 3)
        formula = And(formula, random_with_past(random.Random(-seed), 2))
        for finite in (False, True):
            run = satisfying_run(formula, finite=finite, infinite=not finite)
            if run is not None:
                assert satisfied(formula, run.states, run.cycle, _holds), (seed, formula)
                found += 1
            else:
                history = history_of(formula)
                assert history is None or not _some_short_run(formula, finite=finite), formula
    assert len(seeds) < found < 2 * len(seeds)


@pytest.mark.parametrize(
    ("text", "satisfiable"),
    [
        ("q & X (p & !q & (p S q))", True),
        ("!q & X (!q & (p S q))", False),
        ("q & !p & X (q & !p & (p T q))", True),
        ("!q & X (q & !p & (p T q))", False),
    ],
)
def test_since_and_triggered_are_what_the_state_before_says(text: str, satisfiable: bool) -> None:
    assert (satisfying_run(parse(text)) is not None) is satisfiable


def _holds(atom: Formula, true: frozenset[str]) -> bool:
    return isinstance(atom, Atom) and atom.name in true


def _some_short_run(formula: Formula, *, finite: bool) -> bool:
    """Whether one of some random runs satisfies the formula.

    Of the formulas above, each that has a run has one among the first twenty.
    """
    chance = random.Random(str(formula))
    letters = [frozenset(), frozenset("p"), frozenset("q"), frozenset("pq")]
    return any(
        satisfied(
            formula,
            run := chance.choices(letters, k=chance.randint(1, 5)),
            0 if finite else chance.randint(1, len(run)),
            _holds,
        )
        for _ in range(40)
    )


def test_pictures_show_what_past_operators_say_when_a_state_is_first_met() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        formula = random_with_past(chance, 3)
        run = [frozenset(n for n in "pq" if chance.random() < 0.5) for _ in range(5)]
        cycle = chance.randint(0, 3)
        found = values_along(formula, 5, cycle, lambda atom, at: _holds(atom, run[at]))  # noqa: B023
        assert found[formula][0] is satisfied(formula, run, cycle, _holds), (seed, formula)


def test_texts_of_past_formulas_mean_the_same() -> None:
    for seed in range(200):
        chance = random.Random(seed)
        formula = random_with_past(chance, 3)
        again = parse(text_of(formula))
        for _ in range(5):
            run = [frozenset(n for n in "pq" if chance.random() < 0.5) for _ in range(4)]
            cycle = chance.randint(0, 3)
            both = [satisfied(one, run, cycle, _holds) for one in (formula, again)]
            assert both[0] is both[1], (seed, text_of(formula))
    assert text_of(parse('O "H" & H p & Y p & Z p & (p S q) & (p T q)')).count('"H"') == 1


def test_at_the_first_state_nothing_was_before() -> None:
    for text, true in (("Y true", False), ("Z false", True), ("O p", True), ("H p", True)):
        assert satisfied(parse(text), [frozenset("p")], 0, _holds) is true
        assert (satisfying_run(parse(f"p & {text}")) is not None) is true
    assert satisfying_run(parse("(q S p) & !p")) is None
    assert satisfying_run(parse("!(q T p) & p")) is None


def test_what_is_remembered_of_a_state_is_what_is_true_there() -> None:
    meanings: tuple[tuple[str, Callable[[bool, bool], bool]], ...] = (
        ("p & q", lambda p, q: p and q),
        ("p | q", lambda p, q: p or q),
        ("p & !q", lambda p, q: p and not q),
        ("!(p | q)", lambda p, q: not (p or q)),
    )
    for text, meaning in meanings:
        history = history_of(parse(f"Y ({text})"))
        assert history is not None
        for values in product((False, True), repeat=2):
            there: dict[Formula, bool] = dict(zip((Atom("p"), Atom("q")), values, strict=True))
            true, after = history.step(history.start, [there[atom] for atom in history.atoms])
            assert (true, bool(after)) == (0, meaning(*values)), (text, values)
            assert history.step(after, [False, False])[0] == meaning(*values)


def test_names_of_one_letter_stay_names_where_more_follows() -> None:
    assert parse("H.INIT & O@WAIT & Y:REV & S?TAG") == parse(
        '"H.INIT" & "O@WAIT" & "Y:REV" & "S?TAG"'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("G O F p", "write what is to come outside"),
        ("Y X p", "write what is to come outside"),
        ("O (E p)", "write what is to come outside"),
        ("AG EF (O p)", "leave out the A and E"),
        ("E (O p)", "leave out the A and E"),
        ("p & A (O p)", "leave out the A and E"),
    ],
)
def test_what_is_not_decided_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(text)


def test_an_a_in_front_changes_nothing() -> None:
    for seed in range(20):
        graph = random_graph(random.Random(seed), 4)
        plain, every = (
            checker(graph).check(parse(text)) for text in ("G (p -> O q)", "AG (p -> O q)")
        )
        assert plain == every


def test_too_many_past_operators_are_refused() -> None:
    text = " & ".join(f"O p{number}" for number in range(MOST_PAST + 1))
    with pytest.raises(UsageError, match="split it into several"):
        history_of(parse(text))
