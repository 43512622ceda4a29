"""`pxp export` and `pxp import`: a run as files, and back."""

from __future__ import annotations

from pathlib import Path

import click

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

FORMATS = {"jsonl": ".jsonl", "parquet": ".parquet"}


@click.command("export")
@click.argument("run")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file that ends in .jsonl, or a folder that ends in .parquet.  [default: RUN.jsonl]",
)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="Where PATH is not given.")
@click.option(
    "--database", default=DEFAULT_DATABASE, show_default=True, metavar="URL", help="Where RUN is."
)
def export(run: str, output: Path | None, form: str | None, database: str) -> None:
    """Write RUN as JSON Lines, or as a folder of Parquet files, one for each table."""
    from backends.databases import SqlBlackboard, jsonl, parquet
    from backends.databases.exchange import outgoing
    from pxp_fsm.workbench import drawing

    path = output or Path(drawing.file_name(run) + FORMATS[form or "jsonl"])
    if path.suffix not in FORMATS.values() or (form and path.suffix != FORMATS[form]):
        raise click.UsageError(f"{path.name} must end in {FORMATS.get(form or '', '.jsonl')}")
    if path.exists():
        raise click.UsageError(f"{path} is there already; give another name, or remove it")
    with SqlBlackboard(database, create=False) as board:
        write = jsonl.write if path.suffix == ".jsonl" else parquet.write
        write(outgoing(board.engine, run), path)
    click.echo(f"Exported: {path}")


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="Where it goes; made if it is not there.",
)
def import_(path: Path, database: str) -> None:
    """Take in the run that `pxp export` wrote to PATH, verified; all of it or nothing."""
    from backends.databases import SqlBlackboard, jsonl, parquet
    from backends.databases.exchange import incoming
    from pxp_fsm.workbench.cli.printing import printable

    found = (parquet.read if path.is_dir() else jsonl.read)(path)
    with SqlBlackboard(database) as board:
        mark = incoming(board.engine, found, str(path))
        counted = f"{mark.sessions} sessions, {mark.messages} messages, mark {mark.mark}"
        click.echo(f"Imported into {board.shown}: {printable(mark.run)}, {counted}")
