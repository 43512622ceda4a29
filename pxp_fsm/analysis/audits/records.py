"""The audit of recorded sessions of any kind: the findings of each, and their counts.

The authors' published code wrote a file `tags.txt`: one session per line, tags only.

    sessionID-3f2a, ailment-Pneumonia ::: tags-['Machine: init', 'Human: refute']

Its other files hold Python objects, which loading would run: they are not read. As that code
counts, a session is one-way intelligible for the human if its last tag is RATIFY; for the machine,
if its last tag is RATIFY or it sent a REVISE in this session or any before it: the note of that is
never cleared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from backends.databases import SqlBlackboard
from backends.databases.recordings import (
    Details,
    RecordedSession,
    recorded_sessions,
)
from backends.databases.records import SYSTEM, stored_system
from proofs.audit import (
    Audited,
    AuditedMessage,
    AuditedSession,
    AuditFinding,
    FindingKind,
    Possible,
    audited,
)
from proofs.audit.findings import FAULTS
from proofs.audit.sessions import AsPublished, AuditSubject, ProtocolTags
from proofs.audit.systems import SystemTables
from proofs.languages import Word, class_language
from proofs.languages.published_code import K
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.documents import lines_of, open_to_read
from pxp_fsm.errors import DataError, NotInstalled, PXPError, UsageError, counted, quoted
from pxp_fsm.experiments.drawings import chosen_runs
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.rules import Interact, Pxp

_LINE = re.compile(r"sessionID-([^\s,]+), (?:ailment|mol)-(.*) ::: tags-\[(.*)\]", re.DOTALL)
_TAG = re.compile(r"'(Machine|Human): ([A-Za-z_]{1,40})'")


def published_words(path: Path) -> list[Word]:
    """The tag sequences of its sessions, in their order. Raises `DataError` as below."""
    return [recording.word for recording, _ in published_recordings(path, AsPublished())]


def published_recordings(path: Path, followed: AsPublished) -> Iterator[tuple[AuditedSession, str]]:
    """Its sessions as recordings, each with what it is about.

    The code writes a line when a session is over. Raises `DataError` for a line of another form.
    """
    with open_to_read(path) as file:
        for number, line in lines_of(path, file):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
            if text.strip():
                yield _recording(text.rstrip("\r\n"), f"{path}, line {number}", followed)


def _recording(line: str, where: str, followed: AsPublished) -> tuple[AuditedSession, str]:
    match = _LINE.fullmatch(line)
    parts = match[3].split(", ") if match is not None and match[3] else []
    tags = [_TAG.fullmatch(part) for part in parts]
    if match is None or None in tags:
        raise DataError(
            f"{where}: it is not sessionID-NAME, ailment-WHAT ::: tags-['Machine: init', ...]: "
            f"{quoted(line)}"
        )
    messages = tuple(
        AuditedMessage(tag[1] == "Machine", tag[2].upper(), "", "") for tag in tags if tag
    )
    recording = AuditedSession(match[1], messages, None)
    # where it is not over, it is told that the rules go on: any ending of theirs shows that
    ending = followed.ending(recording.word) or "bound"
    return AuditedSession(match[1], messages, ending), match[2]


def as_counted(words: Sequence[Word]) -> Iterable[tuple[str, int, int]]:
    """Each class with how many sessions are in it: by the definitions, and as that code counts."""
    human = [_last(word, "h") == "RATIFY" for word in words]
    machine, revised = list[bool](), False
    for word in words:
        revised = revised or "m:REVISE" in word
        machine.append(revised or _last(word, "m") == "RATIFY")
    counts = {
        "one_way:h": sum(human),
        "one_way:m": sum(machine),
        "two_way": sum(
            accepted and ratified for accepted, ratified in zip(human, machine, strict=True)
        ),
    }
    for name, theirs in counts.items():
        yield name, sum(word in class_language(name) for word in words), theirs


def _last(word: Word, agent: str) -> str:
    return next((letter.tag for letter in reversed(word) if letter.agent == agent), "")


_UNREADABLE = "the tables or actions stored with it cannot be read; see pxp verify"
_WITHOUT_PLAN = "they are of panels of a program, whose rules are not stored with them"
_ERASED = "they were erased, and a panel's audit compares texts"
_DERIVED = re.compile(r"(?:^|.* )guards=derived(?:, never revises)? MATCH=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SessionFindings:
    """A session that something was found of; of a system, its `tags` are its actions."""

    session: str
    instance: str
    tags: tuple[str, ...]
    ending: str | None
    possible: Possible
    findings: tuple[AuditFinding, ...]
    step: str = "message"
    """What the numbers of findings count: of a system, actions."""


@dataclass
class AuditReport:
    """What came of an audit.

    `possible` counts sessions by what may be assumed of their judges, `systems` those of systems,
    which have none, `kinds` sessions by what was found of them; `skipped` counts the reasons why
    sessions could not be audited. `counted` has, for recordings of the published code, each class:
    by the definition, and as that code counts.
    """

    source: str
    protocol: str = ""
    sessions: int = 0
    messages: int = 0
    systems: int = 0
    possible: Counter[Possible] = field(default_factory=Counter)
    kinds: Counter[FindingKind] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    counted: tuple[tuple[str, int, int], ...] = ()
    noted: list[SessionFindings] = field(default_factory=list)

    @property
    def faults(self) -> int:
        """Sessions with something that agents, judges and records at work never leave."""
        return sum(
            any(finding.kind in FAULTS for finding in noted.findings) for noted in self.noted
        )

    def take(self, recording: AuditedSession, instance: str, result: Audited) -> None:
        """Count a session; what was found of it is kept."""
        if recording.events is None or recording.agents:
            self.possible[result.possible] += 1
        else:
            self.systems += 1
        self.kinds.update({finding.kind for finding in result.findings})
        if result.findings:
            self.noted.append(
                SessionFindings(
                    recording.name,
                    instance,
                    recording.steps,
                    recording.ending,
                    result.possible,
                    result.findings,
                    recording.counts,
                )
            )


def audit_database(
    board: SqlBlackboard, runs: Sequence[str], unread: Mapping[str, int] = MappingProxyType({})
) -> AuditReport:
    """Audit every session of `runs` (none: of all there are).

    `unread` counts sessions of the recording that are not on `board`, by the reason. Raises
    `NotThere` for a run that is not there, and `NotInstalled` where a library is not.
    """
    records = chosen_runs(board, runs, "to audit")
    report = AuditReport(board.shown, sessions=sum(unread.values()), skipped=Counter(unread))
    for stored in chain.from_iterable(_recordings(board, record.run) for record in records):
        report.sessions += 1
        report.messages += stored.recording.messages
        if isinstance(stored.subject, str):
            report.skipped[stored.subject] += 1
            continue
        try:
            result = audited(stored.recording, stored.subject)
        except NotInstalled:
            raise
        except UsageError as error:
            report.skipped[str(error)] += 1
        except PXPError:
            report.skipped[_UNREADABLE] += 1
        else:
            report.take(stored.recording, stored.instance, result)
    return report


@dataclass(frozen=True, slots=True)
class _Stored:
    """A recorded session, what it is about, and what it followed, or why that is not known."""

    recording: AuditedSession
    instance: str
    subject: AuditSubject | str


def _recordings(board: SqlBlackboard, run: str) -> Iterator[_Stored]:
    """Every session of `run`, one at a time in memory; those of systems and of several agents
    last, in their order.

    What was said between two agents is known by its digests; of a system's session the payloads
    are read, for their schemas.
    """
    known: dict[tuple[str, int | None, int | None, str, str], AuditSubject | str] = {}
    of_systems = list[tuple[str, str]]()
    of_several = list[tuple[str, str, AuditSubject | str]]()
    for session in recorded_sessions(board, run, Details.PAIRS):
        if session.protocol == SYSTEM:  # read one by one, when nothing else is being read
            of_systems.append((session.session, session.instance))
            continue
        key = session.protocol, session.n, session.k, session.automaton, session.fingerprint
        if key not in known:
            known[key] = _protocol(*key)
        if session.turns:
            of_several.append((session.session, session.instance, known[key]))
            continue
        numbers = [message.number for message in session.messages]
        gap = numbers != list(range(1, len(numbers) + 1))
        subject = "messages of it are missing; see pxp verify" if gap else known[key]
        yield _Stored(_of_two(session), session.instance, subject)
    for name, about in of_systems:
        try:
            stored = board.session(name)
            system = stored_system(stored.record.members, stored.record.channel)
        except PXPError:
            yield _Stored(AuditedSession(name, (), None, events=()), about, _UNREADABLE)
        else:
            recording = AuditedSession(name, (), stored.record.ending, events=stored.events)
            yield _Stored(recording, about, SystemTables(system))
    yield from _of_several(board, run, of_several)


def _of_several(
    board: SqlBlackboard, run: str, sessions: Sequence[tuple[str, str, AuditSubject | str]]
) -> Iterator[_Stored]:
    """Sessions of several agents by the kind of their run; each has what is known of its table."""
    if not sessions:
        return
    record = board.run(run)
    kind, erased = kind_of(record), {erasure.session for erasure in board.erasures(run)}
    for name, about, table in sessions:
        stored = board.session(name)
        names = tuple(agent for agent, _ in stored.record.agents)
        recording = AuditedSession(
            name, (), stored.record.ending, events=stored.events, agents=names
        )
        subject: AuditSubject | str
        if isinstance(table, str):
            subject = table
        elif kind is None:
            subject = _WITHOUT_PLAN
        elif name in erased:
            subject = _ERASED
        else:
            subject = kind.audited(stored_plan(record), stored.record)
        yield _Stored(recording, about, subject)


def _of_two(session: RecordedSession) -> AuditedSession:
    (first, first_is), (_, second_is) = session.agents
    return AuditedSession(
        session.session,
        tuple(
            [
                AuditedMessage(sender == first, tag, y, e, judged)
                for _, sender, tag, y, e, judged in session.messages
            ]
        ),
        session.ending,
        session.unsent,
        (derives(first_is), derives(second_is)),
        frozenset(session.assumptions.split()),
    )


@cache
def derives(description: str) -> bool:
    """Whether an agent's guards follow from its relations, as its description says."""
    return _DERIVED.fullmatch(description) is not None


