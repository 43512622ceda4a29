"""The page of who conducts a study: how far everybody is, whom they wait for, what was said.

Arms stand on none of its responses but those that are asked for by themselves: nothing unblinds by
accident. They are compared once no blinded session can go on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

from fastapi import APIRouter, HTTPException

from backends.databases import SessionRecord, SqlBlackboard
from backends.databases.drafts import timings_of
from backends.databases.records import CONCLUDED
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.experiments import comparison, outcomes
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.erasures import given_out
from pxp_fsm.plugins.studies.files import number_of
from pxp_fsm.plugins.studies.lifecycles import ENDED
from pxp_fsm.plugins.studies.pages.host import StudyHost
from pxp_fsm.plugins.studies.participations import run_name
from pxp_fsm.plugins.studies.status import waits_for
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.experts.research import (
    Differences,
    NewLink,
    Researcher,
    Revoked,
    SessionResults,
    results_of,
)
from pxp_fsm.web.links import Links

STUDY = "study"
"""The name under which pages hear that the study itself has changed."""

_STOPPED = "a run has stopped; the server's log says why"
"""What a reason says of a partner would tell which one it is."""

_WITHDRAWN = ("WITHDRAWN", "ERASED")

Event = Literal["open", "pause", "resume", "close", "anonymise"]


@dataclass(frozen=True, slots=True)
class Line:
    """A participant: their status, how many tasks they were given, and whom they wait for."""

    subject: str
    status: str
    given: int
    waits: str
    sessions: int
    trouble: str


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study as it goes; `events` are what can happen to it now, `places` None once it has ended.

    `given_out` are the files that hold what somebody said who has withdrawn since.
    """

    name: str
    title: str
    state: str
    events: tuple[str, ...]
    experts: int
    places: int | None
    tasks: int
    statuses: dict[str, int]
    lines: tuple[Line, ...]
    endings: dict[str, int]
    costs: str
    panel: tuple[str, ...]
    unclean: bool
    given_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArmView:
    """What the sessions of an arm have come to, of all who have not withdrawn."""

    name: str
    results: SessionResults
    costs: str


@dataclass(frozen=True, slots=True)
class ArmsView:
    """The arms of a study, and how each two of them differ."""

    arms: tuple[ArmView, ...]
    differences: tuple[Differences, ...]


@dataclass(frozen=True, slots=True)
class SessionOf:
    """A session of a participant: where it is, what it is about, and how it ended, if it has."""

    id: str
    place: int
    position: int
    instance: str
    messages: int
    ending: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message, with the seconds that its author took where they are a person."""

    number: int
    mine: bool
    tag: str
    prediction: str
    explanation: str
    active: float | None
    idle: float | None


@dataclass(frozen=True, slots=True)
class SessionTranscript:
    """Everything that was said in a session."""

    id: str
    x: str
    ending: str
    messages: tuple[Said, ...]


def add_research(routes: APIRouter, host: StudyHost, links: Links) -> None:
    """The routes of the researcher's page."""
    conduct = host.conduct

    def known(subject: str) -> str:
        if subject not in conduct.subjects:
            raise HTTPException(404, "there is no such participant")
        return subject

    def changed(subject: str = "") -> StudyView:
        for looked_at in (subject,) if subject else conduct.subjects:
            host.look(looked_at)
        host.pages.tell(STUDY)
        return _view(host)

    @routes.get("/api/study")
    def study(_who: Researcher) -> StudyView:
        """The study, as it is now."""
        return _view(host)

    @routes.get("/api/study/results")
    def results(_who: Researcher) -> SessionResults:
        """What the sessions of all who have not withdrawn have come to, of all arms together."""
        return _results(
            conduct.board, [run for _subject, run, _arm in _runs(conduct)], "this study"
        )

    @routes.get("/api/study/arms")
    def compared(_who: Researcher) -> ArmsView:
        """The arms side by side; whoever asks for them is not blind any more."""
        if conduct.state not in ENDED and any(arm.blinded for arm in conduct.study.arms):
            raise Refused(
                "arms are compared once the study is closed: sessions of blinded arms may go on"
            )
        return _arms(conduct)

    @routes.post("/api/study/events/{event}")
    def happen(_who: Researcher, event: Event) -> StudyView:
        """Open, pause, resume, close or anonymise the study."""
        conduct.raise_event(event.upper())
        return changed()

    @routes.post("/api/study/participants")
    def invite(_who: Researcher) -> NewLink:
        """A new participant, with their link."""
        subject = conduct.join()
        changed(subject)
        return NewLink(subject, links.link(conduct.study.run, subject))

    @routes.post("/api/study/participants/{subject}/link")
    def link(_who: Researcher, subject: str) -> NewLink:
        """A new link for a participant; those before it stay valid."""
        return NewLink(known(subject), links.link(conduct.study.run, subject))

    @routes.post("/api/study/participants/{subject}/revoke")
    def revoke(_who: Researcher, subject: str) -> Revoked:
        """Revoke every link and device of a participant."""
        return Revoked(known(subject), links.revoke(conduct.study.run, subject))

    @routes.post("/api/study/participants/{subject}/reassign")
    def reassign(_who: Researcher, subject: str) -> StudyView:
        """Let a participant lapse now, so that their place is given to who comes next."""
        conduct.give_up(known(subject))
        return changed(subject)

    @routes.post("/api/study/participants/{subject}/withdraw")
    def withdraw(_who: Researcher, subject: str) -> StudyView:
        """Withdraw a participant on their word; what they said is erased."""
        conduct.act(known(subject), "WITHDRAW")
        return changed(subject)

    @routes.get("/api/study/participants/{subject}/sessions")
    def sessions(_who: Researcher, subject: str) -> tuple[SessionOf, ...]:
        """The sessions of a participant, in order."""
        return tuple(_session(*stored) for stored in _stored(host, known(subject)))

    @routes.get("/api/study/participants/{subject}/sessions/{session}")
    def transcript(_who: Researcher, subject: str, session: str) -> SessionTranscript:
        """What was said in a session."""
        for place, record in _stored(host, known(subject)):
            if _session(place, record).id == session:
                return _transcript(host, session, record)
        raise HTTPException(404, "there is no such session")

    @routes.get("/api/study/participants/{subject}/arms")
    def arms(_who: Researcher, subject: str) -> tuple[str, ...]:
        """The arms of a participant's tasks: whoever asks for them is not blind any more."""
        tasks = conduct.assigned(known(subject))
        return tuple(
            f"{assigned.place}. {assigned.task.name}: {assigned.arm.name}" for assigned in tasks
        )


