"""What is printed of a run: a screen before and after it, and the rest where it is asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import click

from backends.databases import SqlBlackboard
from proofs.claims import certificates
from pxp_fsm.cli.presentation.text import console, paragraph, printable, program
from pxp_fsm.errors import NoAnswer, counted
from pxp_fsm.experiments import (
    accuracy,
    comparison,
    forecasts,
    members,
    plan_data,
    sheets,
    summary,
)
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.outcomes import Outcomes, estimates
from pxp_fsm.experiments.plans import CRITERIA
from pxp_fsm.experiments.run_kinds import kind_of_plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.experiments.statistics import Published, Statistics
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply
from pxp_fsm.sessions.learning import Keep
from pxp_fsm.sessions.session import Session


@dataclass(frozen=True)
class FinishedRun:
    """A run that is over: its results, the files that it wrote, the lines of its monitors.

    `directions` are of a panel, as `SqlBlackboard.directions` gives them.
    """

    run: Run[TaskOpening]
    statistics: Statistics
    outcomes: Outcomes
    left: Sequence[tuple[str, Path]]
    monitored: Sequence[str]
    directions: Sequence[tuple[str, str, int, int, int, int]] = ()


def document(setting: str, finished: FinishedRun) -> dict[str, Any]:
    """A run that is over, as JSON has it: counts of Table 1 with their intervals, and the files.

    Of a panel there are no classes of a machine and a human: its table has those of each direction.
    """
    of_two = finished.run.opening.plan.agents is None
    estimated = estimates(finished.outcomes) if of_two else {}
    directions = {
        "directions": [
            dict(
                zip(
                    ("from", "to", "sessions", "one-way", "strong", "ultra-strong"),
                    row,
                    strict=True,
                )
            )
            for row in finished.directions
        ]
    }
    return {
        "run": finished.run.name,
        "task": finished.run.opening.plan.task,
        "setting": setting,
        "sessions": finished.run.total,
        "endings": {str(ending): many for ending, many in finished.statistics.endings.items()},
        "classes": {
            name: {
                "sessions": sum(finished.outcomes.of(name).values()),
                "of": len(finished.outcomes.classes),
                "low": estimate.interval.low,
                "high": estimate.interval.high,
            }
            for name, estimate in estimated.items()
        },
        **({} if of_two else directions),
        "monitored": list(finished.monitored),
        "files": {label: str(path) for label, path in finished.left},
    }


def progress(run: str, board: SqlBlackboard, total: int) -> Callable[[], None]:
    """Prints how many sessions of a run are over, whenever more of them are than before."""
    shown = None

    def show() -> None:
        nonlocal shown
        over = next(
            (run_summary.over for run_summary in board.summaries() if run_summary.run == run), 0
        )
        if over != shown:
            shown = over
            are = "is" if total == 1 else "are"
            click.echo(f"{over:,} of {counted(total, 'session')} {are} over", err=True)

    return show


def announce(
    run: Run[TaskOpening], board: SqlBlackboard, output: Path, verbose: bool, again: bool
) -> None:
    """Say what a run is about before it begins; what is not as in a paper, in any case.

    `again` is a run that differs from the one before it in what it learns alone.
    """
    plan = run.opening.plan
    if again:
        click.echo(f"Run {run.name}: the same, {_learning(run)}")
        return
    paragraph(f"Run {run.name}: {run.opening.task.about}, {run.opening.data.origin}")
    sessions = (
        f"{counted(len(run.opening.data.sessions), 'instance')}, "
        f"{counted(plan.repetitions, 'repetition')}, seed {plan.seed}"
    )
    if run.opening.origin is not None:
        sessions = f"from message {run.opening.origin.number} of {run.opening.origin.session} on"
    click.echo(f"{plan.rules_in_words()}; {sessions}")
    chosen = [f"{role} {name}" for role, name in run.opening.selection.roles if name is not None]
    if plan.subject is not None:
        click.echo(f"Subject: {plan.subject}")
    if chosen:
        paragraph(f"Models: {', '.join(chosen)}")
    for line in run.opening.selection.deviations:
        paragraph(f"Not as in the paper: {line}")
    for line in run.opening.selection.notes:
        paragraph(line)
    if plan.learn != "always":
        click.echo(_learning(run))
    if run.opening.selection.machine is None:
        for line in run.opening.task.known_rows(run.opening.data):
            paragraph(line)
    for line in _coverage(run, output, verbose):
        paragraph(line)
    if run.finished:
        click.echo(f"Resumed: {run.finished} of {counted(run.total, 'session')} over already")
    if run.opening.selection.any and run.finished < run.total:
        paragraph(_expected(run, board))


def _expected(run: Run[TaskOpening], board: SqlBlackboard) -> str:
    """What the run will cost, and where that is known from."""
    forecast = forecasts.forecast(run, board)
    if forecast is None:
        return (
            "Expected cost: unknown, as no session of this setting is recorded here; "
            "--instances 1 gives a first one"
        )
    spent, cap = board.spending(run.name).dollars, run.opening.settings.dollars
    short = cap is not None and forecast.dollars is not None and spent + forecast.dollars > cap
    return f"Expected cost: {forecast}" + (
        f"; more than --max-dollars {cap:g} allows" if short else ""
    )


def _first(finished: Mapping[str, FinishedRun]) -> str:
    """The place of the first session of the first run."""
    run = next(iter(finished.values())).run
    unit = next(run.units())
    forked = run.opening.origin is not None  # the last of its unit, whose others are not its own
    return f"{unit.repetition}/{unit.last if forked else unit.first}"


def _learning(run: Run[TaskOpening]) -> str:
    plan = run.opening.plan
    if plan.learn == "always":
        return "LEARN: keep always"
    held = f", on {counted(len(plan_data.validation(run.opening.data)), 'validation instance')}"
    weighed = "" if plan.learn == "never" else held
    return f"LEARN: keep {plan.learn}, gate the {plan.gate}{weighed}"


def conclude(
    finished: Mapping[str, FinishedRun], board: SqlBlackboard, database: str, verbose: bool
) -> None:
    """Print Table 1, what it means, where things are, and the next command.

    `finished` is one run, or the runs of the two settings by their names; `database` is as it is
    to be named in a command.
    """
    run, *others = finished.values()
    columns = summary.compared(run.run)
    if run.run.opening.plan.agents is not None:
        for setting, finished_run in finished.items():
            about = f" ({setting})" if others else ""
            told = sheets.directions(board, finished_run.run.name, about)
            console().print(sheets.as_rich(told, spaced=False))
    else:
        both = summary.both_settings(_columns(finished)) if others else None
        table = both or summary.table1(run.statistics, columns)
        console().print(sheets.as_rich(table, spaced=False))
        paragraph(_two_way(finished))
        for line in _gains(finished, board):
            paragraph(line)
    if others:
        criteria = (
            f"{setting} {CRITERIA[Keep(run.run.opening.plan.learn)]}"
            for setting, run in finished.items()
        )
        chemists = any("-h1" in column.title for column in columns)
        paragraph(f"Lessons are kept: {'; '.join(criteria)}.{summary.CHEMISTS if chemists else ''}")
    if columns:
        paragraph(summary.SOURCES)
    for setting, finished_run in finished.items():
        if verbose:
            _details(finished_run, board)
        shown = (
            summary.endings_of(finished_run.run, finished_run.statistics, board)
            if verbose or not others
            else ()
        )
        for line in (*shown, *finished_run.monitored):
            paragraph(f"{setting.capitalize()}: {line}" if others else line)
        if finished_run.run.meter.shown():
            paragraph(f"Models were asked: {finished_run.run.meter.shown()}")
    _places([*finished.values()], board, verbose)
    names = [finished_run.run.name for finished_run in finished.values()]
    session = ["show", f"{names[0]}/{_first(finished)}"]
    comparable = others and run.run.opening.plan.agents is None
    look = ["compare", names[0], names[-1]] if comparable else session
    invitation = "Compare them" if comparable else "Look at a session"
    click.echo(f"{invitation}: {shlex.join([program(), *look, '--database', database])}")


def _columns(
    finished: Mapping[str, FinishedRun],
) -> Mapping[str, tuple[Statistics, Sequence[Published]]]:
    """The statistics of each setting, with the published columns of that setting."""
    return {
        setting: (
            finished_run.statistics,
            [
                column
                for column in summary.compared(finished_run.run)
                if _is_as_in(column, Keep(finished_run.run.opening.plan.learn))
            ],
        )
        for setting, finished_run in finished.items()
    }


def _is_as_in(column: Published, keep: Keep) -> bool:
    """Whether a published column is of the setting in which lessons are kept so."""
    return keep is (Keep.BETTER if column.controlled else Keep.ALWAYS)


def _gains(finished: Mapping[str, FinishedRun], board: SqlBlackboard) -> Iterator[str]:
    """How the machine's first answers to rows without a session have changed over the sessions."""
    opening = next(iter(finished.values())).run.opening
    kinds = [(f"test {'row' if len(opening.data.test) == 1 else 'rows'}", opening.data.test)]
    if opening.task.elsewhere is not None and opening.plan.data is None:
        kinds.append(opening.task.elsewhere())
    for label, rows in kinds:
        data = replace(opening.data, test=rows)
        told = []
        for setting, run in finished.items():
            about = (run.run.opening.plan, run.run.opening.task, data)
            changes = accuracy.gains(board, run.run.name, *about)
            if changes:
                before, after = (median(change[place] for change in changes) for place in (0, 1))
                told.append(f"{setting + ' ' if len(finished) > 1 else ''}{before:g} to {after:g}")
        if told:
            yield (
                f"Right first answers to {len(rows)} {label}, before and after: {', '.join(told)}."
            )


