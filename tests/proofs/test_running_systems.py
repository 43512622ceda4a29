"""The model of a system beside real machines, over every channel: the same steps everywhere."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from proofs.systems import Composition
from proofs.systems.encoding import Configuration
from tests.oracles.running_systems import RunningSystem, Where
from tests.proofs.random_systems import CHANNELS, random_channel, random_system, symmetric_system
from tests.sampling import swept

SYSTEMS = swept(10_000)
PARTS = 8


def walked(seed: int) -> str:
    """The channel of a random system, of which 15 states are compared along random walks."""
    chance = random.Random(seed)
    kind = random_system if chance.random() < 0.8 else symmetric_system
    system = kind(chance, guards=chance.choice((0, 0.4, 0.8)))
    system = system.over(random_channel(chance, system))
    model, running = Composition(system), RunningSystem(system)
    (start,) = model.initial()
    states = {start: running.start}
    left = [start]
    while left and len(states) < 15:
        state = left.pop(chance.randrange(len(left)))
        theirs = running.steps(states[state])
        moves = [(move.action, state + move.difference) for move in model.moves(state)]
        places = {target: written(model, target) for _, target in moves}
        ours = {(action, places[target]) for action, target in moves}
        assert ours == {(action, shown(model, where)) for action, where in theirs}, seed
        met = {shown(model, where): where for _, where in theirs}
        for target, place in places.items():
            if target not in states:
                states[target] = met[place]
                left.append(target)
    return replace(system.channel, links=()).name + " and others" * bool(system.channel.links)


def written(model: Composition, state: int) -> Configuration:
    found = model.encoding.configuration(state)
    return found if found.chosen else found._replace(chosen=("",) * len(found.at))


def shown(model: Composition, where: Where) -> Configuration:
    buffers = tuple(where.buffer(link) for link in model.encoding.links)
    return Configuration(where.at, buffers, where.guards)


@pytest.mark.deep
def test_real_machines_take_the_steps_of_the_model() -> None:
    met = Counter(walked(seed) for seed in range(120))
    assert set(met) == {*CHANNELS, *(f"{name} and others" for name in CHANNELS[1:])}


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_systems_take_the_steps_of_their_models(part: int) -> None:
    for seed in range(part, SYSTEMS, PARTS):
        walked(seed + 1000)
