"""`pxp explore`: a system step by step in a browser, or as a file."""

from __future__ import annotations

import click

from pxp_fsm import defaults, web
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.pages import require_server, show_address
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError

EXAMPLE = ("machine=interact", "human=interact")
"""What is explored where no table is given: INTERACT's two machines."""


def explore(request: options.ExploreOptions) -> None:
    """Serve the explorer until Ctrl-C, or write it as a file."""
    subject, recording, editor = _opened(request)
    if request.output is not None:
        for field in ("edit", "monitors"):
            if getattr(request, field):
                raise UsageError("this has no effect with --output: a file has no server", field)
        if request.output.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{request.output.name} does not end in .html", "output")
        if not request.output.parent.is_dir():
            raise UsageError(f"there is no folder {request.output.parent}", "output")
        limit = {} if request.states is None else {"limit": request.states}
        text = web.explorer_file(subject, formulas=request.formulas, **limit)
        write_atomically(request.output, text)
        click.echo(printable(f"Written: {request.output} ({len(text.encode()) >> 10:,} kB)"))
        return
    for field in ("formulas", "states"):
        if getattr(request, field):
            raise UsageError("this has no effect without --output", field)
    require_server("the explorer's server")

    def ready(address: str) -> None:
        show_address("Explore", address, request.browser)

    web.serve(subject, request.port, ready, recording, editor)


def _opened(
    request: options.ExploreOptions,
) -> tuple[web.SystemSubject, web.Recording | None, web.Editor | None]:
    """What is explored: a stored session, tables that are edited, or tables."""
    if request.session is None:
        for field in ("database", "monitors"):
            if getattr(request, field):
                raise UsageError("this has no effect without --session", field)
        tables = request.tables or EXAMPLE
        if request.edit:
            editor = web.Editor(tables, request.channel)
            return editor.subject, None, editor
        return web.subject_in(tables, request.channel), None, None
    if request.tables or request.channel is not None:
        raise UsageError(
            "the tables and the channel of a session are stored; give neither", "session"
        )
    if request.edit:
        raise UsageError("the tables of a stored session are not edited", "edit")
    database = request.database or defaults.STORED
    recording = web.Recording(request.session, database, request.monitors)
    return recording.subject, recording, None