def _two_way(finished: Mapping[str, FinishedRun]) -> str:
    """The row of Table 1 that the protocol is named after, in words, with its intervals."""
    told = []
    for setting, run in finished.items():
        estimate = estimates(run.outcomes).get("two-way")
        about = f"{setting} " if len(finished) > 1 else ""
        if estimate is None:
            told.append(f"{about}no session was ended by the protocol, so none is counted")
            continue
        held, number = sum(run.outcomes.of("two-way").values()), len(run.outcomes.classes)
        verb = "is" if 1 in (held, number) else "are"
        kind = "" if len(finished) > 1 else f" {verb} two-way intelligible"
        instances = len({instance for _, instance in run.outcomes.classes})
        # Repetitions are about the same instances: sessions are no independent ones beyond these.
        basis = f", of {counted(instances, 'instance')}" if instances < number else ""
        told.append(
            f"{about}{held} of {counted(number, 'session')}{kind} (95%: {estimate.interval}{basis})"
        )
    line = f"{', '.join(told)}."
    return f"Two-way intelligible: {line}" if len(finished) > 1 else line[0].upper() + line[1:]


def _details(run: FinishedRun, board: SqlBlackboard) -> None:
    """Intervals, the effect of order, and what else a reader may want to know of a run."""
    lines = [f"Run {run.run.name}:"]
    of_two = run.run.opening.plan.agents is None
    if of_two and run.outcomes.classes:
        console().print(sheets.as_rich(comparison.estimate_sheet(run.outcomes)))
        lines += comparison.explanation(run.outcomes)
    if of_two and run.run.opening.carries:
        lines += comparison.order_lines(run.outcomes, run.run.opening.plan.seed)
    for line in [*lines, *summary.remarks(run.run, run.statistics, board)]:
        paragraph(line)


