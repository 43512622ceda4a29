"""Writing of a report: the page, and CSV, JSON and LaTeX of the same name next to it."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from functools import cache, partial
from importlib import resources
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from backends.databases import FAULTS, RunRecord, SqlBlackboard, calls_of_sessions
from backends.databases.recordings import recorded_sessions
from pxp_fsm import __version__
from pxp_fsm.artifacts import atomic_path, file_name, policy_digest, write_atomically
from pxp_fsm.defaults import NETWORKS
from pxp_fsm.diagrams.latex import Cell, Table, as_latex
from pxp_fsm.diagrams.style import PAPERS, Room
from pxp_fsm.diagrams.text import legible
from pxp_fsm.errors import NotThere, UsageError, quoted, require_extra
from pxp_fsm.experiments.accuracy import LONGEST
from pxp_fsm.experiments.comparison import (
    comparison_lines,
    comparison_sheet,
    explanation,
    order_lines,
    seed_lines,
)
from pxp_fsm.experiments.drawings import chosen_runs
from pxp_fsm.experiments.members import prompts_of_plan
from pxp_fsm.experiments.outcomes import compare
from pxp_fsm.experiments.plan_data import WITHOUT_PLAN, stored_deviations
from pxp_fsm.experiments.reports import figures
from pxp_fsm.experiments.reports.contents import REPLAYED, RunReport, gather
from pxp_fsm.experiments.reports.conversations import ReportedTalk, conversation, facts_of
from pxp_fsm.experiments.reports.figures import PHONE, SCREEN, Curve, DrawnFigure, PlotMark, rows
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.experiments.reports.systems import gather_system
from pxp_fsm.experiments.reports.tallies import KINDS, NOT_OVER, CurvePoint
from pxp_fsm.experiments.run_kinds import ReportedRun, kind_of
from pxp_fsm.experiments.statistics import (
    CONFIDENCE,
    ROWS,
    SESSIONS,
    Estimate,
    Interval,
    Published,
    points,
    published,
    rounded,
)
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from markupsafe import Markup


def columns_beside(reports: Sequence[RunReport]) -> Sequence[Published]:
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
        reports, key=lambda run_report: [r.plan.task for r in reports].index(run_report.plan.task)
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
    columns = columns_beside(reports)
    headings, attached = ["sessions that are"], set[int]()
    for report in reports:
        ranges = ["range"] if len(report.statistics.repetitions) > 1 else []
        more = [*ranges, f"{CONFIDENCE:.0%}"]
        attached |= {len(headings) + place for place in range(1, len(more) + 1)}
        headings += [report.title, *more]
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
    several = any(len(report.statistics.repetitions) > 1 for report in reports)
    numbers = "Medians over the R repetitions" if several else "Numbers of sessions"
    told = f"{numbers}, with shares in parentheses; {CONFIDENCE:.0%}: interval of the share."
    parts = ("Intelligibility of sessions.", _conditions(reports), told, _beside(columns))
    caption = " ".join(filter(None, parts))
    key = "-".join(("table1", *(report.name for report in reports)))
    titles = (*headings, *(column.title for column in columns))
    return Table(key, caption, titles, tuple(rows), frozenset(attached))


def _conditions(reports: Sequence[RunReport]) -> str:
    """What the numbers of runs are of: the protocol with its bounds, sessions and repetitions."""
    groups = dict[str, list[str]]()
    for report in reports:
        rules, sizes = (
            report.plan.rules(),
            {repetition.total for repetition in report.statistics.repetitions},
        )
        bounds = [f"{name} = {value}" for name, value in (("n", rules.n), ("k", rules.k)) if value]
        per_repetition = " or ".join(f"{size:,}" for size in sorted(sizes)) or "no"
        many = f"R = {len(report.statistics.repetitions):,}"
        of_it = (
            f"{', '.join((rules.automaton.title, *bounds))}; {many}, {per_repetition} sessions each"
        )
        groups.setdefault(of_it, []).append(report.name)
    if len(groups) == 1:
        conditions = next(iter(groups))
    else:
        conditions = "; ".join(f"{', '.join(names)}: {of_it}" for of_it, names in groups.items())
    return f"{conditions}."


def _beside(columns: Sequence[Published]) -> str:
    """Where published columns are from, and which were controlled."""
    kinds = {True: "controlled", False: "uncontrolled"}
    named = {
        word: [column.title for column in columns if column.controlled is controlled]
        for controlled, word in kinds.items()
    }
    parts = [f"{', '.join(titles)} ({word})" for word, titles in named.items() if titles]
    return f"Published: {'; '.join(parts)}." if parts else ""


def paired(reports: Sequence[RunReport]) -> Table | None:
    """Two runs side by side, session by session; None where they are not two of the same data."""
    if len(reports) != 2:
        return None
    first, second = reports
    if set(first.outcomes.classes).isdisjoint(second.outcomes.classes):
        return None
    if first.record.task != second.record.task:
        return None
    comparisons = compare(first.outcomes, second.outcomes)
    sheet = comparison_sheet(comparisons, first.title, second.title)
    caption = (
        f"{sheet.title}: {comparisons[0].pairs:,} pairs of sessions. {_conditions(reports)} "
        f"{CONFIDENCE:.0%}: interval of the difference; p: exact, two-sided."
    )
    return Table(f"paired-{first.name}-{second.name}", caption, sheet.headings, sheet.rows)


def _own(report: RunReport, place: int) -> list[Cell]:
    several = len(report.statistics.repetitions) > 1
    classes = report.statistics.classes()
    if not classes:
        return ["–", *(["–"] if several else []), "–"]
    row = classes[place]
    shown = number(row.median) + (f" ({rounded(row.share)})" if place else "")
    ranges = [f"{row.least:,}–{row.most:,}"] if several else []
    return [shown, *ranges, _interval(report.estimates[row.name].interval) if place else ""]


def _interval(interval: Interval) -> str:
    return f"{rounded(interval.low)}–{rounded(interval.high)}"


def _counted(count: int, among: int) -> str:
    return f"{count} ({rounded(Fraction(count, among))})"


def number(count: Fraction) -> str:
    """A median of counts: whole, or one and a half."""
    return f"{float(count):,.{0 if count.denominator == 1 else 1}f}"


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
        f"categories-{report.name}",
        f"How messages of {report.title} were tagged, and how often",
        headings,
        rows,
    )


def _categories_in_print(report: RunReport) -> Table:
    """The same table, narrow enough for a column of a paper."""
    table = categories(report)
    rows = tuple(
        (f"{category} ({prediction}, {explanation})" if category else "–", *rest)
        for category, prediction, explanation, *rest in table.rows
    )
    caption = f"{table.caption}; in parentheses: prediction and explanation of a category"
    return Table(table.key, caption, (table.headings[0], *table.headings[3:]), rows)


def sequences(report: RunReport, most: int | None = None) -> Table:
    """The tag sequences of a run, the most frequent first."""
    by_frequency = sorted(report.tally.sequences.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple((" ".join(tags), ending, count) for (*tags, ending), count in by_frequency[:most])
    caption = f"Tag sequences of {report.title}"
    if len(by_frequency) > len(rows):
        caption += f": the {len(rows):,} most frequent of {len(by_frequency):,}"
    return Table(f"sequences-{report.name}", caption, ("tags", "ended", "sessions"), rows)


def curve_rows(report: RunReport) -> Iterator[Sequence[Cell]]:
    """Every point of every curve: run, what, message, median, least, most."""
    for kind in KINDS:
        curve = "two-way" if kind == "two-way" else f"one-way, {kind}"
        yield from _points(report.name, curve, [(p.number, p) for p in report.curves[kind]])
    measured = report.performance
    if not isinstance(measured.in_sessions, str):
        points = [(p.number, p) for p in measured.in_sessions]
        yield from _points(report.name, "machine right, on the sessions' own instances", points)
    if not isinstance(measured.human, str):
        points = [(p.number, p) for p in measured.human]
        yield from _points(report.name, "human right, on the sessions' own instances", points)
    if not isinstance(measured.on_test_set, str):
        yield from _points(report.name, "machine right, on the test set", measured.on_test_set)


def _points(
    run: str, curve: str, points: Sequence[tuple[int, CurvePoint]]
) -> Iterator[Sequence[Cell]]:
    for place, point in points:
        yield run, curve, place, float(point.median), float(point.least), float(point.most)


CURVE_HEADINGS = ("run", "what", "message", "median", "min", "max")


LISTED = 1000
"""Sessions of a run that have a row each, beside those that are shown whole."""

SEQUENCES = 30
"""Tag sequences that are listed, the most frequent first."""

_COLOURS = {"human": "human", "machine": "machine", "two-way": "both"}
_MARKERS = {"human": "o", "machine": "s", "two-way": "^"}


Drawings = Mapping[str, DrawnFigure | None]
"""The figures of a run by name; None where there are no numbers for one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in one row."""

    name: str
    instance: str
    tags: tuple[str, ...]
    ended: str


@dataclass(frozen=True, slots=True)
class Section:
    """What the page shows of a run, apart from its sessions."""

    report: RunReport
    facts: tuple[tuple[str, str], ...]
    why_not: tuple[str, ...]
    figures: Mapping[str, Markup | None]
    categories: Table
    sequences: Table
    other_sequences: int
    remarks: tuple[str, ...]
    whole: tuple[str, ...]
    session_facts: tuple[tuple[str, str], ...]


@cache
def _templates() -> Any:
    """The page and its sessions, which take longer to compile than most take to write."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pxp_fsm.experiments.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["legible"] = legible
    return environment


