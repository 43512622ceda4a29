"""Units: the independent parts of a run, which can be run anywhere, in any order, and together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass

_PARTS = 256
"""Sessions that depend on no other are dealt out in about so many parts."""


ONE_TERMINAL = "a person works at one terminal, so such a run cannot be spread over workers"
ONE_SERVER = "assistants work with one server, so such a run cannot be spread over workers"
ONE_BUDGET = (
    "limits and budgets of models are kept by one process, so such a run cannot be spread "
    "over workers; allow more requests in flight instead"
)
ONE_BATCH = "each round of all sessions is one batch, so such a run cannot be spread over workers"
ONE_MEMORY = (
    "verdicts of the judge are remembered in the whole run, by one process, so such a run cannot "
    "be spread over workers; give --judge-scope session"
)
ONE_MACHINE = (
    "the limits and caps of a run with models are divided among the processes of one machine; "
    "write processes://NUMBER"
)
"""Why one process has to carry a run."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The sessions of a repetition at the positions `first` to `last`, both included."""

    repetition: int
    first: int
    last: int

    @property
    def name(self) -> str:
        """What distinguishes it in its run."""
        return f"{self.repetition}/{self.first}-{self.last}"


def units(repetitions: int, sessions: int, carries: bool) -> Iterator[Unit]:
    """The units of a run: whole repetitions where sessions depend on those before them.

    They follow from the run alone, so that whoever carries it on has the same.
    """
    size = sessions if carries else min(sessions, max(1, repetitions * sessions // _PARTS))
    for repetition in range(1, repetitions + 1):
        for first in range(1, sessions + 1, size):
            yield Unit(repetition, first, min(first + size - 1, sessions))


async def together(sessions: Iterator[Coroutine[None, None, object]], at_once: int) -> None:
    """Carry all to their end, `at_once` of them at a time: one that waits holds up no other."""

    if at_once == 1:  # in this task: what stops it is told by nobody else
        for session in sessions:
            await session
        return

    async def carry() -> None:
        for session in sessions:
            await session

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(carry())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from failed
