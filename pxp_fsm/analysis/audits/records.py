"""The audit of many recorded sessions: the findings of each, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from backends.databases import SqlBlackboard
from backends.databases.own_sessions import SYSTEM
from proofs.audit import Audited, Finding, Kind, Possible, Recording, audited
from proofs.audit.findings import FAULTS
from proofs.audit.sessions import AsPublished
from proofs.audit.tags import Protocols
from proofs.languages.published_code import K
from pxp_fsm.analysis.audits.published_tags import as_counted, published_recordings
from pxp_fsm.analysis.audits.reading import recordings
from pxp_fsm.analysis.audits.systems import system_findings
from pxp_fsm.automata.actions import Exchange, Send
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments.drawings import chosen_runs
from pxp_fsm.experiments.summary import counted


@dataclass(frozen=True, slots=True)
class Noted:
    """A session that something was found of; of a system, its `tags` are its actions."""

    session: str
    instance: str
    tags: tuple[str, ...]
    ending: str | None
    possible: Possible
    findings: tuple[Finding, ...]
    step: str = "message"
    """What the numbers of findings count: of a system, actions."""


@dataclass
class Report:
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
    kinds: Counter[Kind] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    counted: tuple[tuple[str, int, int], ...] = ()
    noted: list[Noted] = field(default_factory=list)

    @property
    def faults(self) -> int:
        """Sessions with something that agents, judges and records at work never leave."""
        return sum(any(one.kind in FAULTS for one in noted.findings) for noted in self.noted)

    def take(self, recording: Recording, instance: str, found: Audited) -> None:
        """Count a session; what was found of it is kept."""
        self.possible[found.possible] += 1
        self.kinds.update({one.kind for one in found.findings})
        if found.findings:
            self.noted.append(
                Noted(
                    recording.name,
                    instance,
                    recording.word,
                    recording.ending,
                    found.possible,
                    found.findings,
                )
            )


def audit_database(
    board: SqlBlackboard, runs: Sequence[str], unread: Mapping[str, int] = MappingProxyType({})
) -> Report:
    """Audit every session of `runs` (none: of all there are).

    `unread` counts sessions of the recording that are not on `board`, by the reason. Raises
    `NotThere` for a run that is not there.
    """
    records = chosen_runs(board, runs, "to audit")
    report = Report(board.shown, sessions=sum(unread.values()), skipped=Counter(unread))
    followed, of_systems = dict[object, Protocols](), list[tuple[str, str]]()
    for stored in chain.from_iterable(recordings(board, record.run) for record in records):
        report.sessions += 1
        report.messages += len(stored.recording.said)
        if stored.why_not == SYSTEM:
            of_systems.append((stored.recording.name, stored.instance))
            continue
        if stored.rules is None:
            report.skipped[stored.why_not] += 1
            continue
        protocol = followed.setdefault(stored.rules, Protocols(stored.rules))
        try:
            found = audited(stored.recording, protocol)
        except UsageError as error:
            report.skipped[str(error)] += 1
            continue
        report.take(stored.recording, stored.instance, found)
    for name, about in of_systems:  # read one by one, when nothing else is being read
        _audit_system(board, report, name, about)
    return report


def _audit_system(board: SqlBlackboard, report: Report, name: str, about: str) -> None:
    """Count a session of a system; what was found of it is kept."""
    try:
        session = board.session(name)
        findings = tuple(system_findings(session))
    except PXPError:
        report.skipped["the tables or actions stored with it cannot be read; see pxp verify"] += 1
        return
    actions = [str(one.action) for one in session.actions]
    report.systems += 1
    report.messages += sum(isinstance(one.action, Exchange | Send) for one in session.actions)
    report.kinds.update({one.kind for one in findings})
    if findings:
        left = min(one.kind.leaves for one in findings)
        ending = session.record.ending
        report.noted.append(Noted(name, about, tuple(actions), ending, left, findings, "action"))


def audit_published(path: Path, rounds: int) -> Report:
    """Audit the `tags.txt` that the authors' published code left, run with so many rounds.

    Raises `DataError` for a line of another form.
    """
    followed = AsPublished(rounds)
    bounds = f"{counted(rounds, 'round')}, k = {K}"
    report = Report(str(path), f"INTERACT as the published code reads it, {bounds}")
    words = []
    for recording, about in published_recordings(path, followed):
        report.sessions += 1
        report.messages += len(recording.said)
        report.take(recording, about, audited(recording, followed))
        words.append(recording.word)
    report.counted = tuple(as_counted(words))
    return report
