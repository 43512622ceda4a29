"""The compiled search of systems: the same as the interpreter's on random systems and tables."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import networkx as nx
import pytest
import wasmtime
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core import table_search
from proofs.core.explore import explore
from proofs.core.graphs import leading_to
from proofs.core.kernels import Compiled, Interpreter
from proofs.core.limits import Effort
from proofs.core.table_search import Tables, Visited, enter, explore_tables, shift_for
from proofs.systems import Channel, Composition, reachability, system_of
from proofs.systems.fairness import agent_of
from proofs.systems.product import Move
from proofs.systems.reachability import Reached, reach
from proofs.systems.standard_checks import STANDARD, StandardChecks
from proofs.systems.tables import tables_of
from tests.proofs.random_systems import random_channel, random_system, symmetric_system
from tests.proofs.text_tables import table

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
    assert fast.visited is not None
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
    for runner in (Interpreter(), Compiled(checked=True)):
        found = runner.put("B", (int(node in goals) for node in range(nodes)))
        leading_to(runner, runner.put("i", offsets), runner.put("i", targets), found)
        assert {node for node in range(nodes) if found[node]} == expected


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 100_000), st.sampled_from((0.0, 0.5)), st.integers(20, MOST), st.integers(1, 60)
)
def test_what_python_has_begun_is_gone_on_with(
    seed: int, guards: float, limit: int, begun: int
) -> None:
    composition = random_composition(seed, guards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reachability, "COMPILE_FROM", begun)
        patch.setattr(table_search, "_FIRST_SLOTS", 1 << 4)
        found = reach(composition, Effort(limit))
    slow = reach(composition, Effort(limit), compiled=False)
    if not found.cut:
        assert (found.visited is not None) is (len(slow.states) > begun)
    assert everything(found) == everything(slow)


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
    rows, first, starts, rest = [], list[int](), list[int](), list[int]()
    for digit in range(digits):
        rows.append((bits * digit, (1 << bits) - 1, 0, 0, len(first), len(starts)))
        for number in range(1 << bits):
            ons = [(number + by) % base - number << bits * digit for by in (1, *skips)]
            first.append(2 * ons[0] + 1 if number < base else 0)
            starts.append(len(rest))
            rest += ons[1:] if number < base else []
        starts.append(len(rest))
    units = [entry for unit in rows for entry in unit]
    widest = (1 + len(skips)) * digits
    return Tables(0, -1, widest, units, first, starts, rest, [0, 0, 0], [], [0, 0])


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


@pytest.mark.parametrize(("digits", "base", "skip"), [(4, 11, 3), (3, 25, 7), (9, 3, 2), (1, 9, 2)])
def test_the_table_grows_and_loses_nothing(
    digits: int, base: int, skip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_search, "_FIRST_SLOTS", 1 << 9)
    monkeypatch.setattr(table_search, "_LARGE", 1 << 11)
    monkeypatch.setattr(table_search, "_HUGE", 1 << 14)
    found = explore_tables(counters(digits, base, skip), Effort())
    expected = plain_search(digits, base, skip)
    assert (len(found.states), found.transitions, found.depth) == expected
    assert len(set(found.states)) == len(found.states)
    check_edges(found)


@pytest.mark.deep
def test_a_state_may_have_hundreds_of_steps() -> None:
    found = explore_tables(counters(2, 300, *range(2, 300)), Effort())
    assert (len(found.states), found.transitions, found.depth) == (300**2, 300**2 * 598, 2)
    assert found.children[0] == 598
    assert list(found.parents[:3]) == [-1, 0, 0]


def check_edges(found: Visited) -> None:
    offsets, targets = found.edges()
    assert offsets[-1] == len(targets) == found.transitions
    first = [-1] * len(found.states)
    for source in reversed(range(found.expanded)):
        for target in reversed(targets[offsets[source] : offsets[source + 1]]):
            first[target] = source
    assert list(found.parents[1:]) == first[1:]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from((0.0, 0.5)))
def test_each_step_has_its_label(seed: int, guards: float) -> None:
    composition = random_composition(seed, guards)
    members = {member.name: 1 << place for place, member in enumerate(composition.system.members)}

    def label(moves: Sequence[Move]) -> list[int]:
        """Who takes a row of which parity, and who acts."""
        return [
            members.get(agent_of(move.action) or "", 1 << 8)
            + sum(1 << 9 + place for place, _ in move.rows)
            for move in moves
        ]

    slow, fast = (reach(composition, Effort(MOST), compiled=how) for how in (False, True))
    if not slow.cut:
        assert list(fast.labels(label)) == list(slow.labels(label))


def test_states_of_62_bits_are_told_apart() -> None:
    bits, shifts = 62, (0, 31, 61)
    units = [(shift, 1, 0, 0, 2 * place, -1) for place, shift in enumerate(shifts)]
    first = [move for shift in shifts for move in (2 * (1 << shift) + 1, 0)]
    entries = [entry for unit in units for entry in unit]
    tables = Tables(0, (1 << bits) - 1, 3, entries, first, [], [], [0, 0, 0], [], [0, 0])
    found = explore_tables(tables, Effort())
    assert set(found.states) == {
        sum(1 << shift for shift, there in zip(shifts, said, strict=True) if there)
        for said in ((a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1))
    }
    assert list(found.ends) == [7]


def test_each_state_is_numbered_at_its_slot() -> None:
    states, slots, index = array("q", (5, 9, 3)), array("q", [0] * 16), array("i", [-1] * 16)
    for places in (array("q", [0] * 2), array("q", [0] * 8)):
        slots = array("q", [0] * 16)
        enter(states, slots, places, len(states))
        table_search.number(states, slots, index, places)
        numbers = {slot - 1: own for slot, own in zip(slots, index, strict=True) if slot}
        assert numbers == {5: 0, 9: 1, 3: 2}
        index = array("i", [-1] * 16)


def test_a_kernel_is_made_once_however_often_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    made, plain = list[wasmtime.Instance](), wasmtime.Instance

    def instance(*arguments: Any) -> wasmtime.Instance:
        made.append(plain(*arguments))
        return made[-1]

    monkeypatch.setattr(wasmtime, "Instance", instance)
    runner = Compiled()
    assert [runner.run(shift_for, 1 << bits) for bits in (4, 9, 20)] == [60, 55, 44]
    assert len(made) == 1, "a memory is of 10,000 at most"


def test_a_large_system_has_the_interpreters_states() -> None:
    loud = table("loud", "[A] -> B send X\nB -> [A] send Y\n[A] -> [A] receive X\nB -> B receive Y")
    composition = Composition(system_of([("", loud), ("", loud)]).over(Channel(7)))
    found, space = reach(composition, compiled=True), explore(composition)
    assert list(found.states) == list(space.steps)
    assert found.transitions == space.transitions
    assert found.depth == max(map(space.depth, space.steps))


def test_small_systems_need_no_compiler() -> None:
    code = (
        "import sys, pxp_fsm as pxp\n"
        "system = pxp.System.load('pxp', channel='fifo:2')\n"
        "found = list(pxp.check(system)) + list(pxp.check(system, 'G (ended | !ended)'))\n"
        "assert len(found) > 6\n"
        "sys.exit(bool({'wasmtime', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_tables_of_a_system_are_small() -> None:
    composition = random_composition(5, 0.5)
    tables = tables_of(composition)
    moves = max(len(composition.moves(state)) for state in reach(composition, Effort(MOST)).states)
    assert moves <= tables.widest


ONE_ARENA = {**os.environ, "MALLOC_ARENA_MAX": "1"}
"""The C library takes 64 MB of addresses a thread otherwise, now and then."""


@pytest.mark.deep
def test_no_more_addresses_are_reserved_than_the_process_may_have() -> None:
    code = (
        "import resource\n"
        "from pathlib import Path\n"
        "from proofs.core.limits import Effort\n"
        "from tests.proofs.test_compiled_systems import counters, explore_tables\n"
        "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
        "limit = pages * resource.getpagesize() + (150 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "found = explore_tables(counters(5, 8, 3), Effort())\n"
        "assert (len(found.states), found.cut) == (8**5, '')\n"
        "found = explore_tables(counters(9, 8, 3), Effort())\n"
        "assert 'all there is room for' in found.cut or 'MB' in found.cut, found.cut\n"
        "assert len(found.states) > 100_000\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=ONE_ARENA)


@pytest.mark.deep
def test_a_search_takes_a_share_of_what_is_left_after_another_one() -> None:
    """What was taken meanwhile, as by threads of the compiler, is not there for the second one."""
    code = (
        "import mmap, resource\n"
        "from contextlib import suppress\n"
        "from pathlib import Path\n"
        "from proofs.core.limits import Effort\n"
        "from tests.proofs.test_compiled_systems import counters, explore_tables\n"
        "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
        "limit = pages * resource.getpagesize() + (150 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "first, taken = explore_tables(counters(5, 8, 3), Effort()), []\n"
        "with suppress(OSError):\n"
        "    while True:\n"
        "        taken.append(mmap.mmap(-1, 4 << 20))\n"
        "del taken[-8:]\n"
        "found = explore_tables(counters(9, 8, 3), Effort())\n"
        "assert 'MB' in found.cut, found.cut\n"
        "assert len(found.states) > 8**5\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=ONE_ARENA)
