"""The monitor of sessions, live or recorded: the verdict on a formula after each event.

It decides over what its subject still allows: of a protocol no continuation that its rules allow,
whatever the relations say (of PXP(k), over PXP), of a system none that its tables and its channel
allow. Where there are too many states for that, or the rules are not the model's, it decides over
the formula by itself; the session's end settles what has not been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, Protocol

from proofs.core.explore import Step, TooLarge
from proofs.logic.formulas import Atom, Formula, atoms
from proofs.logic.monitor import Deterministic, Letter, MonitorVerdict, atoms_of, by_itself, over
from proofs.logic.parsing import parse, unknown
from proofs.logic.sessions import ObservedSessions, Seen, SessionReading, reading
from proofs.sessions.model import AGENTS, SessionModel
from proofs.sessions.relational import Theory
from proofs.systems.product import Composition
from proofs.systems.propositions import NotedState, Noting, vocabulary
from pxp_fsm.automata.actions import Exchange, Send
from pxp_fsm.automata.automaton import happening
from pxp_fsm.automata.system import System
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import NOISY, Assumption
from pxp_fsm.protocol.rules import Pxp, Rules
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import CLOSE

_STATES = 20_000
"""States of a subject's model, times a formula's valuations, that a monitor decides over."""

_LABELS = 10_000
"""Actions of a system whose words are kept."""

_NOTHING = Answer("", "")
"""A monitor hears tags: an event without its texts is heard like any other."""


class EventMonitor:
    """A formula, to be watched in any number of sessions of `subject`.

    The formula may be given as text. The subject is a protocol of two (INTERACT or PXP), or a
    system; what the formula may speak of comes from its model. `assumptions` are what is known of a
    protocol's MATCH and AGREE: with more of them more is settled sooner, and a session that breaks
    them is refused. `alone` decides over the formula by itself.

    >>> import pxp_fsm as pxp
    >>> system = pxp.System.load("m=interact", "h=interact")
    >>> watch = pxp.proofs.EventMonitor("G !h@DECIDE", system).watch()
    >>> watch.hear(Event(1, Exchange("m", "h", "INIT"))).value
    'false'

    Raises `UsageError` for a formula that cannot be monitored, or that speaks of what the subject
    has not.
    """

    def __init__(
        self,
        formula: Formula | str,
        subject: Rules | System,
        assumptions: frozenset[Assumption] = NOISY,
        *,
        alone: bool = False,
    ) -> None:
        if isinstance(formula, str):
            formula = parse(formula)
        self.formula = formula
        self.subject = subject
        self._followed: _Followed = (
            _OfSystem(formula, subject)
            if isinstance(subject, System)
            else _OfRules(formula, subject, assumptions)
        )
        self.model: Deterministic[Any, str] | None = None
        if not alone:
            with suppress(TooLarge):
                self.model = self._followed.automaton()
        self.itself = by_itself(formula) if self.model is None else None
        self._labels: dict[tuple[str, ...], Callable[[Event], str]] = {}

    @property
    def over_the_model(self) -> bool:
        """Whether it decides over what the subject allows."""
        return self.model is not None

    def watch(self, *members: str) -> Watch:
        """A new session, before its first event.

        `members` are the names of a protocol's two agents in it, the initiator first; m and h
        unless given. A system's members have names of their own.
        """
        called = self._followed.members(members)
        if self.model is not None:
            if called not in self._labels:
                self._labels[called] = self._followed.label(called)
            return _ByLabels(self.model, self._labels[called])
        assert self.itself is not None  # noqa: S101 - one of the two is always there
        return _ByLetters(self.itself, self._followed.observer(called))


class Watch(Protocol):
    """One session as a monitor follows it: `hear` each event in order, then see the `outlook`."""

    def hear(self, event: Event) -> MonitorVerdict:
        """How the formula stands after `event`; `Refused` where that is not allowed."""

    @property
    def outlook(self) -> MonitorVerdict:
        """How the formula stands."""


class _ByLabels:
    """By the labels of the model's steps: an event that was met before is two look-ups."""

    __slots__ = ("_label", "_monitor", "_moves", "_outlooks", "_place")

    def __init__(self, monitor: Deterministic[Any, str], label: Callable[[Event], str]) -> None:
        self._monitor = monitor
        self._moves = monitor.moves
        self._outlooks = monitor.outlooks
        self._place = monitor.start
        self._label = label

    def hear(self, event: Event) -> MonitorVerdict:
        label = self._label(event)
        place = self._moves[self._place].get(label)
        if place is None:
            place = self._monitor.after(self._place, label)
        self._place = place
        return self._outlooks[place]

    @property
    def outlook(self) -> MonitorVerdict:
        return self._outlooks[self._place]


