"""A diagram as lines of text, for terminals: what a picture of it shows."""

from __future__ import annotations

from pxp_fsm.diagrams.model import Arrow, Diagram, SequenceChart, StateDiagram
from pxp_fsm.diagrams.style import PLAIN, Style
from pxp_fsm.diagrams.text import legible, shortened

_LEAST, _MOST = 14, 30
"""Characters between two lifelines."""


def to_text(diagram: Diagram, style: Style = PLAIN) -> str:
    """`diagram` in lines of text: a chart with its lifelines, or an automaton's rows by state."""
    drawn = _states(diagram) if isinstance(diagram, StateDiagram) else _sequence(diagram)
    title = [legible(diagram.title), ""] if style.title and diagram.title else []
    has_note = bool(diagram.note) and (style.title or isinstance(diagram, SequenceChart))
    note = ["", legible(diagram.note)] if has_note else []
    legend = [f"{sign}: {meaning}" for sign, meaning in diagram.legend] if style.legend else []
    lines = [*title, *drawn, *note, *map(legible, legend)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _states(diagram: StateDiagram) -> list[str]:
    lines = []
    for node in diagram.nodes:
        marks = (
            ("begins", node.initial),
            ("ends", node.final),
            ("here", node.marked),
            ("still possible", node.trapped),
        )
        signs = [word for word, applies in marks if applies]
        lines.append(legible(node.name) + (f" ({', '.join(signs)})" if signs else ""))
        for edge in (edge for edge in diagram.edges if edge.source == node.name):
            for row in edge.rows:
                arrow = f"─→ {legible(edge.target)}" if edge.target else "─┤ not received"
                lines.append(f"  {legible(str(row))} {arrow}")
    return lines


def _sequence(chart: SequenceChart) -> list[str]:
    named = [
        shortened(text, _MOST - 2)
        for lifeline in chart.lifelines
        for text in (lifeline.name, lifeline.state)
    ]
    labels = [len(arrow.label) + 8 for arrow in chart.arrows]
    apart = max(_LEAST, min(_MOST, max([0, *labels])), max([0, *map(len, named)]) + 2)
    places = {
        lifeline.name: apart * number + apart // 2
        for number, lifeline in enumerate(chart.lifelines)
    }
    wide = apart * len(chart.lifelines)

    def row(cells: dict[int, str], between: str = "") -> str:
        """A line with lifelines, and a text around each of some places."""
        line = [" "] * wide
        for place in places.values():
            line[place] = between or " "
        for place, text in cells.items():
            at = max(0, place - len(text) // 2)
            line[at : at + len(text)] = text
        return "".join(line)

    lines = [
        row(
            {
                places[lifeline.name]: shortened(lifeline.name, _MOST - 2)
                for lifeline in chart.lifelines
            }
        )
    ]
    steps = [(arrow.number, 0, arrow) for arrow in chart.arrows]
    steps += [(step, 1, arrow) for arrow in chart.arrows for step in arrow.received or ()]
    looping = False
    for number, is_taken, arrow in sorted(steps, key=lambda step: step[:2]):
        if chart.loop and number >= chart.loop and not arrow.refused and not looping:
            lines.append("┌ repeats for ever ".ljust(wide, "─"))
            looping = True
        if is_taken:
            lines.append(
                _arrow(row({}, "│"), places, arrow, f"{number}: {arrow.label}", taken=True)
            )
            continue
        lines.append(_arrow(row({}, "│"), places, arrow, arrow.label))
        lines += [f"{row({}, '│')}  {text}" for text in arrow.texts]
    lines += ["└".ljust(wide, "─")] if looping else []
    if any(lifeline.state for lifeline in chart.lifelines):
        states = {
            places[lifeline.name]: shortened(lifeline.state, _MOST - 2)
            for lifeline in chart.lifelines
        }
        lines.append(row(states))
    return [*lines, *([""] if chart.waits else []), *map(legible, chart.waits)]


def _arrow(
    line: str, places: dict[str, int], arrow: Arrow, label: str, *, taken: bool = False
) -> str:
    """`line` with an arrow in it: from its sender, from a buffer, or as far as it gets."""
    start, end = places[arrow.sender], places[arrow.receiver]
    if start == end:
        return f"{line}  {label} to itself"
    left, right = min(start, end) + 1, max(start, end)
    body = shortened(f" {label} ", right - left - 2).center(right - left, "┄" if taken else "─")
    head = "x" if arrow.lost else "┤" if arrow.refused else "→" if end > start else "←"
    buffered = arrow.received is not None and not taken and not arrow.lost and not arrow.refused
    head = "○" if buffered else head
    body = body[:-1] + head if end > start else head + body[1:]
    fate = f"  {arrow.fate}" if arrow.fate and not taken else ""
    return line[:left] + body + line[right:] + fate
