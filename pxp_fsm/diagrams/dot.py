"""DOT, the language of Graphviz, from the model of a diagram.

A state diagram leaves the layout to `dot`, within the bounds of a `Layout`. A sequence chart has
only one layout, so its places (in points) are computed here; its graph asks for the engine that
leaves them as they are.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from pxp_fsm.diagrams.model import (
    Arrow,
    Diagram,
    Edge,
    EdgeRow,
    Legend,
    Node,
    SequenceChart,
    StateDiagram,
)
from pxp_fsm.diagrams.style import PLAIN, Style
from pxp_fsm.diagrams.text import ems, legible, shortened

if TYPE_CHECKING:
    from graphviz import Digraph

FONT = "Helvetica,Arial,sans-serif"
INK, GREY, ACCENT, TINT, FATAL = "#1f2328", "#656d76", "#0b5cad", "#d9e8f7", "#b3261e"


@dataclass(frozen=True, slots=True)
class Layout:
    """How `dot` lays out a state diagram: its direction, and what saves room.

    `wrap` is the characters in a line at an arrow. With `references`, arrows to states that many
    arrows lead to end at a small box with the state's name. With `joined`, the arrows of one row
    from a few states meet before its label. `quick` draws straight arrows without labels: with
    hundreds of arrows the usual layout takes minutes.
    """

    direction: str = "LR"
    wrap: int = 24
    tight: bool = False
    references: bool = False
    joined: bool = True
    quick: bool = False


USUAL = Layout()
"""The layout of a diagram for which there is room."""


def label(*lines: str, left: bool = False, indented: bool = False, blanks: int = 0) -> str:
    r"""A DOT label that shows exactly the characters of `lines`, one below the other.

    Graphviz would read entities (`&lt;`), escapes (`\N`, `\G`) and HTML-like markup (`<b>`);
    none is left in it. Each line has so many `blanks` around it.
    """
    from graphviz import escape, nohtml

    safe = [escape(legible(line).replace("&", "&amp;")) for line in lines]
    # The blanks keep the line off an arrow that passes at its right, or at its left.
    ending = r"  \l" if left else r"\n"
    if indented:
        safe = [f"\N{NO-BREAK SPACE}{line}" if line else "" for line in safe]
    around = blanks * "\N{NO-BREAK SPACE}"
    safe = [f"{around}{line}{around}" for line in safe]
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
_REFUSED = {"color": FATAL, "fontcolor": FATAL, "penwidth": "1.6", "style": "dashed"}
_REFERENCE = {
    "shape": "box",
    "style": "rounded,dashed",
    "fontsize": "10",
    "width": "0",
    "height": "0",
    "margin": "0.06,0.03",
    "color": GREY,
}
_QUICK = {"splines": "line", "nslimit": "1", "nslimit1": "1", "mclimit": "0.3", "searchsize": "10"}
_WIDER = 1.15
"""How much wider than Helvetica a viewer's font may be (DejaVu Sans): no line is cut off."""
_BLANK = 0.5
"""The room that Graphviz leaves for a no-break blank, in ems."""
_MANY, _FEW = 4, 3
"""Arrows to a state from which they end at references, and to which those of a row are joined."""


def to_dot(diagram: Diagram, style: Style = PLAIN, layout: Layout = USUAL) -> str:
    """The DOT source of `diagram`; its graph names the layout engine where that is not `dot`."""
    if isinstance(diagram, StateDiagram):
        return str(_states(diagram, style, layout).source)
    return str(_sequence(diagram, style).source)


def _characters(style: Style, size: float, most: int) -> int:
    """How many characters of this size stand in a line: `most`, or what fits a given width."""
    return most if style.width is None else max(20, min(most, int(style.width / (0.5 * size))))


def _wide_label(lines: list[str]) -> str:
    """A label that nothing else may be as wide as: it has room for a wider font than Helvetica."""
    blanks = round((_WIDER - 1) / 2 * max(map(ems, lines)) / _BLANK)
    return label(*lines, blanks=blanks)


def explanation(legend: Legend, width: int) -> list[str]:
    """The lines of a legend."""
    return [line for sign, meaning in legend for line in wrapped(f"{sign}: {meaning}", width)]


