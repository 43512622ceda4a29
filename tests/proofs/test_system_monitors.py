"""Monitors of systems' sessions: a verdict that no continuation contradicts, and none too late."""

from __future__ import annotations

import random

import pytest

from proofs.logic import parse
from proofs.logic.monitor import MonitorVerdict
from proofs.systems import Composition
from proofs.systems import monitor as monitors
from proofs.systems.monitor import SystemMonitor
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.errors import Refused, UsageError
from tests.sessions.random_sessions import random_session, states_of


@pytest.mark.parametrize("alone", [False, True])
def test_a_state_that_is_avoided_or_reached_settles_it(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against what the states of the run say, one after the other."""
    if alone:
        monkeypatch.setattr(monitors, "_STATES", 1)
    settled = 0
    for seed in range(40):
        session = random_session(seed, limit=15).run_sync()
        model = Composition(session.system)
        chance = random.Random(seed)
        member = chance.choice(session.system.members)
        place = f"{member.name}@{chance.choice(member.automaton.states).name}"
        there = [place in model.propositions(state) for state in states_of(session, model)]
        never = SystemMonitor(parse(f"G !{place}"), session.system).watch()
        once = SystemMonitor(parse(f"F {place}"), session.system).watch()
        for number, occurrence in enumerate(session.actions, start=1):
            seen = any(there[: number + 1])
            avoided, reached = never.hear(occurrence.action), once.hear(occurrence.action)
            verdicts = avoided is MonitorVerdict.FALSE, reached is MonitorVerdict.TRUE
            # what is bound to come is known from the system before it is seen
            assert verdicts == (seen, seen) if alone else not seen or all(verdicts)
            if avoided is MonitorVerdict.TRUE:
                assert not any(there)
                settled += 1
    assert (settled > 0) is not alone  # what can never come is known from the system alone


def test_what_the_system_has_not_is_told() -> None:
    session = random_session(1)
    with pytest.raises(UsageError, match="there is no 'nobody@S0'"):
        SystemMonitor(parse("G !nobody@S0"), session.system)
    name = session.system.members[0].name
    watch = SystemMonitor(parse(f"F {name}@S0"), session.system).watch()
    with pytest.raises(Refused, match="does not allow"):
        watch.hear(Exchange("x", "y", "Z"))
