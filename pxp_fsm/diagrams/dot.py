"""DOT, the language of Graphviz, from the model of a diagram.

A state diagram leaves the layout to `dot`. A sequence chart has only one layout, so its places
(in points) are computed here; its graph asks for the engine that leaves them as they are.
"""

from __future__ import annotations

import textwrap
from itertools import accumulate
from typing import TYPE_CHECKING

from pxp_fsm.diagrams.model import Arrow, Diagram, Edge, Node, SequenceChart, StateDiagram
from pxp_fsm.diagrams.text import ems, legible, shortened

if TYPE_CHECKING:
    from graphviz import Digraph

FONT = "Helvetica,Arial,sans-serif"
INK, GREY, ACCENT, TINT = "#1f2328", "#656d76", "#0b5cad", "#d9e8f7"


LINE_WIDTH = 24
"""The characters of a line at an arrow; a longer row is wrapped."""


def label(*lines: str, left: bool = False) -> str:
    r"""A DOT label that shows exactly the characters of `lines`, one below the other.

    Graphviz would read entities (`&lt;`), escapes (`\N`, `\G`) and HTML-like markup (`<b>`);
    none is left in it.
    """
    from graphviz import escape, nohtml

    safe = [escape(legible(line).replace("&", "&amp;")) for line in lines]
    # The blanks keep the line off an arrow that passes at its right.
    ending = r"  \l" if left else r"\n"
    quoted: str = nohtml(ending.join(safe) + (ending if left else ""))
    return quoted  # of a type of graphviz's own: str(quoted) would read <...> as markup again


def hint(text: str) -> str:
    """A DOT tooltip that shows `text`; Graphviz reads the escapes of a tooltip twice."""
    return label(text.replace("\\", "\\\\"))


def wrapped(text: str, width: int, *, whole_words: bool = False) -> list[str]:
    """`text` in lines of at most `width` characters, at least one line."""
    return textwrap.wrap(legible(text), width, break_long_words=not whole_words) or [""]


_PAGE = {"bgcolor": "white", "pad": "0.2", "fontname": FONT, "fontcolor": INK}
_FILLED = {"style": "filled", "fillcolor": TINT, "color": ACCENT, "penwidth": "1.6"}
_BOLD = {"color": ACCENT, "fontcolor": ACCENT, "penwidth": "2.2"}


def to_dot(diagram: Diagram) -> str:
    """The DOT source of `diagram`; its graph names the layout engine where that is not `dot`."""
    drawn = _states(diagram) if isinstance(diagram, StateDiagram) else _sequence(diagram)
    return str(drawn.source)


def _states(diagram: StateDiagram) -> Digraph:
    graph = _graph(
        "automaton", rankdir="LR", pad="0.05", nodesep="0.4", ranksep="0.35", labelloc="t"
    )
    graph.attr(label=label(*wrapped(diagram.title, 70)), fontsize="16")
    ids = {node.name: f"s{number}" for number, node in enumerate(diagram.nodes)}
    # A cluster, because its label may be smaller than the graph's.
    with graph.subgraph(name="cluster_noted") as noted:
        noted.attr(label=label(*wrapped(diagram.note, 90)), fontsize="9", fontcolor=GREY)
        noted.attr(penwidth="0", margin="12")
        for node in diagram.nodes:
            _add_state(noted, ids[node.name], node)
        for edge in diagram.edges:
            _add_edge(noted, ids[edge.source], ids[edge.target], edge)
    return graph


def _graph(name: str, **attributes: str) -> Digraph:
    from graphviz import Digraph

    return Digraph(
        name,
        graph_attr={**_PAGE, **attributes},
        node_attr={"fontname": FONT, "fontsize": "12", "fontcolor": INK, "color": INK},
        edge_attr={
            "fontname": FONT,
            "fontsize": "10",
            "fontcolor": INK,
            "color": INK,
            "arrowsize": "0.7",
        },
    )


def _add_state(graph: Digraph, key: str, node: Node) -> None:
    graph.node(
        key,
        label(node.name),
        tooltip=hint(legible(node.about) or node.name),
        peripheries="2" if node.final else "1",
        **{"class": "marked", **_FILLED} if node.marked else {},
    )
    if node.initial:
        graph.node(f"{key}_entry", "", shape="point", width="0.09", tooltip=hint("begin"))
        graph.edge(f"{key}_entry", key)