def _states(diagram: StateDiagram, style: Style, layout: Layout) -> Digraph:
    room = ("0.18", "0.2") if layout.tight else ("0.4", "0.35")
    graph = _graph(
        "automaton",
        rankdir=layout.direction,
        pad="0.05",
        nodesep=room[0],
        ranksep=room[1],
        labelloc="t",
        **_QUICK if layout.quick else {},
    )
    if style.title:
        title = wrapped(diagram.title, _characters(style, 16, 70))
        graph.attr(label=_wide_label(title), fontsize="16")
    ids = {node.name: f"s{number}" for number, node in enumerate(diagram.nodes)}
    apart = _references(diagram) if layout.references else frozenset()
    # Clusters, because their labels may be smaller than the graph's, and one stands below.
    with graph.subgraph(name="cluster_explained") as explained:
        explained.attr(label="", penwidth="0", margin="4")
        if style.legend and diagram.legend:
            legend = diagram.legend
            if apart:
                legend += (("dashed box", "the state of this name, which is drawn elsewhere"),)
            lines = explanation(legend, _characters(style, 9, 90))
            explained.attr(label=label(*lines, left=True), labelloc="b", labeljust="l")
            explained.attr(fontsize="9", fontcolor=GREY)
        with explained.subgraph(name="cluster_noted") as noted:
            note = wrapped(diagram.note, _characters(style, 9, 90)) if style.title else [""]
            noted.attr(label=_wide_label(note), fontsize="9", fontcolor=GREY, labelloc="t")
            noted.attr(penwidth="0", margin="12" if style.title else "4", labeljust="c")
            for node in diagram.nodes:
                _add_state(noted, ids[node.name], node)
            _add_edges(noted, diagram.edges, ids, apart, layout)
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


def _references(diagram: StateDiagram) -> Set[tuple[str, str]]:
    """The arrows that end at a reference: those to a state of many, but for the first to it."""
    import networkx as nx

    into = Counter(edge.target for edge in diagram.edges)
    graph = nx.DiGraph((edge.source, edge.target) for edge in diagram.edges)
    begin = next((node.name for node in diagram.nodes if node.initial), "")
    first = set(nx.bfs_tree(graph, begin).edges) if begin in graph else set()
    arrows = {(edge.source, edge.target) for edge in diagram.edges if edge.target}
    return {arrow for arrow in arrows - first if into[arrow[1]] >= _MANY}


def _joined(edges: Sequence[Edge]) -> Mapping[tuple[EdgeRow, str], Sequence[Edge]]:
    """The arrows of one written row that leave a few states and lead to the same."""
    found: dict[tuple[EdgeRow, str], list[Edge]] = {}
    for edge in edges:
        alone = len(edge.rows) == 1 and edge.rows[0].number and not edge.rows[0].taken
        if alone and edge.target not in ("", edge.source) and not edge.refused:
            found.setdefault((edge.rows[0], edge.target), []).append(edge)
    return {row: of_it for row, of_it in found.items() if 1 < len(of_it) <= _FEW}


def _add_edges(
    graph: Digraph,
    edges: Sequence[Edge],
    ids: Mapping[str, str],
    apart: Set[tuple[str, str]],
    layout: Layout,
) -> None:
    single = [edge for edge in edges if (edge.source, edge.target) not in apart]
    joined = _joined(single) if layout.joined else {}
    for number, ((row, target), of_it) in enumerate(joined.items()):
        key = f"j{number}"
        graph.node(key, "", shape="point", width="0.04", tooltip=hint(row.text))
        for edge in of_it:
            graph.edge(ids[edge.source], key, arrowhead="none", tooltip=hint(row.text))
        _add_edge(graph, key, ids[target], of_it[0], layout)
    together = {id(edge) for of_it in joined.values() for edge in of_it}
    for number, edge in enumerate(edges):
        if id(edge) in together:
            continue
        target = ids.get(edge.target, "")
        if not target:
            target = f"x{number}"
            graph.node(target, "", shape="point", style="invis", width="0")
        elif (edge.source, edge.target) in apart:
            target = f"r{number}"
            graph.node(target, label(edge.target), tooltip=hint(edge.target), **_REFERENCE)
        _add_edge(graph, ids[edge.source], target, edge, layout)


