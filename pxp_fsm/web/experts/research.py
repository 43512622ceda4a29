"""The researcher's page: runs as they go, whom they wait for, what they cost; links; pause.

Only the link of a researcher opens it; for an expert nothing of it is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException
from starlette.requests import Request

from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import comparison, outcomes, sheets, summary
from pxp_fsm.experiments.plan_data import run_title
from pxp_fsm.experiments.reports.tallies import KINDS, RunTally, observed
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.web.experts.views import CaseStanding, QueueLine, queue_of
from pxp_fsm.web.guard import Who
from pxp_fsm.web.hosting import Host, HostedRun, RunState
from pxp_fsm.web.links import EXPERTS, Links


@dataclass(frozen=True, slots=True)
class SessionResults:
    """What sessions that are over have come to, so far; `total` is how many the protocol ended.

    `table` is Table 1 of the papers, of a panel intelligibility by direction; `curves` are how
    many sessions are intelligible, for whom, when they are cut after message 1, 2, …
    """

    total: int
    headings: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    curves: dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it goes: `waits` counts its sessions by whom they wait for.

    `endings` counts those that are over, and `results` says what these have come to.
    """

    number: int
    name: str
    task: str
    subject: str
    protocol: str
    state: RunState
    trouble: str
    total: int
    over: int
    waits: dict[CaseStanding, int]
    endings: dict[str, int]
    costs: str
    results: SessionResults


@dataclass(frozen=True, slots=True)
class Differences:
    """How two runs differ, session by session, as `pxp compare` tells it.

    `trouble` says why nothing can be told, as where no session of both is over yet.
    """

    headings: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link for an expert; it is shown once."""

    subject: str
    link: str


@dataclass(frozen=True, slots=True)
class Revoked:
    """How many links and devices of an expert were revoked."""

    subject: str
    revoked: int


def _researcher(request: Request) -> Who:
    who = request.state.who
    if not isinstance(who, Who) or not who.is_researcher:
        raise HTTPException(404, "there is no such page")
    return who


Researcher = Annotated[Who, Depends(_researcher)]


def add_research(routes: APIRouter, host: Host, links: Links) -> None:
    """The routes of the researcher's page."""
    hosts = list(host.hosted.values())

    def numbered(number: int) -> HostedRun:
        if not 0 <= number < len(hosts):
            raise HTTPException(404, "there is no such run")
        return hosts[number]

    def known(subject: str) -> str:
        if subject not in {hosted.subject for hosted in hosts}:
            raise HTTPException(404, "there is no such expert")
        return subject

    @routes.get("/api/research/runs")
    def runs(_who: Researcher) -> tuple[RunView, ...]:
        """Every run, as it is now."""
        return tuple(_view(host, number, hosted) for number, hosted in enumerate(hosts))

    @routes.get("/api/research/runs/{number}")
    def sessions(_who: Researcher, number: int) -> tuple[QueueLine, ...]:
        """The sessions of a run: those that wait for their expert first."""
        return queue_of(host, numbered(number))

    @routes.get("/api/research/differences")
    def differences(_who: Researcher, first: int, second: int) -> Differences:
        """How two runs differ in the sessions that are over, by classes, with intervals."""
        names = [numbered(number).run.name for number in (first, second)]
        return differences_of(host.board, *names)

    @routes.post("/api/research/runs/{number}/pause")
    def pause(_who: Researcher, number: int) -> RunView:
        """Leave a run where it is; nothing is lost."""
        host.pause(numbered(number).run.name)
        return _view(host, number, numbered(number))

    @routes.post("/api/research/runs/{number}/resume")
    def go_on(_who: Researcher, number: int) -> RunView:
        """Carry on a run that was paused, or that had stopped."""
        host.go_on(numbered(number).run.name)
        return _view(host, number, numbered(number))

    @routes.post("/api/research/experts/{subject}/link")
    def link(_who: Researcher, subject: str) -> NewLink:
        """A new link for an expert; those before it stay valid."""
        return NewLink(known(subject), links.link(EXPERTS, subject))

    @routes.post("/api/research/experts/{subject}/revoke")
    def revoke(_who: Researcher, subject: str) -> Revoked:
        """Revoke every link and device of an expert."""
        return Revoked(known(subject), links.revoke(EXPERTS, subject))


def _view(host: Host, number: int, hosted: HostedRun) -> RunView:
    run = hosted.run
    lines = queue_of(host, hosted)
    waits = Counter(line.standing for line in lines)
    endings = Counter(line.ending for line in lines if line.standing is CaseStanding.OVER)
    return RunView(
        number=number,
        name=run.name,
        task=run.opening.task.name,
        subject=hosted.subject,
        protocol=run.opening.plan.rules_in_words(),
        state=hosted.state,
        trouble=hosted.trouble,
        total=run.total,
        over=waits[CaseStanding.OVER],
        waits=dict(waits),
        endings=dict(endings),
        costs=run.meter.shown(),
        results=results_of(host.board, [run.name]),
    )


def results_of(board: SqlBlackboard, runs: Sequence[str]) -> SessionResults:
    """What the sessions of `runs` have come to, all together: of panels, by direction."""
    if any(kind_of(board.run(run)) is not None for run in runs):
        tables = [sheets.directions(board, run) for run in runs]
        rows = tuple(row for sheet in tables for row in sheet.rows)
        over = sum(record.ending is not None for run in runs for record in board.sessions(run))
        return SessionResults(over, tables[0].headings, rows, {})
    statistics, tally = statistics_of(board, *runs), RunTally()
    total = max((repetition.total for repetition in statistics.repetitions), default=0)
    sheet = summary.table1(statistics, ())
    for run in runs if total else ():
        for session in observed(board, run, reasons=False):
            tally.add(session)
    curves = {
        kind: tuple(float(point.median) for point in tally.curve(kind, tally.longest))
        for kind in KINDS
    }
    return SessionResults(total, sheet.headings, sheet.rows, curves if total else {})


def differences_of(board: SqlBlackboard, first: str, second: str) -> Differences:
    """How two runs differ, of which sessions are paired by repetition and instance."""
    records = [board.run(name) for name in (first, second)]
    try:
        left, right = (comparison.compared_outcomes(board, [record]) for record in records)
        comparisons = outcomes.compare(left, right)
    except UsageError as error:
        return Differences(trouble=str(error))
    titles = map(run_title, records)
    sheet = comparison.comparison_sheet(comparisons, *titles)
    notes = [
        *comparison.comparison_lines(left, right, comparisons),
        *comparison.seed_lines(records[:1], records[1:]),
        *comparison.change_lines(left, right),
    ]
    return Differences(sheet.headings, sheet.rows, tuple(notes))
