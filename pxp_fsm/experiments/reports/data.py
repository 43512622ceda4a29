"""A report as JSON, for programs, in the format of `schema.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any

from pxp_fsm import __version__
from pxp_fsm.experiments.intervals import Estimate
from pxp_fsm.experiments.reports import figures, sheets
from pxp_fsm.experiments.reports.contents import RunReport
from pxp_fsm.experiments.reports.published import SESSIONS, points
from pxp_fsm.experiments.reports.systems import SystemReport
from pxp_fsm.experiments.reports.tallies import KINDS, Point
from pxp_fsm.experiments.statistics import ROWS, published

FORMAT = "pxp-report-1"


def as_json(reports: Sequence[RunReport], systems: Sequence[SystemReport] = ()) -> str:
    """The report as JSON text: ASCII, keys in one order, numbers as they are."""
    whole = {
        "format": FORMAT,
        "version": __version__,
        "runs": [_run(report) for report in reports],
        "systems": [report.as_data() for report in systems],
    }
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
                "repetition": each.number,
                "total": each.total,
                "counts": dict(zip(ROWS, each.counts, strict=True)),
            }
            for each in report.statistics.repetitions
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
            dict(zip(sheets.categories(report).headings, row, strict=True))
            for row in sheets.categories(report).rows
        ],
        "sequences": [
            dict(zip(sheets.sequences(report).headings, row, strict=True))
            for row in sheets.sequences(report).rows
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


def _estimate(found: Estimate | None) -> dict[str, float | None] | None:
    """A proportion of all sessions with its interval; an error that one cluster hides is null."""
    if found is None:
        return None
    return {
        "share": found.share,
        "low": found.interval.low,
        "high": found.interval.high,
        "error_by_repetition": _finite(found.by_repetition),
        "error_by_instance": _finite(found.by_instance),
        "effective_sessions": found.size,
    }


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _point(message: int, point: Point) -> dict[str, float]:
    return {
        "message": message,
        "median": float(point.median),
        "min": float(point.least),
        "max": float(point.most),
    }
