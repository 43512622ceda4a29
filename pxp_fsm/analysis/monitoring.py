"""Monitoring of formulas over the sessions of a run, live and recorded, of any subject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from backends.databases import SessionRecord, SqlBlackboard
from backends.databases.recordings import RecordedAction, recorded_actions
from backends.databases.records import stored_system
from proofs.logic.monitor import MonitorVerdict
from proofs.logic.parsing import parse
from proofs.monitor import EventMonitor, Watch
from pxp_fsm.automata.actions import Exchange, Send, SystemAction, action_of
from pxp_fsm.automata.system import System
from pxp_fsm.errors import NotThere, PXPError, Refused, UsageError, quoted
from pxp_fsm.experiments.drawings import rules_of
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.experiments.runs import OnStep, Progress
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.sessions.events import Event

_NAMED = 5
"""How many sessions a summary names that a formula is false of."""


@dataclass(frozen=True)
class MonitorResult:
    """How a formula stands after a session: the verdict, and the event that settled it, if one has
    (0: before the first), by its number and in words. `counts` is what the numbers count.
    """

    session: str
    outlook: MonitorVerdict
    settled_at: int | None
    event: str = ""
    counts: str = "message"

    @property
    def shown(self) -> str:
        """The session with the event that settled it."""
        at = f" at {self.counts} {self.settled_at}" if self.settled_at else ""
        return f"{self.session}{at}{f' ({self.event})' if self.event else ''}"


@dataclass(frozen=True)
class NotMonitored:
    """A session, or a part of a recording, that could not be read, and why."""

    session: str
    reason: str

    @property
    def line(self) -> str:
        """For a person."""
        return f"Not monitored: {self.session}: {self.reason}"


@dataclass(frozen=True)
class FormulaTally:
    """A formula over the sessions of a run."""

    formula: str
    heard: tuple[MonitorResult, ...]

    @property
    def violated(self) -> bool:
        """Whether it is false of a session."""
        return any(result.outlook is MonitorVerdict.FALSE for result in self.heard)

    @property
    def line(self) -> str:
        """How many sessions it is true of, false of, presumably so; which ones it is false of."""
        counts = Counter(result.outlook for result in self.heard)
        told = ", ".join(f"{o.value} in {counts[o]}" for o in MonitorVerdict if counts[o])
        false = [result.shown for result in self.heard if result.outlook is MonitorVerdict.FALSE]
        more = f" and {len(false) - _NAMED} more" if len(false) > _NAMED else ""
        where = f": false in {', '.join(false[:_NAMED])}{more}" if false else ""
        return f"Monitor {self.formula}: {told or 'no session'}{where}"


@dataclass(frozen=True)
class MonitoredRun:
    """The formulas over a run, in the order in which they were given, and what was not read."""

    tallies: tuple[FormulaTally, ...]
    unread: tuple[NotMonitored, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """For a person: a line a formula, and one each session that was not read."""
        return (*(tally.line for tally in self.tallies), *(kind.line for kind in self.unread))


class SessionWatch:
    """All formulas in one session: `hear` each event in order, then see the `outlooks`.

    `settled` has, by formula, the event at which it was settled; None before the first event.
    """

    def __init__(
        self,
        session: str,
        watches: Mapping[str, Watch],
        counts: str,
        seated: Callable[[SystemAction], SystemAction] = lambda action: action,
    ) -> None:
        self.session = session
        self._seated = seated
        self.counts = counts
        self._watches = watches
        self.settled: dict[str, Event | None] = {
            written: None for written, watch in watches.items() if watch.outlook.settled
        }

    @property
    def outlooks(self) -> tuple[MonitorVerdict, ...]:
        """How each formula stands."""
        return tuple(watch.outlook for watch in self._watches.values())

    def hear(self, event: Event) -> list[str]:
        """Take an event; the formulas that it settles. `Refused` where it is not allowed."""
        settles, heard = [], replace(event, action=self._seated(event.action))
        for written, watch in self._watches.items():
            if watch.hear(heard).settled and written not in self.settled:
                self.settled[written] = event
                settles.append(written)
        return settles

    def is_false(self, written: str) -> bool:
        """Whether a formula is false, whatever follows."""
        return self._watches[written].outlook is MonitorVerdict.FALSE

    def results(self) -> Iterator[MonitorResult]:
        """How each formula stands, and what settled it."""
        for written, watch in self._watches.items():
            event = self.settled.get(written)
            settled = None if written not in self.settled else event.number if event else 0
            action = self.said(event) if event else ""
            yield MonitorResult(self.session, watch.outlook, settled, action, self.counts)

    def said(self, event: Event) -> str:
        """An event in words: of a protocol's session the sender and the tag."""
        action = event.action
        if self.counts == "message" and isinstance(action, Exchange | Send):
            return f"{action.sender} {action.tag}"
        return str(action)


