"""`pxp draw`: an automaton, a session or a counterexample, for screens and papers."""

from __future__ import annotations

from pathlib import Path

import click

from pxp_fsm.analysis import counterexamples
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.diagrams import SUFFIXES
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import drawings

_SUFFIXES = {**SUFFIXES, ".itf.json": "itf", ".table.tex": "latex"}


def draw(request: options.DrawOptions) -> None:
    """Draw what is named, or a counterexample."""
    _check(request)
    what, agent, style = request.what, request.agent, request.style
    subject = request.counterexample or what[0]
    name = drawings.file_name(subject) + (f"-{drawings.file_name(agent)}" if agent else "")
    form = request.form or "svg"
    suffix = next(suffix for suffix, means in _SUFFIXES.items() if means == form)
    path = request.output or Path(name + suffix)
    files: tuple[Path, ...]
    if request.counterexample is None:
        files = (drawings.draw(subject, path, request.state, agent, request.database, style),)
    elif what:
        channel = request.channel
        files = counterexamples.draw_violation(what, subject, channel, path, agent, style, form)
    else:
        sizes = request.relations, request.n, request.k
        files = counterexamples.draw(subject, path, *sizes, agent, style, form)
    for file in files:
        click.echo(printable(f"Drawn: {file}"))


def _check(request: options.DrawOptions) -> None:
    """Raise `UsageError` for options that do not go together."""
    output, form, failing = request.output, request.form, request.counterexample
    endings = [suffix for suffix, means in _SUFFIXES.items() if means == form]
    if output is not None and form is not None and not output.name.lower().endswith(tuple(endings)):
        listed = " or ".join(endings)
        raise UsageError(f"{output.name} does not end in {listed}; use one of them")
    if form in counterexamples.TABULAR and (failing is None or request.agent is not None):
        raise UsageError(f"--format {form} requires --counterexample, and takes no --agent")
    if failing is None and len(request.what) != 1:
        raise UsageError("give one WHAT to draw, or --counterexample CLAIM")
    if request.channel is not None and not (request.what and failing):
        raise UsageError("--channel requires tables and --counterexample")
    if failing is None and request.relations is not None:
        raise UsageError("--relations requires --counterexample")
    if failing is not None and request.what and request.relations:
        raise UsageError("--relations applies to claims, not to tables of your own")
    if failing is not None and request.state is not None:
        raise UsageError("--state applies to a table; for a counterexample, give --agent")
