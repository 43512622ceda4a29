"""Monitoring of formulas over the sessions of a run, live and recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backends.databases import SessionRecord, SqlBlackboard
from backends.databases.recordings import RecordedSession, recorded_sessions
from backends.databases.records import stored_system
from proofs.logic.monitor import MonitorVerdict
from proofs.logic.parsing import parse
from proofs.logic.session_monitor import SessionMonitor, Watch
from proofs.systems.monitor import SystemMonitor, SystemWatch
from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.errors import NotThere, Refused, UsageError, quoted
from pxp_fsm.experiments.drawings import rules_of
from pxp_fsm.experiments.runs import Progress
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.sessions.occurrences import Occurrence

_NAMED = 5
"""How many sessions a summary names that a formula is false of."""

_NOTHING = Answer("", "")
"""A monitor hears tags; the texts of a recording are not read."""


@dataclass(frozen=True)
class MonitorResult:
    """How a formula stands after a session: the verdict, and the message that settled it, if one
    has (0: before the first).
    """

    session: str
    outlook: MonitorVerdict
    settled_at: int | None
    message: str = ""

    @property
    def shown(self) -> str:
        """The session with the message that settled it."""
        at = f" at message {self.settled_at}" if self.settled_at else ""
        return f"{self.session}{at}{f' ({self.message})' if self.message else ''}"


@dataclass(frozen=True)
class Tally:
    """A formula over the sessions of a run."""

    formula: str
    heard: tuple[MonitorResult, ...]
    over_the_protocol: bool

    @property
    def violated(self) -> bool:
        """Whether it is false of a session."""
        return any(one.outlook is MonitorVerdict.FALSE for one in self.heard)

    @property
    def line(self) -> str:
        """How many sessions it is true of, false of, presumably so; which ones it is false of."""
        counts = Counter(one.outlook for one in self.heard)
        told = ", ".join(f"{o.value} in {counts[o]}" for o in MonitorVerdict if counts[o])
        false = [one.shown for one in self.heard if one.outlook is MonitorVerdict.FALSE]
        more = f" and {len(false) - _NAMED} more" if len(false) > _NAMED else ""
        where = f": false in {', '.join(false[:_NAMED])}{more}" if false else ""
        return f"Monitor {self.formula}: {told or 'no session'}{where}"


class Monitors:
    """Formulas as monitors, made once for each protocol that sessions follow.

    Raises `UsageError` for a formula that cannot be read; `under` does for one that is none of
    sessions.
    """

    def __init__(self, formulas: Sequence[str]) -> None:
        self.formulas = {formula: parse(formula) for formula in formulas}
        self._made: dict[tuple[str, str, int | None, int | None], Mapping[str, SessionMonitor]] = {}
        self._of_systems: dict[str, Mapping[str, SystemMonitor]] = {}

    def under(self, rules: Rules) -> Mapping[str, SessionMonitor]:
        """The monitors for sessions under `rules`, by formula."""
        key = (rules.name, rules.automaton.name, rules.n, rules.k)
        if key not in self._made:
            self._made[key] = {
                written: SessionMonitor(formula, rules)
                for written, formula in self.formulas.items()
            }
        return self._made[key]

    def of_system(self, system: System) -> Mapping[str, SystemMonitor]:
        """The monitors for sessions of `system`, by formula."""
        key = system.fingerprint
        if key not in self._of_systems:
            self._of_systems[key] = {
                written: SystemMonitor(formula, system)
                for written, formula in self.formulas.items()
            }
        return self._of_systems[key]

    def follow_actions(
        self, system: System, session: str, taken: Iterable[SystemAction]
    ) -> Iterator[tuple[SystemAction | None, tuple[MonitorVerdict, ...]]]:
        """How all formulas stand before the first action of a system's session, and after each."""
        watches = [monitor.watch() for monitor in self.of_system(system).values()]
        yield None, tuple(watch.outlook for watch in watches)
        for action in taken:
            try:
                yield action, tuple(watch.hear(action) for watch in watches)
            except Refused as error:
                raise UsageError(f"session {session} cannot be monitored: {error}") from error

    def hear(
        self, record: SessionRecord | RecordedSession, sent: Sequence[Message]
    ) -> Iterator[MonitorResult]:
        """How each formula stands after the messages of a recorded session."""
        for watch in self._watches(record).values():
            yield _listened(record.session, watch, sent)

    def follow(
        self, record: SessionRecord, sent: Sequence[Message]
    ) -> Iterator[tuple[Message | None, tuple[MonitorVerdict, ...]]]:
        """How all formulas stand before the first message of a session (None) and after each."""
        watches = tuple(self._watches(record).values())
        yield None, tuple(watch.outlook for watch in watches)
        for message in sent:
            yield message, tuple(_hears(record.session, watch, message) for watch in watches)

    def _watches(self, record: SessionRecord | RecordedSession) -> dict[str, Watch]:
        monitors = self.under(rules_of(record))
        names = [name for name, _ in record.agents]
        return {written: one.watch(names[0], names[1]) for written, one in monitors.items()}


