"""Members of a system that runs: what one knows when it may act, what it wants, who decides it."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple, Protocol

from pxp_fsm.automata.automaton import DECIDE, Automaton, Kind, Transition
from pxp_fsm.errors import GuardError, NoAnswer, UsageError, WrongType, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import (
    NOTHING,
    Answer,
    Episode,
    Instance,
    Json,
    Message,
    Overview,
    text_problem,
)
from pxp_fsm.protocol.relations import Judgement, OracleFailed, Outcome, digest
from pxp_fsm.sessions.functions import answered, name_of


@dataclass(frozen=True, slots=True)
class Intent:
    """What a member wants to do: a guard that is true for it, or a tag that it wants to send.

    `value` is the message's payload, any JSON value. `to` is the receiver, where the table leaves
    it open; "" is whoever can take the message.

    >>> import pxp_fsm as pxp
    >>> pxp.Intent("BID", {"price": 7})
    Intent(name='BID', value={'price': 7}, to='')
    """

    name: str
    value: Any = None
    to: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a member knows when it may act: its own state, messages and memory, nothing of others.

    `guards` are the names of which it may say that one is true; `tags` what it may send without a
    guard. `messages` are those that it sent and received, in its order. `memory` is its own and may
    be changed: JSON values, stored with the action that follows. Where guards have decided already,
    `tag` and `to` say which message is wanted (`to` is "" where it may go to several). `context`
    and `categories` are those of a `Question`, in a session of INTERACT or PXP.

    In a session of several agents the messages are those that it exchanges with `to` now.
    `current` is the pair that it has sent last, to whomever; None between two agents, where that
    stands in the messages. `learns` is whether it may LEARN now, `settled` whether neither of the
    two has changed its pair since its own latest message to the other, and `others` are the
    conversations that the member has with other agents; `overview` is what everybody may see.

    >>> import pxp_fsm as pxp
    >>> about = pxp.Instance("lamp", "a lamp")
    >>> turn = pxp.Turn("auction", about, "left", "ASKED", ("BIDS", "PASSES"), ())
    >>> turn.guards, turn.received, turn.value
    (('BIDS', 'PASSES'), (), None)
    """

    session: str
    instance: Instance
    member: str
    state: str
    guards: tuple[str, ...]
    tags: tuple[str, ...]
    messages: tuple[Message, ...] = field(default=(), repr=False)
    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    tag: str = ""
    to: str = ""
    context: tuple[str, ...] = field(default=(), repr=False)
    categories: tuple[str, ...] = field(default=(), repr=False)
    current: Answer | None = field(default=None, repr=False)
    learns: bool = True
    settled: bool = True
    others: tuple[Episode, ...] = field(default=(), repr=False)
    overview: Overview | None = field(default=None, repr=False)

    @property
    def received(self) -> tuple[Message, ...]:
        """The messages that it received, in order."""
        return tuple(message for message in self.messages if message.receiver == self.member)

    @property
    def value(self) -> Any:
        """The payload of the latest message that it received; None where there is none."""
        received = self.received
        return received[-1].value if received else None


MemberFunction = Callable[[Turn], Any]
"""What a member may be: a function of its turn to an `Intent`, a name of one, or None (wait)."""

TurnGuard = Callable[[Turn], bool | Awaitable[bool]]
"""Whether one guard is true for a member."""

TurnGuards = Callable[[Turn], str | Awaitable[str]] | Mapping[str, TurnGuard]
"""The guards of a member: a function that names the true one, or a function for each by name."""


class Decision(NamedTuple):
    """What a member has decided: a row, whom to send to, what to send, and its memory as JSON.

    A memory "" is the one that it has.
    """

    row: Transition
    to: str
    payload: Answer | Json
    memory: str = ""
    judgements: tuple[Judgement, ...] = ()


class Deciding(Protocol):
    """Who decides for a member: an `Actor`, or an `Agent` in its seat."""

    def describe(self) -> str:
        """What the member is made of, as a session records it."""

    async def decide(self, turn: Turn, table: Automaton) -> Decision | None:
        """What it wants to do now; None where it waits.

        Raises `NoAnswer`, `OracleFailed` or `GuardError`, with what the member's own code raised.
        """


