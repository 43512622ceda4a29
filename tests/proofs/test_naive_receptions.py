"""Receptions and orphans of random systems, beside an oracle that reads the definitions."""

from __future__ import annotations

import random
from collections import deque

import pytest

from proofs.core.results import Status, Verdict
from proofs.systems import (
    SYNCHRONOUS,
    Channel,
    Composition,
    Reduction,
    System,
    decide_standard,
    parse_channel,
    system_of,
)
from proofs.systems.reachability import reach
from proofs.systems.receptions import Receptions
from proofs.systems.symmetry import why_not
from pxp_fsm.automata.actions import Unreceived
from tests.oracles import receptions as plain
from tests.oracles.system_explorer import Found, Place, explored
from tests.proofs.random_systems import random_channel, random_system, symmetric_system
from tests.proofs.test_compositions import as_place
from tests.proofs.text_tables import table
from tests.sampling import first_and_rest

CHECKS = frozenset({"no-unspecified-reception", "no-orphan-message"})


def depths(found: Found, start: Place) -> dict[Place, int]:
    known, left = {start: 0}, deque([start])
    while left:
        place = left.popleft()
        for target in found.steps[place]:
            if target not in known:
                known[target] = known[place] + 1
                left.append(target)
    return known


def named(system: System, place: Place, missed: plain.Missed) -> Unreceived:
    """A missed message as reports name it."""
    i, j, tag = missed
    return Unreceived(system.members[i].name, system.members[j].name, tag, place.at[j])


def agrees(system: System, channel: Channel, found: Found) -> set[tuple[str, Status]]:
    """Every state, then the verdicts; what was met."""
    composition = Composition(system.over(channel))
    receptions = Receptions(composition)
    wrong: dict[str, set[Place]] = {name: set() for name in CHECKS}
    start = as_place(composition, next(iter(composition.initial())))
    states = {as_place(composition, int(s)): int(s) for s in reach(composition).states}
    for place in found.places:
        late = set(plain.unspecified(system, channel, place))
        left = set(plain.orphans(system, channel, place))
        wrong["no-unspecified-reception"] |= {place} if late else set()
        wrong["no-orphan-message"] |= {place} if left else set()
        state = states[place]
        told = [receptions.unreceived(state, ended=ended) for ended in (False, True)]
        expected = late | set(plain.waiting(system, place)), left
        for one, missed in zip(told, expected, strict=True):
            assert len(set(one)) == len(one)
            assert set(one) == {named(system, place, m) for m in missed}, place
        for parts, missed in ((receptions.unspecified(), late), (receptions.orphans(), left)):
            marked = any(all(test(state & mask) for mask, test in each) for each in parts)
            assert marked == bool(missed), place
    wrong["no-unspecified-reception"] |= plain.bound_for_ever(found)
    near, met = depths(found, start), set[tuple[str, Status]]()
    for name, verdict in decide_standard(composition, names=CHECKS):
        assert verdict.status is (Status.FAILS if wrong[name] else Status.HOLDS), name
        if verdict.status is Status.FAILS:
            _shortest(verdict, near, wrong[name])
        met.add((name, verdict.status))
    return met


def _shortest(verdict: Verdict, near: dict[Place, int], wrong: set[Place]) -> None:
    assert verdict.trace is not None
    assert len(verdict.trace.steps) == min(near[place] for place in wrong)


@pytest.mark.deep
@pytest.mark.parametrize("guards", [0, 0.6])
def test_receptions_are_those_of_the_definition(guards: float) -> None:
    met = set[tuple[str, Status]]()
    for seed in range(150):
        chance = random.Random(seed)
        system = random_system(chance, guards=guards, most=3)
        channel = random_channel(chance, system) if seed % 3 else SYNCHRONOUS
        found = explored(system, channel, most=150)
        if found is not None:
            met |= agrees(system, channel, found)
    assert met == {(name, status) for name in CHECKS for status in (Status.HOLDS, Status.FAILS)}


def test_who_is_busy_with_the_sender_alone_should_receive() -> None:
    """That b also receives X, elsewhere, gives it nothing to do with anybody else."""
    a = table("a", "S -> [T] send A\nT -> [T] receive X\nT -> [T] send X")
    b = table("b", "S -> [T] send X\nT -> [T] receive A\nT -> [T] receive X")
    system = system_of([("a", a), ("b", b)])
    found = explored(system, SYNCHRONOUS, most=10)
    assert found is not None
    assert ("no-unspecified-reception", Status.FAILS) in agrees(system, SYNCHRONOUS, found)


def test_one_of_several_that_takes_a_message_is_enough_and_who_has_ended_need_not() -> None:
    a = table("a", "S -> T send A\nT -> U send A\nU -> [V] send B to c")
    b = table("b", "S -> [T] receive A from a")
    c = table("c", "S -> T receive B from a\nT -> [U] receive A from a")
    system = system_of([("a", a), ("b", b), ("c", c)])
    found = explored(system, SYNCHRONOUS, most=20)
    assert found is not None
    assert ("no-unspecified-reception", Status.FAILS) in agrees(system, SYNCHRONOUS, found)


def test_of_what_may_overtake_one_message_that_is_taken_is_enough() -> None:
    a = table("a", "S -> T send A\nT -> [U] send B")
    b = table("b", "S -> T receive B\nT -> [U] receive A")
    system, channel = system_of([("a", a), ("b", b)]), parse_channel("reordering:2")
    found = explored(system, channel, most=20)
    assert found is not None
    met = agrees(system, channel, found)
    assert ("no-unspecified-reception", Status.FAILS) in met  # where A alone has been sent
    both = next(p for p in found.places if len(dict(p.buffers).get((0, 1), ())) == 2)
    assert not list(plain.unspecified(system, channel, both))


def test_what_is_left_for_who_has_ended_is_an_orphan_and_not_unspecified() -> None:
    """At its end b may receive more, and in U it may send: what waits then is not refused."""
    a = table("a", "S -> [T] send A\n[T] -> [T] send B\n[T] -> [T] receive C")
    b = table("b", "S -> [T] receive A\n[T] -> U receive A\nU -> U send C\nU -> [T] receive A")
    system, channel = system_of([("a", a), ("b", b)]), parse_channel("fifo:2")
    found = explored(system, channel, most=200)
    assert found is not None
    assert ("no-orphan-message", Status.FAILS) in agrees(system, channel, found)


@pytest.mark.deep
@pytest.mark.parametrize("guards", [0, 0.6])
@pytest.mark.parametrize("seeds", first_and_rest(10, 40))
def test_the_standard_checks_are_the_same_under_symmetry(guards: float, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        chance = random.Random(seed)
        system = symmetric_system(chance, guards=guards)
        channel = random_channel(chance)
        if explored(system, channel, most=600) is None:
            continue
        composition = Composition(system.over(channel))
        if why_not(system, None):
            continue
        compared += 1
        whole, folded = (
            dict(decide_standard(composition, reduction=how)) for how in (None, Reduction.SYMMETRY)
        )
        assert {n: one.status for n, one in folded.items()} == {
            n: one.status for n, one in whole.items()
        }, seed
        assert folded["no-dead-row"].detail == whole["no-dead-row"].detail
    assert compared > len(seeds) // 4
