"""Monitors of systems' sessions: a verdict that no continuation contradicts, and none too late."""

from __future__ import annotations

import random

import pytest

from proofs import monitor as monitors
from proofs.logic import parse
from proofs.logic.monitor import MonitorVerdict
from proofs.monitor import EventMonitor
from proofs.systems import Composition
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.sessions.events import Event
from tests.sampling import first_and_rest
from tests.sessions.random_sessions import random_session, states_of


@pytest.mark.deep
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("seeds", first_and_rest(8, 40))
def test_a_state_that_is_avoided_or_reached_settles_it(
    alone: bool, monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    """Against what the states of the run say, one after the other."""
    if alone:
        monkeypatch.setattr(monitors, "_STATES", 1)
    settled = 0
    for seed in seeds:
        session = random_session(seed, limit=15).run_sync()
        model = Composition(session.system)
        chance = random.Random(seed)
        member = chance.choice(session.system.members)
        place = f"{member.name}@{chance.choice(member.automaton.states).name}"
        states = list(states_of(session, model))
        there = [place in model.propositions(state) for state in states]
        never = EventMonitor(parse(f"G !{place}"), session.system).watch()
        once = EventMonitor(parse(f"F {place}"), session.system).watch()
        for number, event in enumerate(session.events, start=1):
            seen = any(there[: number + 1])
            avoided, reached = never.hear(event), once.hear(event)
            verdicts = avoided is MonitorVerdict.FALSE, reached is MonitorVerdict.TRUE
            # what is bound to come is known from the system before it is seen
            assert verdicts == (seen, seen) if alone else not seen or all(verdicts)
            over = not list(model.successors(states[number]))
            if avoided is MonitorVerdict.TRUE:
                assert not any(there)
                settled += not over
            elif over:
                assert seen  # the end settles what has not been
    assert (settled > 0) is not alone  # what can never come is known from the system alone


def test_what_the_system_has_not_is_told() -> None:
    session = random_session(1)
    with pytest.raises(UsageError, match="there is no 'nobody@S0'"):
        EventMonitor(parse("G !nobody@S0"), session.system)
    name = session.system.members[0].name
    watch = EventMonitor(parse(f"F {name}@S0"), session.system).watch()
    with pytest.raises(Refused, match="does not allow"):
        watch.hear(Event(1, Exchange("x", "y", "Z")))


def test_what_has_too_many_states_is_watched_from_its_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(monitors, "_STATES", 1)
    for seed in range(4):
        session = random_session(seed, limit=6).run_sync()
        model = Composition(session.system)
        states = list(states_of(session, model))
        for place in sorted({name for state in states for name in model.propositions(state)}):
            if "@" not in place:
                continue
            there = [place in model.propositions(state) for state in states]
            watch = EventMonitor(parse(f"F {place}"), session.system).watch()
            reached = [watch.outlook, *map(watch.hear, session.events)]
            assert [one is MonitorVerdict.TRUE for one in reached] == [
                any(there[: number + 1]) for number in range(len(there))
            ]