@dataclass(frozen=True, init=False)
class Actor:
    """A member of a system that runs, sync or async: a respondent, and guards if they stand apart.

    Without `guards` the respondent decides everything: it returns an `Intent`, or the name of a
    guard or tag alone, or None to wait for what comes. With `guards`, a function of the `Turn` that
    names the true guard, or a function for each guard by its name (exactly one must return True),
    the respondent is then asked for the payload of `turn.tag`. `timeout` bounds each question, in
    seconds; None waits for ever.

    >>> import pxp_fsm as pxp
    >>> cheap = pxp.Actor(lambda turn: {"price": 7}, guards={"BIDS": lambda turn: True})
    >>> cheap.describe()
    '<lambda> guards=BIDS'

    Raises `UsageError` for what is no function.
    """

    respondent: MemberFunction
    guards: TurnGuards | None
    timeout: float | None

    def __init__(
        self,
        respondent: MemberFunction,
        *,
        guards: TurnGuards | None = None,
        timeout: float | None = None,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise UsageError(f"a timeout is a number of seconds above 0, or None: {timeout!r}")
        if not callable(respondent) or isinstance(respondent, type):
            raise UsageError(
                f"{quoted(respondent)} is not a member; a member is a function of a Turn, or "
                f"pxp.Actor(function, guards=...)"
            )
        for guard in guards.values() if isinstance(guards, Mapping) else (guards,):
            if guard is not None and not callable(guard):
                raise UsageError(f"guards are functions of a Turn, not {quoted(guard)}")
        for name, value in (("respondent", respondent), ("guards", guards), ("timeout", timeout)):
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """What it is, as a session records it."""
        named = getattr(self.respondent, "name", None)
        return named if isinstance(named, str) else name_of(self.respondent)

    def describe(self) -> str:
        """What the member is made of, as a session records it."""
        if self.guards is None:
            return self.name
        names = ",".join(self.guards) if isinstance(self.guards, Mapping) else name_of(self.guards)
        return f"{self.name} guards={names}"

    async def decide(self, turn: Turn, table: Automaton) -> Decision | None:
        """What it wants to do now; None where it waits.

        Raises `NoAnswer`, `OracleFailed` or `GuardError`, with what the member's own code raised.
        """
        before = _json(turn.memory, turn.member)
        judged: list[Judgement] = []
        if self.guards is not None and turn.guards:
            row = await self._settle(turn, table, self.guards, judged)
            value, to = None, row.partner
            if row.kind is Kind.SEND:
                wanted = replace(turn, tag=row.label, to=row.partner)
                value = await self._asked(wanted)
        else:
            started = time.perf_counter()
            reply = await self._asked(turn)
            if reply is None:
                return None
            intent = Intent(reply) if isinstance(reply, str) else reply
            row = self._row(turn, table, intent)
            value, to = intent.value, intent.to or row.partner
            if row.guard is not None:
                seconds = time.perf_counter() - started
                judged.append(_judgement(turn, row.guard, Outcome.YES, seconds))
        memory = _json(turn.memory, turn.member)
        text = _json(value, turn.member)
        return Decision(row, to, text, memory if memory != before else "", tuple(judged))

    async def _settle(
        self, turn: Turn, table: Automaton, guards: TurnGuards, judged: list[Judgement]
    ) -> Transition:
        """The row of the one guard that is true, each function asked once."""
        if not isinstance(guards, Mapping):
            started = time.perf_counter()
            guard = await self._guard(turn, name_of(guards), guards)
            if not isinstance(guard, str) or guard not in turn.guards:
                raise _broken(turn, f"guards returned {quoted(guard)}; {_choices(turn)}")
            seconds = time.perf_counter() - started
            judged.append(_judgement(turn, guard, Outcome.YES, seconds))
            return table.step(turn.state, DECIDE, {other: other == guard for other in turn.guards})
        valuation = {}
        for name in turn.guards:
            if name not in guards:
                raise GuardError(f"{turn.member} has no function for its guard {name}")
            started = time.perf_counter()
            holds = await self._guard(turn, name, guards[name])
            if type(holds) is not bool:
                raise _broken(turn, f"guard {name} returned {quoted(holds)}, not True or False")
            seconds = time.perf_counter() - started
            judged.append(_judgement(turn, name, Outcome.YES if holds else Outcome.NO, seconds))
            valuation[name] = holds
        return table.step(turn.state, DECIDE, valuation)

    async def _guard(self, turn: Turn, name: str, function: Any) -> Any:
        def broken(cause: str, fault: Exception | None) -> OracleFailed:
            return OracleFailed(Outcome.BROKEN, cause, fault)

        return await answered(
            f"guard {name} of {turn.member}", lambda: function(turn), self.timeout, broken
        )

    async def _asked(self, turn: Turn) -> Any:
        return await answered(turn.member, lambda: self.respondent(turn), self.timeout, NoAnswer)

    def _row(self, turn: Turn, table: Automaton, intent: object) -> Transition:
        """The row that an intent means; a fault of the member where it means none."""
        if not isinstance(intent, Intent) or not isinstance(intent.name, str):
            problem = (
                f"it returned {quoted(intent)}, not an Intent, a name or None; {_choices(turn)}"
            )
            raise _broken(turn, problem)
        rows = [
            row
            for row in table.own_rows(turn.state)
            if (row.guard or row.label) == intent.name
            and (row.guard is not None or intent.to in ("", row.partner) or not row.partner)
        ]
        if not rows:
            to = f" to {intent.to}" if intent.to else ""
            there = ", ".join(row.guard or row.action for row in table.own_rows(turn.state))
            problem = (
                f"it wants {quoted(intent.name)}{to} in state {turn.state}; possible there: {there}"
            )
            raise _broken(turn, problem)
        if len(rows) > 1:
            partners = ", ".join(row.partner for row in rows)
            raise _broken(turn, f"{intent.name} goes to {partners}; say to whom: Intent(to=...)")
        (row,) = rows
        if row.partner and intent.to not in ("", row.partner):
            raise _broken(turn, f"{intent.name} goes to {row.partner}, not to {quoted(intent.to)}")
        return row


def as_actor(name: str, member: object) -> Actor:
    """`member`, or the actor by that function; `UsageError` where it is neither."""
    if isinstance(member, Actor):
        return member
    if callable(member) and not isinstance(member, type):
        return Actor(member)
    raise UsageError(
        f"member {name} is {quoted(member)}; a member is a function of a Turn that returns an "
        f"Intent, a name or None, or pxp.Actor(function, guards=...)"
    )


def _json(value: object, member: str) -> Json:
    """`value` as JSON that is stored exactly; a fault of the member where it cannot be."""
    if value is None or (value == {} and type(value) is dict):  # most are, and nothing is wrong
        return NOTHING if value is None else _EMPTY
    try:
        text = _ENCODER.encode(value)
        same = json.loads(text) == (list(value) if isinstance(value, tuple) else value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(member, value, str(error)) from error
    if not same:
        raise _no_json(member, value, "keys are text, and lists are no tuples")
    problem = text_problem(text)
    if problem is not None:
        raise _no_json(member, value, problem)
    return Json(text)


_EMPTY = Json("{}")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _no_json(member: str, value: object, problem: str) -> OracleFailed:
    message = f"{member}: a payload and a memory are JSON values, not {quoted(value)} ({problem})"
    return OracleFailed(Outcome.BROKEN, message, WrongType(message))


def _broken(turn: Turn, problem: str) -> OracleFailed:
    whole = f"{turn.member}: {problem}"
    return OracleFailed(Outcome.BROKEN, whole, WrongType(whole))


def _choices(turn: Turn) -> str:
    parts = []
    if turn.guards:
        parts.append(f"guards: {', '.join(turn.guards)}")
    if turn.tags:
        parts.append(f"tags: {', '.join(turn.tags)}")
    return f"there it has {'; '.join(parts) or 'nothing to decide'}"


def _judgement(turn: Turn, guard: str, outcome: Outcome, seconds: float) -> Judgement:
    """What a guard was asked: of which state and messages, with which memory."""
    known = digest(f"{turn.state} {[message.number for message in turn.messages]}")
    memory = digest(json.dumps(turn.memory, sort_keys=True, default=repr))
    return Judgement(guard, known, memory, outcome, asked=True, seconds=seconds)
