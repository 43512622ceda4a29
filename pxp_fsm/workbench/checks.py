"""What `pxp check` does: which claims on which tables, and results in four formats."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proofs.checking import Bounds, Checker
from proofs.claims import ASSUMPTIONS, CLAIMS, Claim
from proofs.itf import to_itf
from proofs.product import Product, standing_checks
from proofs.verdicts import Status, Verdict
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import Message
from pxp_fsm.soundness import check_peers
from pxp_fsm.tables import load_automaton

UNEXPECTED, UNKNOWN = 1, 4
PROVED_OF = {"interact": ("interact",), "pxp": ("pxp", "pxp(k)")}
"""The protocols whose claims are about a built-in table."""

_SMALL = Bounds(n=5, k=1)
"""For what each assumption is needed for, a counterexample in a small session is enough."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to check; nothing in `tables` means both built-in protocols."""

    tables: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    relations: str | None = None
    n: int = 10
    k: int = 3


@dataclass(frozen=True)
class Line:
    """One property with its verdict; `expected` is None where nothing was expected."""

    subject: str
    name: str
    title: str
    assumptions: str
    verdict: Verdict
    expected: Status | None
    as_expected: bool
    seconds: float
    model: str = ""
    messages: tuple[Message, ...] = field(default=(), repr=False)


def run(request: Request) -> Iterator[Line]:
    """Check what is asked for, line by line. Raises `UsageError` or `TableError`."""
    bounds = Bounds(request.n, request.k)
    bounds.rules("interact")
    if request.relations is not None and request.relations not in ASSUMPTIONS:
        raise UsageError(
            f"there are no assumptions {request.relations!r}; there are: {', '.join(ASSUMPTIONS)}"
        )
    own = [table for table in request.tables if table not in PROVED_OF]
    builtin = [table for table in PROVED_OF if table in request.tables or not request.tables]
    _check_names(request.names)
    for table in builtin:
        yield from _wanted(_standing(table, table), request)
        yield from _claims(table, request, bounds)
    if own:
        if len(own) > 2:
            raise UsageError("one table is joined with itself, two with each other; not more")
        yield from _wanted(_standing(own[0], own[-1]), request)


def _check_names(names: Sequence[str]) -> None:
    known = {claim.name for claim in CLAIMS} | set(_TITLES)
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no property {name!r}; there are: {', '.join(sorted(known))}"
            )


def _wanted(lines: Iterator[Line], request: Request) -> Iterator[Line]:
    return (line for line in lines if not request.names or line.name in request.names)


def _claims(table: str, request: Request, bounds: Bounds) -> Iterator[Line]:
    checkers = {False: Checker(bounds), True: Checker(_SMALL)}
    for claim in CLAIMS:
        if claim.protocol not in PROVED_OF[table]:
            continue
        if request.names and claim.name not in request.names:
            continue
        names = claim.expected if request.relations is None else (request.relations,)
        for name in names:
            small = _only_shows_a_need(claim, name)
            result = checkers[small].check(claim, name)
            yield Line(
                claim.protocol,
                claim.name,
                claim.title,
                name,
                result.verdict,
                result.expected,
                result.as_expected,
                result.seconds,
                result.model,
                result.messages,
            )


def _only_shows_a_need(claim: Claim, assumptions: str) -> bool:
    """Whether it is asked only to show that the claim needs an assumption, or that it does not."""
    return assumptions.startswith("without ") or (
        claim.protocol == "pxp(k)" and claim.expected.get(assumptions) is Status.FAILS
    )


_TITLES = {
    "no-deadlock": "no reachable state is without a step before the end",
    "no-unspecified-reception": "whatever can be sent can be received there and then",
    "no-orphan-message": "nothing can be sent to an agent that has ended",
    "nothing-sent-after-the-end": "an agent that has ended sends nothing",
    "end-reachable-from-everywhere": "from every reachable state both agents can come to an end",
    "no-dead-row": "every row can be taken",
}


