"""Where in a TOML or JSON text a value stands, so that an error can name its line.

`tomllib` and `json` read values and forget places; the text is read a second time, TOML by
tree-sitter, only when there is an error to report.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Path = tuple[str | int, ...]
"""The way to a value: keys and list indices from the root, as in `("rows", 3, "to")`."""


def line_of(text: str, path: Path) -> int:
    """The line, from 1, at which the value at `path` stands in the TOML `text`.

    A path that leads nowhere (a missing key) gives the line of its longest part that exists.
    """
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    root = Parser(Language(tree_sitter_toml.language())).parse(text.encode()).root_node
    places: dict[Path, int] = {(): 1}
    _collect(root, (), places, {})
    while path not in places:
        path = path[:-1]
    return places[path]


_BLANK = re.compile(r"[ \t\r\n]*")


def json_line_of(text: str, path: Path) -> int:
    """The line, from 1, at which the value at `path` stands in the valid JSON `text`.

    A path that leads nowhere gives the line of its longest part that exists.
    """
    at = _after_blank(text, 0)
    for part in path:
        found = _json_member(text, at, part)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _json_member(text: str, at: int, part: str | int) -> int | None:
    """Where the member `part` of the object or list at `at` begins; None where there is none."""
    opening, decoder, index = text[at], json.JSONDecoder(), 0
    if opening not in "{[":
        return None
    at = _after_blank(text, at + 1)
    while text[at] not in "]}":
        name: str | int = index
        if opening == "{":
            name, at = decoder.raw_decode(text, at)
            at = _after_blank(text, _after_blank(text, at) + 1)
        if name == part:
            return at
        at = _after_blank(text, decoder.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _after_blank(text, at + 1)
        index += 1
    return None


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _collect(node: Node, at: Path, places: dict[Path, int], lengths: dict[Path, int]) -> None:
    """Note the line of every key and list element below `node`, whose own path is `at`."""
    for child in node.named_children:
        line = child.start_point.row + 1
        if child.type in {"table", "table_array_element"}:
            here = _keys(child.named_children[0])
            if child.type == "table_array_element":
                places.setdefault(here, line)
                lengths[here] = lengths.get(here, -1) + 1
                here = (*here, lengths[here])
            places[here] = line
            _collect(child, here, places, lengths)
        elif child.type == "pair":
            keys = _keys(child.named_children[0])
            for length in range(1, len(keys)):
                places.setdefault((*at, *keys[:length]), line)
            here = (*at, *keys)
            places[here] = line
            _value(child.named_children[1], here, places, lengths)


def _value(node: Node, at: Path, places: dict[Path, int], lengths: dict[Path, int]) -> None:
    if node.type == "inline_table":
        _collect(node, at, places, lengths)
    elif node.type == "array":
        items = [child for child in node.named_children if child.type != "comment"]
        for index, item in enumerate(items):
            places[*at, index] = item.start_point.row + 1
            _value(item, (*at, index), places, lengths)


def _keys(node: Node) -> Path:
    """The parts of a bare, quoted or dotted key."""
    if node.type == "dotted_key":
        return tuple(part for child in node.named_children for part in _keys(child))
    text = (node.text or b"").decode()
    if node.type == "quoted_key":
        return (next(iter(tomllib.loads(f"{text} = 0"))),)
    return (text,)