def _add_edge(graph: Digraph, source: str, target: str, edge: Edge) -> None:
    rows = [f"{row.text}  ×{row.taken}" if row.taken else row.text for row in edge.rows]
    graph.edge(
        source,
        target,
        label(
            *(line for row in rows for line in wrapped(row, LINE_WIDTH, whole_words=True)),
            left=True,
        ),
        tooltip=hint(f"{edge.source} → {edge.target}"),
        **{"class": "taken", **_BOLD} if edge.taken else {},
    )


def _sequence(chart: SequenceChart) -> Digraph:
    graph = _graph("session", layout="nop", splines="line", outputorder="edgesfirst")
    said = [text for arrow in chart.arrows for text in arrow.texts]
    named = [shortened(text, 30) for line in chart.lifelines for text in (line.name, line.state)]
    box = max([60.0, *(12 * ems(text) + 20 for text in named)])
    tags = [_tag(arrow) for arrow in chart.arrows]
    lengths = [9 * ems(text) for text in said] + [11 * ems(tag) for tag in tags]
    apart = max([170.0, box + 24, *(length + 28 for length in lengths)])
    places = {line.name: apart * number for number, line in enumerate(chart.lifelines)}
    heights = [34.0 + 11.5 * len(arrow.texts) for arrow in chart.arrows]
    tops = [-22.0 - passed for passed in accumulate(heights, initial=0.0)]
    bottom = tops[-1] - 16
    for number, line in enumerate(chart.lifelines):
        place = places[line.name]
        _add_box(graph, f"p{number}", (place, 0.0), box, line.name, **_FILLED)
        if line.state:
            _add_box(graph, f"q{number}", (place, bottom), box, line.state)
        else:
            _add_point(graph, f"q{number}", (place, bottom))
        graph.edge(f"p{number}", f"q{number}", style="dashed", color=GREY, arrowhead="none")
    for number, (arrow, top) in enumerate(zip(chart.arrows, tops, strict=False)):
        _add_arrow(graph, f"m{number}", arrow, places, top)
    middle = apart * (len(chart.lifelines) - 1) / 2
    title = wrapped(chart.title, 60)
    _add_text(graph, "title", (middle, 24.0 + 10 * len(title)), "16", INK, *title)
    if chart.note:
        note = wrapped(chart.note, 70)
        _add_text(graph, "note", (middle, bottom - 20 - 6 * len(note)), "10", GREY, *note)
    return graph


def _add_box(
    graph: Digraph, key: str, place: tuple[float, float], width: float, text: str, **look: str
) -> None:
    size = {"width": f"{width / 72:.2f}", "height": "0.34", "fixedsize": "true", "shape": "box"}
    style = {"style": "filled", "fillcolor": "white", **look}
    graph.node(key, label(shortened(text, 30)), pos=_at(*place), **size, **style)


def _add_arrow(
    graph: Digraph, key: str, arrow: Arrow, places: dict[str, float], top: float
) -> None:
    start, end = places[arrow.sender], places[arrow.receiver]
    if start == end:
        end += 40
    middle, height = (start + end) / 2, top - 16
    _add_point(graph, f"{key}_from", (start, height))
    _add_point(graph, f"{key}_to", (end, height))
    graph.edge(f"{key}_from", f"{key}_to", **{"class": "message"})
    _add_text(graph, f"{key}_tag", (middle, height + 8), "11", INK, _tag(arrow))
    for number, text in enumerate(arrow.texts):
        place = (middle, height - 9 - 11.5 * number)
        _add_text(graph, f"{key}_text{number}", place, "9", GREY, text)


def _tag(arrow: Arrow) -> str:
    return f"{arrow.number} {shortened(arrow.tag, 30)}"


def _add_point(graph: Digraph, key: str, place: tuple[float, float]) -> None:
    graph.node(key, "", pos=_at(*place), shape="point", style="invis", width="0")


def _add_text(
    graph: Digraph, key: str, place: tuple[float, float], size: str, color: str, *lines: str
) -> None:
    """Text on a white ground, so that it stays readable where it crosses a lifeline."""
    look = {"shape": "plain", "style": "filled", "fillcolor": "white", "color": "white"}
    graph.node(key, label(*lines), pos=_at(*place), fontsize=size, fontcolor=color, **look)


def _at(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}"
