"""`pxp export` and `pxp import`: runs as files and back, tables in the formats of other tools."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

OF_RUNS = {"jsonl": ".jsonl", "parquet": ".parquet"}
OF_TABLES = ("toml", "json", "scxml", "dot", "mermaid")
OF_SYSTEMS = ("promela", "prism", "smv", "tla")
ENDINGS = {
    **{ending: name for name, ending in OF_RUNS.items()},
    **{f".{name}": name for name in ("toml", "json", "scxml", "dot", "prism", "smv", "tla")},
    **{".gv": "dot", ".mmd": "mermaid", ".pml": "promela"},
}
"""The format that a file name's ending says."""


@click.command("export")
@click.argument("what", nargs=-1, required=True, metavar="RUN | TABLE...")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Its ending says the format (.pml is Promela, .mmd Mermaid, .parquet a folder).  "
    "[default: named after RUN or TABLE]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*OF_RUNS, *OF_TABLES, *OF_SYSTEMS]),
    help="Where PATH is not given.  [default: jsonl, of a run]",
)
@click.option(
    "--channel",
    default="sync",
    show_default=True,
    metavar="CHANNEL",
    help="Of promela, prism, smv and tla: what joins the tables, as in pxp check.",
)
@click.option(
    "--formula",
    "formulas",
    multiple=True,
    metavar="FORMULA",
    help="Of promela, prism, smv and tla: a property too (docs/logic.md); repeatable.",
)
@click.option(
    "--database", default=DEFAULT_DATABASE, show_default=True, metavar="URL", help="Where RUN is."
)
@click.pass_context
def export(
    context: click.Context,
    /,
    what: tuple[str, ...],
    output: Path | None,
    form: str | None,
    channel: str,
    formulas: tuple[str, ...],
    database: str,
) -> None:
    """Write a RUN, or TABLEs in the format of another tool; the format says which.

    A run as jsonl (JSON Lines) or parquet, one file for each of the database's tables. One TABLE as
    toml, json, scxml, dot or mermaid. TABLEs that are joined, as in pxp check, as promela (for
    SPIN), prism (for PRISM and Storm), smv (for NuSMV and nuXmv) or tla (for TLC).
    """
    from pxp_fsm.workbench import exporting

    form = _format(what, output, form)
    if form not in OF_SYSTEMS and (_given(context, "channel") or formulas):
        raise click.UsageError(f"--channel and --formula go with {', '.join(OF_SYSTEMS)}")
    if form in OF_RUNS:
        _export_run(what, output, form, database)
        return
    if _given(context, "database"):
        raise click.UsageError("--database goes with a run, as jsonl or parquet")
    path = output or exporting.default_path(what, form)
    if form in OF_SYSTEMS:
        left = exporting.export_system(what, path, form, channel, formulas)
    elif len(what) > 1:
        raise click.UsageError(f"{form} is of one table; {', '.join(OF_SYSTEMS)} join several")
    else:
        left = exporting.export_table(exporting.table_in(what[0]), path, form)
    for file in left:
        click.echo(f"Exported: {file}")


def _given(context: click.Context, option: str) -> bool:
    return context.get_parameter_source(option) is not ParameterSource.DEFAULT


def _format(what: tuple[str, ...], output: Path | None, form: str | None) -> str:
    """The format that is meant; where a name says nothing, a run's."""
    from pxp_fsm.workbench import exporting

    if output is None:
        if form is None and (len(what) > 1 or exporting.is_table(what[0])):
            named = ", ".join((*OF_TABLES, *OF_SYSTEMS))
            raise click.UsageError(f"{what[0]} is a table: say --format, one of {named}")
        return form or "jsonl"
    said = ENDINGS.get(output.suffix)
    if said is None or (form is not None and said != form):
        fits = [ending for ending, name in ENDINGS.items() if form in (None, name)]
        raise click.UsageError(f"{output.name} must end in {' or '.join(fits)}")
    return said


def _export_run(what: tuple[str, ...], output: Path | None, form: str, database: str) -> None:
    from backends.databases import SqlBlackboard, transfer
    from pxp_fsm.workbench import drawing

    if len(what) > 1:
        raise click.UsageError("one run is exported at a time")
    path = output or Path(drawing.file_name(what[0]) + OF_RUNS[form])
    if path.exists():
        raise click.UsageError(f"{path} is there already; give another name, or remove it")
    with SqlBlackboard(database, create=False) as board:
        write = transfer.write_jsonl if form == "jsonl" else transfer.write_parquet
        write(transfer.export_rows(board.engine, what[0]), path)
    click.echo(f"Exported: {path}")


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="Where a run goes; made if it is not there.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where a table goes: .toml, .json or .scxml.  [default: NAME.toml, after the table]",
)
def import_(path: Path, database: str, output: Path | None) -> None:
    """Take in what PATH holds: a run that pxp export wrote, or a table of another tool.

    A run (.jsonl, or a folder .parquet) goes into the database, verified; all of it or nothing. A
    table (.scxml, .json, .toml) is checked, and written as a table of one's own.
    """
    from pxp_fsm.workbench.cli.printing import printable

    if path.is_file() and path.suffix in (".toml", ".json", ".scxml"):
        from pxp_fsm.workbench.exporting import import_table

        table, target = import_table(path, output)
        counted = f"{len(table.states)} states, {len(table.transitions)} transitions"
        told = f"{printable(table.title)}, {counted}, fingerprint {table.fingerprint[:12]}"
        click.echo(f"Imported as {target}: {told}")
        return
    if output is not None:
        raise click.UsageError("--output goes with a table; a run goes into --database")
    from backends.databases import SqlBlackboard, transfer

    found = (transfer.read_parquet if path.is_dir() else transfer.read_jsonl)(path)
    with SqlBlackboard(database) as board:
        mark = transfer.import_rows(board.engine, found, str(path))
        counted = f"{mark.sessions} sessions, {mark.messages} messages, mark {mark.mark}"
        click.echo(f"Imported into {board.shown}: {printable(mark.run)}, {counted}")
