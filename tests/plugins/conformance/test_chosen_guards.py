"""Connected machines are refused exactly where the model of a system stops."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from proofs.core.explore import explore
from proofs.systems import (
    Composition,
    System,
)
from proofs.systems.encoding import Configuration
from pxp_fsm.automata.actions import Choose, Exchange
from pxp_fsm.automata.automaton import Kind, one_hot
from pxp_fsm.automata.soundness import UNRECEIVED
from pxp_fsm.errors import Refused
from pxp_fsm.plugins.conformance.endpoints import Connection
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.sessions.machine import Machine
from tests.proofs.random_systems import random_system


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 100_000))
def test_real_machines_are_refused_exactly_where_the_model_stops(seed: int) -> None:
    """A walk of two real machines over the real channel: in each place the messages that it carries
    are the model's exchanges, and the guards whose message it refuses are the model's choices."""
    chance = random.Random(seed)
    system = random_system(chance, guards=0.6, most=2)
    assume(all(finding.kind != UNRECEIVED for finding in system.findings))  # refused before
    composition = Composition(system)
    space = explore(composition)
    (state,) = composition.initial()
    for _ in range(30):
        here = composition.encoding.configuration(state)
        moves = composition.moves(state)
        model = {move.action for move in moves if isinstance(move.action, Exchange | Choose)}
        assert model == set(tried(system, here))
        for move in moves:
            if isinstance(move.action, Choose):
                assert not space.steps[state + move.difference], "a deadlock"
        following = [move for move in moves if not isinstance(move.action, Choose)]
        if not following:
            return
        state += chance.choice(following).difference


def tried(system: System, here: Configuration) -> Iterator[Exchange | Choose]:
    """What real machines and a real channel do with each message that could be sent here."""
    names = [member.name for member in system.members]
    for place, member in enumerate(system.members):
        for row in member.automaton.leaving(here.at[place]):
            if row.kind is not Kind.SEND:
                continue
            machines = {
                one.name: Machine(one.automaton, at)
                for one, at in zip(system.members, here.at, strict=True)
            }
            connection = Connection(machines)
            receiver = names[1 - place]
            message = Message("walk", 1, member.name, row.label, Answer("y", "e"), receiver)
            guards = member.automaton.guards_of(here.at[place])
            valuation = one_hot(row.guard, guards) if row.guard else None
            try:
                connection.carry(message, valuation)
            except Refused:
                assert [machine.state for machine in machines.values()] == [*here.at]
                if row.guard:
                    yield Choose(member.name, row.guard, row.label)
            else:
                yield Exchange(member.name, receiver, row.label)
