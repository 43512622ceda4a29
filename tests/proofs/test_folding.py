"""Pictures of all states: nothing is lost by folding, whatever is drawn is what there is."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from proofs.systems import Composition, System
from proofs.systems.encoding import Configuration
from proofs.systems.folding import Fold, folds, reach, state_graph
from proofs.systems.paths import states_along
from proofs.systems.symmetry import interchangeable
from tests.proofs.random_systems import random_channel, random_system, symmetric_system

MOST = 150


def reachable(composition: Composition) -> tuple[set[int], set[tuple[int, int]], int]:
    """All states, the pairs of them with a step between, and how many steps there are."""
    found, pairs, steps = set(composition.initial()), set[tuple[int, int]](), 0
    waiting = list(found)
    while waiting and len(found) <= MOST:
        state = waiting.pop()
        for step in composition.successors(state):
            steps += 1
            pairs.add((state, step.target))
            if step.target not in found:
                found.add(step.target)
                waiting.append(step.target)
    return found, pairs, steps


def seen_alike(composition: Composition, state: int, fold: Fold) -> frozenset[Configuration]:
    """The configurations that are one node with a state, by trying every renaming in words."""
    here = composition.encoding.configuration(state)
    places = range(len(here.at))
    guards = here.chosen or ("",) * len(here.at)
    if fold is Fold.CONTROL:
        return frozenset({Configuration(here.at, (), guards)})
    if fold is Fold.NONE:
        return frozenset({here})
    classes = interchangeable(composition.system)
    of_place = {place: number for number, one in enumerate(classes) for place in one}
    links = dict(zip(composition.encoding.links, here.buffers, strict=True))
    found = set()
    for order in permutations(places):
        if all(order[n] == n or of_place.get(n, -1) == of_place.get(order[n], -2) for n in places):
            buffers = (links[order[a], order[b]] for a, b in links)
            at, chosen = ([one[order[n]] for n in places] for one in (here.at, guards))
            found.add(Configuration(tuple(at), tuple(buffers), tuple(chosen)))
    return frozenset(found)


@pytest.mark.parametrize("seed", range(40))
def test_a_folded_graph_has_every_state_and_every_step(seed: int) -> None:
    chance = random.Random(seed)
    system = (symmetric_system if seed % 2 else random_system)(chance).over(random_channel(chance))
    composition = Composition(system)
    states, pairs, steps = reachable(composition)
    if len(states) > MOST:
        return
    for fold in folds(composition):
        graph = state_graph(reach(composition, len(states)), fold)
        assert graph.complete
        assert graph.numbers.keys() == states
        assert sum(group.size for group in graph.groups) == len(states)
        assert sum(arc.steps for arc in graph.arcs) == steps
        assert {(arc.source, arc.target) for arc in graph.arcs} == {
            (graph.numbers[source], graph.numbers[target]) for source, target in pairs
        }
        alike = {state: seen_alike(composition, state, fold) for state in states}
        for one in states:
            for other in states:
                same = graph.numbers[one] == graph.numbers[other]
                assert same is (alike[one] == alike[other])
        for number, group in enumerate(graph.groups):
            assert states_along(composition, group.choices)[-1] == group.state
            assert graph.numbers[group.state] == number
            stuck = [
                one
                for one in states
                if graph.numbers[one] == number
                and not composition.moves(one)
                and not composition.ended(one)
            ]
            assert group.deadlocks == len(stuck)


@pytest.mark.parametrize("most", [1, 2, 7, 16, 17, 18])
def test_the_nearest_states_are_taken_and_the_rest_is_said_to_be_missing(most: int) -> None:
    composition = Composition(System.load("pxp", channel="fifo:1"))
    graph = state_graph(reach(composition, most), Fold.NONE)
    assert graph.complete is (most >= 17)
    assert len(graph.groups) == min(most, 17)
    lengths = [len(group.choices) for group in graph.groups]
    assert lengths == sorted(lengths)


def test_members_that_differ_are_not_folded() -> None:
    assert folds(Composition(System.load("pxp", channel="fifo:1"))) == tuple(Fold)
    approval = Composition(System.load("examples/own_protocol/bargain.toml"))
    assert Fold.SYMMETRY not in folds(approval)
