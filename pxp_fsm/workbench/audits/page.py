"""An audit as a page: one HTML file that needs nothing else, and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from backends.databases import SqlBlackboard
from proofs.audit import Kind, Possible
from proofs.audit.findings import ABOUT, Finding
from pxp_fsm import __version__
from pxp_fsm.artifacts import atomic_path
from pxp_fsm.diagrams.text import legible, shortened
from pxp_fsm.errors import UsageError
from pxp_fsm.workbench.audits.carrying import Noted, Report
from pxp_fsm.workbench.audits.telling import said
from pxp_fsm.workbench.report import counted
from pxp_fsm.workbench.reports import palette

LISTED = 300
"""Sessions that are shown; the JSON has all."""

_LONGEST, _MOST, _WIDTH = 60, 12, 240


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session with the texts of the messages that its findings are about, shortened."""

    noted: Noted
    texts: tuple[tuple[int, str], ...]

    @property
    def found(self) -> set[int | None]:
        """The numbers of the messages at which something was found."""
        return {one.number for one in self.noted.findings}


def write(report: Report, board: SqlBlackboard | None, path: Path) -> None:
    """Write the page to the file `path`; texts come from `board`, where there is one.

    Everything that models, people and files said is shown as text. Raises `UsageError` where a
    library that the page needs is not installed, and as `atomic_path` does.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a page is written with {error.name}, which is not installed; "
            f"pip install 'pxp-fsm[report]'"
        ) from error
    environment = Environment(
        loader=PackageLoader("pxp_fsm.workbench.audits", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["legible"] = legible
    light, dark = (
        Markup(palette.variables(colours))  # noqa: S704 - our own colours
        for colours in (palette.LIGHT, palette.DARK)
    )
    parts = environment.get_template("page.html.jinja").generate(
        version=__version__,
        light=light,
        dark=dark,
        report=report,
        levels=tuple(reversed(Possible)),
        kinds=[kind for kind in Kind if report.kinds[kind]],
        about=ABOUT,
        counted=counted,
        said=said,
        listed=LISTED,
        longest=_LONGEST,
        most=_MOST,
        conversations=lambda: _conversations(report, board),
    )
    with atomic_path(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        file.writelines(parts)


def _conversations(report: Report, board: SqlBlackboard | None) -> Iterator[Conversation]:
    for noted in report.noted[:LISTED]:
        yield Conversation(noted, tuple(_texts(noted, board)) if board is not None else ())


def _texts(noted: Noted, board: SqlBlackboard) -> Iterator[tuple[int, str]]:
    """The texts that the findings' answers are about."""
    wanted = sorted({place for one in noted.findings for place in _places(one)} - {0})
    if not wanted:
        return
    messages = {
        entry.message.number: entry.message for entry in board.session(noted.session).entries
    }
    for number in wanted:
        if number in messages:
            answer = messages[number].answer
            yield number, shortened(f"{answer.prediction} — {answer.explanation}", _WIDTH)


def _places(finding: Finding) -> set[int]:
    return {place for one in finding.answers for place in (one.left, one.right)}
