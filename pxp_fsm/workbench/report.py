"""What a run reports: Table 1 beside the published columns, remarks, and files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from backends.databases import SqlBlackboard
from pxp_fsm.diagrams import state_diagram, write
from pxp_fsm.workbench.drawing import file_name, of_session
from pxp_fsm.workbench.runs import Run
from pxp_fsm.workbench.statistics import FAULTS, ROWS, Published, Statistics, published

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

PUBLISHED_SESSIONS = 20
SOURCES = (
    "Published, of 20 sessions a column: 2025 is Table 1 of the NeurIPS workshop version, "
    "2024 is Figure 4 of arXiv 2410.20600."
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as text: a heading for each column, then the rows."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def compared(run: Run) -> Sequence[Published]:
    """The published columns to set beside a run: they are of INTERACT, and of its task."""
    return published(run.plan.task) if run.plan.protocol == "interact" else ()


def table1(statistics: Statistics, columns: Sequence[Published]) -> Sheet:
    """Table 1 of the papers for a run: medians, ranges, and published `columns` beside them."""
    repetitions = statistics.repetitions
    size = max((repetition.total for repetition in repetitions), default=0)
    own = "this run" if len(repetitions) == 1 else f"median of {len(repetitions)}"
    headings = ("sessions that are", own, "min to max", *(column.title for column in columns))
    totals = [str(PUBLISHED_SESSIONS)] * len(columns)
    sizes = sorted({repetition.total for repetition in repetitions})
    rows = [("in all", str(size), "-".join(map(str, (sizes[:1] + sizes[-1:]))) or "-", *totals)]
    for place, (name, middle, (low, high)) in enumerate(
        zip(ROWS, statistics.medians(), statistics.ranges(), strict=False)
    ):
        theirs = (str(column.counts[place]) for column in columns)
        rows.append((name, _share(middle, size), f"{low}-{high}", *theirs))
    title = "Intelligibility, as in the papers' Table 1"
    return Sheet(title, headings, tuple(rows))


def _share(count: float, total: int) -> str:
    """A count with its proportion, rounded half up as people do."""
    if not total:
        return f"{count:g}"
    share = (Decimal(str(count)) / total).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{count:g} ({share})"


def as_rich(sheet: Sheet) -> Table:
    """The sheet for a terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(sheet.title), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    for place, heading in enumerate(sheet.headings):
        side: JustifyMethod = "left" if place == 0 else "right"
        table.add_column(
            Text(heading.replace(" ", "\n") if place else heading), justify=side, no_wrap=place == 0
        )
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    return table


def as_markdown(sheet: Sheet) -> str:
    """The sheet as a Markdown table."""
    rule = ["---", *["--:"] * (len(sheet.headings) - 1)]
    lines = (" | ".join(row) for row in (sheet.headings, rule, *sheet.rows))
    return f"# {sheet.title}\n\n" + "".join(f"| {line} |\n" for line in lines)


def as_csv(sheet: Sheet) -> str:
    """The sheet as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([sheet.headings, *sheet.rows])
    return text.getvalue()


def remarks(run: Run, statistics: Statistics) -> Sequence[str]:
    """What a reader must know to read the table rightly."""
    tags = ", ".join(
        f"{sender} {tag} {number}" for (sender, tag), number in sorted(statistics.tags.items())
    )
    endings = ", ".join(
        f"{ending or 'not over'} {number}" for ending, number in statistics.endings.items()
    )
    failed = sum(statistics.endings[ending] for ending in FAULTS)
    lines = [f"Tags sent: {tags}", f"Sessions ended: {endings}"]
    if compared(run):
        lines.insert(0, SOURCES)
    if failed:
        lines.append(f"{failed} sessions were ended by a fault and are in no count of the table.")
    lines += run.task.notes
    lines += run.task.accuracy(run.data)
    return lines


def leave(
    run: Run, board: SqlBlackboard, statistics: Statistics, folder: Path
) -> Sequence[tuple[str, Path]]:
    """Write table and drawings into `folder`; what each is, and where.

    The session drawn is the longest that was ratified, or else the longest. `board` may be in
    another folder: then its name is in the files' names, for runs of two databases may be alike.
    """
    sheet = table1(statistics, compared(run))
    stem = _stem(run, board, folder)
    left = [("table", folder / f"{stem}-table.md"), ("table", folder / f"{stem}-table.csv")]
    left[0][1].write_text(as_markdown(sheet), "utf-8")
    left[1][1].write_text(as_csv(sheet), "utf-8")
    records = board.sessions(run.name)
    longest = max(records, key=lambda one: (one.ending == "ratified", one.messages))
    drawings = {
        "automaton": state_diagram(run.plan.rules().automaton),
        "session": of_session(board.session(longest.session)),
    }
    for what, diagram in drawings.items():
        for suffix in ("svg", "png"):
            path = folder / f"{stem}-{what}.{suffix}"
            write(diagram, path)
            left.append((f"drawing of the {what}", path))
    return left


def _stem(run: Run, board: SqlBlackboard, folder: Path) -> str:
    name = board.engine.url.database or ""
    if Path(name).parent.resolve() == folder.resolve():
        return run.name
    return f"{file_name(Path(name).stem)}-{run.name}"