class UnfitFormula(UsageError):
    """A formula that cannot be monitored in sessions of some subject: it has no such proposition,
    or the formula speaks of more than one run.
    """


class Monitors:
    """Formulas as monitors, made once for each protocol or system that sessions follow.

    Raises `UsageError` for a formula that cannot be read; `of` raises `UnfitFormula`.
    """

    def __init__(self, formulas: Sequence[str]) -> None:
        self.formulas = {formula: parse(formula) for formula in formulas}
        self._made: dict[Rules | str, Mapping[str, EventMonitor]] = {}

    def of(self, subject: Rules | System) -> Mapping[str, EventMonitor]:
        """The monitors for sessions of `subject`, by formula."""
        key = subject.fingerprint if isinstance(subject, System) else subject
        if key not in self._made:
            try:
                self._made[key] = {
                    written: EventMonitor(formula, subject)
                    for written, formula in self.formulas.items()
                }
            except UsageError as error:
                raise UnfitFormula(str(error)) from error
        return self._made[key]

    def watch(self, session: str, subject: Rules | System, *agents: str) -> SessionWatch:
        """A session of `subject`, before its first event; of a protocol between `agents`."""
        counts = "action" if isinstance(subject, System) else "message"
        watches = {written: monitor.watch(*agents) for written, monitor in self.of(subject).items()}
        return SessionWatch(session, watches, counts)

    def of_record(self, record: SessionRecord, board: SqlBlackboard) -> SessionWatch:
        """A session that is recorded on `board`, before its first event.

        Among several agents each end of a channel is a member, as the session has it. Raises
        `UsageError` where its table is not here, or the rules of a panel are not stored.
        """
        if record.faults and not record.channel:
            run = board.run(record.run)
            kind = kind_of(run)
            if kind is None:
                raise UsageError(
                    f"session {record.session} is of a panel of a program, whose rules are not "
                    f"stored with it"
                )
            policy = kind.policy(stored_plan(run))
            watches = {
                written: monitor.watch() for written, monitor in self.of(policy.system()).items()
            }
            return SessionWatch(record.session, watches, "message", policy.seated)
        agents = () if record.channel else tuple(name for name, _ in record.agents)
        return self.watch(record.session, subject_of(record), *agents)


def subject_of(record: SessionRecord) -> Rules | System:
    """The protocol or the system that a recorded session followed.

    Raises `UsageError` or `TableError` where its tables are not here, or are none.
    """
    if record.channel:
        return stored_system(record.members, record.channel)
    return rules_of(record)


def listened(watch: SessionWatch, events: Iterable[Event]) -> Iterator[Event]:
    """Each of the events of a session once `watch` has heard it.

    Raises `Refused` where one is not allowed there, or one before it is missing.
    """
    for number, event in enumerate(events, start=1):
        if event.number != number:
            raise Refused(f"{watch.counts} {number} of it is missing; see pxp verify")
        watch.hear(event)
        yield event


