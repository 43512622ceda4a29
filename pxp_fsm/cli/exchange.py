"""`pxp export` and `pxp import`: runs as files and back, tables in the formats of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from backends.databases import SqlBlackboard, disclosure, transfer
from pxp_fsm.analysis import exports
from pxp_fsm.cli.options import storage as options
from pxp_fsm.cli.options.storage import OF_RUNS, OF_SYSTEMS, OF_TABLES
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.defaults import STORED
from pxp_fsm.errors import BlackboardError, UsageError
from pxp_fsm.experiments import drawings
from pxp_fsm.experiments.summary import contents

ENDINGS = {
    **{ending: name for name, ending in OF_RUNS.items()},
    **{f".{name}": name for name in ("toml", "json", "scxml", "dot", "prism", "smv", "tla")},
    **{".gv": "dot", ".mmd": "mermaid", ".pml": "promela"},
}
"""The format that a file name's ending says."""


def export(request: options.Export) -> None:
    """Write a run, or tables, in the format that is asked for."""
    what, output = request.what, request.output
    form = _format(what, output, request.form)
    if form not in OF_SYSTEMS and (request.channel or request.formulas):
        raise UsageError(f"--channel and --formula require a format of {', '.join(OF_SYSTEMS)}")
    if form in OF_RUNS:
        _export_run(what, output, form, request.database or STORED)
        return
    if request.database is not None:
        raise UsageError("--database applies to a run, which is exported as jsonl or parquet")
    path = output or exports.default_path(what, form)
    if form in OF_SYSTEMS:
        left = exports.export_system(what, path, form, request.channel or "sync", request.formulas)
    elif len(what) > 1:
        raise UsageError(f"{form} holds one table; {', '.join(OF_SYSTEMS)} hold several")
    else:
        left = exports.export_table(exports.table_in(what[0]), path, form)
    for file in left:
        click.echo(f"Exported: {file}")


def _format(what: tuple[str, ...], output: Path | None, form: str | None) -> str:
    """The format that is meant; where a name says nothing, a run's."""
    if output is None:
        if form is None and (len(what) > 1 or exports.is_table(what[0])):
            named = ", ".join((*OF_TABLES, *OF_SYSTEMS))
            raise UsageError(f"{what[0]} is a table, which requires --format: {named}")
        return form or "jsonl"
    meant = ENDINGS.get(output.suffix)
    if meant is None or (form is not None and meant != form):
        fits = [ending for ending, name in ENDINGS.items() if form in (None, name)]
        raise UsageError(f"{output.name} must end in {' or '.join(fits)}")
    return meant


def _export_run(what: tuple[str, ...], output: Path | None, form: str, database: str) -> None:
    if len(what) > 1:
        raise UsageError("one run is exported at a time")
    path = output or Path(drawings.file_name(what[0]) + OF_RUNS[form])
    if path.exists():
        raise UsageError(f"{path} already exists; give another name, or remove it")
    with SqlBlackboard(database, create=False) as board:
        write = transfer.write_jsonl if form == "jsonl" else transfer.write_parquet
        write(transfer.export_rows(board.engine, what[0]), path)
        note_given_out(board, what, form, path)
    click.echo(f"Exported: {path}")


def note_given_out(board: SqlBlackboard, runs: Sequence[str], kind: str, path: Path) -> None:
    """Note that `path` was given out, for who erases later; say so where that cannot be noted."""
    try:
        disclosure.note_export(board, runs, kind, path)
    except BlackboardError as error:
        click.echo(printable(f"Not noted, so that pxp erase will not list it: {error}"), err=True)


def import_(request: options.Import) -> None:
    """Import a run into the database, or a table into a file."""
    path, output = request.path, request.output
    if not path.exists():
        raise UsageError(f"{path} does not exist; give what pxp export wrote, or a table")
    if path.is_file() and path.suffix in (".toml", ".json", ".scxml"):
        table, target = exports.import_table(path, output)
        counted = f"{len(table.states)} states, {len(table.transitions)} transitions"
        told = f"{printable(table.title)}, {counted}, fingerprint {table.fingerprint[:12]}"
        click.echo(f"Imported as {target}: {told}")
        return
    if output is not None:
        raise UsageError("--output applies to a table; a run is stored in --database")
    found = (transfer.read_parquet if path.is_dir() else transfer.read_jsonl)(path)
    with SqlBlackboard(request.database) as board:
        mark = transfer.import_rows(board.engine, found, str(path))
        told = f"{contents(mark)}, mark {mark.mark}"
        click.echo(f"Imported into {board.shown}: {printable(mark.run)}, {told}")
