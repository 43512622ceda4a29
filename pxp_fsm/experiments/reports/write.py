"""Writing of a report: the page, and CSV, JSON and LaTeX of the same name next to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from backends.databases import RunRecord, SqlBlackboard
from backends.databases.recordings import recorded_sessions
from pxp_fsm.artifacts import atomic_path, write_atomically
from pxp_fsm.automata.actions import ActionRecord
from pxp_fsm.diagrams.latex import Cell, as_latex
from pxp_fsm.errors import NotThere, UsageError, quoted
from pxp_fsm.experiments.drawings import chosen_runs, file_name
from pxp_fsm.experiments.reports import data, page, sheets
from pxp_fsm.experiments.reports.contents import RunReport, gather
from pxp_fsm.experiments.reports.figures import rows
from pxp_fsm.experiments.reports.published import SESSIONS
from pxp_fsm.experiments.reports.systems import SystemReport, gather_system
from pxp_fsm.experiments.reports.tables import as_csv
from pxp_fsm.experiments.statistics import ROWS
from pxp_fsm.experiments.stored_plans import WITHOUT_PLAN

WHOLE = 100
"""Sessions of a run that are shown whole unless told otherwise: the papers' five times twenty."""


def chosen(board: SqlBlackboard, runs: Sequence[str], which: str | None) -> dict[str, list[str]]:
    """The sessions to show whole, by run: a number of each run, `all`, or names joined by commas.

    A name is a session's or an instance's. Raises `UsageError` where a name is nobody's.
    """
    which = (which or str(WHOLE)).strip()
    if which == "all" or (which.isascii() and which.isdigit()):
        most = None if which == "all" else int(which[:12])
        return {
            run: [record.session for record in board.sessions(run, limit=most)] if most != 0 else []
            for run in runs
        }
    names = [name.strip() for name in which.split(",")]
    found: dict[str, list[str]] = {}
    seen = set()
    for run in runs:
        found[run] = []
        for record in board.sessions(run):
            hits = {record.session, record.instance.key}.intersection(names)
            if hits:
                seen |= hits
                found[run].append(record.session)
    unknown = [name for name in names if name not in seen]
    if unknown:
        raise UsageError(
            f"there is no session or instance {quoted(', '.join(unknown))}; give a number, all, "
            f"or names of sessions or instances joined by commas",
            "sessions",
        )
    return found


SUFFIXES = (".html", ".htm")


