"""The report as a self-contained web page: one HTML file without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from typing import TextIO

from markupsafe import Markup

from backends.databases import FAULTS, SqlBlackboard
from backends.databases.recordings import recorded_sessions
from pxp_fsm import __version__
from pxp_fsm.diagrams.latex import Table
from pxp_fsm.diagrams.text import legible
from pxp_fsm.errors import require_extra
from pxp_fsm.experiments.accuracy import LONGEST
from pxp_fsm.experiments.comparison import comparison_lines, explanation, order_lines
from pxp_fsm.experiments.outcomes import compare
from pxp_fsm.experiments.participants import prompts_of_plan
from pxp_fsm.experiments.reports import figures, palette, sheets
from pxp_fsm.experiments.reports.contents import REPLAYED, RunReport
from pxp_fsm.experiments.reports.conversations import Conversation, conversation
from pxp_fsm.experiments.reports.figures import Curve, Drawing, Mark
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.experiments.reports.published import SESSIONS, points
from pxp_fsm.experiments.reports.systems import SystemReport, told
from pxp_fsm.experiments.reports.tallies import NOT_OVER
from pxp_fsm.experiments.stored_plans import stored_deviations

LISTED = 1000
"""Sessions of a run that have a row each, beside those that are shown whole."""

SEQUENCES = 30
"""Tag sequences that are listed, the most frequent first."""

_COLOURS = {"human": "human", "machine": "machine", "two-way": "both"}
_MARKERS = {"human": "o", "machine": "s", "two-way": "^"}


Drawings = Mapping[str, Drawing | None]
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


def write(
    board: SqlBlackboard,
    reports: Sequence[RunReport],
    drawings: Sequence[Drawings],
    systems: Sequence[SystemReport],
    whole: Mapping[str, Sequence[str]],
    beside: Sequence[str],
    file: TextIO,
    source: str | None = None,
) -> None:
    """Write the page of `reports` and of `systems` into `file`, a part at a time.

    `drawings` are the figures of each run, `whole` names the sessions of each run that are shown
    whole, `beside` the files that are left beside the page. `source` says where the sessions
    are from, in place of the database's name. Raises `UsageError` where a library
    that the page needs is not installed.
    """
    require_extra("report", "a report", {"jinja2": "jinja2"})
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pxp_fsm.experiments.reports", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["legible"] = legible
    gallery = Gallery()
    template = environment.get_template("page.html.jinja")
    parts = template.generate(
        title="Report of "
        + ", ".join([*(one.title for one in reports), *(one.title for one in systems)]),
        version=__version__,
        style=Markup(_style()),  # noqa: S704 - our own file, with no word from elsewhere
        database=source or board.shown,
        table1=sheets.tables1(reports),
        paired=sheets.paired(reports),
        paired_lines=_paired_lines(reports),
        published=bool(sheets.beside(reports)),
        sections=[
            _section(report, place, of_it, whole)
            for place, (report, of_it) in enumerate(zip(reports, drawings, strict=True))
        ],
        systems=systems,
        told=lambda report: told(board, report, whole.get(report.name, ()), gallery),
        conversations=lambda section: _conversations(board, section, gallery),
        listed=lambda section: _listed(board, section),
        listed_at_most=LISTED,
        drawn_columns=figures.COLUMNS,
        curves_until=LONGEST,
        gallery=gallery,
        beside=beside,
    )
    file.writelines(parts)


def _paired_lines(reports: Sequence[RunReport]) -> Sequence[str]:
    table = sheets.paired(reports)
    if table is None:
        return ()
    first, second = (report.outcomes for report in reports)
    return comparison_lines(first, second, compare(first, second))


def _style() -> str:
    """The style sheet with the colours of `palette`; ours, and no word of it from elsewhere."""
    sheet = resources.files("pxp_fsm.experiments.reports").joinpath("page.css").read_text("utf-8")
    return sheet.replace("/* light */", palette.variables(palette.LIGHT)).replace(
        "/* dark */", palette.variables(palette.DARK)
    )


def _section(
    report: RunReport, place: int, drawings: Drawings, whole: Mapping[str, Sequence[str]]
) -> Section:
    measured = report.performance
    found = sheets.sequences(report, SEQUENCES)
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
        {
            name: one if one is None else one.element(f"{name[0]}{place}")
            for name, one in drawings.items()
        },
        sheets.categories(report),
        found,
        len(report.tally.sequences) - len(found.rows),
        tuple(remarks),
        tuple(whole.get(report.name, ())),
    )


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


def drawings_of(report: RunReport) -> Drawings:
    """The figures of a run; raises `UsageError` where matplotlib is not installed."""
    return {"curves": _curves(report), "measured": _performance(report), "flow": _flow(report)}


def _flow(report: RunReport) -> Drawing | None:
    if not report.tally.longest:
        return None
    return figures.chart("Which tag followed which, message by message", report.tally)


def _curves(report: RunReport) -> Drawing | None:
    names = {"human": "one-way, human", "machine": "one-way, machine", "two-way": "two-way"}
    lines = [
        Curve(names[kind], _COLOURS[kind], _MARKERS[kind], _floats((p.number, p) for p in curve))
        for kind, curve in report.curves.items()
        if curve
    ]
    if not lines:
        return None
    marks = []
    sizes = {each.total for each in report.statistics.repetitions}
    if report.plan.protocol == "interact" and sizes == {SESSIONS}:
        places: dict[tuple[str, int, int], list[str]] = {}
        for p in points(report.plan.task):
            places.setdefault((p.kind, p.message, p.sessions), []).append(p.title)
        marks = [
            Mark(f"{kind} {count}: {', '.join(titles)}", _COLOURS[kind], message, count)
            for (kind, message, count), titles in places.items()
        ]
    top = max(sizes, default=1) * 1.04
    return figures.curves(_told("One- and two-way intelligible sessions by message", lines),
                          ("message", "sessions"), lines, marks, top=top, whole=True)  # fmt: skip


def _performance(report: RunReport) -> Drawing | None:
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
    return figures.curves(title, ("message", "share right"), lines, top=1.04)


def _floats(found: object) -> list[tuple[float, float, float, float]]:
    return [(place, float(p.median), float(p.least), float(p.most)) for place, p in found]  # type: ignore[attr-defined]


def _told(what: str, lines: Sequence[Curve]) -> str:
    """A figure in words, for who cannot see it; its numbers are in the files as well."""
    said = [f"{line.name}: {line.points[0][1]:g} to {line.points[-1][1]:g}" for line in lines]
    return f"{what}. {'; '.join(said)}."


def _conversations(
    board: SqlBlackboard, section: Section, gallery: Gallery
) -> Iterator[Conversation]:
    for name in section.whole:
        yield conversation(board, name, section.report.task, gallery)


def _listed(board: SqlBlackboard, section: Section) -> Iterator[Listed]:
    """The sessions that are not shown whole, `LISTED` at most."""
    name, whole = section.report.name, frozenset(section.whole)
    found = (one for one in recorded_sessions(board, name) if one.session not in whole)
    for session in islice(found, LISTED):
        tags = tuple(message.tag for message in session.messages)
        ended = session.ending or NOT_OVER
        fault = " (a fault)" if session.ending in FAULTS else ""
        yield Listed(session.session, session.instance, tags, f"{ended}{fault}")
