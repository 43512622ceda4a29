"""Every run is a trace of the model: random systems run, and each run is taken in the product."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator

import pytest

from guards import ChanceGuards
from proofs.core.explore import TooLarge, explore
from proofs.systems import Composition
from proofs.systems.replay import configuration_of
from pxp_fsm.automata.actions import Exchange, External
from pxp_fsm.automata.system import system_of
from pxp_fsm.protocol.decisions import concluded
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, Rules
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.policy import CLOSE
from tests.proofs.random_systems import CHANNELS, random_channel, random_system
from tests.sampling import swept
from tests.sessions.agents import agent, run
from tests.sessions.random_sessions import drawn_system, random_session, states_of

RUNS, PARTS, OF_ONE = swept(10_000), 4, 4
"""Random sessions, in how many tests, and how many of each random system."""


def runs_of(first: int, runs: int = 1) -> Iterator[tuple[str, str]]:
    """The channel and the ending of random sessions of a system, each one of the model's runs."""
    model = Composition(drawn_system(random.Random(first)))
    for seed in range(first, first + runs):
        yield ran(seed, model)


def ran(seed: int, model: Composition) -> tuple[str, str]:
    session = random_session(seed, model.system).run_sync()
    *_, last = states_of(session, model)
    assert configuration_of(session.live) == model.encoding.configuration(last), seed
    left = model.moves(last)
    assert session.ending is not None
    if session.ending is Ending.FINISHED:
        assert model.ended(last)
    elif session.ending is Ending.DEADLOCK:
        assert not left and not model.ended(last)
    elif session.ending is Ending.IDLE:
        assert left and not model.ended(last)
    else:
        assert session.ending is Ending.LIMIT, session.cause
    assert left or session.ending is not Ending.IDLE
    return session.system.channel.name, session.ending.value


@pytest.mark.deep
def test_every_run_is_a_trace_of_the_model() -> None:
    found = [one for seed in range(100) for one in runs_of(seed)]
    assert {channel.split(",")[0] for channel, _ in found} == set(CHANNELS)
    assert any("," in channel for channel, _ in found)
    assert {ending for _, ending in found} == {"finished", "deadlock", "idle", "limit"}


@pytest.mark.deep
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_runs_are_traces_of_their_models(part: int) -> None:
    for first in range(part * OF_ONE, RUNS, PARTS * OF_ONE):
        for _ in runs_of(first + 1000, OF_ONE):
            pass


MOST_STATES = 60


def visited(systems: int, runs: int) -> tuple[int, int]:
    """Of small random systems: how many states so many runs of each visit, and can be reached."""
    seen = reachable = number = 0
    while systems:
        number += 1
        system = drawn_system(random.Random(f"coverage {number}"))
        try:
            model = Composition(system)
            there = set(explore(model, MOST_STATES).parents)
        except TooLarge:
            continue
        if len(there) < 5:
            continue
        systems -= 1
        found: set[int] = set()
        for seed in range(runs):
            found.update(states_of(random_session(seed, system).run_sync(), model))
        assert found <= there
        seen, reachable = seen + len(found), reachable + len(there)
    return seen, reachable


@pytest.mark.deep
def test_runs_visit_most_of_what_can_be_reached() -> None:
    seen, reachable = visited(systems=8, runs=16)
    assert seen > 0.7 * reachable


@pytest.mark.deep
def test_many_runs_visit_nearly_all_that_can_be_reached() -> None:
    seen, reachable = visited(systems=swept(20), runs=200)
    print(f"{seen} of {reachable} states visited")
    assert seen > 0.95 * reachable


def test_what_can_happen_is_what_the_model_says() -> None:
    """Along random walks, with every kind of channel: the same actions, the same places."""
    for seed in range(150):
        chance = random.Random(seed)
        system = random_system(chance, guards=chance.choice((0, 0.4, 0.8)))
        system = system.over(random_channel(chance, system))
        model, live = Composition(system), LiveSystem(system)
        (state,) = model.initial()
        for _ in range(12):
            moves = model.moves(state)
            possible = live.possible()
            assert len(set(possible)) == len(possible)
            assert {move.action for move in moves} == set(possible), seed
            assert configuration_of(live) == model.encoding.configuration(state)
            if not moves:
                break
            back, before = live.withdrawing(), configuration_of(live)
            live.take(chance.choice(moves).action)
            back()
            assert configuration_of(live) == before, seed
            move = chance.choice(moves)
            live.take(move.action)
            state += move.difference


@pytest.mark.parametrize(
    "rules",
    [Interact(n=6, k=2), Pxp(k=2), Pxp(hang_up=concluded)],
    ids=["interact", "pxp(2)", "pxp"],
)
def test_sessions_of_interact_and_pxp_are_traces_of_the_model(rules: Rules) -> None:
    """Their schedule chooses among what the system of their table can do, and does nothing else."""
    system = system_of([("m", rules.automaton), ("h", rules.automaton)])
    model, endings = Composition(system), set[str]()
    for seed in range(30):
        found = run(
            agent(guards=ChanceGuards(seed)), agent(guards=ChanceGuards(-seed)), rules, limit=30
        )
        actions: list[Hashable] = [
            Exchange(one.sender, one.receiver, one.tag) for one in found.history
        ]
        if found.ending not in (Ending.TERM, Ending.LIMIT):
            actions.append(External(CLOSE))
        (state,) = model.initial()
        for action in actions:
            (state,) = (
                state + move.difference for move in model.moves(state) if move.action == action
            )
        at = model.encoding.configuration(state).at
        assert dict(zip("mh", at, strict=True)) == found.states
        assert model.ended(state) is (found.ending is not Ending.LIMIT)
        endings.add(str(found.ending))
    assert len(endings) > (rules.n is not None)
