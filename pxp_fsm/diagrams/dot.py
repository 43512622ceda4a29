"""DOT, the language of Graphviz, of a state diagram: its layout is left to `dot`, in bounds."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from pxp_fsm.diagrams.model import (
    Edge,
    EdgeRow,
    Legend,
    Node,
    StateDiagram,
)
from pxp_fsm.diagrams.style import PLAIN, Style
from pxp_fsm.diagrams.text import ems, legible
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from graphviz import Digraph

FONT = "Helvetica,Arial,sans-serif"
INK, GREY, ACCENT, TINT, FATAL = "#1f2328", "#656d76", "#0b5cad", "#d9e8f7", "#b3261e"


@dataclass(frozen=True, slots=True)
class Layout:
    """How `dot` lays out a state diagram: its direction, and what saves room.

    `wrap` is the characters in a line at an arrow. With `references`, arrows to states that many
    arrows lead to end at a small box with the state's name. With `joined`, the arrows of one row
    from a few states meet before its label. With `frames`, the states of a group are in a frame;
    else each begins with the group's name. With `within`, all states are in a cluster, which puts
    them into another order, sometimes a better one; a note and a legend need it. `quick` draws
    straight arrows without labels: with hundreds of arrows the usual layout takes minutes.
    `engine` is Graphviz's: `dot`, or `sfdp`, which knows no direction and no clusters.
    """

    direction: str = "LR"
    wrap: int = 24
    tight: bool = False
    references: bool = False
    joined: bool = True
    frames: bool = True
    within: bool = True
    quick: bool = False
    engine: str = "dot"
    ports: Mapping[tuple[str, str], tuple[str, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """The sides of its states at which an arrow begins and ends, by the names in DOT; "" is any."""


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
FILLED = {"style": "filled", "fillcolor": TINT, "color": ACCENT, "penwidth": "1.6"}
_BOLD = {"color": ACCENT, "fontcolor": ACCENT, "penwidth": "2.2"}
REFUSED = {"color": FATAL, "fontcolor": FATAL, "penwidth": "1.6", "style": "dashed"}
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
_BY_FORCES = {"layout": "sfdp", "overlap": "scale"}
WIDER = 1.15
"""How much wider than Helvetica a viewer's font may be (DejaVu Sans): no line is cut off."""
_BLANK = 0.5
"""The room that Graphviz leaves for a no-break blank, in ems."""
_RULE = 20
"""Characters that a line of a condition or an update has at least: `/ left_bid := true` is one."""
_MANY, _FEW = 4, 3
"""Arrows to a state from which they end at references, and to which those of a row are joined."""


def to_dot(diagram: StateDiagram, style: Style = PLAIN, layout: Layout = USUAL) -> str:
    """The DOT source of `diagram`."""
    return str(_states(diagram, style, layout).source)


def characters(style: Style, size: float, most: int) -> int:
    """How many characters of this size stand in a line: `most`, or what fits a given width.

    In a column whose letters are smaller, what is drawn is made smaller: more of them fit.
    """
    if style.room is None:
        return most
    return max(20, min(most, int(style.room.width / style.room.largest / (0.5 * size))))


def _wide_label(lines: list[str]) -> str:
    """A label that nothing else may be as wide as: it has room for a wider font than Helvetica."""
    blanks = round((WIDER - 1) / 2 * max(map(ems, lines)) / _BLANK)
    return label(*lines, blanks=blanks)


def lines_of(row: EdgeRow, layout: Layout) -> Iterator[str]:
    """What stands at an arrow for `row`; its condition and its updates have lines of their own."""
    text, *rules = row.lines
    yield from wrapped(text, layout.wrap, whole_words=True)
    for rule in rules:
        yield from wrapped(rule, max(layout.wrap, _RULE), whole_words=True)


def explanation(legend: Legend, width: int) -> list[str]:
    """The lines of a legend."""
    return [line for sign, meaning in legend for line in wrapped(f"{sign}: {meaning}", width)]


def _states(diagram: StateDiagram, style: Style, layout: Layout) -> Digraph:
    room = ("0.18", "0.2") if layout.tight else ("0.4", "0.35")
    graph = new_graph(
        "automaton",
        rankdir=layout.direction,
        pad="0.05",
        nodesep=room[0],
        ranksep=room[1],
        newrank="true",  # frames do not change the ranks
        labelloc="t",
        **_QUICK if layout.quick else {},
        **_BY_FORCES if layout.engine == "sfdp" else {},
    )
    if style.title:
        title = wrapped(diagram.title, characters(style, 16, 70))
        if layout.engine == "sfdp" and diagram.note:  # it draws no cluster, so no label of one
            title += wrapped(diagram.note, characters(style, 16, 70))
        graph.attr(label=_wide_label(title), fontsize="16")
    ids = {node.name: f"s{number}" for number, node in enumerate(diagram.nodes)}
    apart = _references(diagram) if layout.references else frozenset()
    # Clusters, because their labels may be smaller than the graph's, and one stands below.
    with graph.subgraph(name="cluster_explained") as explained:
        explained.attr(label="", penwidth="0", margin="4")
        legend = diagram.legend if style.legend else ()
        if legend and apart:
            legend += (("dashed box", "the state of this name, which is drawn elsewhere"),)
        cut = {} if layout.quick else _cut(diagram.edges)
        for edge, sign in cut.items():
            others = "; ".join(map(str, edge.rows[_SHOWN:]))
            legend += ((f"({sign})", f"{edge.source} → {edge.target}: {others}"),)
        if legend:
            lines = explanation(legend, characters(style, 9, 90))
            explained.attr(label=label(*lines, left=True), labelloc="b", labeljust="l")
            explained.attr(fontsize="9", fontcolor=GREY)
        with explained.subgraph(name="cluster_noted") as noted:
            note = wrapped(diagram.note, characters(style, 9, 90)) if style.title else [""]
            noted.attr(label=_wide_label(note), fontsize="9", fontcolor=GREY, labelloc="t")
            noted.attr(penwidth="0", margin="12" if style.title else "4", labeljust="c")
            if layout.frames and any(node.group for node in diagram.nodes):
                layout = replace(layout, joined=False)  # arrows of a row cross the frames
            within = layout.within or legend or (style.title and diagram.note)
            inner = noted if within else graph
            _add_states(inner, diagram.nodes, ids, framed=layout.frames)
            _add_edges(inner, diagram.edges, ids, apart, layout, cut)
    return graph


