"""The tables of a report: Table 1 beside the published numbers, curves, categories, endings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from pxp_fsm.diagrams.latex import Cell, Table
from pxp_fsm.experiments.comparison import comparison_sheet
from pxp_fsm.experiments.intervals import CONFIDENCE, Interval
from pxp_fsm.experiments.outcomes import compare
from pxp_fsm.experiments.reports.contents import RunReport
from pxp_fsm.experiments.reports.published import SESSIONS
from pxp_fsm.experiments.reports.tallies import KINDS, Point
from pxp_fsm.experiments.statistics import ROWS, Published, published


def beside(reports: Sequence[RunReport]) -> Sequence[Published]:
    """The published columns of the tasks of the runs that followed INTERACT."""
    tasks = dict.fromkeys(
        report.plan.task for report in reports if report.plan.protocol == "interact"
    )
    return [column for task in tasks for column in published(task)]


MOST_COLUMNS = 9
"""Columns of a table that has room on the page, and in a paper over two columns."""


def tables1(reports: Sequence[RunReport]) -> Sequence[Table]:
    """Table 1 in parts that have room: runs of one task, as many as fit, and what is published."""
    parts = list[list[RunReport]]()
    for report in sorted(
        reports, key=lambda one: [r.plan.task for r in reports].index(one.plan.task)
    ):
        last = parts[-1] if parts else []
        fits = last and last[0].plan.task == report.plan.task
        if fits and len(table1([*last, report]).headings) <= MOST_COLUMNS:
            last.append(report)
        else:
            parts.append([report])
    return [table1(part) for part in parts]


def table1(reports: Sequence[RunReport]) -> Table:
    """Table 1 of the workshop version and Figure 4 of arXiv 2410.20600, the runs first."""
    columns = beside(reports)
    headings = ["sessions that are"]
    for report in reports:
        headings.append(report.title)
        if len(report.statistics.repetitions) > 1:
            headings.append(f"{report.title}, range")
        headings.append(f"{report.title}, {CONFIDENCE:.0%}")
    rows = []
    for place, name in enumerate(("in all", *ROWS)):
        own: list[Cell] = []
        for report in reports:
            own += _own(report, place)
        theirs = [
            _counted(column.counts[place - 1], SESSIONS) if place else str(SESSIONS)
            for column in columns
        ]
        rows.append((name, *own, *theirs))
    caption = "Intelligibility of sessions: medians over repetitions, shares in parentheses"
    key = "-".join(("table1", *(report.name for report in reports)))
    return Table(key, caption, (*headings, *(column.title for column in columns)), tuple(rows))


def paired(reports: Sequence[RunReport]) -> Table | None:
    """Two runs side by side, session by session; None where they are not two of the same data."""
    if len(reports) != 2:
        return None
    first, second = reports
    if set(first.outcomes.classes).isdisjoint(second.outcomes.classes):
        return None
    if first.record.task != second.record.task:
        return None
    found = compare(first.outcomes, second.outcomes)
    sheet = comparison_sheet(found, first.name, second.name)
    return Table(f"paired-{first.name}-{second.name}", sheet.title, sheet.headings, sheet.rows)


def _own(report: RunReport, place: int) -> list[Cell]:
    several = len(report.statistics.repetitions) > 1
    classes = report.statistics.classes()
    if not classes:
        return ["–", *(["–"] if several else []), "–"]
    row = classes[place]
    shown = number(row.median) + (f" ({float(row.share):.2f})" if place else "")
    ranges = [f"{row.least:,}–{row.most:,}"] if several else []
    return [shown, *ranges, _interval(report.estimates[row.name].interval) if place else ""]


def _interval(interval: Interval) -> str:
    return f"{interval.low:.2f}–{interval.high:.2f}"


def _counted(count: int, among: int) -> str:
    return f"{count} ({count / among:.2f})"


def number(count: Fraction) -> str:
    """A median of counts: whole, or with as few digits as it needs."""
    return f"{int(count):,}" if count.denominator == 1 else f"{float(count):,.3g}"


def categories(report: RunReport) -> Table:
    """The tag-category table with the counts of a run."""
    headings = ("category", "prediction", "explanation", "and", "tag", "machine", "human")
    rows = tuple(
        (
            row.category,
            row.prediction,
            row.explanation,
            row.condition,
            row.tag,
            row.machine,
            row.human,
        )
        for row in report.rules
    )
    return Table(
        f"categories-{report.name}", "How messages were tagged, and how often", headings, rows
    )


def sequences(report: RunReport, most: int | None = None) -> Table:
    """The tag sequences of a run, the most frequent first."""
    found = sorted(report.tally.sequences.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple((" ".join(tags), ending, count) for (*tags, ending), count in found[:most])
    return Table(f"sequences-{report.name}", "Tag sequences", ("tags", "ended", "sessions"), rows)


def curve_rows(report: RunReport) -> Iterator[Sequence[Cell]]:
    """Every point of every curve: run, what, message, median, least, most."""
    for kind in KINDS:
        what = "two-way" if kind == "two-way" else f"one-way, {kind}"
        yield from _points(report.name, what, [(p.number, p) for p in report.curves[kind]])
    measured = report.performance
    if not isinstance(measured.in_sessions, str):
        points = [(p.number, p) for p in measured.in_sessions]
        yield from _points(report.name, "machine right, on the sessions' own instances", points)
    if not isinstance(measured.human, str):
        points = [(p.number, p) for p in measured.human]
        yield from _points(report.name, "human right, on the sessions' own instances", points)
    if not isinstance(measured.on_test_set, str):
        yield from _points(report.name, "machine right, on the test set", measured.on_test_set)


def _points(run: str, what: str, points: Sequence[tuple[int, Point]]) -> Iterator[Sequence[Cell]]:
    for place, point in points:
        yield run, what, place, float(point.median), float(point.least), float(point.most)


CURVE_HEADINGS = ("run", "what", "message", "median", "min", "max")
