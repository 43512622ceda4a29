"""`pxp explore`: a system step by step in a browser, or as a file."""

from __future__ import annotations

import webbrowser

import click

from pxp_fsm import defaults, web
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.cli.options import web as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError, require_extra

EXAMPLE = ("machine=interact", "human=interact")
"""What is explored where no table is given: INTERACT's two machines."""


def explore(request: options.Explore) -> None:
    """Serve the explorer until Ctrl-C, or write it as a file."""
    if request.session is None:
        if request.database is not None:
            raise UsageError("this has no effect without --session", "database")
        subject = web.subject_in(request.tables or EXAMPLE, request.channel)
    elif request.tables or request.channel is not None:
        raise UsageError(
            "the tables and the channel of a session are stored; give neither", "session"
        )
    else:
        subject = web.subject_recorded(request.session, request.database or defaults.STORED)
    if request.output is not None:
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
    modules = {"fastapi": "fastapi", "uvicorn": "uvicorn", "websockets": "websockets"}
    require_extra("web", "the explorer's server", modules)

    def ready(address: str) -> None:
        click.echo(f"Explore at {address} (Ctrl-C ends it)")
        if request.browser:
            webbrowser.open(address)

    web.serve(subject, request.port, ready)
