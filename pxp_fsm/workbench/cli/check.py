"""`pxp check`: what is true of the tables and protocols, one line a property."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from pxp_fsm import defaults


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE...]")
@click.option(
    "--property", "names", multiple=True, metavar="NAME", help="Only this one; repeatable."
)
@click.option(
    "--relations",
    metavar="NAME",
    help="Only under these assumptions on MATCH and AGREE: equivalence, tolerance, noisy, 'without "
    "symmetric', deterministic+shared and the like.",
)
@click.option(
    "--n",
    type=int,
    default=defaults.N,
    show_default=True,
    help="INTERACT's n, where explored.",
)
@click.option(
    "--k",
    type=int,
    default=defaults.K,
    show_default=True,
    help="k, where explored; over --channel fifo, the largest that is tried.",
)
@click.option(
    "--values",
    type=click.IntRange(min=1),
    metavar="V",
    help="INTERACT over V explicit values of y and of e, without symmetry.",
)
@click.option(
    "--formula",
    "formulas",
    multiple=True,
    metavar="FORMULA",
    help="Only this formula of temporal logic (docs/logic.md), on the TABLEs, or with --relations "
    "on sessions of interact or pxp; repeatable.",
)
@click.option(
    "--runs",
    type=click.Choice(["complete", "finite", "infinite"]),
    default="complete",
    show_default=True,
    help="Which runs a formula speaks of.",
)
@click.option(
    "--fair",
    multiple=True,
    metavar="weak:WHAT|strong:WHAT",
    help="Only runs that are fair to the steps after which WHAT holds (1.RATIFY), to each of the "
    "rows, or of the agents; repeatable.",
)
@click.option(
    "--termination", is_flag=True, help="Only whether the TABLEs end: can, must, under fairness."
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="CHANNEL",
    help="Over this channel: sync, fifo:C, lossy:C, duplicating:C, reordering:C with a capacity C, "
    "or several joined by + (docs/systems.md); fifo alone is of any capacity (docs/exchange.md); "
    "repeatable, a line each.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="STATES",
    help="Of a system, at most so many states; beyond, UNKNOWN.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MB",
    help="Of a system, until the process holds so much; beyond, UNKNOWN.",
)
@click.option(
    "--reduce",
    type=click.Choice(["symmetry", "partial-order"]),
    help="Of a system, fewer states: equal members are alike; orders that do not matter.",
)
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on standard output.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="JUnit XML too.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="SARIF too.")
@click.option(
    "--itf",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Each trace as ITF JSON, into this folder.",
)
@click.option(
    "--certificates",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the certificates of what is proved for all n and k into this folder.",
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
    values: int | None,
    formulas: tuple[str, ...],
    runs: str,
    fair: tuple[str, ...],
    termination: bool,
    channels: tuple[str, ...],
    limit: int | None,
    memory: int | None,
    reduce: str | None,
    as_json: bool,
    junit: Path | None,
    sarif: Path | None,
    itf: Path | None,
    certificates: Path | None,
) -> None:
    """Check TABLEs: interact and pxp with every claim about them, or tables of your own.

    One table is joined with itself, two with each other; more are a system, in which rows name
    their partners, and NAME=TABLE names a member. HOLDS is for all n and k, by a certificate;
    HOLDS UP TO is for the n and k explored. Some claims say that something fails:
    the verdict that is expected is success. Exit code 1 where a verdict is not the expected one, 4
    where one is unknown.
    """
    from pxp_fsm.workbench import checks, verdicts
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.requests import Request

    asked = Request(tables, names, relations, n, k, values, formulas, runs, fair, termination)
    asked = replace(asked, channels=channels, limit=limit, memory=memory, reduce=reduce)
    checked = checks.run(asked)
    left = () if certificates is None else checked.leave(certificates)
    if as_json:
        click.echo(verdicts.as_json(checked.lines))
    else:
        for line in verdicts.lines(checked.lines):
            click.echo(printable(line))
        for path in left:
            click.echo(printable(f"Certificate: {path}"))
    for file, text in ((junit, verdicts.as_junit), (sarif, verdicts.as_sarif)):
        if file is not None:
            file.write_text(text(checked.lines) + "\n", "utf-8")
    if itf is not None:
        verdicts.write_traces(checked.lines, itf)
    if checked.interrupted:
        raise KeyboardInterrupt
    context.exit(verdicts.exit_code(checked.lines))