def new_graph(name: str, **attributes: str) -> Digraph:
    """An empty graph with the fonts and colors of all drawings."""
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


def _add_states(
    graph: Digraph, nodes: Sequence[Node], ids: Mapping[str, str], *, framed: bool
) -> None:
    """The states, those of a group in a frame or with its name."""
    groups = dict[str, list[Node]]()
    for node in nodes:
        groups.setdefault(node.group, []).append(node)
    for number, (name, members) in enumerate(groups.items()):
        if not name or not framed or len(groups) == 1:
            for node in members:
                _add_state(graph, ids[node.name], node, grouped=bool(name) and len(groups) > 1)
            continue
        with graph.subgraph(name=f"cluster_group{number}") as frame:
            frame.attr(label=label(name), fontsize="10", fontcolor=GREY, labelloc="t")
            frame.attr(labeljust="l", style="rounded", color=GREY, penwidth="0.8", margin="8")
            for node in members:
                _add_state(frame, ids[node.name], node, grouped=True, framed=True)


_MOST_ROWS, _SHOWN = 6, 5
"""Rows at an arrow up to which all are at it, and of more those that are; the legend has all."""


def _cut(edges: Sequence[Edge]) -> dict[Edge, str]:
    """The arrows with more rows than there is room for, each with its sign in the legend."""
    long = [edge for edge in edges if len(edge.rows) > _MOST_ROWS]
    return {edge: _sign(number) for number, edge in enumerate(long)}


def _sign(number: int) -> str:
    """a, b, … z, aa, ab, …"""
    before, letter = divmod(number, 26)
    return (_sign(before - 1) if before else "") + chr(ord("a") + letter)


def _add_state(
    graph: Digraph, key: str, node: Node, *, grouped: bool = False, framed: bool = False
) -> None:
    inside = node.name.removeprefix(node.group).strip("[]") if grouped else ""
    lines = inside.split(", ") if inside else [node.name]
    graph.node(
        key,
        label(*([node.group, *lines] if inside and not framed else lines)),
        tooltip=hint(legible(node.about) or node.name),
        peripheries="2" if node.final else "1",
        **{"shape": "box", "margin": "0.08,0.04", "height": "0"} if inside else {},
        **({"class": "marked", **FILLED} if node.marked else {}) | _trapped(node),
    )
    if node.initial:
        graph.node(f"{key}_entry", "", shape="point", width="0.09", tooltip=hint("begin"))
        graph.edge(f"{key}_entry", key)


def _trapped(node: Node) -> dict[str, str]:
    if not node.trapped:
        return {}
    return {
        "color": FATAL,
        "penwidth": "1.6",
        "style": "filled,dashed" if node.marked else "dashed",
    }


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
    joined: dict[tuple[EdgeRow, str], list[Edge]] = {}
    for edge in edges:
        alone = len(edge.rows) == 1 and edge.rows[0].number and not edge.rows[0].taken
        if alone and edge.target not in ("", edge.source) and not edge.refused:
            joined.setdefault((edge.rows[0], edge.target), []).append(edge)
    return {row: of_it for row, of_it in joined.items() if 1 < len(of_it) <= _FEW}


def _add_edges(
    graph: Digraph,
    edges: Sequence[Edge],
    ids: Mapping[str, str],
    apart: Set[tuple[str, str]],
    layout: Layout,
    cut: Mapping[Edge, str],
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
        _add_edge(graph, ids[edge.source], target, edge, layout, cut.get(edge, ""))


def _add_edge(
    graph: Digraph, source: str, target: str, edge: Edge, layout: Layout, sign: str = ""
) -> None:
    rows = edge.rows[: _SHOWN if sign else None]
    lines = [line for row in rows for line in lines_of(row, layout)]
    lines += [f"… {len(edge.rows) - _SHOWN} more ({sign})"] if sign else []
    look: dict[str, str] = {"class": "taken", **_BOLD} if edge.taken else {}
    if edge.refused:
        look = {"class": "refused", **REFUSED}
        look |= {} if edge.target else {"arrowhead": "tee"}
    beside = layout.direction in ("TB", "BT")
    sides = zip(("tailport", "headport"), layout.ports.get((source, target), ()), strict=False)
    look |= {end: side for end, side in sides if side}
    graph.edge(
        source,
        target,
        "" if layout.quick else label(*lines, left=True, indented=beside),
        tooltip=hint(f"{edge.source} → {edge.target or 'not received'}"),
        **look,
    )
