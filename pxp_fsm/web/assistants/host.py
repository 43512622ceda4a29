"""What assistants are told of the runs that they take part in, and what they answer.

Nothing is sent to an assistant unasked. An answer is judged by the code that the session itself
uses, before the session is given it: what is refused reaches neither the machines nor the database.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.errors import DataError
from pxp_fsm.prompting.model import Image
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.subjects import Subject

PATIENCE = 2.0
"""Seconds for which an answer waits for what comes of it; after that it is called pending."""

YOUR_TURN, OTHERS, OVER = "your turn", "others act", "over"
"""How a session stands for a member."""

_ORDER = (YOUR_TURN, OTHERS, OVER)

PENDING = "accepted: it happens as soon as it can be sent"
"""What came of an answer that nobody can take yet."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What an assistant is shown: JSON, or a text; and pictures, which its `pictures` names."""

    value: Any
    pictures: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A guard or a tag of a member's table: whether it is allowed now, and what it means or why."""

    do: str
    allowed: bool
    why: str


class Host(Protocol):
    """Runs with assistants, as its tools know them.

    Every method takes the member that asks: it is told of its own sessions what the member knows,
    and nothing else. `session` is its name; "" is the one that asks the member, or the latest.
    """

    news: News

    def subject(self, member: str) -> Subject:
        """The system that the member takes part in, and what is expected of it."""

    def tables(self, member: str) -> Mapping[str, Automaton]:
        """The tables of that system, by their names."""

    def table(self, member: str) -> Automaton:
        """The member's own table."""

    async def sessions(self, member: str) -> tuple[dict[str, Any], ...]:
        """The sessions that have begun: those that wait for the member first."""

    async def view(self, member: str, session: str = "") -> Shown:
        """Whose turn it is in a session, what came and, at the member's turn, what it may do."""

    async def state(self, member: str, session: str = "") -> str:
        """The state of the member's machine in a session."""

    async def moves(self, member: str, session: str = "") -> tuple[Move, ...]:
        """Every guard and tag of the member's table, and why it is not allowed now."""

    async def answer(
        self, member: str, session: str, key: str, do: str, to: str, payload: Any
    ) -> Shown:
        """Answer the question `key`; what came of it, and the view after it.

        Raises `Moved` where that is not asked (any more), `DataError` for what is refused; then
        nothing has happened, and the question still waits.
        """


def in_order(lines: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Sessions, those that wait for one first."""
    return tuple(sorted(lines, key=lambda line: _ORDER.index(line["status"])))


async def turn(host: Host, member: str, session: str, seconds: float) -> Shown:
    """The view of a session, once it is the member's turn or the session is over.

    Waits at most so many seconds for that. Without a session it is whichever asks first.
    """
    until = time.monotonic() + seconds
    while True:
        seen, left = host.news.version(session), until - time.monotonic()
        try:
            shown = await host.view(member, session)
        except NotBegun:
            if left <= 0:
                raise
        else:
            if left <= 0 or shown.value["status"] in (YOUR_TURN, OVER):
                return shown
        await host.news.after(session, seen, left)


class NotBegun(DataError):
    """No session of the member has begun."""

    def __init__(self) -> None:
        super().__init__("no session has begun; ask again in a second")


def moves_of(table: Automaton) -> dict[str, list[str]]:
    """What a member may say by its table, each with the states in which it may."""
    found = dict[str, list[str]]()
    for state, do in _said(table):
        states = found.setdefault(do, [])
        if state not in states:
            states.append(state)
    return found


def _said(table: Automaton) -> Iterator[tuple[str, str]]:
    for state in table.states:
        for row in table.own_rows(state.name):
            yield state.name, row.guard or row.label
