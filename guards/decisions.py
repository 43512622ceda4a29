"""Guards that are decided directly: one oracle for each, queried once per event."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.errors import GuardError
from pxp_fsm.protocol.situation import Situation

Oracle = Callable[[Situation], Awaitable[bool]]
"""Says whether one guard holds in a situation."""


class Direct:
    """Guards from one oracle each, by the guard's name.

    All of them are asked, once a message, in the table's order. That exactly one holds is checked
    by the machine, not assumed. Raises `GuardError` where a guard of the table has no oracle.
    """

    name = "direct"
    follows_relations = False

    def __init__(self, oracles: Mapping[str, Oracle]) -> None:
        self._oracles = dict(oracles)

    async def decide(self, situation: Situation) -> Valuation:
        missing = [guard for guard in situation.guards if guard not in self._oracles]
        if missing:
            raise GuardError(f"no oracle was given for guard {', '.join(missing)}")
        return {guard: await self._oracles[guard](situation) for guard in situation.guards}


class ScriptedGuards:
    """Replays a list of guards, one a message; raises `GuardError` when it is used up."""

    name = "script"
    follows_relations = False

    def __init__(self, guards: Iterable[str]) -> None:
        self._guards = tuple(guards)

    async def decide(self, situation: Situation) -> Valuation:
        place = situation.number // 2 - 1
        guard = self._guards[place] if place < len(self._guards) else None
        if guard is None:
            raise GuardError(f"the script has no guard left for message {situation.number}")
        return situation.choosing(guard)


class ChanceGuards:
    """Picks one of the allowed guards at random; without a weight its weight is 1.

    The draw depends on the seed, the session's place in its run, the two agents and the message's
    number between them, so that a session goes on alike where it is resumed, and where it is forked
    as far as nothing was changed.
    """

    name = "chance"
    follows_relations = False

    def __init__(self, seed: int, weights: dict[str, float] | None = None) -> None:
        self._seed = seed
        self._weights = dict(weights or {})

    async def decide(self, situation: Situation) -> Valuation:
        allowed = situation.allowed
        weights = [self._weights.get(guard, 1.0) for guard in allowed]
        place = situation.received.session.partition("/")[2] or situation.received.session
        pair = f"{situation.agent}/{situation.received.sender}"
        drawn = random.Random(f"{self._seed}/{place}/{pair}/{situation.number}")
        return situation.choosing(drawn.choices(allowed, weights)[0])


class FreeChoice:
    """Asks `choose` which of the guards that the protocol allows here is to be true.

    Any outcome of MATCH, AGREE and revision counts as possible (the spec's *noisy*), so this is
    every behaviour that a checker explores.
    """

    name = "free choice"
    follows_relations = False

    def __init__(self, choose: Callable[[Sequence[str]], str]) -> None:
        self._choose = choose

    async def decide(self, situation: Situation) -> Valuation:
        return situation.choosing(self._choose(situation.allowed))


class Person(Protocol):
    """A person who names the guard themselves, as the chemists of arXiv 2410.20600 did."""

    async def choose(self, situation: Situation, allowed: Sequence[str]) -> str:
        """One of `allowed`; waits as long as it takes."""


class AskPerson:
    """Guards by a person's own word, or that of who is called `name`.

    Only what protocol, j and k allow is accepted.
    """

    follows_relations = False

    def __init__(self, person: Person, name: str = "person") -> None:
        self.name = name
        self._person = person

    async def decide(self, situation: Situation) -> Valuation:
        allowed = situation.allowed
        guard = await self._person.choose(situation, allowed)
        if guard not in allowed:
            raise GuardError(
                f"{guard!r} is not allowed at message {situation.number}; "
                f"allowed: {', '.join(allowed)}"
            )
        return situation.choosing(guard)
