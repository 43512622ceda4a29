"""Questions that wait for an answer from outside: of a person on a page, or of an assistant.

Each waits in a seat: a session, and who is asked in it. Nothing that waits is stored: what a
session is about to ask follows from what is stored of it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import field
from typing import Generic, TypeVar

from pxp_fsm.errors import Refused
from pxp_fsm.lazy_dataclasses import dataclass

Asked_ = TypeVar("Asked_")
Given_ = TypeVar("Given_")


@dataclass(frozen=True, slots=True)
class WaitingQuestion(Generic[Asked_, Given_]):
    """A question that waits, about message or action `number`; `key` tells it from others."""

    asked: Asked_
    number: int
    key: str
    given: Future[Given_] = field(repr=False)


class SessionMoved(Refused):
    """The session has moved on: what was sent answers a question that is not asked any more."""


_MOVED = "this question has been answered, or the session has moved on"


class Questions(Generic[Asked_, Given_]):
    """At most one question for each seat; asked in a loop, answered from any thread.

    `on_change` is called with a session's name when a question begins to wait.
    """

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self._waiting: dict[tuple[str, str], WaitingQuestion[Asked_, Given_]] = {}
        self._lock = threading.Lock()

    def waiting(self, session: str, who: str = "") -> WaitingQuestion[Asked_, Given_] | None:
        """What waits in a seat."""
        return self._waiting.get((session, who))

    def expected(self, session: str, key: str, who: str = "") -> WaitingQuestion[Asked_, Given_]:
        """The question `key`; raises `SessionMoved` where another or none waits in the seat."""
        waiting = self.waiting(session, who)
        if waiting is None or waiting.key != key:
            raise SessionMoved(_MOVED)
        return waiting

    def give(self, session: str, key: str, reply: Given_, who: str = "") -> None:
        """Answer the question `key`; raises `SessionMoved`, once answered."""
        with self._lock:
            waiting = self.expected(session, key, who)
            del self._waiting[session, who]
        try:
            waiting.given.set_result(reply)
        except InvalidStateError:  # its asker was cancelled at this very moment
            raise SessionMoved(_MOVED) from None

    async def ask(
        self, session: str, asked: Asked_, number: int, key: str, who: str = ""
    ) -> Given_:
        """Let a question wait until it is answered; it is gone where the asker is cancelled."""
        future: Future[Given_] = Future()
        waiting = WaitingQuestion(asked, number, key, future)
        with self._lock:
            self._waiting[session, who] = waiting
        self._on_change(session)
        try:
            return await asyncio.wrap_future(future)
        finally:
            with self._lock:
                if self._waiting.get((session, who)) is waiting:
                    del self._waiting[session, who]