def write_page(
    board: SqlBlackboard,
    reports: Sequence[RunReport],
    others: Sequence[ReportedRun],
    whole: Mapping[str, Sequence[str]],
    beside: Sequence[str],
    file: TextIO,
    source: str | None = None,
) -> None:
    """Write the page of `reports` and of `others` into `file`, a part at a time.

    `whole` names the sessions of each run that are shown
    whole, `beside` the files that are left beside the page. `source` says where the sessions
    are from, in place of the database's name. Raises `UsageError` where a library
    that the page needs is not installed.
    """
    require_extra("report", "a report", {"jinja2": "jinja2"})
    from markupsafe import Markup

    gallery, script = Gallery(), _resource("page.js")
    sections = [_section(board, report, place, whole) for place, report in enumerate(reports)]
    sessions = partial(
        _templates().get_template("sessions.html.jinja").generate,
        sections=sections,
        others=others,
        gallery=gallery,
        whole_sessions=lambda report: report.whole_sessions(
            board, whole.get(report.name, ()), gallery
        ),
        conversations=lambda section: _conversations(board, section, gallery),
        listed=lambda section: _listed(board, section),
        listed_at_most=LISTED,
    )
    parts = (
        _templates()
        .get_template("page.html.jinja")
        .generate(
            title="Report of "
            + ", ".join(
                [
                    *(run_report.title for run_report in reports),
                    *(report.title for report in others),
                ]
            ),
            version=__version__,
            style=Markup(_style()),  # noqa: S704 - our own file, with no word from elsewhere
            script=Markup(script),  # noqa: S704 - as is this
            digest=policy_digest(script),
            database=source or board.shown,
            answers=list(_answers(reports, others)),
            table1=tables1(reports),
            paired=paired(reports),
            paired_lines=_paired_lines(reports),
            published=bool(columns_beside(reports)),
            sections=sections,
            others=others,
            notes=tuple(dict.fromkeys(report.notes for report in others)),
            packed=lambda drawn: _packed(sessions(drawn=drawn)),
            drawn_columns=figures.COLUMNS,
            curves_until=LONGEST,
            gallery=gallery,
            beside=beside,
        )
    )
    file.writelines(parts)


