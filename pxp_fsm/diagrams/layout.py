"""The layout of a diagram: for a screen, or with the largest letters at a width in a paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pxp_fsm.diagrams.canvas import Canvas, canvas_of
from pxp_fsm.diagrams.dot import USUAL, Layout, to_dot
from pxp_fsm.diagrams.model import Diagram, StateDiagram
from pxp_fsm.diagrams.style import Style
from pxp_fsm.errors import UsageError

WIDE = 1000.0
"""Points from which an automaton is too wide for a screen, and is laid out from top to bottom."""

PAGE = 640.0
"""Points of height that a figure can have on a page."""

MANY = 60
"""Arrows from which only layouts with references are tried: others take long, and are too wide."""

LEAST, GOOD = 6.0, 8.0
"""Points: smaller letters cannot be read in print; with these no other layout is looked for."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """A diagram in its layout: DOT, what is drawn, and by how much that is scaled."""

    source: str
    canvas: Canvas
    scale: float = 1.0

    @property
    def letters(self) -> float:
        """The size in points of the smallest letters in the paper."""
        return self.canvas.smallest_text * self.scale


def arrange(diagram: Diagram, style: Style) -> Arranged:
    """The layout of `diagram` that `style` asks for; raises `UsageError` for what it cannot be."""
    if not isinstance(diagram, StateDiagram):
        if style.direction is not None:
            raise UsageError(
                "a sequence chart has only one direction: its messages go from top to bottom",
                "direction",
            )
        return _scaled(to_dot(diagram, style), style)
    if style.width is None:
        return _for_screen(diagram, style)
    found = list[Arranged]()
    for layout in _layouts(style):
        if len(diagram.edges) > MANY and not layout.references:
            continue
        found.append(_scaled(to_dot(diagram, style, layout), style))
        if found[-1].letters >= GOOD:
            break
    return max(found, key=lambda one: one.letters)


def _for_screen(diagram: StateDiagram, style: Style) -> Arranged:
    usual = replace(USUAL, direction=style.direction or USUAL.direction)
    if len(diagram.edges) <= MANY:
        found = _scaled(to_dot(diagram, style, usual), style)
        if found.canvas.size[0] <= WIDE:
            return found
    narrow = Layout(style.direction or "TB", tight=True, references=True)
    return _scaled(to_dot(diagram, style, narrow), style)


def _layouts(style: Style) -> Iterator[Layout]:
    """The layouts to choose from, the most generous first."""
    for direction in (style.direction,) if style.direction else ("LR", "TB"):
        usual = Layout(direction)
        tight = replace(usual, tight=True)
        yield usual
        yield tight
        yield replace(tight, wrap=14)
        yield replace(tight, references=True)
        yield replace(tight, references=True, wrap=14)


def _scaled(source: str, style: Style) -> Arranged:
    canvas = canvas_of(source)
    if style.width is None:
        return Arranged(source, canvas)
    width, height = canvas.size
    scale = min(1.0, style.width / width, PAGE / height)
    return Arranged(source, canvas, scale)
