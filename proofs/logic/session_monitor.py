"""Monitors of sessions, live or recorded: the verdict on a formula after each message.

A monitor decides over the protocol where it can: no continuation that its rules allow, whatever the
relations say (of PXP(k), over PXP). Where the rules have too many states for that, or are not the
model's, it decides over the formula by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from proofs.core.explore import TooLarge
from proofs.logic.formulas import Atom, Formula, atoms
from proofs.logic.monitor import Deterministic, Outlook, atoms_of, by_itself, over
from proofs.logic.sessions import Reading, Seen, Sessions, reading
from proofs.sessions.model import AGENTS, SessionModel
from proofs.sessions.relational import Theory
from pxp_fsm.automata.automaton import happening
from pxp_fsm.errors import Refused, UsageError, quoted
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.relations import NOISY, Assumption
from pxp_fsm.protocol.rules import Pxp, Rules
from pxp_fsm.sessions.session import CLOSE

_STATES = 20_000
"""States of a protocol's model, times a formula's valuations, that a monitor decides over."""


class Hearing:
    """What formulas see of a session, from its messages alone, by the tables and the rules.

    `agents` are the initiator's and the responder's names in its messages; `known` remembers what
    was seen in other sessions after the same message.
    """

    def __init__(
        self,
        read: Reading,
        rules: Rules,
        agents: tuple[str, str],
        known: dict[tuple[Seen, int, str, str], Seen | None] | None = None,
    ) -> None:
        self.seen = read.start()
        self._read = read
        self._rules = rules
        self._agents = agents
        self._history: list[Message] = []
        self._known = {} if known is None else known

    def hear(self, message: Message) -> Seen:
        """What is seen after `message`; `Refused` where tables or rules do not allow it."""
        if message.sender not in self._agents:
            raise self._refused(message)
        sender = self._agents.index(message.sender)
        if sender and not self._history:
            raise self._refused(message)
        self._history.append(message)
        ending = self._rules.ending(self._history)
        key = (self.seen, sender, message.tag, "" if ending is None else ending.value)
        if key not in self._known:
            self._known[key] = self._after(*key)
        found = self._known[key]
        if found is None:
            self._history.pop()
            raise self._refused(message)
        self.seen = found
        return found

    def _after(self, seen: Seen, sender: int, tag: str, closed: str) -> Seen | None:
        """What is seen after a message, and after the schedule's close; None if not allowed."""
        tables = self._read.tables
        sent = tables[sender].sends(seen.at[sender], tag)
        heard = tables[1 - sender].receives(seen.at[1 - sender], tag)
        if seen.over or sent is None or heard is None:
            return None
        at = (heard.target, sent.target) if sender else (sent.target, heard.target)
        if closed:
            at = (self._closed(0, at[0]), self._closed(1, at[1]))
        return self._read.after(seen, sender, tag, at, closed)

    def _closed(self, agent: int, state: str) -> str:
        table = self._read.tables[agent]
        return state if state in table.final else table.step(state, happening(CLOSE)).target

    def _refused(self, message: Message) -> Refused:
        return Refused(
            f"message {message.number} ({quoted(message.tag)} from {quoted(message.sender)}) is "
            f"none that {self._rules.name} allows after {len(self._history)} messages"
        )


class Watch(Protocol):
    """One session as a monitor follows it: `hear` each message in order, then see the `outlook`."""

    def hear(self, message: Message) -> Outlook:
        """How the formula stands after `message`; `Refused` where that is not allowed."""

    @property
    def outlook(self) -> Outlook:
        """How the formula stands."""