_AT_ONCE = 500
"""Parts of a page that are compressed together."""


def _packed(parts: Iterator[str]) -> Iterator[str]:
    """HTML as text that `page.js` unfolds: compressed, in base64; a part at a time."""
    packing, rest = zlib.compressobj(), b""
    together = ("".join(some) for some in iter(lambda: list(islice(parts, _AT_ONCE)), []))
    for part in itertools.chain(together, [None]):
        rest += packing.flush() if part is None else packing.compress(part.encode())
        whole = len(rest) if part is None else len(rest) // 3 * 3  # so that parts can be joined
        yield base64.b64encode(rest[:whole]).decode()
        rest = rest[whole:]


def _paired_lines(reports: Sequence[RunReport]) -> Sequence[str]:
    table = paired(reports)
    if table is None:
        return ()
    first, second = (report.outcomes for report in reports)
    of_first, of_second = ([report.record] for report in reports)
    return (
        *comparison_lines(first, second, compare(first, second)),
        *seed_lines(of_first, of_second),
    )


def _style() -> str:
    """The style sheet with the colours of `palette`; ours, and no word of it from elsewhere."""
    return (
        _resource("page.css")
        .replace("/* light */", figures.variables(figures.LIGHT))
        .replace("/* dark */", figures.variables(figures.DARK))
    )