def _protocol(
    protocol: str, n: int | None, k: int | None, automaton: str, fingerprint: str
) -> AuditSubject | str:
    """The protocol that a session is recorded to have followed, or why it is not at hand."""
    if automaton not in BUILTIN:
        return f"it followed the table {automaton!r}, which is not one of the package's"
    if builtin(automaton).fingerprint != fingerprint:
        return f"it followed another table {automaton} than today's"
    try:
        if (protocol, automaton) == ("interact", "interact") and n is not None and k is not None:
            return ProtocolTags(Interact(n, k))
        if (protocol, automaton, n) == ("pxp", "pxp", None):
            return ProtocolTags(Pxp(k))
    except UsageError as error:
        return str(error)
    return f"what {protocol} with the table {automaton} allows is not known here"


def audit_published(path: Path, rounds: int) -> AuditReport:
    """Audit the `tags.txt` that the authors' published code left, run with so many rounds.

    Raises `DataError` for a line of another form.
    """
    followed = AsPublished(rounds)
    bounds = f"{counted(rounds, 'round')}, k = {K}"
    report = AuditReport(str(path), f"INTERACT as the published code reads it, {bounds}")
    words = []
    for recording, about in published_recordings(path, followed):
        report.sessions += 1
        report.messages += recording.messages
        report.take(recording, about, audited(recording, followed))
        words.append(recording.word)
    report.counted = tuple(as_counted(words))
    return report
