"""Results of `pxp check`, as lines for a terminal and in the formats of other tools."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proofs.core.results import Result, Status
from proofs.export.itf import to_itf
from pxp_fsm import __version__
from pxp_fsm.analysis.checks import UNEXPECTED, UNKNOWN

_COLUMNS = ("subject", "property", "assumptions", "verdict")

_WIDEST = 128
"""How wide the aligned columns may be together; with the seconds a row then has 140 columns."""


def lines(results: Sequence[Result]) -> Iterator[str]:
    """The results for a terminal, below a header, and a last line that sums up.

    A verdict that is not as expected is marked in front; one that may fail says so.
    """
    rows = [(one.subject, one.name, one.assumptions, _status(one)) for one in results]
    widths = _widths([_COLUMNS, *rows])
    widths[1] = max(len(_COLUMNS[1]), min(widths[1], widths[1] + _WIDEST - sum(widths)))
    if results:
        yield f"  {_aligned(_COLUMNS, widths)}  seconds"
    for one, row in zip(results, rows, strict=True):
        mark = " " if one.as_expected else "!"
        said = f"{one.seconds:7.2f}  {one.verdict.explanation}"
        yield f"{mark} {_aligned(row, widths)}  {said}".rstrip()
    wrong = [line for line in results if not line.as_expected]
    several = "" if len(results) == 1 else "s"
    yield (
        f"{len(results)} verdict{several}{_counts(results)}, {len(wrong)} not as expected"
        + (": " + ", ".join(f"{line.name} ({line.assumptions})" for line in wrong) if wrong else "")
    )


def _counts(results: Sequence[Result]) -> str:
    """How many hold and how many fail, where some fail and may."""
    failing = [one for one in results if one.status is Status.FAILS and one.as_expected]
    if not failing:
        return ""
    expected = sum(one.expected is not None for one in failing)
    counts = {
        ("holds", "hold"): sum(one.status in (Status.HOLDS, Status.HOLDS_UP_TO) for one in results),
        ("fails as expected", "fail as expected"): expected,
        ("fails as allowed", "fail as allowed"): len(failing) - expected,
    }
    said = [f"{many} {words[many > 1]}" for words, many in counts.items() if many]
    return f" ({', '.join(said)})"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines with columns below one another."""
    widths = _widths(rows)
    return (_aligned(row, widths).rstrip() for row in rows)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def _status(result: Result) -> str:
    if result.status is not Status.FAILS or not result.as_expected:
        return result.status.value
    return f"{result.status} ({'not required' if result.expected is None else 'expected'})"


def exit_code(results: Sequence[Result]) -> int:
    """0 as expected, 1 not as expected, 4 unknown."""
    if any(not line.as_expected and line.status is not Status.UNKNOWN for line in results):
        return UNEXPECTED
    return UNKNOWN if any(line.status is Status.UNKNOWN for line in results) else 0


def as_json(results: Sequence[Result]) -> str:
    """The results as a JSON list."""
    return json.dumps([_record(line) for line in results], indent=1)


def _record(line: Result) -> dict[str, Any]:
    return {
        "subject": line.subject,
        "property": line.name,
        "title": line.title,
        "assumptions": line.assumptions,
        "verdict": line.status,
        "detail": line.verdict.detail,
        "expected": line.expected.value if line.expected else None,
        "as_expected": line.as_expected,
        "trace": list(line.trace.labels) if line.trace else None,
        "cycle": line.verdict.cycle,
        "unreceived": [asdict(one) for one in line.verdict.unreceived],
        "seconds": round(line.seconds, 4),
        "itf": json.loads(to_itf(line.name, line.model, line.verdict)) if line.trace else None,
    }


def as_junit(results: Sequence[Result]) -> str:
    """The results as JUnit XML: a test case each; a failure where not as expected, an error where
    unknown."""
    unknown = [line for line in results if line.status is Status.UNKNOWN]
    failed = [line for line in results if not line.as_expected and line not in unknown]
    counts: dict[str, Any] = {
        "tests": str(len(results)),
        "failures": str(len(failed)),
        "errors": str(len(unknown)),
        "time": f"{sum(line.seconds for line in results):.3f}",
    }
    suites = ET.Element("testsuites", name="pxp check", **counts)
    suite = ET.SubElement(suites, "testsuite", name="pxp check", **counts)
    for line in results:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=line.subject,
            name=f"{line.name} ({line.assumptions})",
            time=f"{line.seconds:.3f}",
        )
        if line in failed or line in unknown:
            kind = "error" if line in unknown else "failure"
            told = ET.SubElement(
                case, kind, type=line.status, message=f"{line.status}: {line.title}"
            )
            told.text = line.verdict.explanation
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def as_sarif(results: Sequence[Result]) -> str:
    """The results as SARIF 2.1.0: an error for each verdict that is not as expected."""
    rules = {line.name: line.title for line in results}
    found = [
        {
            "ruleId": line.name,
            "ruleIndex": list(rules).index(line.name),
            **_graded(line),
            "message": {"text": f"{line.status} under {line.assumptions}. {told}".strip()},
            "locations": [{"logicalLocations": [{"name": line.subject}]}],
        }
        for line, told in ((line, line.verdict.explanation) for line in results)
    ]
    return json.dumps(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "pxp check",
                            "version": __version__,
                            "rules": [
                                {"id": name, "shortDescription": {"text": title}}
                                for name, title in rules.items()
                            ],
                        }
                    },
                    "results": found,
                }
            ],
        },
        indent=1,
    )


def _graded(line: Result) -> dict[str, str]:
    """SARIF's kind and level: a level other than "none" is for what fails alone."""
    if line.status is Status.UNKNOWN:
        return {"kind": "open", "level": "none"}
    passed = line.as_expected
    return {"kind": "pass", "level": "none"} if passed else {"kind": "fail", "level": "error"}


def write_traces(results: Sequence[Result], folder: Path) -> None:
    """Each trace as ITF JSON, named after subject, property and assumptions."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in results:
        if line.trace is not None:
            stem = "-".join((line.subject, line.name, line.assumptions))
            path = folder / f"{re.sub(r'[^A-Za-z0-9+-]+', '-', stem)}.itf.json"
            path.write_text(to_itf(line.name, line.model, line.verdict), "utf-8")
