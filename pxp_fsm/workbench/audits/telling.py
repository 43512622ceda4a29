"""An audit for a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from proofs.audit import Finding, Kind, Possible
from proofs.audit.findings import ABOUT
from pxp_fsm.workbench.audits.carrying import Noted, Report
from pxp_fsm.workbench.report import counted

SHOWN = 10
"""Sessions of each kind that a terminal shows."""


def lines(report: Report, shown: int = SHOWN) -> Iterator[str]:
    """What was found, the worst first, with `shown` sessions of each kind."""
    size = f"{counted(report.sessions, 'session')}, {counted(report.messages, 'message')}"
    yield f"{report.source}: {size}"
    if report.protocol:
        yield f"Audited as {report.protocol}"
    for possible in reversed(Possible):
        yield f"{report.possible[possible]:>9,}  possible {possible.words}"
    for reason, count in report.skipped.most_common():
        yield f"{count:>9,}  not audited: {reason}"
    for name, due, theirs in report.counted:
        yield f"{due:>9,}  {name}; as the published code counts: {theirs:,}"
    for kind in Kind:
        if not report.kinds[kind]:
            continue
        yield f"{kind}, {counted(report.kinds[kind], 'session')}: {ABOUT[kind]}"
        found = (
            (noted, one) for noted in report.noted for one in noted.findings if one.kind is kind
        )
        for place, (noted, one) in enumerate(found):
            if place == shown:
                yield "  …"
                break
            yield f"  {noted.session}{said(one)}"


def said(finding: Finding) -> str:
    """A finding in a line, after the name of its session."""
    where = "" if finding.number is None else f" message {finding.number}"
    parts = [f"{where}: {finding.what}"]
    if finding.possible:
        parts.append(f"possible there: {', '.join(finding.possible)}")
    if finding.answers:
        parts.append(", ".join(map(str, finding.answers)))
    return "; ".join(parts)


def as_json(report: Report) -> str:
    """All of it, as `pxp_fsm/workbench/audits/schema.json` says; a noted session a line."""
    told = {
        "format": "pxp-fsm audit",
        "version": 1,
        "source": report.source,
        "protocol": report.protocol,
        "sessions": report.sessions,
        "messages": report.messages,
        "possible": {p.name.lower(): report.possible[p] for p in reversed(Possible)},
        "findings": {kind.value: report.kinds[kind] for kind in Kind if report.kinds[kind]},
        "not_audited": dict(report.skipped),
        "counted": {
            name: {"by_definition": due, "as_published": theirs}
            for name, due, theirs in report.counted
        },
    }
    parts = [f'"{name}": {json.dumps(value)}' for name, value in told.items()]
    noted = ",\n ".join(json.dumps(_noted(each)) for each in report.noted)
    return "{" + ",\n".join([*parts, f'"noted": [{noted}]']) + "}"


def _noted(noted: Noted) -> dict[str, Any]:
    return {
        "session": noted.session,
        "instance": noted.instance,
        "tags": list(noted.tags),
        "ending": noted.ending,
        "possible": noted.possible.name.lower(),
        "findings": [_finding(one) for one in noted.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "message": finding.number,
        "what": finding.what,
        "possible": list(finding.possible),
        "answers": [
            {
                "message": one.number,
                "agent": one.agent,
                "relation": one.relation,
                "left": one.left,
                "right": one.right,
                "held": one.held,
                "implied": one.implied,
            }
            for one in finding.answers
        ],
    }
