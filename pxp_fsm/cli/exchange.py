"""`pxp export`, `import`, `verify ARCHIVE`: runs as files and back, tables in other formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from backends.databases import SqlBlackboard, transfer
from pxp_fsm.analysis import exports
from pxp_fsm.artifacts import file_name
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.cli import configuration
from pxp_fsm.cli.options import storage as options
from pxp_fsm.cli.options.storage import ARCHIVE, OF_RUNS
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.cli.stored import note_given_out
from pxp_fsm.documents import nearest_file
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import archives
from pxp_fsm.experiments.drawings import chosen_runs
from pxp_fsm.experiments.sheets import contents


def tables(request: options.ExportTables) -> None:
    """Write tables in the format that is asked for."""
    subjects, output = request.what, request.output
    written = tuple(dict.fromkeys((*exports.of_tables(), *exports.of_systems())))
    if output is None and request.form is None:
        raise UsageError(f"{subjects[0]} is a table, which requires --format: {', '.join(written)}")
    if request.form in exports.formats() and request.form not in written:
        told = f"{request.form} is only read; tables are written as {', '.join(written)}"
        raise UsageError(told, "form")
    endings = dict[str, str]()
    for name in written:
        # Of two formats with one ending, --format tells.
        endings.setdefault(exports.formats()[name].ending, name)
    endings[".gv"] = "dot"
    form = _format(output, request.form, endings)
    if form in OF_RUNS:
        raise UsageError(f"{form} is a format of runs, and {subjects[0]} is a table", "form")
    of_systems = exports.of_systems()
    alone = len(subjects) == 1 and not is_system_file(subjects[0])
    if (
        alone and form in exports.of_tables()
    ):  # a format of both: tables that are joined are several
        of_systems = tuple(name for name in of_systems if name != form)
    if form not in of_systems and (request.channel or request.formulas):
        told = ", ".join(of_systems) or "another model checker, which only a plug-in adds"
        raise UsageError(f"--channel and --formula require a format of {told}")
    path = output or exports.default_path(subjects, form)
    if form in of_systems:
        left = exports.export_system(
            subjects, path, form, request.channel or "sync", request.formulas
        )
    elif len(subjects) > 1:
        told = f"{', '.join(of_systems)} hold several" if of_systems else "export one at a time"
        raise UsageError(f"{form} holds one table; {told}")
    else:
        left = exports.export_table(load_automaton(subjects[0]), path, form)
    for file in left:
        click.echo(f"Exported: {file}")


def runs(request: options.ExportRuns) -> None:
    """Write a run as files, or pack runs into an archive."""
    subjects, output = request.what, request.output
    endings = {ending: name for name, ending in OF_RUNS.items()} | {archives.SUFFIX: ARCHIVE}
    form = _format(output, request.form, endings)
    if form == ARCHIVE:
        _pack(request)
        return
    for name in ("anchor", "key", "models_file"):
        if getattr(request, name) is not None:
            raise UsageError("this has no effect but for an archive (--format zip)", name)
    if form not in OF_RUNS:
        raise UsageError(f"{form} is a format of tables, and {subjects[0]} is a run", "form")
    if len(subjects) > 1:
        raise UsageError("one run is exported at a time; --format zip packs several")
    path = output or Path(file_name(subjects[0]) + OF_RUNS[form])
    _check_new(path)
    with SqlBlackboard(request.database, create=False) as board:
        write = transfer.write_jsonl if form == "jsonl" else transfer.write_parquet
        write(transfer.export_rows(board.engine, subjects[0]), path)
        note_given_out(board, subjects, form, path)
    click.echo(f"Exported: {path}")


def _format(output: Path | None, form: str | None, endings: Mapping[str, str]) -> str:
    """The format that is meant, one of those by `endings`; where a name says nothing, a run's."""
    if output is None:
        return form or "jsonl"
    if form in exports.formats() and exports.formats()[form].ending == output.suffix:
        return form
    meant = endings.get(output.suffix)
    if meant is None or (form is not None and meant != form):
        fits = [ending for ending, name in endings.items() if form in (None, name)]
        raise UsageError(f"{output.name} must end in {' or '.join(fits or endings)}")
    return meant


def _check_new(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} already exists; give another name, or remove it", "output")


def import_(request: options.ImportOptions) -> None:
    """Import a run into the database, a table into a file, or a system into a folder."""
    output = request.output
    for reader in request.readers:
        lines = reader.imported(request.paths, output)
        if lines is not None:
            for line in lines:
                click.echo(printable(line))
            return
    if len(request.paths) != 1:
        raise UsageError("one run, table or system is imported at a time; --traces takes several")
    path = request.paths[0]
    if not path.exists():
        give = f"{near} Give" if (near := nearest_file(path)) else "; give"
        raise UsageError(f"{path} does not exist{give} what pxp export wrote, or a table")
    if path.is_file() and is_system_file(path):
        for file in exports.import_system(path, output):
            click.echo(f"Imported: {file}")
        if exports.is_unbounded(path):
            click.echo(f"It runs over fifo:1; of every capacity: pxp check {file} --channel fifo")
        return
    if path.is_file() and path.suffix in exports.endings_read():
        table, target = exports.import_table(path, output)
        counted = f"{len(table.states)} states, {len(table.transitions)} transitions"
        told = f"{printable(table.title)}, {counted}, fingerprint {table.fingerprint[:12]}"
        click.echo(f"Imported as {target}: {told}")
        return
    if output is not None:
        raise UsageError("--output applies to a table; a run is stored in --database")
    rows = (transfer.read_parquet if path.is_dir() else transfer.read_jsonl)(path)
    with SqlBlackboard(request.database) as board:
        mark = transfer.import_rows(board.engine, rows, str(path))
        told = f"{contents(mark)}, mark {mark.mark}"
        click.echo(f"Imported into {board.shown}: {printable(mark.run)}, {told}")


CHANGED = 1
"""Exit code where an archive is not as it was written."""


def _pack(request: options.ExportRuns) -> None:
    """Pack runs into an archive."""
    if (request.anchor is None) is not (request.key is None):
        raise UsageError("--anchor and --key, the public key that signed it, require each other")
    path = request.output or Path(f"{file_name(request.what[0])}{archives.SUFFIX}")
    _check_new(path)
    with SqlBlackboard(request.database, create=False) as board:
        files = archives.write_archive(
            board,
            request.what,
            path,
            anchor=request.anchor,
            key=request.key,
            catalogue=configuration.models_file(request.models_file),
        )
        packed = [record.run for record in chosen_runs(board, request.what)]
        note_given_out(board, packed, "archive", path)
    click.echo(printable(f"Written: {path}, {len(files)} files"))


def verify(request: options.VerifyArchive) -> int:
    """Print what an archive holds, and what in it was changed."""
    checked = archives.check_archive(request.file, request.key)
    if request.as_json:
        document = {
            "found": checked.found,
            "changed": [asdict(problem) for problem in checked.problems],
            "not compared": [asdict(problem) for problem in checked.unknown],
        }
        click.echo(json.dumps(document, indent=1))
        return CHANGED if checked.problems else 0
    for line in checked.found:
        click.echo(printable(line))
    for label, listed in (("Changed", checked.problems), ("Not compared", checked.unknown)):
        for problem in listed:
            click.echo(f"{label}: {printable(problem.where)}: {printable(problem.what)}")
    if checked.problems:
        return CHANGED
    click.echo("Nothing that was compared was changed.")
    return 0