def _add_edge(graph: Digraph, source: str, target: str, edge: Edge, layout: Layout) -> None:
    rows = [f"{row.text}  ×{row.taken}" if row.taken else row.text for row in edge.rows]
    lines = [line for row in rows for line in wrapped(row, layout.wrap, whole_words=True)]
    look: dict[str, str] = {"class": "taken", **_BOLD} if edge.taken else {}
    if edge.refused:
        look = {"class": "refused", **_REFUSED}
        look |= {} if edge.target else {"arrowhead": "tee"}
    beside = layout.direction in ("TB", "BT")
    graph.edge(
        source,
        target,
        "" if layout.quick else label(*lines, left=True, indented=beside),
        tooltip=hint(f"{edge.source} → {edge.target or 'not received'}"),
        **look,
    )


def _sequence(chart: SequenceChart, style: Style) -> Digraph:
    graph = _graph("session", layout="nop", splines="line", outputorder="edgesfirst")
    if style.width is not None:
        chart = _narrowed(chart, style.width)
    said = [text for arrow in chart.arrows for text in arrow.texts]
    named = [shortened(text, 30) for line in chart.lifelines for text in (line.name, line.state)]
    box = max([60.0, *(12 * ems(text) + 20 for text in named)])
    tags = [_tag(arrow) for arrow in chart.arrows]
    lengths = [9 * ems(text) for text in said] + [11 * ems(tag) for tag in tags]
    apart = max([170.0 if style.width is None else 120.0, box + 24, *(n + 28 for n in lengths)])
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
    if style.title and legible(chart.title):
        title = wrapped(chart.title, _characters(style, 16, 60))
        _add_text(graph, "title", (middle, 24.0 + 10 * len(title)), "16", INK, *title)
    if style.title and legible(chart.note):
        note = wrapped(chart.note, _characters(style, 10, 58))
        bottom -= 20 + 12 * len(note)
        _add_text(graph, "note", (middle, bottom + 6 * len(note)), "10", GREY, *note)
    if style.legend and chart.legend:
        legend = explanation(chart.legend, _characters(style, 9, 70))
        below = (middle, bottom - 20 - 5.5 * len(legend))
        _add_text(graph, "legend", below, "9", GREY, *legend)
    return graph


def _narrowed(chart: SequenceChart, width: float) -> SequenceChart:
    """`chart` with the texts of its messages in more and shorter lines, for a page this wide."""
    most = max(16, int(width / max(1, len(chart.lifelines) - 1) / 6))
    arrows = (
        replace(arrow, texts=tuple(line for text in arrow.texts for line in wrapped(text, most)))
        for arrow in chart.arrows
    )
    return replace(chart, arrows=tuple(arrows))


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
    look = {**_REFUSED, "arrowhead": "tee"} if arrow.refused else {}
    graph.edge(f"{key}_from", f"{key}_to", **{"class": "message"}, **look)
    ink, grey = (FATAL, FATAL) if arrow.refused else (INK, GREY)
    _add_text(graph, f"{key}_tag", (middle, height + 8), "11", ink, _tag(arrow))
    for number, text in enumerate(arrow.texts):
        place = (middle, height - 9 - 11.5 * number)
        _add_text(graph, f"{key}_text{number}", place, "9", grey, text)


def _tag(arrow: Arrow) -> str:
    return replace(arrow, tag=shortened(arrow.tag, 30)).label


def _add_point(graph: Digraph, key: str, place: tuple[float, float]) -> None:
    graph.node(key, "", pos=_at(*place), shape="point", style="invis", width="0")


def _add_text(
    graph: Digraph, key: str, place: tuple[float, float], size: str, color: str, *lines: str
) -> None:
    """Text on a white ground, so that it stays readable where it crosses a lifeline."""
    look = {"shape": "plain", "style": "filled", "fillcolor": "white", "color": "white"}
    if key in ("title", "note", "legend"):  # nothing beside these is wider than they are
        room = f"{_WIDER * max(map(ems, lines)) * float(size) / 72:.2f}"
        look |= {"shape": "none", "margin": "0", "height": "0", "width": room}
    graph.node(key, label(*lines), pos=_at(*place), fontsize=size, fontcolor=color, **look)


def _at(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}"