def _runs(conduct: Conduct) -> Iterator[tuple[str, str, str]]:
    """Subject, run and arm of each task that was begun by somebody who has not withdrawn."""
    stored = {record.run for record in conduct.board.runs()}
    for subject in conduct.subjects:
        if conduct.status(subject) not in _WITHDRAWN:
            for run, does in zip(conduct.runs_of(subject), conduct.doing(subject), strict=False):
                if run in stored:
                    yield subject, run, does.arm.name


def _results(board: SqlBlackboard, runs: Sequence[str], name: str) -> SessionResults:
    results = results_of(board, runs)
    named = (name if heading == "this run" else heading for heading in results.headings)
    return replace(results, headings=tuple(named))


def _arms(conduct: Conduct) -> ArmsView:
    board, arms, groups = conduct.board, list[ArmView](), list[outcomes.Outcomes]()
    for arm in conduct.study.arms:
        runs = [(subject, run) for subject, run, name in _runs(conduct) if name == arm.name]
        by_person, meter = defaultdict[int, list[outcomes.Outcomes]](list), Meter()
        for subject, run in runs:
            by_person[number_of(subject)].append(outcomes.outcomes_of(board, run))
            meter.begin(board.costs(run))
        results = _results(board, [run for _subject, run in runs], arm.name)
        arms.append(ArmView(arm.name, results, meter.shown()))
        groups.append(outcomes.pooled(arm.name, by_person))
    return ArmsView(tuple(arms), tuple(_differences(*pair) for pair in combinations(groups, 2)))


def _differences(first: outcomes.Outcomes, second: outcomes.Outcomes) -> Differences:
    try:
        contrasts = outcomes.contrast(first, second)
    except UsageError as error:
        return Differences(trouble=str(error))
    sheet = comparison.contrast_sheet(contrasts, first.run, second.run)
    return Differences(sheet.headings, sheet.rows, tuple(comparison.contrast_lines(first, second)))


def _stored(host: StudyHost, subject: str) -> list[tuple[int, SessionRecord]]:
    study, board = host.conduct.study, host.conduct.board
    places = range(1, len(host.conduct.participation(subject).messages("TASK")) + 1)
    return [
        (place, record)
        for place in places
        for record in board.sessions(run_name(study, subject, place))
    ]


def _session(place: int, record: SessionRecord) -> SessionOf:
    return SessionOf(
        f"{place}-{record.position}",
        place,
        record.position,
        record.instance.key,
        record.messages,
        record.ending or "",
    )


def _transcript(host: StudyHost, name: str, record: SessionRecord) -> SessionTranscript:
    board = host.conduct.board
    timings = timings_of(board, record.session)
    told = []
    for entry in board.events(record.session):
        message, timing = entry.carried, timings.get(entry.carried.number)
        told.append(
            Said(
                message.number,
                message.sender == HUMAN,
                message.tag,
                message.answer.prediction,
                message.answer.explanation,
                None if timing is None else timing.active,
                None if timing is None else timing.idle,
            )
        )
    return SessionTranscript(name, record.instance.x, record.ending or "", tuple(told))


def _view(host: StudyHost) -> StudyView:
    conduct = host.conduct
    study, board = conduct.study, conduct.board
    lines, endings, meter = list[Line](), Counter[str](), Meter()
    stored = {record.run for record in board.runs()}
    for subject in sorted(conduct.subjects, key=number_of):
        participation = conduct.participation(subject)
        records = [record for _place, record in _stored(host, subject)]
        endings.update(
            session_record.ending
            for session_record in records
            if session_record.ending in CONCLUDED
        )
        runs = [run for run in conduct.runs_of(subject) if run in stored]
        for run in runs:
            meter.begin(board.costs(run))
        hosted = [host.runner.hosted[run] for run in runs if run in host.runner.hosted]
        lines.append(
            Line(
                subject,
                participation.status,
                len(participation.messages("TASK")),
                waits_for(participation),
                len(records),
                _STOPPED if any(hosted_run.trouble for hosted_run in hosted) else "",
            )
        )
    return StudyView(
        study.name,
        study.title,
        conduct.state,
        tuple(label.lower() for label in conduct.possible),
        study.experts,
        None if conduct.state in ENDED else conduct.places_left,
        len(study.tasks),
        dict(conduct.statuses),
        tuple(lines),
        {str(key): count for key, count in endings.items()},
        meter.shown(),
        study.payment.parameters,
        conduct.unclean,
        given_out(study, board, map(conduct.participation, conduct.subjects)),
    )
