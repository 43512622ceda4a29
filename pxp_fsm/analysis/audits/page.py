"""An audit as a self-contained web page: one HTML file without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard, StoredSession
from proofs.audit import AuditFinding, FindingKind, Possible
from proofs.audit.findings import ABOUT
from pxp_fsm import __version__
from pxp_fsm.analysis.audits.records import AuditReport, SessionFindings
from pxp_fsm.artifacts import atomic_path
from pxp_fsm.diagrams.text import legible, shortened
from pxp_fsm.errors import counted, require_extra
from pxp_fsm.experiments.reports import figures
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Answer

SHOWN = 10
"""Sessions of each kind that a terminal shows."""


def lines(report: AuditReport, shown: int = SHOWN) -> Iterator[str]:
    """What was found, the worst first, with `shown` sessions of each kind."""
    size = f"{counted(report.sessions, 'session')}, {counted(report.messages, 'message')}"
    yield f"{report.source}: {size}"
    if report.protocol:
        yield f"Audited as {report.protocol}"
    if report.systems < report.sessions:
        for possible in reversed(Possible):
            yield f"{report.possible[possible]:>9,}  possible {possible.words}"
    if report.systems:
        yield f"{report.systems:>9,}  of systems, audited against the tables stored with them"
    for reason, count in report.skipped.most_common():
        yield f"{count:>9,}  not audited: {reason}"
    for name, due, theirs in report.counted:
        yield f"{due:>9,}  {name}; as the published code counts: {theirs:,}"
    for kind in FindingKind:
        if not report.kinds[kind]:
            continue
        yield f"{kind}, {counted(report.kinds[kind], 'session')}: {ABOUT[kind]}"
        noted_findings = (
            (noted, finding)
            for noted in report.noted
            for finding in noted.findings
            if finding.kind is kind
        )
        for place, (noted, finding) in enumerate(noted_findings):
            if place == shown:
                yield "  …"
                break
            yield f"  {noted.session}{describe(finding, noted.step)}"


def describe(finding: AuditFinding, step: str) -> str:
    """A finding in a line, after the name of its session, in which each `step` has a number."""
    where = "" if finding.number is None else f" {step} {finding.number}"
    parts = [f"{where}: {finding.what}"]
    if finding.possible:
        parts.append(f"possible there: {', '.join(finding.possible)}")
    if finding.answers:
        parts.append(", ".join(map(str, finding.answers)))
    return "; ".join(parts)


def as_json(report: AuditReport) -> str:
    """All of it, as `pxp_fsm/analysis/audits/schema.json` says; a noted session a line."""
    told = {
        "format": "pxp-fsm audit",
        "version": 1,
        "source": report.source,
        "protocol": report.protocol,
        "sessions": report.sessions,
        "messages": report.messages,
        "possible": {p.name.lower(): report.possible[p] for p in reversed(Possible)},
        "systems": report.systems,
        "findings": {kind.value: report.kinds[kind] for kind in FindingKind if report.kinds[kind]},
        "not_audited": dict(report.skipped),
        "counted": {
            name: {"by_definition": due, "as_published": theirs}
            for name, due, theirs in report.counted
        },
    }
    parts = [f'"{name}": {json.dumps(value)}' for name, value in told.items()]
    noted = ",\n ".join(json.dumps(_noted(session)) for session in report.noted)
    return "{" + ",\n".join([*parts, f'"noted": [{noted}]']) + "}"


def _noted(noted: SessionFindings) -> dict[str, Any]:
    return {
        "session": noted.session,
        "instance": noted.instance,
        "tags": list(noted.tags),
        "ending": noted.ending,
        "possible": noted.possible.name.lower(),
        "findings": [_finding(finding) for finding in noted.findings],
    }


def _finding(finding: AuditFinding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "message": finding.number,
        "what": finding.what,
        "possible": list(finding.possible),
        "answers": [
            {
                "message": answer.number,
                "agent": answer.agent,
                "relation": answer.relation,
                "left": answer.left,
                "right": answer.right,
                "held": answer.held,
                "implied": answer.implied,
            }
            for answer in finding.answers
        ],
    }


LISTED = 300
"""Sessions that are shown; the JSON has all."""

_LONGEST, _MOST, _WIDTH = 60, 12, 240


@dataclass(frozen=True, slots=True)
class AuditedConversation:
    """A session with the texts of the messages that its findings are about, shortened."""

    noted: SessionFindings
    texts: tuple[tuple[int, str], ...]

    @property
    def found(self) -> set[int | None]:
        """The numbers of the messages at which something was found."""
        return {finding.number for finding in self.noted.findings}


def write(report: AuditReport, board: SqlBlackboard | None, path: Path) -> None:
    """Write the page to the file `path`; texts come from `board`, where there is one.

    Everything that models, people and files said is shown as text. Raises `UsageError` where a
    library that the page needs is not installed, and as `atomic_path` does.
    """
    require_extra("report", "the page of an audit", {"jinja2": "jinja2"})
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("pxp_fsm.analysis.audits", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["legible"] = legible
    light, dark = (
        Markup(figures.variables(colours))  # noqa: S704 - our own colours
        for colours in (figures.LIGHT, figures.DARK)
    )
    parts = environment.get_template("page.html.jinja").generate(
        version=__version__,
        light=light,
        dark=dark,
        report=report,
        levels=tuple(reversed(Possible)),
        kinds=[kind for kind in FindingKind if report.kinds[kind]],
        about=ABOUT,
        counted=counted,
        said=describe,
        listed=LISTED,
        longest=_LONGEST,
        most=_MOST,
        conversations=lambda: _conversations(report, board),
    )
    with atomic_path(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        file.writelines(parts)


def _conversations(
    report: AuditReport, board: SqlBlackboard | None
) -> Iterator[AuditedConversation]:
    listed = report.noted[:LISTED]
    wanted = {noted.session: places for noted in listed if (places := _places(noted))}
    stored = board.stored(wanted) if board is not None else iter(())
    texts = {
        session.record.session: tuple(_texts(session, wanted[session.record.session]))
        for session in stored
    }
    for noted in listed:
        yield AuditedConversation(noted, texts.get(noted.session, ()))


def _texts(session: StoredSession, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """What the messages `wanted` say, by their numbers."""
    for message in session.history:
        if message.number in wanted and isinstance(message.payload, Answer):
            answer = message.payload
            text = f"{answer.prediction} — {answer.explanation}"
            yield message.number, shortened(text, _WIDTH)


def _places(noted: SessionFindings) -> set[int]:
    """The messages that carry the texts that the findings' answers are about."""
    return {
        place
        for finding in noted.findings
        for answer in finding.answers
        for place in (answer.left, answer.right)
        if place
    }
