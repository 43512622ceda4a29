"""`pxp archive`: runs packed for a paper's supplement, and such a pack checked."""

from __future__ import annotations

from pathlib import Path

import click

from backends.databases import SqlBlackboard
from pxp_fsm.cli.exchange import note_given_out
from pxp_fsm.cli.options import storage as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import archive_checks, archives
from pxp_fsm.experiments.drawings import chosen_runs, file_name

CHANGED = 1
"""Exit code where an archive is not as it was written."""


def archive(request: options.Archive) -> int:
    """Write an archive, or check one."""
    return _check(request) if request.check else _write(request)


def _write(request: options.Archive) -> int:
    if (request.anchor is None) is not (request.key is None):
        raise UsageError("--anchor and --key, the public key that signed it, require each other")
    path = request.output or Path(f"{file_name(request.what[0])}{archives.SUFFIX}")
    if path.exists():
        raise UsageError(f"{path} already exists; give another name, or remove it", "output")
    with SqlBlackboard(request.database, create=False) as board:
        files = archives.write_archive(
            board,
            request.what,
            path,
            anchor=request.anchor,
            key=request.key,
            catalogue=request.catalogue,
        )
        runs = [record.run for record in chosen_runs(board, request.what)]
        note_given_out(board, runs, "archive", path)
    click.echo(printable(f"Written: {path}, {len(files)} files"))
    return 0


def _check(request: options.Archive) -> int:
    if len(request.what) != 1:
        raise UsageError("one archive is checked at a time")
    if request.output is not None or request.anchor is not None:
        raise UsageError("--output and --anchor have no effect beside --check")
    checked = archive_checks.check_archive(Path(request.what[0]), request.key)
    for line in checked.found:
        click.echo(printable(line))
    for label, listed in (("Changed", checked.problems), ("Not compared", checked.unknown)):
        for problem in listed:
            click.echo(f"{label}: {printable(problem.where)}: {printable(problem.what)}")
    if checked.problems:
        return CHANGED
    click.echo("Nothing that was compared was changed.")
    return 0
