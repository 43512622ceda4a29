"""`pxp serve` of tables, systems and sessions: step by step in a browser, or as a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from pxp_fsm import web
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.cli.options import serve as options
from pxp_fsm.cli.pages import require_server, show_address
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError

EXAMPLE = ("machine=interact", "human=interact")
"""What is explored where no table is given: INTERACT's two machines."""


def tables(request: options.ServeTables) -> None:
    """Serve the explorer of tables until Ctrl-C, or write it as a file."""
    of = request.tables or EXAMPLE
    editor = web.Editor(of, request.channel) if request.edit else None
    subject = web.subject_in(of, request.channel) if editor is None else editor.subject
    if request.output is not None:
        _write(request, request.output, subject)
        return
    if request.formulas:
        raise UsageError("this has no effect without --output", "formulas")
    _serve(subject, request.port, request.browser, editor=editor)


def session(request: options.ServeSession) -> None:
    """Serve the explorer of a stored session until Ctrl-C."""
    recording = web.Recording(request.name, request.database, request.monitors)
    _serve(recording.subject, request.port, request.browser, recording)


def _serve(
    subject: web.SystemSubject,
    port: int | None,
    browser: bool,
    recording: web.Recording | None = None,
    editor: web.Editor | None = None,
) -> None:
    require_server("the explorer's server")
    site = web.explorer_site(subject, recording, editor)
    web.serve(site, port or 0, partial(show_address, "Explore", browser))


def _write(request: options.ServeTables, output: Path, subject: web.SystemSubject) -> None:
    if request.edit:
        raise UsageError("this has no effect with --output: a file has no server", "edit")
    if output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{output.name} does not end in .html", "output")
    if not output.parent.is_dir():
        raise UsageError(f"there is no folder {output.parent}", "output")
    text = web.explorer_file(subject, request.formulas)
    write_atomically(output, text)
    click.echo(printable(f"Written: {output} ({len(text.encode()) >> 10:,} kB)"))
