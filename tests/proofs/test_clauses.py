"""The solver of clauses, beside one that tries every assignment."""

from __future__ import annotations

import random
from array import array
from itertools import product

import pytest

from proofs.core.explore import TooLarge
from proofs.core.satisfiability import CONFLICTS, CORE, LEVEL_OF, WIDTH, Solver, count_levels

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
    return found


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
    assert solver.solve(()) is False
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
