"""The solver of clauses, beside one that tries every assignment."""

from __future__ import annotations

import random
from array import array
from itertools import product

import pytest

from proofs.core.explore import TooLarge
from proofs.core.kernels import Array
from proofs.core.satisfiability import (
    AFTER,
    BEFORE,
    CONFLICTS,
    CORE,
    END,
    FIRST,
    FRONT,
    KEPT,
    LAST,
    LEVEL_OF,
    QUALITY,
    STAMP,
    TIME,
    WIDTH,
    Solver,
    add,
    count_levels,
    forget,
)

Clause = list[int]


def met(clauses: list[Clause], values: tuple[int, ...]) -> bool:
    """Whether an assignment to the variables from 1 on makes every clause true."""
    return all(any(values[one >> 1] != one & 1 for one in clause) for clause in clauses)


def random_literal(chance: random.Random, names: int) -> int:
    return 2 * chance.randint(1, names) + chance.randint(0, 1)


def agree(chance: random.Random, *, compiled: bool) -> set[bool]:
    """Add clauses, and ask in between; the answers that were met."""
    names, found, clauses = chance.randint(1, 8), set[bool](), list[Clause]()
    solver = Solver(names, compiled=compiled)
    every = [(0, *values) for values in product((0, 1), repeat=names)]
    for _ in range(4):
        for _ in range(chance.randint(0, 2 * names)):
            size = 3 if chance.random() < 0.8 else chance.randint(1, 3)
            clauses.append([random_literal(chance, names) for _ in range(size)])
            solver.add(clauses[-1])
        for _ in range(3):
            variables = chance.sample(range(1, names + 1), chance.randint(0, min(3, names)))
            assumed = [2 * variable + chance.randint(0, 1) for variable in variables]
            wished = [random_literal(chance, names) for _ in range(2)]
            answer = solver.solve(assumed, wished)
            asked = [*clauses, *([one] for one in assumed)]
            assert answer is any(met(asked, values) for values in every)
            if answer:
                values = (0, *(int(solver.true(2 * name)) for name in range(1, names + 1)))
                assert met(asked, values)
            else:
                core = solver.core
                assert set(core) <= set(assumed)
                refuted = [*clauses, *([one] for one in core)]
                assert not any(met(refuted, values) for values in every)
            found.add(answer)
            assert_decisions_are_ordered(solver, names)
    return found


def assert_decisions_are_ordered(solver: Solver, names: int) -> None:
    """Each variable has its place, the latest first; no undecided one is before the search."""
    about, progress = solver._about, solver._progress
    order, after = list[int](), 0
    variable = progress[FRONT]
    while variable:
        order.append(variable)
        assert about[variable * WIDTH + AFTER] == after
        after, variable = variable, about[variable * WIDTH + BEFORE]
    times = [about[variable * WIDTH + TIME] for variable in order]
    assert sorted(order) == [*range(1, names + 1)]
    assert times == sorted(set(times), reverse=True)
    assert (times[0], min(times) > 0) == (progress[STAMP], True)
    passed = order[: order.index(progress[LAST])]
    assert all(solver.true(2 * one) or solver.true(2 * one + 1) for one in passed)


@pytest.mark.parametrize("compiled", [False, True])
def test_answers_and_cores_are_those_of_trying_everything(compiled: bool) -> None:
    chance, found = random.Random(1), set[bool]()
    for _ in range(6 if compiled else 20):
        found |= agree(chance, compiled=compiled)
    assert found == {True, False}


@pytest.mark.deep
def test_more_answers() -> None:
    chance = random.Random(2)
    for _ in range(400):
        agree(chance, compiled=False)


def pigeons(holes: int) -> tuple[int, list[Clause]]:
    """One more than there are holes, each in one, and no two in the same: impossible."""
    names = [[1 + pigeon * holes + hole for hole in range(holes)] for pigeon in range(holes + 1)]
    clauses = [[2 * name for name in own] for own in names]
    for hole in range(holes):
        for one in range(holes + 1):
            clauses += [
                [2 * names[one][hole] + 1, 2 * names[other][hole] + 1] for other in range(one)
            ]
    return holes * (holes + 1), clauses


def test_clauses_are_forgotten_and_the_answer_is_the_same() -> None:
    names, clauses = pigeons(6)
    solver = Solver(names)
    for clause in clauses:
        solver.add(clause)
    assert solver.solve((), (), 100) is None
    solver._patience = 50  # it looks after so many conflicts what is to be forgotten
    assert solver.solve(()) is False
    assert solver._patience > 550
    assert solver.core == []


def test_what_is_wished_is_decided_first() -> None:
    solver = Solver(3)
    solver.add([2, 4])
    assert solver.solve((), (2, 5)) and solver.true(2) and not solver.true(4)
    assert solver.solve((), (4, 3)) and solver.true(4) and not solver.true(2)
    assert solver.solve((3,), (2, 5)) and solver.true(4)


def test_more_clauses_than_there_is_room_for_are_refused() -> None:
    solver = Solver(4, compiled=False)
    with pytest.raises(TooLarge, match="clauses"):
        for _ in range(100_000):
            solver.add([2, 4, 6, 8])


