"""The colours of the page, in light and dark: Okabe and Ito's, which colour-blind people can tell.

Nothing is told by colour alone: lines have markers and names, and tags are written out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from xml.etree import ElementTree as Tree

from markupsafe import Markup, escape

LIGHT = MappingProxyType(
    {
        "paper": "#ffffff",
        "ink": "#1f2328",
        "grey": "#656d76",
        "rule": "#d4d9de",
        "tint": "#d9e8f7",
        "accent": "#0b5cad",
        "machine": "#0072b2",
        "human": "#c2500a",
        "both": "#017a5c",
        "INIT": "#8b949d",
        "RATIFY": "#009e73",
        "REVISE": "#56b4e9",
        "REFUTE": "#e69f00",
        "REJECT": "#d55e00",
        "TERM": "#cc79a7",
        "ended": "#c5cbd1",
    }
)
DARK = MappingProxyType(
    {
        "paper": "#16191d",
        "ink": "#e4e8ec",
        "grey": "#9aa4ae",
        "rule": "#363c43",
        "tint": "#1d3550",
        "accent": "#6cb2f5",
        "machine": "#5eb3ec",
        "human": "#ee8f52",
        "both": "#3cc7a0",
        "INIT": "#77818b",
        "RATIFY": "#12a97e",
        "REVISE": "#4aa9de",
        "REFUTE": "#d9990f",
        "REJECT": "#d9661a",
        "TERM": "#c877a4",
        "ended": "#4a525a",
    }
)

NAMED = MappingProxyType({colour: name for name, colour in LIGHT.items()})
"""The names of the colours by what a figure is drawn in; the page gives them their values."""


def variables(colours: MappingProxyType[str, str]) -> str:
    """The colours as CSS custom properties."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_ELEMENTS = frozenset({
    "svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text",
    "tspan", "defs", "clipPath", "use", "title",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "d", "width",
    "height", "points", "transform", "viewBox", "style", "class", "id", "fill", "fill-opacity",
    "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "clip-path",
    "stroke-linejoin", "stroke-linecap", "stroke-miterlimit", "opacity", "text-anchor",
    "font-family", "font-size", "font-weight", "font-style", "dominant-baseline", "rotate",
})  # fmt: skip
_OURS = re.compile(r"url\(\s*#([\w.-]+)\s*\)")
_FOREIGN = re.compile(r"url\(|expression|@import|javascript:", re.IGNORECASE)
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|\b(?:white|black)\b")

INK = {
    "#1f2328": "ink",
    "#656d76": "grey",
    "#0b5cad": "accent",
    "#d9e8f7": "tint",
    "#ffffff": "paper",
    "#000000": "ink",
    "white": "paper",
    "black": "ink",
}
"""The colours of the automata's drawings, and black on white, by the page's names for them."""


def embedded(
    svg: str, prefix: str, *, title: str, colours: Mapping[str, str], symbol: bool = False
) -> Markup:
    """`svg` as an element of a page, told as `title` to who cannot see it.

    `colours` gives the page's name of each colour to replace. As a `symbol` it is not shown itself,
    but wherever it is used by the id `prefix`. Raises `ValueError` where it is no SVG.
    """
    try:
        root = Tree.fromstring(svg)  # noqa: S314 - made in this process, by the libraries that draw
    except Tree.ParseError as error:
        raise ValueError(f"not an SVG: {error}") from error
    width, height = _size(root)
    box = root.get("viewBox") or f"0 0 {width:g} {height:g}"
    inner = Markup().join(_copied(child, prefix, colours) for child in root)
    if symbol:
        return Markup('<symbol id="{}" viewBox="{}">{}</symbol>').format(prefix, box, inner)
    shown = Markup(
        '<svg class="drawn" role="img" aria-label="{}" viewBox="{}" width="{}" height="{}">'
    )
    return shown.format(title, box, f"{width:.0f}", f"{height:.0f}") + inner + Markup("</svg>")


def used(prefix: str, title: str, width: float, height: float) -> Markup:
    """The symbol `prefix`, shown here."""
    return Markup(
        '<svg class="drawn" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">'
        '<use href="#{}" width="{}" height="{}"/></svg>'
    ).format(title, *(f"{number:.0f}" for number in (width, height) * 2), prefix,
             *(f"{number:.0f}" for number in (width, height)))  # fmt: skip


def size(svg: str) -> tuple[float, float]:
    """Width and height of an SVG, in CSS pixels."""
    return _size(Tree.fromstring(svg))  # noqa: S314 - made in this process


def _size(root: Tree.Element) -> tuple[float, float]:
    box = (root.get("viewBox") or "0 0 300 150").split()
    found = []
    for name, fallback in (("width", box[2]), ("height", box[3])):
        match = re.fullmatch(r"([\d.]+)(pt|px)?", root.get(name, ""))
        found.append(
            float(match[1]) * (4 / 3 if match[2] == "pt" else 1) if match else float(fallback)
        )
    return found[0], found[1]


def _copied(element: Tree.Element, prefix: str, colours: Mapping[str, str]) -> Markup:
    name = str(element.tag).removeprefix(_SVG)
    tail = escape(element.tail) if element.tail and element.tail.strip() else Markup()
    if name not in _ELEMENTS:
        inside = Markup().join(_copied(child, prefix, colours) for child in element)
        return (inside if name == "a" else Markup()) + tail
    if name == "title":  # the drawing is told as a whole; what a browser pops up would be foreign
        return tail
    attributes = Markup().join(
        Markup(' {}="{}"').format(key, value)
        for key, value in _attributes(element, prefix, colours).items()
    )
    inside = escape(element.text) if element.text and element.text.strip() else Markup()
    inside += Markup().join(_copied(child, prefix, colours) for child in element)
    return Markup("<{}{}>{}</{}>").format(name, attributes, inside, name) + tail


def _attributes(element: Tree.Element, prefix: str, colours: Mapping[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in element.attrib.items():
        if name in (_LINK, "href"):
            if value.startswith("#"):
                kept["href"] = f"#{prefix}-{value[1:]}"
        elif name == "id":
            kept["id"] = f"{prefix}-{value}"
        elif name in _ATTRIBUTES:
            ours = _OURS.sub(lambda found: f"our(#{prefix}-{found[1]})", value)
            if not _FOREIGN.search(ours):
                kept[name] = _coloured(ours.replace("our(#", "url(#"), name, colours)
    return kept


def _coloured(value: str, name: str, colours: Mapping[str, str]) -> str:
    if name not in ("style", "fill", "stroke"):
        return value

    def named(found: re.Match[str]) -> str:
        ours = colours.get(found[0].lower())
        return f"var(--{ours})" if ours else found[0]

    return _COLOUR.sub(named, value)