class _Observer(Protocol):
    """What formulas see of a session, event by event."""

    def hear(self, event: Event) -> object:
        """Take an event; `Refused` where it is not allowed."""

    @property
    def letter(self) -> Letter:
        """The truth of the formula's atoms now."""

    @property
    def over(self) -> bool:
        """Whether nothing can follow."""


class _ByLetters:
    """By what is true after each event; the session's end settles what has not been."""

    __slots__ = ("_monitor", "_observer", "_place")

    def __init__(self, monitor: Deterministic[Any, Letter], observer: _Observer) -> None:
        self._monitor = monitor
        self._observer = observer
        self._place = monitor.after(monitor.start, observer.letter)

    def hear(self, event: Event) -> MonitorVerdict:
        self._observer.hear(event)
        self._place = self._monitor.after(self._place, self._observer.letter)
        return self.outlook

    @property
    def outlook(self) -> MonitorVerdict:
        outlook = self._monitor.outlooks[self._place]
        if not self._observer.over:
            return outlook
        return MonitorVerdict.TRUE if outlook.positive else MonitorVerdict.FALSE


class _Followed(Protocol):
    """What a monitor asks of its subject."""

    def automaton(self) -> Deterministic[Any, str] | None:
        """The formula over what the subject allows; None where its model does not say that.

        Raises `TooLarge` where that has too many states.
        """

    def members(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of a session's members, where they are `names`, or are not."""

    def label(self, members: tuple[str, ...]) -> Callable[[Event], str]:
        """How the model calls an event of a session between these; `Refused` where it cannot."""

    def observer(self, members: tuple[str, ...]) -> _Observer:
        """A session between these, before its first event."""


class _OfRules:
    """INTERACT or PXP between two agents."""

    def __init__(self, formula: Formula, rules: Rules, assumptions: frozenset[Assumption]) -> None:
        self._formula, self._rules, self._assumptions = formula, rules, assumptions
        table = rules.automaton
        self._read = reading(atoms(formula), (table, table))
        tests = [self._read.tests[atom.name] for atom in _names(formula)]
        self._letter = cache(lambda seen: tuple(holds(seen) for holds in tests))
        self._heard: dict[tuple[Seen, int, str, str], Seen | None] = {}

    def automaton(self) -> Deterministic[Any, str] | None:
        rules = self._rules
        if isinstance(rules, Pxp):
            if rules.hang_up:
                return None
            rules = replace(rules, k=None)  # PXP allows whatever PXP(k) does, and is much smaller
        model = SessionModel(rules, Theory(self._assumptions), observes=False)
        return over(self._formula, ObservedSessions(model, self._read), _STATES)

    def members(self, names: tuple[str, ...]) -> tuple[str, ...]:
        called = names or AGENTS
        if len(called) != len(AGENTS):
            raise UsageError(f"{self._rules.name} is between two agents, not {len(called)}")
        if len(set(called)) < len(called):
            raise UsageError(
                f"both agents are named {called[0]!r}; messages do not tell them apart"
            )
        return called

    def label(self, members: tuple[str, ...]) -> Callable[[Event], str]:
        who = {name: f"{agent} " for name, agent in zip(members, AGENTS, strict=True)}

        def labelled(event: Event) -> str:
            action = event.action
            if isinstance(action, Exchange | Send) and action.sender in who:
                return who[action.sender] + action.tag
            raise Refused(
                f"event {event.number} ({action}) is no message of the agents of this session, "
                f"{', '.join(who)}"
            )

        return labelled

    def observer(self, members: tuple[str, ...]) -> SessionObserver:
        initiator, responder = members
        names = initiator, responder
        return SessionObserver(self._read, self._rules, names, self._heard, self._letter)


class SessionObserver:
    """What formulas see of a protocol's session, from its messages alone, by tables and rules.

    `agents` are the initiator's and the responder's names in its messages; `known` remembers what
    was seen in other sessions after the same message.
    """

    def __init__(
        self,
        read: SessionReading,
        rules: Rules,
        agents: tuple[str, str],
        known: dict[tuple[Seen, int, str, str], Seen | None] | None = None,
        letter: Callable[[Seen], Letter] = lambda _seen: (),
    ) -> None:
        self.seen = read.start()
        self._read = read
        self._rules = rules
        self._agents = agents
        self._history: list[Message] = []
        self._known = {} if known is None else known
        self._letter = letter

    @property
    def letter(self) -> Letter:
        return self._letter(self.seen)

    @property
    def over(self) -> bool:
        return bool(self.seen.over)

    def hear(self, event: Event) -> Seen:
        """What is seen after `event`; `Refused` where tables or rules do not allow it."""
        action = event.action
        if not isinstance(action, Exchange | Send) or action.sender not in self._agents:
            raise self._refused(event)
        sender = self._agents.index(action.sender)
        if sender and not self._history:
            raise self._refused(event)
        self._history.append(
            event.message
            or Message("", event.number, action.sender, action.tag, _NOTHING, action.receiver)
        )
        ending = self._rules.ending(self._history)
        key = (self.seen, sender, action.tag, "" if ending is None else ending.value)
        if key not in self._known:
            self._known[key] = self._after(*key)
        seen = self._known[key]
        if seen is None:
            self._history.pop()
            raise self._refused(event)
        self.seen = seen
        return seen

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

    def _refused(self, event: Event) -> Refused:
        return Refused(
            f"event {event.number} ({event.action}) is none that {self._rules.name} allows after "
            f"{len(self._history)} messages"
        )


class _OfSystem:
    """A system of any members."""

    def __init__(self, formula: Formula, system: System) -> None:
        composition = Composition(system)
        asked = set(atoms(formula))
        known = vocabulary(composition, asked)
        if asked - known:
            raise unknown(asked - known, known, "there is no")
        self._formula, self._system = formula, system
        self._noting = Noting(composition, asked)
        self._order = [atom.name for atom in _names(formula)]

    def automaton(self) -> Deterministic[Any, str]:
        return over(self._formula, self._noting, _STATES)

    def members(self, names: tuple[str, ...]) -> tuple[str, ...]:
        own = tuple(member.name for member in self._system.members)
        if names and names != own:
            raise UsageError(f"the members of {self._system.name} are {', '.join(own)}")
        return own

    def label(self, _members: tuple[str, ...]) -> Callable[[Event], str]:
        called = lru_cache(_LABELS)(str)
        return lambda event: called(event.action)

    def observer(self, _members: tuple[str, ...]) -> _SystemObserver:
        return _SystemObserver(self._system, self._noting, self._order)


class _SystemObserver:
    """What formulas see of a system's session, from its actions alone."""

    def __init__(self, system: System, noting: Noting, order: list[str]) -> None:
        self._system, self._noting, self._order = system, noting, order
        (start,) = noting.initial()
        self._enter(start)

    def _enter(self, state: NotedState) -> None:
        self._steps: list[Step[NotedState]] = list(self._noting.successors(state))
        there = self._noting.propositions(state)
        self.letter: Letter = tuple(name in there for name in self._order)

    @property
    def over(self) -> bool:
        return not self._steps

    def hear(self, event: Event) -> None:
        target = next((step.target for step in self._steps if step.action == event.action), None)
        if target is None:
            raise Refused(f"{self._system.name} does not allow {event.action} here")
        self._enter(target)


def _names(formula: Formula) -> Iterator[Atom]:
    """The propositions of a formula in the order of a letter."""
    return (atom for atom in atoms_of(formula) if isinstance(atom, Atom))