def _resource(name: str) -> str:
    """A file of ours that stands in the page."""
    return resources.files("pxp_fsm.experiments.reports").joinpath(name).read_text("utf-8")


def _section(
    board: SqlBlackboard,
    report: RunReport,
    place: int,
    whole: Mapping[str, Sequence[str]],
) -> Section:
    measured = report.performance
    table = sequences(report, SEQUENCES)
    reasons = (
        ("on the sessions' own instances", measured.in_sessions),
        ("on the test set", measured.on_test_set),
    )
    remarks = [f"Not as in the paper: {line}" for line in stored_deviations(report.record)]
    if report.task is not None and report.data is not None:
        human = report.task.role_notes.get("human", ())
        remarks += [*report.task.notes, *(human if report.plan.human is None else ())]
    remarks += explanation(report.outcomes)
    if report.sessions <= REPLAYED:
        remarks += order_lines(report.outcomes, report.plan.seed)
    return Section(
        report,
        _facts(report),
        tuple(f"Not shown {where}: {why}." for where, why in reasons if isinstance(why, str)),
        _figures_of_page(report, place),
        categories(report),
        table,
        len(report.tally.sequences) - len(table.rows),
        tuple(remarks),
        tuple(whole.get(report.name, ())),
        _session_facts(board, report, whole),
    )


def _figures_of_page(report: RunReport, place: int) -> Mapping[str, Markup | None]:
    """The figures of a run, each for wide screens and for narrow ones, of which one is shown."""
    from markupsafe import Markup

    wide, narrow = drawings_of(report), drawings_of(report, PHONE)
    shown = Markup('<div class="on-wide">{}</div><div class="on-narrow">{}</div>')
    return {
        name: None
        if figure is None or small is None
        else shown.format(figure.element(f"{name[0]}{place}"), small.element(f"{name[0]}{place}n"))
        for (name, figure), small in zip(wide.items(), narrow.values(), strict=True)
    }


def _session_facts(
    board: SqlBlackboard, report: RunReport, whole: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, str], ...]:
    """What is said of the first session that is shown, and so of most others."""
    names = whole.get(report.name, ())
    return facts_of(board.session(names[0])) if names else ()


def _answers(reports: Sequence[RunReport], others: Sequence[ReportedRun]) -> Iterator[list[str]]:
    """What was asked of each run, and the answer in one sentence."""
    for report in reports:
        rules, task = report.plan.rules(), report.task
        bounds = [f"{name} = {value}" for name, value in (("n", rules.n), ("k", rules.k)) if value]
        about = task.about if task else report.plan.task
        asked = (
            f"{report.title}: how many sessions about {about} are intelligible to both agents, by "
            f"{', '.join((rules.automaton.title, *bounds))}?"
        )
        estimate = report.estimates.get("two-way")
        total = sum(repetition.total for repetition in report.statistics.repetitions)
        if estimate is None or not total:
            yield [asked, "No session is over yet."]
            continue
        yield [
            asked,
            f"{round(estimate.share * total):,} of {total:,} sessions are two-way intelligible "
            f"({CONFIDENCE:.0%} interval of the share: {estimate.interval}).",
        ]
    for other in others:
        endings = Counter(line.ending or NOT_OVER for line in getattr(other, "sessions", ()))
        if endings:
            many = ", ".join(f"{count:,} {ending}" for ending, count in endings.most_common())
            yield [
                f"{other.title}: how do its sessions end?",
                f"Of {endings.total():,} sessions: {many}.",
            ]


