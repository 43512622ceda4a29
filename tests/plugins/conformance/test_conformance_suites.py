"""A Wp suite tells every machine of so many states from the one it was made for."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.conformance.mealy import Mealy, access_words, as_mealy, difference, minimal
from pxp_fsm.plugins.conformance.suites import (
    characterising_set,
    identifiers,
    separating_words,
    wp_suite,
)
from pxp_fsm.plugins.conformance.testing import Simulated, conform
from tests.plugins.conformance.mealy_machines import SAID, Machine, machine, mutant

SEEDS = st.integers(0, 2**32)


def told_apart(one: Machine, other: Machine, words: tuple[tuple[int, ...], ...]) -> bool:
    return any(one.answers(word) != other.answers(word) for word in words)


@pytest.mark.deep
def test_a_suite_finds_every_mutant_that_differs_and_no_other() -> None:
    """Thousands of mutants with up to two extra states; the judge goes through both machines."""
    chance = random.Random(1991)
    judged = {True: 0, False: 0}
    for _ in range(1200):
        extra = chance.randint(0, 2)
        real = machine(chance, chance.randint(1, 6), chance.randint(1, 3))
        suite = wp_suite(real, extra)
        for changes in (0, 1, 1, 2):
            other = mutant(chance, real, extra, changes)
            differs = difference(real, other) is not None
            assert told_apart(real, other, suite) is differs, (real, other, extra)
            judged[differs] += 1
    assert judged[True] > 1500
    assert judged[False] > 1500


@pytest.mark.parametrize("extra", [0, 1])
def test_a_suite_finds_every_machine_of_so_many_states(extra: int) -> None:
    """Not mutants: all machines with two inputs and two outputs of at most that many states."""
    real: Machine = Mealy((0, 1), ((1, 0), (0, 0)), (("x", None), ("x", "x")))
    assert extra in (0, 1)
    suite = wp_suite(real, extra)
    states = 2 if extra == 0 else 3
    answers = list(product(("x", None), repeat=2))
    missed = others = 0
    for size in range(1, states + 1):
        targets = list(product(range(size), repeat=2))
        every = product(product(targets, repeat=size), product(answers, repeat=size))
        for place, (successors, outputs) in enumerate(every):
            if size == 3 and place % 23:  # 46,656 machines; every 23rd of them
                continue
            other: Machine = Mealy((0, 1), successors, outputs)
            others += 1
            missed += told_apart(real, other, suite) is not (difference(real, other) is not None)
    assert (missed, others) == (0, 260 if extra == 0 else 260 + 2029)


def test_a_smaller_suite_would_miss_machines() -> None:
    """Each test is needed: without it some machine of that many states passes the rest."""
    real: Machine = Mealy((0, 1), ((1, 0), (0, 0)), (("x", None), ("x", "x")))
    suite = wp_suite(real)
    answers = list(product(("x", None), repeat=2))
    targets = list(product(range(2), repeat=2))
    others: list[Machine] = [
        Mealy((0, 1), successors, outputs)
        for successors, outputs in product(product(targets, repeat=2), product(answers, repeat=2))
    ]
    wrong = [other for other in others if difference(real, other) is not None]
    for test in suite:
        rest = tuple(word for word in suite if word != test)
        assert not all(told_apart(real, other, rest) for other in wrong), test


def test_one_extra_state_hides_a_fault_from_a_suite_without_it() -> None:
    """Why `extra` is to be chosen: the fault is behind a state that the table has not."""
    chance = random.Random(7)
    hidden = 0
    for _ in range(300):
        real = machine(chance, 3, 2)
        other = mutant(chance, real, 1, 1)
        if difference(real, other) is not None:
            hidden += not told_apart(real, other, wp_suite(real, 0))
            assert told_apart(real, other, wp_suite(real, 1))
    assert hidden


@given(SEEDS, st.integers(1, 7), st.integers(1, 3))
def test_what_identifies_a_state(seed: int, states: int, inputs: int) -> None:
    real = machine(random.Random(seed), states, inputs)
    pairs = separating_words(real)
    assert sorted(pairs) == list(combinations(range(real.size), 2))
    for (p, q), word in pairs.items():
        assert real.answers(word, p) != real.answers(word, q)
        started = [Mealy(real.inputs, real.successors, real.outputs, s) for s in (p, q)]
        shortest = difference(*started)
        assert shortest is not None
        assert len(shortest) == len(word)
    whole = characterising_set(real)
    for without in whole:
        rest = [word for word in whole if word != without]
        if real.size > 1:
            assert any(
                all(real.answers(w, p) == real.answers(w, q) for w in rest) for p, q in pairs
            )
    for state, named in enumerate(identifiers(real, whole)):
        for other in set(range(real.size)) - {state}:
            assert any(real.answers(w, state) != real.answers(w, other) for w in named)
        assert all(any(word == w[: len(word)] for w in whole) for word in named)


@given(SEEDS, st.integers(1, 7), st.integers(1, 3))
def test_minimal_forms(seed: int, states: int, inputs: int) -> None:
    chance = random.Random(seed)
    real = machine(chance, states, inputs)
    blown_up = mutant(chance, real, 5, 0)
    assert difference(real, blown_up) is None
    assert minimal(blown_up) == real
    assert list(access_words(real)) == list(range(real.size))
    assert all(real.after(word) == state for state, word in access_words(real).items())


@given(SEEDS)
def test_a_difference_is_told_by_a_shortest_sequence(seed: int) -> None:
    chance = random.Random(seed)
    real = machine(chance, 5, 3)
    other = mutant(chance, real, 1, 1)
    report = conform(real, Simulated(other), 1)
    word = difference(real, other)
    if word is None:
        assert report.conforms
        return
    found = report.difference
    assert found is not None
    assert len(found.inputs) == len(word)
    assert found.shortest
    assert found.expected == real.answers(found.inputs)
    assert found.got == other.answers(found.inputs)
    assert found.expected[:-1] == found.got[:-1]
    assert found.expected[-1] != found.got[-1]


def test_without_room_to_search_the_sequence_is_still_made_short() -> None:
    chance = random.Random(5)
    left_out = 0
    for _ in range(200):
        real = machine(chance, 6, 2)
        other = mutant(chance, real, 0, 1)
        found = conform(real, Simulated(other), 0, searched=0).difference
        if found is None:
            continue
        assert found.none_below == 1
        assert real.answers(found.inputs) != other.answers(found.inputs)
        for place in range(len(found.inputs) - 1):
            less = found.inputs[:place] + found.inputs[place + 1 :]
            assert real.answers(less) == other.answers(less)
        left_out += not found.shortest
    assert left_out


@pytest.mark.parametrize("name", BUILTIN)
def test_a_table_as_seen_from_outside(name: str) -> None:
    table = builtin(name)
    seen = as_mealy(table)
    assert seen.size == minimal(seen).size == 4
    assert {said for row in seen.outputs for said in row} == {
        None,
        *(row.action for row in table.transitions),
    }
    taken = sum(said is not None for row in seen.outputs for said in row)
    assert taken == len(table.transitions) + 1  # the guards in another order
    sizes = {"interact": 248, "pxp": 257, "pxp_hang_up": 255, "pxp_k": 301}
    assert len(wp_suite(seen, 0)) == sizes[name]


def test_what_no_suite_can_be_made_of() -> None:
    seen = as_mealy(builtin("interact"))
    with pytest.raises(UsageError, match="at least 0, not -1"):
        wp_suite(seen, -1)
    with pytest.raises(UsageError, match=r"for 9 extra states would have up to .* take fewer"):
        wp_suite(seen, 9)
    with pytest.raises(UsageError, match="states 0 and 1 answer alike"):
        characterising_set(Mealy((0,), ((1,), (0,)), (("x",), ("x",))))
    with pytest.raises(UsageError, match="over the same inputs"):
        difference(seen, as_mealy(builtin("pxp")))
    for successors, outputs in [(((2,),), (("x",),)), (((0,),), ()), (((0, 0),), (("x",),))]:
        with pytest.raises(UsageError):
            Mealy((0,), successors, outputs)
    assert SAID[0] is None
