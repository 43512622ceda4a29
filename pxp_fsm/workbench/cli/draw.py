"""`pxp draw`: an automaton or a session as SVG, PNG, DOT or Mermaid."""

from __future__ import annotations

from pathlib import Path

import click

from pxp_fsm.workbench.cli.sessions import DEFAULT_DATABASE

FORMATS = {"svg": ".svg", "png": ".png", "dot": ".dot", "mermaid": ".mmd"}


@click.command()
@click.argument("what", nargs=-1, metavar="[WHAT]...")
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
    help="Without WHAT: the shortest session that contradicts this claim of pxp check "
    "(pxp.terminates where two protocols have one of that name). With tables: how they break this "
    "standing check or formula.",
)
@click.option(
    "--channel",
    metavar="CHANNEL",
    help="What joins the tables of a counterexample, as in pxp check.  [default: sync]",
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
    what: tuple[str, ...],
    output: Path | None,
    form: str | None,
    state: str | None,
    agent: str | None,
    counterexample: str | None,
    channel: str | None,
    relations: str | None,
    n: int,
    k: int,
    database: str,
) -> None:
    """Draw WHAT: a built-in automaton, the file of a table, or a session such as drug-1/1/3.

    A counterexample is drawn as a sequence chart; of a claim, also on the automaton of each agent.
    """
    from pxp_fsm.diagrams import SUFFIXES
    from pxp_fsm.workbench import drawing

    if output is not None and form is not None and SUFFIXES.get(output.suffix.lower()) != form:
        endings = " or ".join(suffix for suffix, means in SUFFIXES.items() if means == form)
        raise click.UsageError(f"{output.name} does not end in {endings}; give one of the two")
    if counterexample is None and len(what) != 1:
        raise click.UsageError("say WHAT to draw, one thing; or --counterexample CLAIM")
    if channel is not None and not (what and counterexample):
        raise click.UsageError("--channel goes with tables and --counterexample")
    if counterexample is None and relations is not None:
        raise click.UsageError("--relations goes with --counterexample")
    if counterexample is not None and what and (relations or agent):
        raise click.UsageError("--relations and --agent are of claims, not of tables of your own")
    if counterexample is not None and state is not None:
        raise click.UsageError("--state marks a state of a table; of a counterexample, --agent")
    subject = what[0] if counterexample is None else counterexample
    name = drawing.file_name(subject) + (f"-{drawing.file_name(agent)}" if agent else "")
    path = output or Path(name + FORMATS[form or "svg"])
    if counterexample is None:
        click.echo(f"Drawn: {drawing.draw(subject, path, state, agent, database)}")
        return
    if what:
        from pxp_fsm.workbench import violations

        drawn = violations.draw(what, counterexample, channel or "sync", path)
        click.echo(f"Drawn: {drawn}")
        return
    from pxp_fsm.workbench import counterexamples

    for file in counterexamples.draw(counterexample, path, relations, n, k, agent):
        click.echo(f"Drawn: {file}")
