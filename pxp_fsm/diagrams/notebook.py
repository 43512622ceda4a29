"""Drawing of automata and sessions, into files and in notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.system import System
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.automata.tables import foreign_automaton, load_automaton
from pxp_fsm.diagrams.extract import actions_chart, sequence_chart, state_diagram, system_diagram
from pxp_fsm.diagrams.model import Diagram, SequenceChart, StateDiagram
from pxp_fsm.diagrams.rendering import svg, write
from pxp_fsm.diagrams.style import Style
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.sessions.session import Session


@runtime_checkable
class Drawable(Protocol):
    """What has a diagram: a result of a check, a language."""

    def diagram(self) -> Diagram:
        """Its diagram; raises `UsageError` where that could not be read."""


def draw(
    subject: Any,
    file: str | Path,
    *,
    direction: str | None = None,
    font: str | None = None,
    paper: str | None = None,
    size: str | None = None,
    title: bool = True,
    legend: bool = False,
) -> Path:
    """Draw an automaton, a session, a system, a counterexample into `file`; returns its path.

    The file's suffix is its format: .svg, .png, .pdf, .tex (TikZ), .dot or .mmd (Mermaid). A text
    is the name or the file of an automaton; the result of a check is drawn as its trace. The other
    parameters are those of a `pxp.diagrams.Style`: `paper` is the document class ("ieee") and
    `size` the width, or width and height, in the paper ("3.5in", "3.5inx2in").

    >>> import pathlib, tempfile
    >>> import pxp_fsm as pxp
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> pxp.draw("interact", folder / "interact.mmd").name
    'interact.mmd'

    Warns (`PXPWarning`) of what cannot be read: letters below 6 pt at this size,
    characters that no font has. Raises `UsageError` where the file cannot be written, its suffix is
    no format, or what is drawn cannot be drawn so.
    """
    style = Style(
        direction=direction, font=font, paper=paper, size=size, title=title, legend=legend
    )
    write(diagram_of(subject), file, style)
    return Path(file)


def table_diagram(subject: str, state: str | None = None) -> StateDiagram:
    """The members of a system file, or the automaton of a table, with `state` marked."""
    if is_system_file(subject):
        if state is not None:
            raise UsageError(f"{subject} is a system; draw a member's table to mark", "state")
        return system_diagram(System.load(subject))
    return state_diagram(load_automaton(subject), marked=state)


_DRAWN = (Automaton, System, Session, StateDiagram, SequenceChart, Drawable)


def diagram_of(subject: Any) -> Diagram:
    """The diagram of `subject`."""
    if isinstance(subject, str):
        subject = table_diagram(subject)
    elif not isinstance(subject, _DRAWN):
        subject = foreign_automaton(subject) or subject
    match subject:
        case Automaton():
            return state_diagram(subject)
        case System():
            return system_diagram(subject)
        case Session():
            ending = "not over" if subject.ending is None else subject.ending.value
            title = f"Session {subject.name}"
            if subject.rules is None:
                note = f"over {subject.system.channel.name}; ended: {ending}"
                return actions_chart(subject.events, subject.states, title=title, note=note)
            note = f"{subject.instance.key}; ended: {ending}"
            return sequence_chart(subject.history, title=title, note=note, states=subject.states)
        case StateDiagram() | SequenceChart():
            return subject
    if isinstance(subject, Drawable):
        return subject.diagram()
    raise UsageError(
        f"an automaton, a session, a system, a result of a check, a network, a language or a "
        f"machine of another library can be drawn, not {quoted(subject)}"
    )


def _repr_svg(subject: Automaton | Session | System) -> str:
    return svg(diagram_of(subject))


for _shown in (Automaton, Session, System):  # the rooms below do not know how they are drawn
    setattr(_shown, "_repr_svg_", _repr_svg)  # noqa: B010 - a checker knows of no such method