@dataclass
class Live:
    """What a run's sessions are told about as they go on: `say` is called with a line a violation.

    `earlier` gives the messages of a session that was begun before.
    """

    monitors: Mapping[str, SessionMonitor]
    earlier: Callable[[str], Iterable[Message]]
    say: Callable[[str], None] = print
    _watched: dict[str, dict[str, Watch]] = field(default_factory=dict)

    def beside(self, on_step: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """`on_step`, and then the monitors."""
        if not self.monitors:
            return on_step

        def both(step: Progress) -> None:
            on_step(step)
            self.hear(step)

        return both

    def hear(self, step: Progress) -> None:
        """A message that was sent, or a session that is over."""
        message = step.message
        if message is None:
            self._watched.pop(step.session, None)
            return
        if step.session not in self._watched:
            self._watched[step.session] = self._begun(message)
        watched = self._watched[step.session]
        for written, watch in watched.items():
            before = watch.outlook
            if watch.hear(message) is MonitorVerdict.FALSE and before is not MonitorVerdict.FALSE:
                self.say(
                    f"Monitor {written}: false in {step.session} at message {message.number} "
                    f"({message.sender} {message.tag})"
                )

    def _begun(self, message: Message) -> dict[str, Watch]:
        sent = [m for m in self.earlier(message.session) if m.number < message.number]
        first = (sent or [message])[0]
        watches = {
            written: one.watch(first.sender, first.receiver)
            for written, one in self.monitors.items()
        }
        for watch in watches.values():
            for one in sent:
                watch.hear(one)
        return watches


@dataclass
class LiveActions:
    """The same for sessions of `system`: hears each action once it is stored on `board`."""

    monitors: Mapping[str, SystemMonitor]
    board: SqlBlackboard
    say: Callable[[str], None] = print
    _watched: dict[str, dict[str, SystemWatch]] = field(default_factory=dict)

    def hear(self, session: str, occurrence: Occurrence) -> None:
        """An action that has happened; a session that was begun before is heard from its start."""
        if not self.monitors:
            return
        if session not in self._watched:
            self._watched[session] = {text: one.watch() for text, one in self.monitors.items()}
            if occurrence.number > 1:
                for earlier in self.board.actions(session)[: occurrence.number - 1]:
                    for watch in self._watched[session].values():
                        watch.hear(earlier.action)
        for text, watch in self._watched[session].items():
            before = watch.outlook
            after = watch.hear(occurrence.action)
            if after is MonitorVerdict.FALSE and before is not MonitorVerdict.FALSE:
                self.say(
                    f"Monitor {text}: false in {session} at action {occurrence.number} "
                    f"({occurrence.action})"
                )


def foregone(monitors: Mapping[str, SessionMonitor], rules: Rules) -> Iterator[str]:
    """What is known of formulas before any session begins, in words."""
    for written, monitor in monitors.items():
        outlook = monitor.watch().outlook
        if monitor.over_the_protocol and outlook.settled:
            yield f"Monitor {written}: {outlook.value} of every session that {rules.name} allows"
        elif not monitor.over_the_protocol:
            yield (
                f"Monitor {written}: decided by itself, since {rules.name} has too many states to "
                f"say what it still allows"
            )


def tallies(monitors: Monitors, board: SqlBlackboard, run: str) -> tuple[Tally, ...]:
    """Each formula over all sessions that are stored of `run`, in the order of the sessions.

    Raises `NotThere` where there is no such run, `UsageError` where a session followed another
    table than today's.
    """
    if any(record.channel for record in board.sessions(run, limit=1)):
        return _tallies_of_systems(monitors, board, run)
    heard: dict[str, list[MonitorResult]] = {written: [] for written in monitors.formulas}
    rules: Rules | None = None
    for session in recorded_sessions(board, run):
        rules = rules or rules_of(session)
        found = monitors.hear(session, _messages(session))
        for written, one in zip(heard, found, strict=True):
            heard[written].append(one)
    if rules is None:
        known = ", ".join(record.run for record in board.runs()) or "none"
        raise NotThere(f"{board.shown} has no run {quoted(run)} with sessions; runs: {known}")
    over = monitors.under(rules)
    return tuple(
        Tally(written, tuple(found), over[written].over_the_protocol)
        for written, found in heard.items()
    )


def _tallies_of_systems(monitors: Monitors, board: SqlBlackboard, run: str) -> tuple[Tally, ...]:
    heard: dict[str, list[MonitorResult]] = {written: [] for written in monitors.formulas}
    over = dict.fromkeys(monitors.formulas, True)
    for record in board.sessions(run):
        if not record.channel:
            raise UsageError(f"session {record.session} is none of a system; monitor it by itself")
        system = stored_system(record.members, record.channel)
        for written, monitor in monitors.of_system(system).items():
            watch, said = monitor.watch(), ""
            settled = 0 if watch.outlook.settled else None
            for one in board.actions(record.session):
                outlook = watch.hear(one.action)
                if settled is None and outlook.settled:
                    settled, said = one.number, str(one.action)
            heard[written].append(MonitorResult(record.session, watch.outlook, settled, said))
            over[written] = over[written] and monitor.over_the_protocol
    return tuple(Tally(written, tuple(found), over[written]) for written, found in heard.items())


def _listened(session: str, watch: Watch, sent: Iterable[Message]) -> MonitorResult:
    settled, said = (0 if watch.outlook.settled else None), ""
    for message in sent:
        outlook = _hears(session, watch, message)
        if settled is None and outlook.settled:
            settled, said = message.number, f"{message.sender} {message.tag}"
    return MonitorResult(session, watch.outlook, settled, said)


def _hears(session: str, watch: Watch, message: Message) -> MonitorVerdict:
    try:
        return watch.hear(message)
    except Refused as error:
        raise UsageError(f"session {session} cannot be monitored: {error}") from error


def _messages(session: RecordedSession) -> list[Message]:
    peer = {session.initiator: session.responder, session.responder: session.initiator}
    return [
        Message(session.session, number, sender, tag, _NOTHING, peer.get(sender, ""))
        for number, sender, tag, *_ in session.messages
    ]
