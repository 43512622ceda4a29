"""Mermaid text from the model of a diagram, which Markdown viewers draw."""

from __future__ import annotations

import json
import re

from pxp_fsm.diagrams.model import Diagram, SequenceChart, StateDiagram
from pxp_fsm.diagrams.style import PLAIN, Style
from pxp_fsm.diagrams.text import legible, shortened
from pxp_fsm.errors import UsageError

# Mermaid reads punctuation, `end` and `%%` as syntax even inside some texts; an entity code it
# never does. Spared is what makes labels readable in the source and has no meaning there.
_SYNTAX = re.compile(r"[^\w\s.,()/+!×⊤−→…]|(?<![^\W_])end(?![^\W_])|_", re.IGNORECASE)
_LINE = "<br/>"


def to_mermaid(diagram: Diagram, style: Style = PLAIN) -> str:
    """The Mermaid source of `diagram`: a `stateDiagram-v2` or a `sequenceDiagram`.

    Its viewer chooses fonts and sizes: raises `UsageError` for a style that names one.
    """
    for field in ("font", "size", "paper"):
        if field in style.changed:
            chosen = "font" if field == "font" else "size"
            raise UsageError(f"Mermaid's viewer chooses the {chosen}; draw an SVG or PDF", field)
    if isinstance(diagram, StateDiagram):
        drawn = _states(diagram, style)
    else:
        if style.direction is not None:
            raise UsageError("a sequence chart has only one direction", "direction")
        drawn = _sequence(diagram, style)
    return "\n".join([*(_title(diagram.title) if style.title else ()), *drawn, ""])


def _title(title: str) -> list[str]:
    """The title as YAML front matter, where entity codes do not count but JSON strings do."""
    text = json.dumps(legible(title), ensure_ascii=False)
    safe = text.replace("<", r"\u003c").replace(">", r"\u003e")
    return ["---", f"title: {safe}", "---"]


def _text(text: str) -> str:
    """`text` with entity codes for all that Mermaid could read as syntax; never empty."""
    coded = _SYNTAX.sub(lambda m: f"#{ord(m[0][0])};{m[0][1:]}", legible(text))
    return coded or "#160;"


def _notes(diagram: Diagram, style: Style) -> str:
    """The note and the legend, as the text of a note."""
    waits = diagram.waits if isinstance(diagram, SequenceChart) else None
    has_note = bool(diagram.note) and (style.title or waits is not None)
    note = [*([diagram.note] if has_note else []), *(waits or ())]
    legend = [f"{sign}: {meaning}" for sign, meaning in diagram.legend] if style.legend else []
    return _LINE.join(map(_text, [*note, *legend]))


def _states(diagram: StateDiagram, style: Style) -> list[str]:
    ids = {node.name: f"s{number}" for number, node in enumerate(diagram.nodes)}
    lines = ["stateDiagram-v2", f"    direction {style.direction or 'LR'}"]
    lines += [f'    state "{_text(node.name)}" as {ids[node.name]}' for node in diagram.nodes]
    lines += [f"    [*] --> {ids[node.name]}" for node in diagram.nodes if node.initial]
    for edge in diagram.edges:
        label = _LINE.join(_text(line) for row in edge.rows for line in row.lines)
        if edge.target:
            lines.append(f"    {ids[edge.source]} --> {ids[edge.target]} : {label}")
        else:  # what comes in and is not received has no state to lead to
            lines.append(f"    note right of {ids[edge.source]} : {label}")
    lines += [f"    {ids[node.name]} --> [*]" for node in diagram.nodes if node.final]
    if marked := [ids[node.name] for node in diagram.nodes if node.marked]:
        lines.append("    classDef marked fill:#d9e8f7,stroke:#0b5cad,stroke-width:2px")
        lines.append(f"    class {','.join(marked)} marked")
    if trapped := [ids[node.name] for node in diagram.nodes if node.trapped]:
        lines.append("    classDef trapped stroke:#b3261e,stroke-dasharray:4")
        lines.append(f"    class {','.join(trapped)} trapped")
    if (note := _notes(diagram, style)) and diagram.nodes:
        lines.append(f"    note left of {ids[diagram.nodes[0].name]} : {note}")
    return lines


def _sequence(chart: SequenceChart, style: Style) -> list[str]:
    ids = {line.name: f"p{number}" for number, line in enumerate(chart.lifelines)}
    lines = ["sequenceDiagram"]
    lines += [
        f"    participant {ids[line.name]} as {_text(shortened(line.name, 30))}"
        for line in chart.lifelines
    ]
    looping = False
    for arrow in chart.arrows:
        if chart.loop and arrow.number >= chart.loop and not arrow.refused and not looping:
            lines.append("    loop for ever")
            looping = True
        label = _LINE.join(map(_text, (arrow.label, *arrow.lines)))
        arrowhead = "--x" if arrow.refused else "-x" if arrow.lost else "->>"
        lines.append(f"    {ids[arrow.sender]}{arrowhead}{ids[arrow.receiver]}: {label}")
    lines += ["    end"] if looping else []
    lines += [
        f"    note over {ids[line.name]}: {_text(line.state)}"
        for line in chart.lifelines
        if line.state
    ]
    if (note := _notes(chart, style)) and chart.lifelines:
        across = ",".join(
            dict.fromkeys([ids[chart.lifelines[0].name], ids[chart.lifelines[-1].name]])
        )
        lines.append(f"    note over {across}: {note}")
    return lines
