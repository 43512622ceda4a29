"""A person at the terminal of a simulated lab, who leaves in mid-sentence, and may never answer."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from backends.people import terminal
from backends.people.input import UserLeft
from pxp_fsm.experiments import members
from tests.simulation.world import Killed, World

PREDICTIONS = ("bird", "fish", "mammal", "reptile")
EXPLANATIONS = ("by feathers", "by gills", "by milk")
LEFT, GONE = "a person left, and came back", "a person never answered"


class Person:
    """What they say about a message is the same whenever they are asked.

    At a question they leave with the chance `leaves`, and are silent for ever with the chance
    `vanishes`, each a few times at most. What they had typed has to be there when they come back.
    """

    def __init__(self, seed: int, leaves: float = 0.0, vanishes: float = 0.0) -> None:
        self.seed, self.world = seed, World(seed)
        self.chances = {LEFT: leaves, GONE: vanishes}
        self.left = {LEFT: 6, GONE: 2}
        self.place = ("", 0)
        self._typed: dict[tuple[str, int], tuple[str, str]] = {}

    @contextmanager
    def at_the_terminal(self, world: World) -> Iterator[None]:
        """In here it is this person who is asked at the terminal."""
        self.world, person = world, self

        class Watched(terminal.TerminalPerson):
            def _come_to(self, session: str, number: int) -> None:
                person.place = (session, number)
                super()._come_to(session, number)

        with ExitStack() as patched:
            patched.enter_context(patch.object(members, "TerminalPerson", Watched))
            asked = {"ask_line": self._line, "ask_lines": self._lines, "one_of": self._one_of}
            for name, answer in {**asked, "say": lambda *_: None}.items():
                patched.enter_context(patch.object(terminal, name, answer))
            yield

    async def _line(
        self, _question: str, accept: Callable[[str], Any], *, default: str, **_shown: Any
    ) -> str:
        said = self._draw("prediction", *self.place).choice(PREDICTIONS)
        await self._think("prediction", said, default)
        accept(said)
        return said

    async def _lines(self, _question: str, *, default: str) -> str:
        said = self._draw("explanation", *self.place).choice(EXPLANATIONS)
        await self._think("explanation", said, default)
        return said

    async def _one_of(self, question: str, words: tuple[str, ...]) -> str:
        await self._think("", "", "")
        if "send" in words:
            self._typed.pop(self.place, None)
            return "send"
        return self._draw(question, *self.place).choice(words)

    def _draw(self, *about: object) -> random.Random:
        return random.Random(hashlib.sha256(repr((self.seed, *about)).encode()).digest())

    async def _think(self, part: str, said: str, default: str) -> None:
        """Take time; leave with half of what they would have `said`, or never come back to it."""
        before = self._typed.get(self.place)
        if before is not None and before[0] == part:
            assert default == before[1], f"what was typed at {self.place} is lost"
            del self._typed[self.place]
        await asyncio.sleep(self.world.random.expovariate(1.0))
        if self.world.dead:
            raise Killed
        if self._does(GONE):
            await asyncio.sleep(1e9)
        if self._does(LEFT):
            half = said[: len(said) // 2]
            if half:
                self._typed[self.place] = part, half
            raise UserLeft(half)

    def _does(self, what: str) -> bool:
        does = self.left[what] > 0 and self.world.random.random() < self.chances[what]
        self.left[what] -= does
        self.world.counts[what] += does
        return does
