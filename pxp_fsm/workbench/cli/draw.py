"""`pxp draw`: an automaton or a session as SVG, PNG, DOT or Mermaid."""

from __future__ import annotations

from pathlib import Path

import click

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

FORMATS = {"svg": ".svg", "png": ".png", "dot": ".dot", "mermaid": ".mmd"}


@click.command()
@click.argument("what")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Its ending (.svg .png .dot .gv .mmd) says the format.  [default: named after WHAT]",
)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="Where FILE is not given.")
@click.option("--state", metavar="STATE", help="Mark this state of the automaton.")
@click.option(
    "--agent",
    metavar="NAME",
    help="Of a session: draw this agent's automaton, with the way it took and where it is.",
)
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="Where sessions are found.",
)
def draw(
    what: str,
    output: Path | None,
    form: str | None,
    state: str | None,
    agent: str | None,
    database: str,
) -> None:
    """Draw WHAT: a built-in automaton, the file of a table, or a session such as drug-1/1/3."""
    from pxp_fsm.diagrams import SUFFIXES
    from pxp_fsm.workbench import drawing

    if output is not None and form is not None and SUFFIXES.get(output.suffix.lower()) != form:
        endings = " or ".join(suffix for suffix, means in SUFFIXES.items() if means == form)
        raise click.UsageError(f"{output.name} does not end in {endings}; give one of the two")
    name = drawing.file_name(what) + (f"-{drawing.file_name(agent)}" if agent else "")
    path = output or Path(name + FORMATS[form or "svg"])
    click.echo(f"Drawn: {drawing.draw(what, path, state, agent, database)}")
