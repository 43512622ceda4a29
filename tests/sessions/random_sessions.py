"""Random systems that run: random members, random faults, events raised at random, from a seed."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from proofs.systems import Composition, System
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.sessions.actors import Actor, Intent, Turn
from pxp_fsm.sessions.events import Faults
from pxp_fsm.sessions.pending import EventSource
from pxp_fsm.sessions.session import Session
from tests.proofs.random_systems import random_channel, random_system


def drawn_system(chance: random.Random) -> System:
    """A random system over a random channel, with guards on many rows, on some, or on none."""
    system = random_system(chance, guards=chance.choice((0, 0.4, 0.8)))
    return system.over(random_channel(chance, system))


def random_member(
    chance: random.Random, system: System, name: str, *, steady: bool = False
) -> Actor:
    """A member that decides at random, at once or later, alone or by guards of their own."""

    table, place = system.members[system.places[name]].automaton, system.places[name]

    def partners(state: str, tag: str) -> list[str]:
        rows = [row for row in table.own_rows(state) if (row.guard, row.label) == (None, tag)]
        found = {other for row in rows for other in system.partners(place, row)}
        return [system.members[other].name for other in sorted(found)]

    async def respond(turn: Turn) -> object:
        if not steady and chance.random() < 0.3:
            await asyncio.sleep(0)
        turn.memory["asked"] = turn.memory.get("asked", 0) + 1
        if turn.tag:
            return chance.randrange(100)
        names = [*turn.guards, *turn.tags]
        if not turn.guards and chance.random() < 0.2:
            return None
        picked = chance.choice(names)
        to = chance.choice(partners(turn.state, picked)) if picked in turn.tags else ""
        return Intent(picked, turn.memory["asked"], to)

    def settle(turn: Turn) -> str:
        return chance.choice(turn.guards)

    mixed = any(row.guard is None and row.kind is Kind.SEND for row in table.transitions)
    return Actor(respond, guards=settle if not mixed and chance.random() < 0.5 else None)


def random_events(chance: random.Random, system: System) -> dict[str, EventSource]:
    labels = {
        row.label
        for member in system.members
        for row in member.automaton.transitions
        if row.kind is Kind.EVENT and row.guard is None
    }

    def source() -> bool:
        return chance.random() < 0.5

    found: dict[str, EventSource] = {}
    for label in sorted(labels):
        found[label] = 0 if chance.random() < 0.5 else source
    return found


def random_session(seed: int, system: System | None = None, limit: int = 40) -> Session:
    """A session of a random system (or `system`), not run yet."""
    chance = random.Random(seed)
    system = drawn_system(chance) if system is None else system
    members = {one.name: random_member(chance, system, one.name) for one in system.members}
    return Session(
        system,
        members,
        name=f"s{seed}",
        seed=seed,
        faults=Faults(0.5, 0.5),
        events=random_events(chance, system),
        limit=limit,
    )


def states_of(session: Session, model: Composition) -> list[int]:
    """The states of the model that a session went through; an error where it left the model."""
    (state,) = model.initial()
    found = [state]
    for event in session.events:
        there = [
            state + move.difference for move in model.moves(state) if move.action == event.action
        ]
        assert len(there) == 1, f"{event.action} in {model.encoding.configuration(state)}"
        (state,) = there
        found.append(state)
    return found


def steady_session(seed: int, limit: int = 30, **options: Any) -> Session:
    """A session whose members depend on what they know alone: it can be resumed exactly."""
    chance = random.Random(seed)
    system = drawn_system(chance)
    while not all(one.automaton.transitions for one in system.members):
        system = drawn_system(chance)

    def member(name: str) -> Actor:
        def respond(turn: Turn) -> object:
            known = f"{seed} {name} {turn.state} {turn.messages} {turn.memory}"
            inner = random_member(random.Random(known), system, name, steady=True)
            return inner.respondent(turn)

        return Actor(respond)

    labels = random_events(random.Random(seed), system)
    return Session(
        system,
        {one.name: member(one.name) for one in system.members},
        name=f"steady/{seed}",
        seed=seed,
        faults=Faults(0.4, 0.4),
        events=dict.fromkeys(labels, lambda: True),
        limit=limit,
        **options,
    )