def monitored(monitors: Monitors, board: SqlBlackboard, run: str) -> MonitoredRun:
    """The formulas over all sessions that are stored of `run`, in the order of the sessions.

    A session that cannot be read is named, and the others are monitored. Raises `NotThere` where
    there is no such run, and `UsageError` where the formulas speak of no session of it.
    """
    heard = dict[str, list[MonitorResult]]((written, []) for written in monitors.formulas)
    problems, sessions = dict[str, PXPError](), 0
    for record, actions in recorded_actions(board, run):
        sessions += 1
        try:
            watch = monitors.of_record(record, board)
            for _ in listened(watch, map(_event, actions)):
                pass
        except PXPError as error:
            problems[record.session] = error
            continue
        for history, result in zip(heard.values(), watch.results(), strict=True):
            history.append(result)
    unfit = [error for error in problems.values() if isinstance(error, UnfitFormula)]
    if unfit and len(unfit) == sessions:
        raise unfit[0]
    if not sessions:
        known = ", ".join(record.run for record in board.runs()) or "none"
        raise NotThere(f"{board.shown} has no run {quoted(run)} with sessions; runs: {known}")
    return MonitoredRun(
        tuple(FormulaTally(written, tuple(collected)) for written, collected in heard.items()),
        tuple(not_monitored(session, error) for session, error in problems.items()),
    )


def not_monitored(session: str, error: PXPError) -> NotMonitored:
    """`session`, which `error` keeps from being monitored."""
    return NotMonitored(session, str(error).removeprefix(f"session {session} "))


def _event(recorded: RecordedAction) -> Event:
    return Event(recorded.number, action_of(recorded.action))


@dataclass
class LiveMonitors:
    """The formulas over a run as it goes on: `say` is called with a line a violation.

    A session that was begun before is heard from its start, as `board` has it.
    """

    monitors: Monitors
    subject: Rules | System
    board: SqlBlackboard
    say: Callable[[str], None] = print
    _watched: dict[str, SessionWatch | None] = field(default_factory=dict)

    def beside(self, on_step: OnStep) -> OnStep:
        """`on_step`, and then the monitors."""
        if not self.monitors.formulas:
            return on_step

        def both(step: Progress) -> None:
            on_step(step)
            self.hear(step.session, step.event)

        return both

    def hear(self, session: str, event: Event | None) -> None:
        """What has happened in a session, or (None) that it is over.

        One in which something happens that the subject does not allow is named, and left.
        """
        if event is None or not self.monitors.formulas:
            self._watched.pop(session, None)
            return
        try:
            if session not in self._watched:
                self._watched[session] = self._begun(session, event)
            watch = self._watched[session]
            if watch is None:
                return
            for written in watch.hear(event):
                if watch.is_false(written):
                    self.say(
                        f"Monitor {written}: false in {session} at {watch.counts} {event.number} "
                        f"({watch.said(event)})"
                    )
        except (Refused, UsageError) as error:
            self._watched[session] = None
            self.say(not_monitored(session, error).line)

    def _begun(self, session: str, event: Event) -> SessionWatch:
        earlier = self.board.events(session)[: event.number - 1] if event.number > 1 else ()
        agents: tuple[str, ...] = ()
        if not isinstance(self.subject, System):
            agents = _agents((*earlier, event)[0])
        watch = self.monitors.watch(session, self.subject, *agents)
        for _ in listened(watch, earlier):
            pass
        return watch


def _agents(first: Event) -> tuple[str, ...]:
    """Who sends the first message of a session, and to whom."""
    message = first.carried
    return message.sender, message.receiver


def foregone(monitors: Monitors, subject: Rules | System) -> Iterator[str]:
    """What is known of formulas before any session begins, in words."""
    for written, monitor in monitors.of(subject).items():
        outlook = monitor.watch().outlook
        if monitor.over_the_model and outlook.settled:
            yield f"Monitor {written}: {outlook.value} of every session that {subject.name} allows"
        elif not monitor.over_the_model:
            yield (
                f"Monitor {written}: decided by itself, since {subject.name} has too many states "
                f"to say what it still allows"
            )
