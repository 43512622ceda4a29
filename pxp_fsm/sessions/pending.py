"""Whom a session of a system waits for: members that think, and sources of outside events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from pxp_fsm.errors import UsageError, WrongType, quoted
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import OracleFailed, Outcome
from pxp_fsm.sessions.actors import Decision
from pxp_fsm.sessions.functions import answered

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Chance:
    """Raises an event with this probability before each action, drawn from the session's seed."""

    probability: float


EventFunction = Callable[[], bool | Awaitable[bool]]

EventSource = float | Chance | EventFunction | None
"""Who raises an event from outside: a timer (seconds), chance, a function, sync or async, that
returns whether it is raised, or None: whoever has the session (`raise_event`)."""


class Pending:
    """The questions that are open, and the answers that wait for their action.

    `wants` is what each member has decided and not done yet, None where it waits for what comes.
    `raised` are the events that are to happen.
    """

    def __init__(self, events: Mapping[str, EventSource]) -> None:
        self.wants: dict[str, Decision | None] = {}
        self.raised: set[str] = set()
        self.chances = {
            label: source.probability
            for label, source in events.items()
            if isinstance(source, Chance)
        }
        self._callers = {label for label, source in events.items() if source is None}
        self._sources = {
            label: source
            for label, source in events.items()
            if source is not None and not isinstance(source, Chance)
        }
        self._thinking: dict[str, asyncio.Task[Decision | None]] = {}
        self._coming: dict[str, asyncio.Task[bool]] = {}
        self._declined: set[str] = set()
        self._wake: asyncio.Future[None] | None = None

    def is_asked(self, member: str) -> bool:
        """Whether a member thinks, or has answered."""
        return member in self._thinking or member in self.wants

    def ask(self, member: str, thinking: Coroutine[Any, Any, Decision | None]) -> None:
        """Let a member think."""
        self._thinking[member] = self._started(thinking)

    def expect(self, possible: set[str]) -> None:
        """Ask the sources of the events that are `possible`."""
        for label in set(self._coming) - possible:
            self._coming.pop(label).cancel()
        self.raised &= possible
        new = possible - self._coming.keys() - self.raised - self._declined
        for label in [label for label in self._sources if label in new]:
            self._coming[label] = self._started(_is_raised(label, self._sources[label]))

    def hear(self) -> dict[str, Decision | None]:
        """What members have decided since; raises what went wrong in them."""
        for label in [label for label, task in self._coming.items() if task.done()]:
            (self.raised if self._coming.pop(label).result() else self._declined).add(label)
        done = [name for name, task in self._thinking.items() if task.done()]
        return {name: self._thinking.pop(name).result() for name in done}

    def waits_for(self, possible: set[str]) -> bool:
        """Whether somebody may still answer, or raise an event that is `possible`."""
        return bool(self._thinking or self._coming or self._callers & possible)

    async def wait(self) -> None:
        """Until somebody has answered, or `wake` was called."""
        if any(task.done() for task in (*self._thinking.values(), *self._coming.values())):
            return
        self._wake = asyncio.get_running_loop().create_future()
        await self._wake

    def wake(self) -> None:
        """End a `wait`: something has happened meanwhile."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _started(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _task: self.wake())
        return task

    def happened(self, moved: Iterable[str], event: str = "") -> None:
        """Something has happened: what the members that `moved` thought or wanted is void."""
        self._declined.clear()
        self.raised.discard(event)
        for name in moved:
            self.wants.pop(name, None)
            thinking = self._thinking.pop(name, None)
            if thinking is not None:
                thinking.cancel()

    def stop(self) -> None:
        """Ask nobody any more."""
        for task in (*self._thinking.values(), *self._coming.values()):
            task.cancel()
        self._thinking.clear()
        self._coming.clear()


async def _is_raised(label: str, source: float | EventFunction) -> bool:
    if not callable(source):
        await asyncio.sleep(source)
        return True

    def broken(cause: str, fault: Exception | None) -> OracleFailed:
        return OracleFailed(Outcome.BROKEN, cause, fault)

    raised = await answered(f"event {label}", source, None, broken)
    if type(raised) is not bool:
        wrong = f"event {label}: its source returned {quoted(raised)}, not True or False"
        raise broken(wrong, WrongType(wrong))
    return raised


def check_source(label: str, source: object) -> None:
    """Raise `UsageError` where `source` cannot raise an event."""
    number: Any = source.probability if isinstance(source, Chance) else source
    timed = isinstance(number, int | float) and not isinstance(number, bool) and number >= 0
    known = timed and (number is source or number <= 1)
    if source is not None and not known and not callable(source):
        raise UsageError(
            f"event {label} is raised by a number of seconds, a Chance from 0 to 1, a function, or "
            f"None (raise_event), not {quoted(source)}"
        )
