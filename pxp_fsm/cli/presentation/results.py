"""Results of `pxp check`, as lines for a terminal and in the formats of other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proofs.core.results import Result, Status, table
from pxp_fsm import __version__
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.registry import load

UNEXPECTED, UNKNOWN = 1, 4
"""Exit codes: a verdict is not the expected one; a verdict is unknown."""


def exit_code(results: Sequence[Result]) -> int:
    """0 as expected, 1 not as expected, 4 unknown."""
    if any(not line.as_expected and line.status is not Status.UNKNOWN for line in results):
        return UNEXPECTED
    return UNKNOWN if any(line.status is Status.UNKNOWN for line in results) else 0


def shown(results: Sequence[Result], *, in_json: bool) -> Iterator[str]:
    """The results as the lines of a command's output: a table, or a JSON list."""
    return iter([as_json(results)]) if in_json else map(printable, table(results))


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
        "unreceived": [asdict(unreceived) for unreceived in line.verdict.unreceived],
        "seconds": round(line.seconds, 4),
        "itf": json.loads(_as_itf(line)) if line.trace else None,
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
    from xml.etree import ElementTree as ET

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
            parts = (line.verdict.explanation, _explained_by(line.name))
            told.text = "\n".join(filter(None, parts))
    return ET.tostring(suites, encoding="unicode", xml_declaration=True)


def as_sarif(results: Sequence[Result], file: str = "") -> str:
    """The results as SARIF 2.1.0: an error for each verdict that is not as expected.

    A finding has its file and line; other results stand at the top of `file`, where one is given.
    """
    rules = {line.name: line.title for line in results}
    violations = [
        {
            "ruleId": line.name,
            "ruleIndex": list(rules).index(line.name),
            **_graded(line),
            "message": {"text": f"{line.status} under {line.assumptions}. {told}".strip()},
            "locations": [_location(line, file)],
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
                                {"id": name, "shortDescription": {"text": title}, **_help(name)}
                                for name, title in rules.items()
                            ],
                        }
                    },
                    "results": violations,
                }
            ],
        },
        indent=1,
    )


def _explained_by(name: str) -> str:
    """The command that explains a check; empty where nothing does."""
    return f"Explained by: pxp help {name}" if _help(name) else ""


def _help(name: str) -> dict[str, Any]:
    """What explains a check, where a service shows it beside the result."""
    text = load("proofs.subjects:explain_check")(name) or load("proofs.check:explain")(name)
    return {"help": {"text": text}} if text else {}


def _location(line: Result, file: str) -> dict[str, Any]:
    fault = line.verdict.fault
    path, number = (fault.file, fault.line) if fault is not None and fault.file else (file, None)
    location: dict[str, Any] = {"logicalLocations": [{"name": line.subject}]}
    if path:
        # Services that show results beside a change take a path from the root of the repository.
        uri = quote(Path(path).as_posix())
        location["physicalLocation"] = {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": number or 1},
        }
    return location


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
            path.write_text(_as_itf(line), "utf-8")


def _as_itf(line: Result) -> str:
    # Loaded where it is used: it imports all diagrams.
    text: str = load("proofs.export.traces:to_itf")(line.name, line.model, line.verdict)
    return text