class SessionMonitor:
    """A formula, to be watched in any number of sessions under `rules`.

    `assumptions` are what is known of MATCH and AGREE: with more of them more is settled sooner,
    and a session that breaks them is refused. `alone` decides over the formula by itself. Raises
    `UsageError` for a formula that cannot be monitored.
    """

    def __init__(
        self,
        formula: Formula,
        rules: Rules,
        assumptions: frozenset[Assumption] = NOISY,
        *,
        alone: bool = False,
    ) -> None:
        self.formula = formula
        self.rules = rules
        table = rules.automaton
        self.read = reading(atoms(formula), (table, table))
        self._letter = _letters(formula, self.read)
        self._labels: dict[tuple[str, str], Mapping[str, str]] = {}
        self._heard: dict[tuple[Seen, int, str, str], Seen | None] = {}
        self.model: Deterministic[Any, str] | None = None
        if not alone and not (isinstance(rules, Pxp) and rules.hang_up):
            self.model = self._over_the_protocol(assumptions)
        self.itself = by_itself(formula) if self.model is None else None

    @property
    def over_the_protocol(self) -> bool:
        """Whether it decides over what the protocol allows."""
        return self.model is not None

    def watch(self, initiator: str = AGENTS[0], responder: str = AGENTS[1]) -> Watch:
        """A new session between two agents of these names, before its first message."""
        if initiator == responder:
            raise UsageError(
                f"both agents are named {initiator!r}; messages do not tell them apart"
            )
        if self.model is not None:
            names = (initiator, responder)
            if names not in self._labels:
                pairs = zip(names, AGENTS, strict=True)
                self._labels[names] = {name: f"{agent} " for name, agent in pairs}
            return _Labels(self.model, self._labels[names])
        assert self.itself is not None  # noqa: S101 - one of the two is always there
        hearing = Hearing(self.read, self.rules, (initiator, responder), self._heard)
        return _Letters(self.itself, hearing, self._letter)

    def _over_the_protocol(
        self, assumptions: frozenset[Assumption]
    ) -> Deterministic[Any, str] | None:
        rules = self.rules
        if isinstance(rules, Pxp):  # PXP allows whatever PXP(k) does, and is much smaller
            rules = replace(rules, k=None)
        model = SessionModel(rules, Theory(assumptions), observes=False)
        try:
            return over(self.formula, Sessions(model, self.read), _STATES)
        except TooLarge:
            return None


class _Labels:
    """By the labels of the model's steps: a message is two look-ups."""

    __slots__ = ("_monitor", "_moves", "_outlooks", "_place", "_who")

    def __init__(self, monitor: Deterministic[Any, str], who: Mapping[str, str]) -> None:
        self._monitor = monitor
        self._moves = monitor.moves
        self._outlooks = monitor.outlooks
        self._place = monitor.start
        self._who = who

    def hear(self, message: Message) -> Outlook:
        try:
            label = self._who[message.sender] + message.tag
        except KeyError:
            raise Refused(
                f"message {message.number} is from {quoted(message.sender)}, and the agents of "
                f"this session are {', '.join(self._who)}"
            ) from None
        place = self._moves[self._place].get(label)
        if place is None:
            place = self._monitor.after(self._place, label)
        self._place = place
        return self._outlooks[place]

    @property
    def outlook(self) -> Outlook:
        return self._outlooks[self._place]


class _Letters:
    """By what is true after each message; the session's end settles what has not been."""

    __slots__ = ("_hearing", "_letter", "_monitor", "_place")

    def __init__(
        self,
        monitor: Deterministic[Any, tuple[bool, ...]],
        hearing: Hearing,
        letter: Callable[[Seen], tuple[bool, ...]],
    ) -> None:
        self._monitor = monitor
        self._hearing = hearing
        self._letter = letter
        self._place = monitor.after(monitor.start, letter(hearing.seen))

    def hear(self, message: Message) -> Outlook:
        seen = self._hearing.hear(message)
        self._place = self._monitor.after(self._place, self._letter(seen))
        return self.outlook

    @property
    def outlook(self) -> Outlook:
        found = self._monitor.outlooks[self._place]
        if not self._hearing.seen.over:
            return found
        return Outlook.TRUE if found.positive else Outlook.FALSE


def _letters(formula: Formula, read: Reading) -> Callable[[Seen], tuple[bool, ...]]:
    tests = [read.tests[atom.name] for atom in atoms_of(formula) if isinstance(atom, Atom)]

    @cache
    def letter(seen: Seen) -> tuple[bool, ...]:
        return tuple(holds(seen) for holds in tests)

    return letter
