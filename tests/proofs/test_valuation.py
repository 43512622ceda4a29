"""The truth of parts of formulas along runs, against the definition; formulas as text."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.logic import parse
from proofs.logic.formulas import Atom, Formula
from proofs.systems.coloring import text_of, values_along
from tests.oracles.graphs import random_branching, random_path
from tests.oracles.runs import satisfied


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 6), st.data())
def test_each_part_has_the_value_of_the_run_from_there(
    seed: int, length: int, data: st.DataObject
) -> None:
    chance = random.Random(seed)
    formula = random_path(chance, 3)
    cycle = data.draw(st.integers(0, length))
    true = [{one for one in "pqr" if chance.random() < 0.5} for _ in range(length)]

    def holds(part: Formula, state: int) -> bool:
        return isinstance(part, Atom) and part.name in true[state]

    for part, values in values_along(formula, length, cycle, holds).items():
        for place, value in enumerate(values):
            states = list(range(place, length))
            loop = cycle
            if cycle and place > length - cycle:  # the run from inside the cycle goes round it
                states += range(length - cycle, place)
            assert value is satisfied(part, states, loop, holds), (part, place)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_text_is_read_as_the_same_formula(seed: int, branching: bool) -> None:
    draw = random_branching if branching else random_path
    formula = draw(random.Random(seed), 4)
    assert parse(text_of(formula)) == formula


def test_names_that_look_like_operators_are_quoted() -> None:
    formula = parse('"F" & "true" & "a b" & hub:left@has.TASK')
    assert parse(text_of(formula)) == formula
