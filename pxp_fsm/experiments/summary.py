"""The summary of a run: Table 1 next to the published columns, remarks, and files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from backends.databases import FAULTS, SqlBlackboard
from backends.databases.recordings import illustrative_session
from pxp_fsm.artifacts import file_name, write_atomically
from pxp_fsm.defaults import DATABASE
from pxp_fsm.diagrams import state_diagram, write
from pxp_fsm.errors import counted
from pxp_fsm.experiments import plan_data
from pxp_fsm.experiments.drawings import session_diagram
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.outcomes import estimates, outcomes_of
from pxp_fsm.experiments.run_kinds import kind_of_plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.experiments.sheets import Sheet, as_markdown, directions, directions_csv
from pxp_fsm.experiments.statistics import (
    ROWS,
    ClassCounts,
    Estimate,
    Published,
    Statistics,
    published,
    rounded,
)
from pxp_fsm.tasks.task import Recorded

PUBLISHED_SESSIONS = 20
SOURCES = "2025: Table 1 of the workshop version; 2024: Figure 4 of arXiv 2410.20600."
"""Where the published columns are from."""

CHEMISTS = " h1 and h2: two chemists."


def compared(run: Run[TaskOpening]) -> Sequence[Published]:
    """The published columns to set beside a run: of INTERACT between two, and of its task."""
    plan = run.opening.plan
    return published(plan.task) if plan.protocol == "interact" and plan.agents is None else ()


def table1(statistics: Statistics, columns: Sequence[Published]) -> Sheet:
    """Table 1 of the papers for a run: medians, ranges, and published `columns` beside them."""
    several = len(statistics.repetitions) > 1
    own = (f"median of {len(statistics.repetitions)}", "min to max") if several else ("this run",)
    headings = ("sessions that are", *own, *(column.title for column in columns))
    rows = []
    for place, row in enumerate(statistics.classes()):
        share = f" ({rounded(row.share)})" if place else ""
        ranges = (f"{row.least}-{row.most}",) if several else ()
        theirs = _theirs(columns, place)
        rows.append((row.name, f"{_decimal(row.median)}{share}", *ranges, *theirs))
    return Sheet("Intelligibility, as in the papers' Table 1", headings, tuple(rows))


def both_settings(
    parts: Mapping[str, tuple[Statistics, Sequence[Published]]],
) -> Sheet:
    """Table 1 of several settings side by side, each with the `Published` columns of it.

    Of several repetitions a cell has the median and the range, of one the count and its share.
    """
    headings, cells = ["sessions that are"], [[name] for name in ("in all", *ROWS)]
    for setting, (statistics, columns) in parts.items():
        several = len(statistics.repetitions) > 1
        headings.append(f"{setting} {'median (range)' if several else '(share)'}")
        headings += [column.title.replace("-", "- ") for column in columns]
        rows = {row.name: row for row in statistics.classes()}
        for place, cell in enumerate(cells):
            row = rows.get(cell[0])
            cell.append("-" if row is None else _in_short(row, several))
            cell.extend(_theirs(columns, place))
    title = "Intelligibility in both settings, as in the papers' Table 1"
    return Sheet(title, tuple(headings), tuple(map(tuple, cells)))


def _in_short(row: ClassCounts, several: bool) -> str:
    rest = f"{row.least}-{row.most}" if several else rounded(row.share)
    return f"{_decimal(row.median)} ({rest})"


def _theirs(columns: Sequence[Published], place: int) -> Iterator[str]:
    """The published numbers of a row; the first is that of all sessions."""
    return (str(column.counts[place - 1] if place else PUBLISHED_SESSIONS) for column in columns)


def _decimal(count: Fraction) -> str:
    """A median of counts: a whole number, or one and a half."""
    return rounded(count, 0 if count.denominator == 1 else 1)


def as_csv(
    statistics: Statistics, columns: Sequence[Published], by_row: Mapping[str, Estimate]
) -> str:
    """Table 1 as CSV: a row a class, nothing but a number or nothing in every other column.

    `low` and `high` are the interval of the proportion of all sessions, from `by_row`.
    """
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    titles = (column.title for column in columns)
    table.writerow(("class", "median", "share", "min", "max", "low", "high", *titles))
    for place, row in enumerate(statistics.classes()):
        own = (_decimal(row.median), rounded(row.share), row.least, row.most)
        interval = by_row[row.name].interval if row.name in by_row else None
        bounds = (rounded(interval.low, 4), rounded(interval.high, 4)) if interval else ("", "")
        table.writerow((row.name, *own, *bounds, *_theirs(columns, place)))
    return written.getvalue()


def remarks(run: Run[TaskOpening], statistics: Statistics, board: SqlBlackboard) -> Sequence[str]:
    """What a reader must know to read the table rightly; `board` has the sessions of `run`."""
    tags = ", ".join(
        f"{sender} {tag} {number}" for (sender, tag), number in sorted(statistics.tags.items())
    )
    lines = [f"Tags sent: {tags}", *run.opening.notes]
    if run.opening.plan.goes_without_model:
        if run.opening.task.learned is not None and run.opening.plan.agents is None:
            lines += run.opening.task.learned(run.opening.data, _recorded(board, run))
        lines += run.opening.task.accuracy(run.opening.data)
    return lines


def endings_of(
    run: Run[TaskOpening], statistics: Statistics, board: SqlBlackboard
) -> Iterator[str]:
    """How sessions of `run` ended, and by which faults."""
    many: Mapping[str | None, int] = statistics.endings
    kind = kind_of_plan(run.opening.plan)
    if kind is not None:
        many = Counter(map(kind.ending, board.sessions(run.name)))
    endings = (f"{ending or 'not over'} {number}" for ending, number in many.items())
    yield f"Sessions ended: {', '.join(endings)}"
    failed = sum(statistics.endings[ending] for ending in FAULTS)
    if failed:
        were = "was" if failed == 1 else "were"
        told = f"{counted(failed, 'session')} {were} ended by a fault"
        yield f"{told} and in no count of the table:"
        yield from causes(board, run.name)


def causes(board: SqlBlackboard, run: str, most: int = 3) -> Iterator[str]:
    """The most frequent causes that ended sessions of `run` by a fault, and how often they did."""
    ended = [session for session in board.sessions(run) if session.ending in FAULTS]
    counts = Counter(f"{record.ending}: {record.cause}" for record in ended)
    for cause, many in counts.most_common(most):
        yield f"  {cause} ({many} session{'' if many == 1 else 's'})"
    if len(counts) > most:
        yield f"  and {len(counts) - most} other causes"


def _recorded(board: SqlBlackboard, run: Run[TaskOpening]) -> Iterator[Recorded]:
    for stored in board.stored(session.session for session in board.sessions(run.name)):
        session, messages = stored.record, [entry.carried for entry in stored.events]
        draw = plan_data.draw_of(run.opening.plan, session.repetition)
        yield Recorded(draw, session.instance.key, messages)


def write_artifacts(
    run: Run[TaskOpening], board: SqlBlackboard, statistics: Statistics, folder: Path
) -> Sequence[tuple[str, Path]]:
    """Write table and drawings into `folder`; what each is, and where.

    `board` may be elsewhere than where a run keeps it by default: then its name is in the files'
    names, for runs of two databases may be named alike. Raises `OSError` where the disk refuses.
    """
    columns = compared(run)
    stem = _stem(run, board, folder)
    if run.opening.plan.agents is None:
        texts = {
            ".md": as_markdown(table1(statistics, columns)),
            ".csv": as_csv(statistics, columns, estimates(outcomes_of(board, run.name))),
        }
    else:
        sheet = directions(board, run.name)
        texts = {".md": as_markdown(sheet), ".csv": directions_csv(sheet)}
    left = []
    for suffix, written in texts.items():
        path = folder / f"{stem}-table{suffix}"
        write_atomically(path, written)
        left.append(("table", path))
    drawings = {
        "automaton": state_diagram(run.opening.plan.rules().automaton),
        "session": session_diagram(board.session(illustrative_session(board, run.name))),
    }
    for subject, diagram in drawings.items():
        for suffix in ("svg", "png"):
            path = folder / f"{stem}-{subject}.{suffix}"
            write(diagram, path)
            left.append((f"drawing of the {subject}", path))
    return left


def _stem(run: Run[TaskOpening], board: SqlBlackboard, folder: Path) -> str:
    kept = Path(board.engine.url.database or "")
    if kept.resolve() == (folder / DATABASE).resolve():
        return file_name(run.name)
    return file_name(f"{kept.stem}-{run.name}")
