"""The truth of parts of formulas along runs, against the definition; formulas as text."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from functools import reduce
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.logic import parse
from proofs.logic.formulas import And, Atom, Formula, Or
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
    assert grouped(parse(text_of(formula))) == grouped(formula)


def grouped(formula: Formula) -> Formula:
    """The same formula, with all of & in & and of | in | grouped alike: a & (b & c)."""
    if isinstance(formula, And | Or):
        first, *rest = reversed([*map(grouped, in_a_row(type(formula), formula))])
        return reduce(lambda found, part: type(formula)(part, found), rest, first)
    parts = {field.name: getattr(formula, field.name) for field in fields(formula)}
    changed: dict[str, Any] = {
        name: grouped(part) for name, part in parts.items() if isinstance(part, Formula)
    }
    return replace(formula, **changed)


def in_a_row(kind: type[And | Or], formula: Formula) -> list[Formula]:
    if not isinstance(formula, kind):
        return [formula]
    return [*in_a_row(kind, formula.left), *in_a_row(kind, formula.right)]


def test_names_that_look_like_operators_are_quoted() -> None:
    formula = parse('"F" & "true" & "a b" & hub:left@has.TASK')
    assert parse(text_of(formula)) == formula
