"""`pxp conform`: whether a program, in any language, does what a table says."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("program")
@click.option(
    "--table",
    default="interact",
    show_default=True,
    metavar="TABLE",
    help="A built-in automaton, or the file of a table.",
)
@click.option(
    "--extra-states",
    "extra",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="How many states more than the table the program may have; each multiplies the tests.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds in which each line is to be answered.",
)
@click.option(
    "--reset",
    type=click.Choice(["message", "restart"]),
    default="message",
    show_default=True,
    help="Whether the program is told to start anew, or started anew.",
)
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output.")
@click.option(
    "--draw",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the table with the way to the difference (.svg .png .dot .gv .mmd).",
)
@click.pass_context
def conform(
    context: click.Context,
    /,
    program: str,
    table: str,
    extra: int,
    timeout: float,
    reset: str,
    as_json: bool,
    draw: Path | None,
) -> None:
    """Test PROGRAM (its command line, such as 'python -m mine') against a table.

    It reads one JSON message a line and answers each with one (docs/conformance.md). The tests are
    complete: a program of at most so many states that passes them does what the table says, always.
    Of one that differs the shortest sequence that shows it is told.

    PROGRAM is run as it is, without a shell and without protection from it. Exit code 1 where it
    differs, 4 where it says nothing in time or not the same twice.
    """
    from pxp_fsm.workbench import conforming
    from pxp_fsm.workbench.cli.printing import printable

    found = conforming.run(conforming.Request(program, table, extra, timeout, reset))
    if as_json:
        click.echo(conforming.as_json(found))
    else:
        for line in conforming.lines(found):
            click.echo(printable(line))
    if draw is not None and conforming.draw(found, draw):
        click.echo(printable(f"Drawn: {draw}"), err=as_json)
    context.exit(found.exit_code)
