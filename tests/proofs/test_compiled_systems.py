"""The compiled search of systems: the same as the interpreter's on random systems and tables."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import accumulate
from typing import Any, TypeVar

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core import table_search
from proofs.core.explore import explore
from proofs.core.graphs import leading_to
from proofs.core.limits import Effort
from proofs.core.table_search import Tables, Visited, explore_tables
from proofs.systems import Channel, Composition, system_of
from proofs.systems.reachability import Reached, reach
from proofs.systems.standard_checks import STANDARD, StandardChecks
from proofs.systems.tables import tables_of
from tests.proofs.random_systems import random_channel, random_system, symmetric_system
from tests.proofs.text_tables import table

np = pytest.importorskip("numpy")
pytest.importorskip("numba", reason="Numba compiles the loop")

T = TypeVar("T")

MOST = 600


def random_composition(seed: int, guards: float) -> Composition:
    chance = random.Random(seed)
    system = (symmetric_system if seed % 3 == 0 else random_system)(chance, guards=guards)
    return Composition(system.over(random_channel(chance, system)))


def everything(found: Reached) -> dict[str, object]:
    counts = found.expanded, found.transitions, found.depth, found.cut
    edges = [list(one) for one in found.edges]
    arrays = [list(map(int, one)) for one in (found.states, found.parents, found.ends, *edges)]
    return {"counts": counts, "arrays": arrays}


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from((0.0, 0.5, 1.0)), st.integers(1, MOST))
def test_every_number_is_the_interpreters(seed: int, guards: float, limit: int) -> None:
    composition = random_composition(seed, guards)
    slow = reach(composition, Effort(limit), compiled=False)
    fast = reach(composition, Effort(limit), compiled=True)
    assert fast.compiled
    assert everything(fast) == everything(slow)
    for number in range(0, len(slow.states), 7):
        assert fast.trace_to(number) == slow.trace_to(number)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_edges_turned_round_lead_back_to_every_ancestor(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 12))
    number = st.integers(0, nodes - 1)
    following = data.draw(st.lists(st.lists(number, max_size=4), min_size=nodes, max_size=nodes))
    goals = data.draw(st.sets(number))
    graph = nx.DiGraph((a, b) for a, targets in enumerate(following) for b in targets)
    graph.add_nodes_from(range(nodes))
    expected = goals.union(*(nx.ancestors(graph, goal) for goal in goals))
    offsets = [0, *accumulate(map(len, following))]
    targets = [target for some in following for target in some]
    for edges in (
        (array("q", offsets), array("q", targets)),
        (np.array(offsets, np.int64), np.array(targets, np.int32)),
    ):
        found = bytearray(int(node in goals) for node in range(nodes))
        leading_to(edges[0], edges[1], found)
        assert {node for node in range(nodes) if found[node]} == expected


class Together(ThreadPoolExecutor):
    """The second of two searches at the same time as the first."""


class Before(Together):
    """All of it before the first has begun."""

    def submit(self, job: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        found = super().submit(job, *given, **named)
        wait((found,))
        return found


class After(Together):
    """All of it after the first is done."""

    def submit(self, job: Callable[..., T], /, *given: Any, **named: Any) -> Future[T]:
        class Late(Future[T]):
            def result(self, timeout: float | None = None) -> T:
                return job(*given, **named)

        return Late()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 100_000),
    st.sampled_from((0.0, 0.5)),
    st.integers(20, MOST),
    st.sampled_from((Together, Before, After)),
)
def test_two_cores_number_the_states_as_one_does(
    seed: int, guards: float, limit: int, how: type[Together]
) -> None:
    composition = random_composition(seed, guards)
    slow = reach(composition, Effort(limit), compiled=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_search, "_SHARED", 2)
        patch.setattr(table_search, "BATCH", 1)
        patch.setattr(table_search, "_FIRST_SLOTS", 4)
        patch.setattr(table_search, "ThreadPoolExecutor", how)
        found = explore_tables(tables_of(composition), Effort(limit), 2)
    counts = found.expanded, found.transitions, found.depth, found.cut
    assert counts == (slow.expanded, slow.transitions, slow.depth, slow.cut)
    assert found.states.tolist() == slow.states
    assert found.parents.tolist() == list(slow.parents)
    assert found.ends.tolist() == slow.ends


@pytest.mark.parametrize("how", [Together, Before, After])
def test_two_cores_share_wide_levels(how: type[Together], monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[int]()

    class Counting(how):  # type: ignore[misc, valid-type] # one of three
        def submit(self, job: Callable[..., T], /, *given: Any) -> Future[T]:
            begun.append(1)
            return super().submit(job, *given)  # type: ignore[no-any-return]

    tables = counters(6, 6, 2)
    alone = explore_tables(tables, Effort(), 1)
    monkeypatch.setattr(table_search, "_SHARED", 500)
    monkeypatch.setattr(table_search, "ThreadPoolExecutor", Counting)
    both = explore_tables(tables, Effort(), 2)
    assert begun
    assert len(both.states) == 6**6
    assert both.transitions == 12 * 6**6
    assert both.depth == alone.depth
    assert np.array_equal(both.states, alone.states)
    assert np.array_equal(both.children, alone.children)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from((0.0, 0.6)))
def test_every_standard_check_is_the_interpreters(seed: int, guards: float) -> None:
    composition = random_composition(seed, guards)
    found = [reach(composition, Effort(MOST), compiled=compiled) for compiled in (False, True)]
    verdicts = [
        {name: check.decide(StandardChecks(one)) for name, check in STANDARD.items()}
        for one in found
    ]
    assert verdicts[0] == verdicts[1]


def counters(digits: int, base: int, *skips: int) -> Tables:
    """Counters beside each other: each goes one or one of `skips` on; 0 follows the last number."""
    bits = (base - 1).bit_length()
    units, first, starts, rest = [], list[int](), list[int](), list[int]()
    for digit in range(digits):
        units.append((bits * digit, (1 << bits) - 1, 0, 0, len(first), len(starts)))
        for number in range(1 << bits):
            ons = [(number + by) % base - number << bits * digit for by in (1, *skips)]
            first.append(2 * ons[0] + 1 if number < base else 0)
            starts.append(len(rest))
            rest += ons[1:] if number < base else []
        starts.append(len(rest))
    joint, parts, ready = np.zeros((1, 3)), np.zeros((0, 3)), np.zeros((1, 2))
    arrays = (np.array(units).ravel(), first, starts, rest, joint, parts, ready)
    return Tables(0, -1, (1 + len(skips)) * digits, *(np.array(one, np.int64) for one in arrays))


def plain_search(digits: int, base: int, skip: int) -> tuple[int, int, int]:
    """States, steps and depth of `counters`, by tuples."""
    level, seen, depth = [(0,) * digits], {(0,) * digits}, -1
    while level:
        depth, following = depth + 1, list[tuple[int, ...]]()
        for state in level:
            for digit in range(digits):
                for by in (1, skip):
                    on = (state[digit] + by) % base
                    target = (*state[:digit], on, *state[digit + 1 :])
                    if target not in seen:
                        seen.add(target)
                        following.append(target)
        level = following
    return len(seen), len(seen) * 2 * digits, depth


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("digits", "base", "skip"), [(4, 11, 3), (3, 25, 7), (9, 3, 2), (1, 9, 2)])
def test_the_table_grows_and_loses_nothing(
    digits: int, base: int, skip: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_search, "_SHARED", 64)
    monkeypatch.setattr(table_search, "_PIECE", 1 << 12)
    monkeypatch.setattr(table_search, "_FIRST_SLOTS", 1 << 9)
    monkeypatch.setattr(table_search, "_LARGE", 1 << 11)
    found = explore_tables(counters(digits, base, skip), Effort(), workers)
    expected = plain_search(digits, base, skip)
    assert (len(found.states), found.transitions, found.depth) == expected
    assert len(np.unique(found.states)) == len(found.states)
    check_edges(found)


@pytest.mark.deep
@pytest.mark.parametrize("workers", [1, 2])
def test_a_state_may_have_hundreds_of_steps(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_search, "_SHARED", 16)
    found = explore_tables(counters(2, 300, *range(2, 300)), Effort(), workers)
    assert (len(found.states), found.transitions, found.depth) == (300**2, 300**2 * 598, 2)
    assert found.children[0] == 598
    assert found.parents[:3].tolist() == [-1, 0, 0]


def check_edges(found: Visited) -> None:
    offsets, targets = found.edges()
    assert offsets[-1] == len(targets) == found.transitions
    first = np.full(len(found.states), -1)
    sources = np.repeat(np.arange(found.expanded), np.diff(offsets))
    for source, target in zip(sources[::-1], targets[::-1], strict=True):
        first[target] = source
    assert list(found.parents[1:]) == list(first[1:])


def test_states_of_62_bits_are_told_apart() -> None:
    bits, shifts = 62, (0, 31, 61)
    units = [(shift, 1, 0, 0, 2 * place, -1) for place, shift in enumerate(shifts)]
    first = [move for shift in shifts for move in (2 * (1 << shift) + 1, 0)]
    empty = np.zeros(0, np.int64)
    arrays = (np.array(units).ravel(), first, empty, empty, [[0, 0, 0]], np.zeros((0, 3)), [[0, 0]])
    tables = Tables(0, (1 << bits) - 1, 3, *(np.array(one, np.int64) for one in arrays))
    found = explore_tables(tables, Effort())
    assert set(found.states.tolist()) == {
        sum(1 << shift for shift, there in zip(shifts, said, strict=True) if there)
        for said in ((a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1))
    }
    assert found.ends.tolist() == [7]


def test_a_large_system_has_the_interpreters_states() -> None:
    loud = table("loud", "[A] -> B send X\nB -> [A] send Y\n[A] -> [A] receive X\nB -> B receive Y")
    composition = Composition(system_of([("", loud), ("", loud)]).over(Channel(7)))
    found, space = reach(composition, compiled=True), explore(composition)
    assert list(found.states) == list(space.steps)
    assert found.transitions == space.transitions
    assert found.depth == max(map(space.depth, space.steps))


def test_small_systems_load_neither_numba_nor_numpy() -> None:
    code = (
        "import sys, pxp_fsm as pxp\n"
        "system = pxp.System.load('pxp', channel='fifo:2')\n"
        "found = list(pxp.check(system)) + list(pxp.check(system, 'G (ended | !ended)'))\n"
        "assert len(found) > 6\n"
        "sys.exit(bool({'numba', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_tables_of_a_system_are_small() -> None:
    composition = random_composition(5, 0.5)
    tables = tables_of(composition)
    moves = max(len(composition.moves(state)) for state in reach(composition, Effort(MOST)).states)
    assert moves <= tables.widest