def _places(finished: Sequence[FinishedRun], board: SqlBlackboard, verbose: bool) -> None:
    """Where things are: the database, and the files of each run."""
    if not verbose:
        stems = [str(run.left[0][1]).partition("-table")[0] for run in finished]
        files = ", ".join(f"{stem}-*" for stem in stems)
        paragraph(f"Database: {board.shown}; files: {files}")
        return
    click.echo("\nLeft behind:")
    for run in finished:
        for label, where in [(f"database, run {run.run.name}", board.shown), *run.left]:
            click.echo(printable(f"  {label}: {where}"))


@dataclass(frozen=True)
class _Unopened:
    """A model by its name alone: who sits where is known before anybody is asked."""

    name: str
    capabilities: frozenset[Capability] = frozenset()

    async def reply(self, request: ModelRequest) -> Reply:
        raise NoAnswer(f"{self.name} was not opened")


def _coverage(run: Run[TaskOpening], folder: Path, verbose: bool) -> Iterator[str]:
    """Lines that name the certificate of what `run` runs, or say that there is none.

    Only if `verbose` they name each claim and what it assumes.
    """
    opening = run.opening
    kind = kind_of_plan(opening.plan)
    if kind is not None:
        yield from kind.remarks(opening.plan, opening.task)
        return
    rules = opening.plan.rules()
    roles = members.Roles(
        opening.plan, opening.task, opening.data, folder, opening.selection, _Unopened
    )
    instance = opening.data.sessions[0].instance
    assumed = Session(rules, roles.agents(1), instance=instance).assumptions
    table = f"{rules.automaton.name} {rules.automaton.fingerprint[:12]}"
    coverage = certificates.coverage(rules, assumed)
    if coverage is None:
        yield f"Certificate: none of this table ({table}) and its rules"
        return
    if not verbose:
        yield f"Proved of these sessions: {counted(len(coverage.claims), 'claim')} (-v names them)"
        return
    yield f"Certificate: {coverage.path} (table {table})"
    yield f"Assumed of MATCH and AGREE: {', '.join(sorted(assumed)) or 'nothing (noisy)'}"
    yield f"Proved of these sessions: {', '.join(coverage.claims) or 'nothing'}"
