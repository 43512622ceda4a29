"""`pxp draw`: an automaton or a session as SVG, PNG, DOT or Mermaid."""

from __future__ import annotations

from pathlib import Path

import click

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

FORMATS = {"svg": ".svg", "png": ".png", "dot": ".dot", "mermaid": ".mmd"}


@click.command()
@click.argument("what", required=False)
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
    "--counterexample",
    metavar="CLAIM",
    help="In place of WHAT: the shortest session that contradicts this claim of pxp check "
    "(pxp.terminates where two protocols have one of that name).",
)
@click.option("--relations", metavar="NAME", help="Its assumptions on MATCH and AGREE.")
@click.option("--n", type=int, default=10, show_default=True, help="Its n, in INTERACT.")
@click.option("--k", type=int, default=3, show_default=True, help="Its k.")
@click.option(
    "--database",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="Where sessions are found.",
)
def draw(
    what: str | None,
    output: Path | None,
    form: str | None,
    state: str | None,
    agent: str | None,
    counterexample: str | None,
    relations: str | None,
    n: int,
    k: int,
    database: str,
) -> None:
    """Draw WHAT: a built-in automaton, the file of a table, or a session such as drug-1/1/3.

    A counterexample is drawn as a sequence chart, and beside it on the automaton of each agent.
    """
    from pxp_fsm.diagrams import SUFFIXES
    from pxp_fsm.workbench import drawing

    if output is not None and form is not None and SUFFIXES.get(output.suffix.lower()) != form:
        endings = " or ".join(suffix for suffix, means in SUFFIXES.items() if means == form)
        raise click.UsageError(f"{output.name} does not end in {endings}; give one of the two")
    if (what is None) is (counterexample is None):
        said = "not both" if what is not None else "one of the two"
        raise click.UsageError(f"say WHAT to draw, or --counterexample CLAIM: {said}")
    if counterexample is None and relations is not None:
        raise click.UsageError("--relations goes with --counterexample")
    if counterexample is not None and state is not None:
        raise click.UsageError("--state marks a state of a table; of a counterexample, --agent")
    subject = str(what or counterexample)
    name = drawing.file_name(subject) + (f"-{drawing.file_name(agent)}" if agent else "")
    path = output or Path(name + FORMATS[form or "svg"])
    if counterexample is None:
        click.echo(f"Drawn: {drawing.draw(subject, path, state, agent, database)}")
        return
    from pxp_fsm.workbench import counterexamples

    for drawn in counterexamples.draw(counterexample, path, relations, n, k, agent):
        click.echo(f"Drawn: {drawn}")
