"""The picture of the rooms: each package in its layer, drawn from the import contract.

`python benchmarks/rooms.py` writes `docs/pictures/rooms.svg`; `tests/house/test_house.py` compares
it. What is said of a package is the first line of its own docstring.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
WIDTH, MARGIN, GAP, LINE = 860, 8, 8, 15
LETTER = 5.9
"""The width of a small letter, on average."""

_STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #333 } .name { font-weight: 600; font-size: 12px }
  rect { fill: #f4f6f8; stroke: #8a97a6 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } rect { fill: #23282e; stroke: #66727f }
  }
"""


def layers() -> list[list[str]]:
    """The packages by layer, the highest first: each imports only those below it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def about(name: str) -> str:
    """The first line of the docstring of a package or module."""
    path = ROOT / name.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0].replace("`", "")


def svg() -> str:
    """The picture: layers below one another, packages that do not know each other side by side."""
    parts, top = list[str](), MARGIN
    for layer in layers():
        width = (WIDTH - 2 * MARGIN - GAP * (len(layer) - 1)) / len(layer)
        texts = [wrap(about(name), int((width - 20) / LETTER)) for name in layer]
        height = LINE * (1 + max(map(len, texts))) + 12
        for place, (name, lines) in enumerate(zip(layer, texts, strict=True)):
            left = MARGIN + place * (width + GAP)
            parts.append(
                f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{height}" rx="4"/>'
            )
            parts.append(_text(left, top + LINE + 2, name, ' class="name"'))
            parts += [
                _text(left, top + LINE * (number + 2) + 2, line)
                for number, line in enumerate(lines)
            ]
        top += height + GAP
    title = "The rooms: each imports only those below it"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def _text(left: float, base: float, text: str, more: str = "") -> str:
    return f'<text x="{left + 10:g}" y="{base:g}"{more}>{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(svg(), "utf-8")
