"""`pxp check`: what is true of the tables and protocols, one line a property."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE...]")
@click.option(
    "--property", "names", multiple=True, metavar="NAME", help="Only this one; repeatable."
)
@click.option(
    "--relations", metavar="NAME", help="Only under these assumptions on MATCH and AGREE."
)
@click.option("--n", type=int, default=10, show_default=True, help="INTERACT's n, where explored.")
@click.option("--k", type=int, default=3, show_default=True, help="k, where explored.")
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on standard output.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="JUnit XML too.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="SARIF too.")
@click.option(
    "--traces",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Each trace as ITF JSON, into this folder.",
)
@click.pass_context
def check(
    context: click.Context,
    /,
    tables: tuple[str, ...],
    names: tuple[str, ...],
    relations: str | None,
    n: int,
    k: int,
    as_json: bool,
    junit: Path | None,
    sarif: Path | None,
    traces: Path | None,
) -> None:
    """Check TABLEs: interact and pxp with every claim about them, or tables of your own.

    One table is joined with itself, two with each other. Some claims say that something fails: the
    verdict that is expected is success. Exit code 1 where a verdict is not the expected one, 4
    where one is unknown.
    """
    from pxp_fsm.workbench import checks

    request = checks.Request(tables, names, relations, n, k)
    results = list(checks.run(request))
    if as_json:
        click.echo(checks.as_json(results))
    else:
        for line in checks.lines(results):
            click.echo(line)
    for path, text in ((junit, checks.as_junit), (sarif, checks.as_sarif)):
        if path is not None:
            path.write_text(text(results), "utf-8")
    if traces is not None:
        checks.write_traces(results, traces)
    context.exit(checks.exit_code(results))
