"""`pxp draw`: an automaton, a system, a session or a counterexample, for screens and papers."""

from __future__ import annotations

from pathlib import Path

import click

from backends import databases
from proofs.requests import parameters_in
from proofs.systems.pictures import product_diagram
from pxp_fsm import analysis, experiments
from pxp_fsm.artifacts import file_name
from pxp_fsm.automata.system import System
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.automata.unfolding import unfolded
from pxp_fsm.cli.options import draw as options
from pxp_fsm.cli.presentation.text import printable, progress
from pxp_fsm.diagrams import SUFFIXES, Diagram, StateDiagram, Style, state_diagram, write
from pxp_fsm.diagrams.notebook import table_diagram
from pxp_fsm.errors import UsageError

_TABULAR = {".itf.json": "itf", ".table.tex": "latex"}
"""Endings and formats of the steps of a counterexample: data, and a table."""
_SUFFIXES = {**SUFFIXES, **_TABULAR}


MOST_DRAWN = 100
"""States beyond which nobody could read a drawing."""


def tables(request: options.DrawSystem) -> None:
    """Draw a table or a system, or a counterexample of tables or of a claim."""
    subjects, failing = request.what, request.counterexample
    if failing is None:
        if len(subjects) != 1:
            raise UsageError("give one X to draw, or --counterexample CLAIM")
        if request.agent is not None:
            raise UsageError("only a session or a --counterexample has agents", "agent")
        draw_diagram(_diagram(request), subjects[0], request.output, request.form, request.style)
        return
    if isinstance(request, options.DrawTable) and request.state is not None:
        raise UsageError("this marks a table; for a counterexample, give --agent", "state")
    if request.form in _TABULAR.values() and request.agent is not None:
        raise UsageError(f"--format {request.form} takes no --agent")
    path = _path(failing, request.output, request.form, request.agent)
    form, agent, style = request.form or "svg", request.agent, request.style
    if subjects:
        if request.relations is not None:
            raise UsageError("this applies to claims, not to tables of your own", "relations")
        channel = request.channel
        files = analysis.counterexamples.draw_violation(
            subjects, failing, channel, path, agent, style, form, request.parameters
        )
    else:
        for name in ("channel", "parameters"):
            if getattr(request, name):
                raise UsageError("this requires tables", name)
        sizes = request.relations, request.n, request.k
        files = analysis.counterexamples.draw(failing, path, *sizes, agent, style, form)
    _say(files)


def _diagram(request: options.DrawSystem) -> StateDiagram:
    """A table, the members of a system, or over a channel its reachable states."""
    (subject,), channel = request.what, request.channel
    states = channel is not None and is_system_file(subject)
    for name in ("relations",) if states else ("channel", "relations"):
        if getattr(request, name) is not None:
            raise UsageError("this requires --counterexample", name)
    if states:
        if request.parameters:
            raise UsageError("this does not apply to the states of a system", "parameters")
        return product_diagram(System.load(subject, channel=channel))
    state = request.state if isinstance(request, options.DrawTable) else None
    return _by_rules(subject, request.parameters, state)


def _by_rules(subject: str, parameters: tuple[str, ...], state: str | None) -> StateDiagram:
    """The automaton of a table, or of a system; with parameters its registers are in its states."""
    if not parameters:
        return table_diagram(subject, state)
    if is_system_file(subject):
        reason = "the members of a system are drawn without their states; draw a member's table"
        raise UsageError(reason, "parameters")
    automaton = unfolded(load_automaton(subject), parameters_in(parameters))
    if len(automaton.states) > MOST_DRAWN:
        raise UsageError(
            f"{automaton.name} has {len(automaton.states):,} states, and a drawing at most "
            f"{MOST_DRAWN}; give smaller numbers",
            "parameters",
        )
    return state_diagram(automaton, marked=state)


def session(request: options.DrawSession) -> None:
    """Draw a stored session."""
    with databases.SqlBlackboard(request.database, create=False) as board:
        diagram = experiments.session_diagram(board.session(request.name), request.agent)
    name, agent = request.name, request.agent
    draw_diagram(diagram, name, request.output, request.form, request.style, agent)


def draw_diagram(
    diagram: Diagram,
    subject: str,
    output: Path | None,
    form: str | None,
    style: Style,
    agent: str | None = None,
) -> None:
    """Draw a diagram of `subject`, or of an `agent` of it, into `output` or a file named after it.

    Raises `UsageError` where `form` is none of a drawing.
    """
    if form in _TABULAR.values():
        raise UsageError(f"--format {form} requires --counterexample")
    path = _path(subject, output, form, agent)
    with progress(lambda: f"Drawing {path}: Graphviz is compiled when it is first used"):
        write(diagram, path, style)
    _say([path])


def _path(subject: str, output: Path | None, form: str | None, agent: str | None) -> Path:
    """The file to write; raises `UsageError` where its suffix says another format than `form`."""
    endings = [suffix for suffix, means in _SUFFIXES.items() if means == (form or "svg")]
    if output is None:
        agents = f"-{file_name(agent)}" if agent else ""
        return Path(f"{file_name(subject)}{agents}{endings[0]}")
    if form is not None and not output.name.lower().endswith(tuple(endings)):
        listed = " or ".join(endings)
        raise UsageError(f"{output.name} does not end in {listed}; use one of them", "output")
    return output


def _say(files: tuple[Path, ...] | list[Path]) -> None:
    for file in files:
        click.echo(printable(f"Drawn: {file}"))