def test_what_is_kept_is_decided_so_whatever_it_was_meanwhile() -> None:
    for sign in (0, 1):
        solver = Solver(2, compiled=False)
        solver.keep(1, sign)
        for _ in range(2):
            assert solver.solve((3 - sign,)) and solver.true(3 - sign)
            assert solver.solve(()) and solver.true(2 + sign)


def test_variables_above_the_names_switch_clauses_on() -> None:
    solver = Solver(1, 2, compiled=False)
    assert solver.variables == 3
    assert solver.solve(()) and not solver.true(4) and not solver.true(5)
    solver.add([5, 2])
    solver.add([7, 3])
    assert solver.solve((4,)) and solver.true(2)
    assert solver.solve((6,)) and solver.true(3)
    assert solver.solve((4, 6)) is False


def test_levels_are_counted_once() -> None:
    about, levels, progress = array("i", [0] * 5 * WIDTH), array("i", [0] * 10), array("q", [0])
    progress *= CORE + 1
    for variable, level in enumerate((0, 1, 2, 2, 4)):
        about[variable * WIDTH + LEVEL_OF] = level
    for literals, count in (((3, 4, 7), 2), ((8, 4, 3), 3), ((4, 6), 1)):
        progress[CONFLICTS] += 1
        given = array("i", literals)
        assert count_levels(len(given), given, about, levels, progress) == count


def clauses_in(pool: Array, end: int) -> list[tuple[int, int, Clause]]:
    """Where each clause is, its quality and its literals."""
    found, at = list[tuple[int, int, Clause]](), 1
    while at < end:
        last = at + FIRST + pool[at]
        found.append((at, pool[at + QUALITY], list(pool[at + FIRST : last])))
        at = last
    return found


def watching(pool: Array, heads: Array, literal: int) -> set[int]:
    """Where the clauses are that watch a literal."""
    found, at = set[int](), heads[literal]
    while at:
        found.add(at)
        at = pool[at + 1 if pool[at + FIRST] == literal else at + 2]
    return found


def test_what_is_true_or_joins_many_levels_is_forgotten() -> None:
    chance, names = random.Random(3), 6
    for _ in range(40):
        heads, pool = array("i", [0] * (2 * names + 2)), array("i", [0] * 400)
        truth, progress = array("B", [0] * (2 * names + 2)), array("q", [0] * (CORE + 1))
        progress[END], latest = 1, 1
        for number in range(12):
            variables = chance.sample(range(1, names + 1), chance.randint(2, 4))
            clause = array("i", [2 * variable + chance.randint(0, 1) for variable in variables])
            add(len(clause), chance.randint(0, KEPT + 1), clause, pool, heads, progress)
            latest = progress[END] if number == 5 else latest
        for literal in {2 * chance.randint(1, names) for _ in range(2)}:
            truth[literal], truth[literal + 1] = 1, 2
        kept = [
            (quality, clause)
            for at, quality, clause in clauses_in(pool, progress[END])
            if not any(truth[literal] == 1 for literal in clause)
            if quality < KEPT or at >= latest
        ]
        assert forget(latest, pool, heads, truth, progress) == len(kept)
        left = clauses_in(pool, progress[END])
        assert [clause[1:] for clause in left] == kept
        for literal in range(2, 2 * names + 2):
            watched = {at for at, _, clause in left if literal in clause[:2]}
            assert watching(pool, heads, literal) == watched


def test_a_learned_clause_has_the_number_of_levels_that_it_joins() -> None:
    """Of three assumptions each is a level, and together they fail."""
    for many in (2, 3, 5):
        solver = Solver(many + 1, compiled=False)
        assumed = [2 * name for name in range(1, many + 1)]
        for last in (2 * many + 2, 2 * many + 3):
            solver.add([*(literal + 1 for literal in assumed), last])
        assert solver.solve(assumed) is False
        clauses = clauses_in(solver._pool, solver._progress[END])
        assert [quality for _, quality, _ in clauses] == [0, 0, many]
        learned = clauses[-1][2]
        assert sorted(learned) == [literal + 1 for literal in assumed]
        assert learned[:2] == [assumed[-1] + 1, assumed[-2] + 1]  # the latest two are watched


def test_what_is_false_without_assumptions_is_not_learned() -> None:
    solver = Solver(4, compiled=False)
    for last in (6, 7):
        solver.add([3, 5, last, 8])
    solver.add([9])
    assert solver.solve((2, 4)) is False
    assert sorted(clauses_in(solver._pool, solver._progress[END])[-1][2]) == [3, 5]


def test_what_is_wished_is_decided_first_after_conflicts_and_restarts_too() -> None:
    """Each wish but the first fails at once; after 100 conflicts the search begins again."""
    for many in (1, 100):
        solver = Solver(1 + 2 * many)
        solver.keep(1, 1)
        wished = [2 * name for name in range(1, many + 2)]
        for place, literal in enumerate(wished[1:], many + 2):
            solver.add([literal + 1, 2 * place])
            solver.add([literal + 1, 2 * place + 1])
        assert solver.solve((), wished) is True
        assert [solver.true(literal) for literal in wished] == [True, *[False] * many]
        assert solver._progress[CONFLICTS] == many