def _facts(report: RunReport) -> tuple[tuple[str, str], ...]:
    plan, rules = report.plan, report.plan.rules()
    bounds = [f"{name} = {value}" for name, value in (("n", rules.n), ("k", rules.k)) if value]
    begun = f"{report.sessions:,}"
    if report.planned is not None:
        begun += f" of {report.planned:,} planned"
    endings: dict[str, int] = {}
    for counts in report.tally.by_repetition.values():
        for ending, count in counts.items():
            endings[ending] = endings.get(ending, 0) + count
    ended = ", ".join(f"{ending} {count:,}" for ending, count in sorted(endings.items()))
    return (
        ("task", report.task.about if report.task else plan.task),
        ("data", report.data.origin if report.data else "not known"),
        ("protocol", ", ".join((rules.automaton.title, *bounds))),
        *_models(report),
        *((("subject", report.record.subject),) if report.record.subject else ()),
        ("sessions begun", begun),
        ("repetitions", f"{plan.repetitions:,}, seed {plan.seed}"),
        ("ended", ended or "–"),
        ("begun at", report.record.created),
        ("version", report.record.version),
    )


def _models(report: RunReport) -> Iterator[tuple[str, str]]:
    """The models that took part, and how they were asked."""
    plan = report.plan
    chosen = (
        ("machine", plan.machine),
        ("human", plan.human_model),
        ("judge", plan.judge),
        ("preset", plan.preset),
    )
    named = [f"{role} {name}" for role, name in chosen if name is not None]
    if not named:
        return
    yield "models", ", ".join(named)
    if report.task is not None:
        whose, prompts = prompts_of_plan(plan, report.task)
        yield "prompts", f"{whose}, {prompts.fingerprint[:12]}"


def drawings_of(report: RunReport, room: Room = SCREEN) -> Drawings:
    """The figures of a run that have `room`."""
    return {
        "curves": _curves(report, room),
        "measured": _performance(report, room),
        "flow": _flow(report, room),
    }


def _flow(report: RunReport, room: Room) -> DrawnFigure | None:
    if not report.tally.longest:
        return None
    return figures.chart("Which tag followed which, message by message", report.tally, room)


def _curves(report: RunReport, room: Room) -> DrawnFigure | None:
    names = {"human": "one-way, human", "machine": "one-way, machine", "two-way": "two-way"}
    lines = [
        Curve(names[kind], _COLOURS[kind], _MARKERS[kind], _floats((p.number, p) for p in curve))
        for kind, curve in report.curves.items()
        if curve
    ]
    if not lines:
        return None
    marks = []
    sizes = {repetition.total for repetition in report.statistics.repetitions}
    if report.plan.protocol == "interact" and sizes == {SESSIONS}:
        places: dict[tuple[str, int, int], list[str]] = {}
        for p in points(report.plan.task):
            places.setdefault((p.kind, p.message, p.sessions), []).append(p.title)
        marks = [
            PlotMark(f"{kind} {count}: {', '.join(titles)}", _COLOURS[kind], message, count)
            for (kind, message, count), titles in places.items()
        ]
    top = max(sizes, default=1) * 1.04
    title = _told("One- and two-way intelligible sessions by message", lines)
    axes = ("message", "sessions")
    return figures.curves(title, axes, lines, marks, top=top, room=room, whole=True)


def _performance(report: RunReport, room: Room) -> DrawnFigure | None:
    measured, lines = report.performance, []
    if not isinstance(measured.in_sessions, str):
        shown = _floats((p.number, p) for p in measured.in_sessions)
        lines.append(Curve("machine, own instances", "machine", "s", shown))
    if not isinstance(measured.human, str):
        shown = _floats((p.number, p) for p in measured.human)
        lines.append(Curve("human, own instances", "human", "o", shown))
    if not isinstance(measured.on_test_set, str):
        lines.append(Curve("machine, test set", "both", "^", _floats(measured.on_test_set)))
    if not lines:
        return None
    title = _told("Share of right predictions by message", lines)
    return figures.curves(title, ("message", "share right"), lines, top=1.04, room=room)


