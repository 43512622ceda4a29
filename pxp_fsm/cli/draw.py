"""`pxp draw`: an automaton or a session as SVG, PNG, DOT or Mermaid."""

from __future__ import annotations

from pathlib import Path

import click

from pxp_fsm.analysis import counterexamples
from pxp_fsm.cli.options import results as options
from pxp_fsm.diagrams import SUFFIXES
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import drawings

FORMATS = {"svg": ".svg", "png": ".png", "dot": ".dot", "mermaid": ".mmd"}


def draw(request: options.Draw) -> None:
    """Draw what is named, or a counterexample."""
    what, output, form, counterexample = (
        request.what,
        request.output,
        request.form,
        request.counterexample,
    )
    state, agent, channel, relations = (
        request.state,
        request.agent,
        request.channel,
        request.relations,
    )
    if output is not None and form is not None and SUFFIXES.get(output.suffix.lower()) != form:
        endings = " or ".join(suffix for suffix, means in SUFFIXES.items() if means == form)
        raise UsageError(f"{output.name} does not end in {endings}; use one of them")
    if counterexample is None and len(what) != 1:
        raise UsageError("give one WHAT to draw, or --counterexample CLAIM")
    if channel is not None and not (what and counterexample):
        raise UsageError("--channel requires tables and --counterexample")
    if counterexample is None and relations is not None:
        raise UsageError("--relations requires --counterexample")
    if counterexample is not None and what and (relations or agent):
        raise UsageError("--relations and --agent apply to claims, not to tables of your own")
    if counterexample is not None and state is not None:
        raise UsageError("--state applies to a table; for a counterexample, give --agent")
    subject = what[0] if counterexample is None else counterexample
    name = drawings.file_name(subject) + (f"-{drawings.file_name(agent)}" if agent else "")
    path = output or Path(name + FORMATS[form or "svg"])
    if counterexample is None:
        click.echo(f"Drawn: {drawings.draw(subject, path, state, agent, request.database)}")
        return
    if what:
        drawn = counterexamples.draw_violation(what, counterexample, channel, path)
        click.echo(f"Drawn: {drawn}")
        return
    for file in counterexamples.draw(counterexample, path, relations, request.n, request.k, agent):
        click.echo(f"Drawn: {file}")