def _standing(left: str, right: str) -> Iterator[Line]:
    """The standing checks of two tables under free guards."""
    one, two = load_automaton(left), load_automaton(right)
    check_peers(one, two)
    product = Product(one, two)
    started = time.perf_counter()
    verdicts = standing_checks(product)
    seconds = (time.perf_counter() - started) / len(verdicts)
    subject = one.name if one == two else product.name
    for name, verdict in verdicts.items():
        holds = verdict.status is Status.HOLDS
        yield Line(
            subject,
            name,
            _TITLES[name],
            "free guards",
            verdict,
            Status.HOLDS,
            holds,
            seconds,
            product.name,
        )


def lines(results: Sequence[Line]) -> Iterator[str]:
    """The results for a terminal, and a last line that sums up."""
    for line in results:
        mark = " " if line.as_expected else "!"
        yield (
            f"{mark} {line.subject:<9} {line.name:<30} {line.assumptions:<22} "
            f"{_said(line):<11} {line.seconds:6.2f} s  {_shown(line)}".rstrip()
        )
    wrong = [line for line in results if not line.as_expected]
    yield f"{len(results)} verdicts, {len(wrong)} not as expected" + (
        ": " + ", ".join(f"{line.name} ({line.assumptions})" for line in wrong) if wrong else ""
    )


def _said(line: Line) -> str:
    return line.verdict.status.value


def _shown(line: Line) -> str:
    parts = [line.verdict.detail]
    if line.verdict.trace is not None:
        parts.append(", ".join(line.verdict.trace.labels))
    if line.verdict.cycle:
        parts.append(f"(the last {line.verdict.cycle} for ever)")
    return " ".join(filter(None, parts))


def exit_code(results: Sequence[Line]) -> int:
    """0 as expected, 1 not as expected, 4 unknown."""
    if any(not line.as_expected and line.verdict.status is not Status.UNKNOWN for line in results):
        return UNEXPECTED
    return UNKNOWN if any(line.verdict.status is Status.UNKNOWN for line in results) else 0


def as_json(results: Sequence[Line]) -> str:
    """The results as a JSON list."""
    return json.dumps([_record(line) for line in results], indent=1)


def _record(line: Line) -> dict[str, Any]:
    return {
        "subject": line.subject,
        "property": line.name,
        "title": line.title,
        "assumptions": line.assumptions,
        "verdict": line.verdict.status.value,
        "detail": line.verdict.detail,
        "expected": line.expected.value if line.expected else None,
        "as_expected": line.as_expected,
        "trace": list(line.verdict.trace.labels) if line.verdict.trace else None,
        "cycle": line.verdict.cycle,
        "seconds": round(line.seconds, 4),
    }


def as_junit(results: Sequence[Line]) -> str:
    """The results as JUnit XML: a test case each, a failure where not as expected."""
    failures = sum(not line.as_expected for line in results)
    suite = ET.Element(
        "testsuite", name="pxp check", tests=str(len(results)), failures=str(failures)
    )
    for line in results:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=line.subject,
            name=f"{line.name} ({line.assumptions})",
            time=f"{line.seconds:.3f}",
        )
        if not line.as_expected:
            failure = ET.SubElement(case, "failure", message=f"{_said(line)}: {line.title}")
            failure.text = _shown(line)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def as_sarif(results: Sequence[Line]) -> str:
    """The results as SARIF 2.1.0: an error for each verdict that is not as expected."""
    rules = {line.name: line.title for line in results}
    found = [
        {
            "ruleId": line.name,
            "level": "none" if line.as_expected else "error",
            "kind": "pass" if line.as_expected else "fail",
            "message": {"text": f"{_said(line)} under {line.assumptions}. {_shown(line)}".strip()},
            "locations": [{"logicalLocations": [{"name": line.subject}]}],
        }
        for line in results
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


def write_traces(results: Sequence[Line], folder: Path) -> None:
    """Each trace as ITF JSON, named after subject, property and assumptions."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in results:
        if line.verdict.trace is not None:
            stem = "-".join((line.subject, line.name, line.assumptions))
            path = folder / f"{re.sub(r'[^a-z0-9+-]+', '-', stem)}.itf.json"
            path.write_text(to_itf(line.name, line.model, line.verdict), "utf-8")