def _floats(along: object) -> list[tuple[float, float, float, float]]:
    return [(place, float(p.median), float(p.least), float(p.most)) for place, p in along]  # type: ignore[attr-defined]


def _told(subject: str, lines: Sequence[Curve]) -> str:
    """A figure in words, for who cannot see it; its numbers are in the files as well."""
    ranges = [
        f"{line.name}: {float(rounded(line.points[0][1])):g} to "
        f"{float(rounded(line.points[-1][1])):g}"
        for line in lines
    ]
    return f"{subject}. {'; '.join(ranges)}."


_READ = 20
"""Sessions whose calls are read together: prompts may be long."""


def _conversations(
    board: SqlBlackboard, section: Section, gallery: Gallery
) -> Iterator[ReportedTalk]:
    task, names = section.report.task, iter(section.whole)
    while some := list(islice(names, _READ)):
        calls = calls_of_sessions(board, some)
        for stored in board.stored(some):
            yield conversation(stored, task, gallery, calls[stored.record.session])


def _listed(board: SqlBlackboard, section: Section) -> Iterator[Listed]:
    """The sessions that are not shown whole, `LISTED` at most."""
    name, whole = section.report.name, frozenset(section.whole)
    listed = (
        recorded_session
        for recorded_session in recorded_sessions(board, name)
        if recorded_session.session not in whole
    )
    for session in islice(listed, LISTED):
        tags = tuple(message.tag for message in session.messages)
        ended = session.ending or NOT_OVER
        fault = " (a fault)" if session.ending in FAULTS else ""
        yield Listed(session.session, session.instance, tags, f"{ended}{fault}")


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(headings: Sequence[Cell], rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV with CRLF; a text that a spreadsheet would run gets an apostrophe before it."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerows([_inert(cell) for cell in row] for row in (headings, *rows))
    return written.getvalue()


def _inert(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


FORMAT = "pxp-report-1"


def as_json(
    reports: Sequence[RunReport],
    others: Sequence[ReportedRun] = (),
) -> str:
    """The report as JSON text: ASCII, keys in one order, numbers as they are."""
    whole: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "runs": [_run(report) for report in reports],
        "systems": [],
    }
    for other in others:
        whole.setdefault(other.kind, []).append(other.as_data())
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _run(report: RunReport) -> dict[str, Any]:
    measured = report.performance
    tested = measured.on_test_set
    return {
        "run": report.name,
        "task": report.record.task,
        "subject": report.record.subject,
        "created": report.record.created,
        "version": report.record.version,
        "plan": json.loads(report.record.plan),
        "sessions": {"planned": report.planned, "begun": report.sessions},
        "missing": list(report.missing),
        "endings": {
            str(repetition): dict(sorted(counts.items()))
            for repetition, counts in sorted(report.tally.by_repetition.items())
        },
        "table1": [
            {
                "class": row.name,
                "median": float(row.median),
                "share": float(row.share),
                "min": row.least,
                "max": row.most,
                "estimate": _estimate(report.estimates.get(row.name)),
            }
            for row in report.statistics.classes()
        ],
        "repetitions": [
            {
                "repetition": repetition.number,
                "total": repetition.total,
                "counts": dict(zip(ROWS, repetition.counts, strict=True)),
            }
            for repetition in report.statistics.repetitions
        ],
        "curves": {kind: [_point(p.number, p) for p in report.curves[kind]] for kind in KINDS},
        "performance": {
            "in_sessions": measured.in_sessions
            if isinstance(measured.in_sessions, str)
            else [_point(p.number, p) for p in measured.in_sessions],
            "human_in_sessions": measured.human
            if isinstance(measured.human, str)
            else [_point(p.number, p) for p in measured.human],
            "on_test_set": tested if isinstance(tested, str) else [_point(j, p) for j, p in tested],
        },
        "flow": [
            {"message": message, "tag": tag, "next": following, "sessions": count}
            for message, tag, following, count in figures.rows(report.tally)
        ],
        "categories": [
            dict(zip(categories(report).headings, row, strict=True))
            for row in categories(report).rows
        ],
        "sequences": [
            dict(zip(sequences(report).headings, row, strict=True))
            for row in sequences(report).rows
        ],
        "published": [
            {
                "title": column.title,
                "sessions": SESSIONS,
                "counts": dict(zip(ROWS, column.counts, strict=True)),
            }
            for column in published(report.plan.task)
        ],
        "published_points": [
            {
                "title": p.title,
                "kind": p.kind,
                "message": p.message,
                "sessions": p.sessions,
                "source": p.source,
            }
            for p in points(report.plan.task)
        ],
    }


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    """A proportion of all sessions with its interval; an error that one cluster hides is null."""
    if estimate is None:
        return None
    return {
        "share": estimate.share,
        "low": estimate.interval.low,
        "high": estimate.interval.high,
        "error_by_repetition": _finite(estimate.by_repetition),
        "error_by_instance": _finite(estimate.by_instance),
        "effective_sessions": estimate.size,
    }


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _point(message: int, point: CurvePoint) -> dict[str, float]:
    return {
        "message": message,
        "median": float(point.median),
        "min": float(point.least),
        "max": float(point.most),
    }


WHOLE = 200
"""Sessions of a run that are shown whole unless told otherwise: ten times the papers' twenty."""


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
    by_run: dict[str, list[str]] = {}
    seen = set()
    for run in runs:
        by_run[run] = []
        for record in board.sessions(run):
            hits = {record.session, record.instance.key}.intersection(names)
            if hits:
                seen |= hits
                by_run[run].append(record.session)
    unknown = [name for name in names if name not in seen]
    if unknown:
        raise UsageError(
            f"there is no session or instance {quoted(', '.join(unknown))}; give a number, all, "
            f"or names of sessions or instances joined by commas",
            "sessions",
        )
    return by_run


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
    room: Room = PAPERS["article"],
    source: str | None = None,
) -> tuple[Sequence[RunReport], Sequence[Path]]:
    """Report `runs` as `path` and files beside it; none: those with a plan, or of a system.

    Every figure is also written into the folder `figures`, as SVG, PDF and TikZ. Those and the
    LaTeX tables have `room`. `source` says where the sessions are from; else it is the database's
    name.

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
    kinds = {record.run: kind_of(record) for record in planned}
    reports = [
        gather(board, record, test_set=test_set, catalogue=catalogue)
        for record in planned
        if kinds[record.run] is None
    ]
    others: list[ReportedRun] = [
        gather_system(board, record) for record in records if record not in planned
    ]
    others += [
        kind.report(board, record) for record in planned if (kind := kinds[record.run]) is not None
    ]
    stem = path.with_suffix("")
    left = {} if figures is None else _figures(reports, room, figures)
    texts = dict(_texts(board, reports, others, partial(as_latex, room=room)))
    names = {suffix: stem.with_name(stem.name + suffix) for suffix in texts}
    with ExitStack() as stack:

        def opened(target: Path) -> TextIO:
            draft = stack.enter_context(atomic_path(target))
            return stack.enter_context(draft.open("w", encoding="utf-8", newline=""))

        beside = [name.name for name in names.values()]
        write_page(board, reports, others, whole, beside, opened(path), source)
        for suffix, target in names.items():
            opened(target).writelines(texts[suffix])
    for file, content in left.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return reports, (path, *names.values(), *left)


def _figures(reports: Sequence[RunReport], room: Room, folder: Path) -> dict[Path, str | bytes]:
    """Every figure of every run as SVG, PDF and TikZ, by the file that it goes to."""
    files: dict[Path, str | bytes] = {}
    for place, report in enumerate(reports, start=1):
        stem = file_name(report.name)
        if any(file.name.startswith(f"{stem}-") for file in files):
            stem = f"{stem}-{place}"
        for name, drawing in drawings_of(report, room).items():
            if drawing is not None:
                files[folder / f"{stem}-{name}.svg"] = drawing.svg()
                files[folder / f"{stem}-{name}.pdf"] = drawing.pdf()
                files[folder / f"{stem}-{name}.pgf"] = drawing.pgf()
    return files


def left_out(board: SqlBlackboard, runs: Sequence[str]) -> tuple[str, ...]:
    """The runs that `write` leaves out where none is named, each with the reason."""
    return () if runs else tuple(_reasons(board, board.runs()))


def _reasons(board: SqlBlackboard, records: Sequence[RunRecord]) -> Iterator[str]:
    return filter(None, (_reason(board, record) for record in records))


def _reason(board: SqlBlackboard, record: RunRecord) -> str | None:
    """Why a run is not reported: it has no plan, and no sessions of a system."""
    if record.task not in WITHOUT_PLAN:
        return None
    # What came of a training is its network, not how often its one session ended how.
    of_system = any(session.channel for session in board.sessions(record.run, limit=1))
    if of_system and record.task != NETWORKS:
        return None
    return f"run {record.run} {WITHOUT_PLAN[record.task]}"


def _records(board: SqlBlackboard, runs: Sequence[str]) -> Sequence[RunRecord]:
    records = chosen_runs(board, runs)
    if runs:
        for why in _reasons(board, records):
            raise UsageError(why)
        return records
    reported = [record for record in records if _reason(board, record) is None]
    if not reported:
        raise NotThere(f"{board.shown} has no run to report: {'; '.join(_reasons(board, records))}")
    return reported


def _texts(
    board: SqlBlackboard,
    reports: Sequence[RunReport],
    others: Sequence[ReportedRun],
    set_table: Callable[[Table], str],
) -> Iterator[tuple[str, Iterator[str]]]:
    """The files beside the page, by what their names end in; `set_table` writes LaTeX."""
    if reports:
        yield from _texts_of_tasks(board, reports, set_table)
    for kind in dict.fromkeys(report.kind for report in others):
        alike = [report for report in others if report.kind == kind]
        tables = [table for report in alike for table in report.tables]
        yield f"-{kind}.tex", map(set_table, tables)
        for ending, first in alike[0].files.items():
            rows = (row for report in alike for row in report.files[ending].rows)
            yield ending, iter([as_csv(first.headings, rows)])
    yield ".json", iter([as_json(reports, others)])


def _texts_of_tasks(
    board: SqlBlackboard, reports: Sequence[RunReport], set_table: Callable[[Table], str]
) -> Iterator[tuple[str, Iterator[str]]]:
    flow = (("run", "message", "tag", "next", "sessions"),
            ((r.name, *row) for r in reports for row in rows(r.tally)))  # fmt: skip
    yield "-table1.csv", iter([as_csv(*_table1(reports))])
    yield "-table1.tex", map(set_table, tables1(reports))
    curve = (row for report in reports for row in curve_rows(report))
    yield "-curves.csv", iter([as_csv(CURVE_HEADINGS, curve)])
    yield "-flow.csv", iter([as_csv(*flow)])
    tagged = [categories(report) for report in reports]
    category_rows = (
        (r.name, *row) for r, table in zip(reports, tagged, strict=True) for row in table.rows
    )
    yield "-categories.csv", iter([as_csv(("run", *tagged[0].headings), category_rows)])
    yield "-categories.tex", map(set_table, map(_categories_in_print, reports))
    yield "-sequences.tex", (set_table(sequences(report, SEQUENCES)) for report in reports)
    if (pairs := paired(reports)) is not None:
        yield "-paired.tex", iter([set_table(pairs)])
    yield "-sessions.csv", _sessions(board, reports)


def _table1(reports: Sequence[RunReport]) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Table 1 with nothing but a number in every column after the first two."""
    found_rows: list[Sequence[Cell]] = []
    for report in reports:
        for row in report.statistics.classes():
            estimate = report.estimates.get(row.name)
            interval = (estimate.interval.low, estimate.interval.high) if estimate else (None, None)
            numbers = (float(row.median), float(row.share), row.least, row.most)
            found_rows.append((report.name, row.name, *numbers, *interval))
    for column in columns_beside(reports):
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
