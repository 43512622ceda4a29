"""Termination as a question of its own, and fairness, on small graphs with known answers."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable

import pytest

from proofs.core.explore import Step, explore
from proofs.core.results import Status
from proofs.logic import (
    FairClass,
    Fairness,
    FormulaChecker,
    Runs,
    Strength,
    graph_of,
    parse,
)
from proofs.logic.fairness import demand, fairness
from proofs.logic.formulas import Atom, Formula
from proofs.logic.termination import questions
from pxp_fsm.errors import UsageError
from tests.oracles.graphs import Graph, complete_runs, random_graph, random_path
from tests.oracles.runs import satisfied
from tests.sampling import first_and_rest

END = "ended"


def edge(state: int, step: Step[int]) -> Iterable[Hashable]:
    """Each edge is a row of its own."""
    return ((state, step.target),)


def source(state: int, _step: Step[int]) -> Iterable[Hashable]:
    """Each state is an agent, which chooses where to go on."""
    return (state,)


def answers(edges: tuple[tuple[int, ...], ...], ended: int | None) -> dict[str, str]:
    true = tuple(frozenset({END} if state == ended else ()) for state in range(len(edges)))
    graph = Graph(edges, true)
    found = questions(graph, explore(graph), edge, source)
    return {question.name: question.answer().status.value for question in found}


KNOWN: dict[str, tuple[tuple[tuple[int, ...], ...], int | None, set[str]]] = {
    "a line": (((1,), (2,), ()), 2, set()),
    "a loop that may be left": (
        ((0, 1), ()),
        1,
        {"always-ends", "ends-if-strong-agents", "ends-if-weak-agents"},
    ),
    "two that pass it on, either may end it": (
        ((1, 2), (0, 2), ()),
        2,
        {"always-ends", "ends-if-strong-agents", "ends-if-weak-agents", "ends-if-weak-rows"},
    ),
}
EVERY = {
    "end-reachable-from-everywhere",
    "no-trap",
    "always-ends",
    *(f"ends-if-{how}-{whose}" for how in Strength for whose in ("rows", "agents")),
}
KNOWN |= {
    "a dead end beside the end": (((1, 2), (), ()), 2, EVERY),
    "a cycle beside the end": (((1, 3), (2,), (1,), ()), 3, EVERY),
    "no end at all": (((1,), (0,)), None, EVERY),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_ends_and_what_does_not(name: str) -> None:
    edges, ended, fails = KNOWN[name]
    found = answers(edges, ended)
    assert set(found) == EVERY
    assert {question for question, status in found.items() if status == "FAILS"} == fails


def test_a_trap_is_shown_with_the_way_into_it_and_once_round_it() -> None:
    graph = Graph(((1, 3), (2,), (1,), ()), tuple(map(frozenset, ((), (), (), (END,)))))
    asked = {one.name: one for one in questions(graph, explore(graph), edge, source)}
    verdict = asked["no-trap"].answer()
    assert verdict.trace is not None
    assert verdict.trace.labels == ("0-1", "1-2", "2-1")
    assert (verdict.cycle, verdict.detail) == (2, "2 states without an end, never left")
    verdict = asked["end-reachable-from-everywhere"].answer()
    assert verdict.trace is not None
    assert verdict.trace.labels == ("0-1",)


def fair(one: FairClass[int], run: tuple[int, ...], cycle: int, graph: Graph) -> bool:
    """Whether a lasso is fair to the class, by the definition of weak and of strong fairness."""
    round_ = run[-cycle:]
    followed = [*round_[1:], round_[0]]
    pairs = zip(round_, followed, strict=True)
    taken = any(one.contains(state, Step(f"{state}-{after}", after)) for state, after in pairs)
    enabled = [
        any(one.contains(state, Step(f"{state}-{t}", t)) for t in graph.edges[state])
        for state in round_
    ]
    return taken or not (any(enabled) if one.strength is Strength.STRONG else all(enabled))


def to(state: int, strength: Strength) -> FairClass[int]:
    return FairClass(strength, lambda _source, step: step.target == state)


@pytest.mark.parametrize("seeds", first_and_rest(80, 600))
def test_what_holds_of_fair_runs_is_broken_by_no_fair_lasso(seeds: range) -> None:
    met = {Status.HOLDS: 0, Status.FAILS: 0}
    for seed in seeds:
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 3), random_path(chance, 2)
        classes = [to(chance.randrange(3), chance.choice(list(Strength))) for _ in range(2)]
        fairly = Fairness(tuple(classes))
        checker = FormulaChecker(
            graph_of(graph, explore(graph), fairly, frozenset("pq")), Runs.INFINITE
        )
        verdict = checker.check(formula)

        def holds(atom: Formula, state: int, graph: Graph = graph) -> bool:
            return isinstance(atom, Atom) and atom.name in graph.true[state]

        broken = [
            run
            for run, cycle in complete_runs(graph, 6)
            if cycle
            and all(fair(one, run, cycle, graph) for one in classes)
            and not satisfied(formula, run, cycle, holds)
        ]
        if verdict.status in met:
            met[verdict.status] += 1
        assert not (broken and verdict.status is not Status.FAILS), (seed, formula, graph, broken)
    assert min(met.values()) > len(seeds) // 12


def test_a_class_of_steps_by_a_formula_is_what_they_lead_to() -> None:
    graph = Graph(((0, 1), ()), (frozenset(), frozenset({"p"})))
    space = explore(graph)
    for text, status in [("weak:p", "HOLDS"), ("weak:!p", "FAILS"), ("strong: p | q", "HOLDS")]:
        fairly = fairness([demand(text)], graph, space, frozenset("pq"))
        checker = FormulaChecker(graph_of(graph, space, fairly, frozenset("pq")))
        assert checker.check(parse("F p")).status.value == status, text


@pytest.mark.parametrize("text", ["p", "often:p", "weak:", "weak:X p", "weak:E p", "strong:p q"])
def test_what_asks_for_no_fairness_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        demand(text)


def test_a_model_without_rows_is_not_fair_to_them() -> None:
    graph = Graph(((0,),), (frozenset(),))
    with pytest.raises(UsageError, match="no rows"):
        fairness([demand("weak:rows")], graph, explore(graph), frozenset())