def write(
    board: SqlBlackboard,
    runs: Sequence[str],
    path: Path,
    *,
    sessions: str | None = None,
    test_set: bool | None = None,
    catalogue: Path | None = None,
    figures: Path | None = None,
    source: str | None = None,
) -> tuple[Sequence[RunReport], Sequence[Path]]:
    """Report `runs` as `path` and files beside it; none: those with a plan or of a system.

    Every figure is also written into the folder `figures`, as SVG and PDF. `source` says where the
    sessions are from; else it is the database's name.

    Gives what was reported and what was written. Each file is replaced at once when it is whole.
    Raises `UsageError`, `NotThere`, `BlackboardError`, and `OSError` where the disk refuses.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: a report is a web page; its name must end in .html")
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True)
    records = _records(board, runs)
    whole = chosen(board, [record.run for record in records], sessions)
    planned = [record for record in records if record.task not in WITHOUT_PLAN]
    systems = [gather_system(board, record) for record in records if record not in planned]
    reports = [gather(board, one, test_set=test_set, catalogue=catalogue) for one in planned]
    stem = path.with_suffix("")
    drawings = list(map(page.drawings_of, reports))
    left = {} if figures is None else _figures(reports, drawings, figures)
    texts = dict(_texts(board, reports, systems))
    names = {suffix: stem.with_name(stem.name + suffix) for suffix in texts}
    with ExitStack() as stack:

        def opened(target: Path) -> TextIO:
            draft = stack.enter_context(atomic_path(target))
            return stack.enter_context(draft.open("w", encoding="utf-8", newline=""))

        beside = [name.name for name in names.values()]
        page.write(board, reports, drawings, systems, whole, beside, opened(path), source)
        for suffix, target in names.items():
            opened(target).writelines(texts[suffix])
    for file, content in left.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return reports, (path, *names.values(), *left)


def _figures(
    reports: Sequence[RunReport], drawings: Sequence[page.Drawings], folder: Path
) -> dict[Path, str | bytes]:
    """Every figure of every run as SVG and PDF, by the file that it goes to."""
    found: dict[Path, str | bytes] = {}
    for place, (report, of_it) in enumerate(zip(reports, drawings, strict=True), start=1):
        stem = file_name(report.name)
        if any(file.name.startswith(f"{stem}-") for file in found):
            stem = f"{stem}-{place}"
        for name, drawing in of_it.items():
            if drawing is not None:
                found[folder / f"{stem}-{name}.svg"] = drawing.svg()
                found[folder / f"{stem}-{name}.pdf"] = drawing.pdf()
    return found


def left_out(board: SqlBlackboard, runs: Sequence[str]) -> tuple[str, ...]:
    """The runs that `write` leaves out where none is named, each with the reason."""
    return () if runs else tuple(_reasons(board, board.runs()))


def _reasons(board: SqlBlackboard, records: Sequence[RunRecord]) -> Iterator[str]:
    for one in records:
        if not _is_reported(board, one):
            yield f"run {one.run} {WITHOUT_PLAN[one.task]}"


def _is_reported(board: SqlBlackboard, record: RunRecord) -> bool:
    """Whether a run has a plan, or sessions of a system."""
    if record.task not in WITHOUT_PLAN:
        return True
    return any(session.channel for session in board.sessions(record.run, limit=1))


def _records(board: SqlBlackboard, runs: Sequence[str]) -> Sequence[RunRecord]:
    found = chosen_runs(board, runs)
    if runs:
        for why in _reasons(board, found):
            raise UsageError(why)
        return found
    reported = [record for record in found if _is_reported(board, record)]
    if not reported:
        raise NotThere(f"{board.shown} has no run to report: {'; '.join(_reasons(board, found))}")
    return reported


def _texts(
    board: SqlBlackboard, reports: Sequence[RunReport], systems: Sequence[SystemReport]
) -> Iterator[tuple[str, Iterator[str]]]:
    """The files beside the page, by what their names end in."""
    if reports:
        yield from _texts_of_tasks(board, reports)
    if systems:
        yield "-systems.tex", (as_latex(table) for one in systems for table in one.tables)
        actions = (
            (one.name, *words, many) for one in systems for words, many in one.counts.items()
        )
        yield "-actions.csv", iter([as_csv(("run", *ActionRecord._fields, "times"), actions)])
        each = (
            (line.session, one.name, line.ending or "", line.cause or "", line.messages, seconds)
            for one in systems
            for line in one.sessions
            for seconds in (one.seconds.get(line.session, 0.0),)
        )
        headings = ("session", "run", "ending", "cause", "actions", "seconds")
        yield "-endings.csv", iter([as_csv(headings, each)])
    yield ".json", iter([data.as_json(reports, systems)])


def _texts_of_tasks(
    board: SqlBlackboard, reports: Sequence[RunReport]
) -> Iterator[tuple[str, Iterator[str]]]:
    flow = (("run", "message", "tag", "next", "sessions"),
            ((r.name, *row) for r in reports for row in rows(r.tally)))  # fmt: skip
    yield "-table1.csv", iter([as_csv(*_table1(reports))])
    yield "-table1.tex", map(as_latex, sheets.tables1(reports))
    curve = (row for report in reports for row in sheets.curve_rows(report))
    yield "-curves.csv", iter([as_csv(sheets.CURVE_HEADINGS, curve)])
    yield "-flow.csv", iter([as_csv(*flow)])
    tagged = [sheets.categories(report) for report in reports]
    each = ((r.name, *row) for r, table in zip(reports, tagged, strict=True) for row in table.rows)
    yield "-categories.csv", iter([as_csv(("run", *tagged[0].headings), each)])
    yield "-categories.tex", (as_latex(table) for table in tagged)
    yield "-sequences.tex", (as_latex(sheets.sequences(report)) for report in reports)
    if (pairs := sheets.paired(reports)) is not None:
        yield "-paired.tex", iter([as_latex(pairs)])
    yield "-sessions.csv", _sessions(board, reports)


def _table1(reports: Sequence[RunReport]) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Table 1 with nothing but a number in every column after the first two."""
    found_rows: list[Sequence[Cell]] = []
    for report in reports:
        for row in report.statistics.classes():
            found = report.estimates.get(row.name)
            interval = (found.interval.low, found.interval.high) if found else (None, None)
            numbers = (float(row.median), float(row.share), row.least, row.most)
            found_rows.append((report.name, row.name, *numbers, *interval))
    for column in sheets.beside(reports):
        counts = (SESSIONS, *column.counts)
        for name, count in zip(("in all", *ROWS), counts, strict=True):
            found_rows.append((column.title, name, count, count / SESSIONS, None, None, None, None))
    return ("run", "class", "median", "share", "min", "max", "low", "high"), found_rows


def _sessions(board: SqlBlackboard, reports: Sequence[RunReport]) -> Iterator[str]:
    headings = ("session", "run", "repetition", "position", "instance", "ended", "messages", "tags")
    yield as_csv(headings, ())
    for report in reports:
        for session in recorded_sessions(board, report.name):
            tags = " ".join(message.tag for message in session.messages)
            place = (session.repetition, session.position, session.instance)
            ended, length = session.ending or "", len(session.messages)
            yield as_csv((session.session, report.name, *place, ended, length, tags), ())
