"""Documents with a published schema, in TOML or JSON: every fault with its line.

Nothing in a file is ever imported or run.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pxp_fsm.errors import DataError, Fault, FileError, Place, did_you_mean, format_path, quoted

if TYPE_CHECKING:
    from tree_sitter import Node

Location = tuple[str | int, ...]
"""The way to a value: keys and list indices from the root, as in `("rows", 3, "to")`."""


def line_of(text: str, path: Location) -> int:
    """The line, from 1, at which the value at `path` stands in the TOML `text`.

    A path that leads nowhere (a missing key) gives the line of its longest part that exists.
    """
    node = _node_at(text, path)
    return 1 if node is None else node.start_point.row + 1


def position_in(text: str, path: Location, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of the character `offset` of the text at `path` in the TOML `text`.

    Where escapes stand before it, or another value, the column is that at which the value begins.
    """
    node = _node_at(text, path)
    if node is None:
        return 1, 1
    value = node.named_children[1] if node.type == "pair" else node
    data = text.encode()
    start = data[: value.start_byte].decode()
    written = data[value.start_byte : value.end_byte].decode()
    quotes = 3 if written[:3] in ('"""', "'''") else 1
    begins = quotes + (written[quotes : quotes + 1] == "\n") * (quotes == 3)
    before = written[: begins + offset]
    if value.type != "string" or ("\\" in before and before[0] == '"'):
        before = ""
    at = start + before
    return at.count("\n") + 1, len(at) - at.rfind("\n")


def _node_at(text: str, path: Location) -> Node | None:
    """The key or list element at `path`, or at its longest part that exists; None for the root."""
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    root = Parser(Language(tree_sitter_toml.language())).parse(text.encode()).root_node
    places: dict[Location, Node] = {}
    _collect(root, (), places, {})
    while path and path not in places:
        path = path[:-1]
    return places.get(path)


_BLANK = re.compile(r"[ \t\r\n]*")


def json_line_of(text: str, path: Location) -> int:
    """The line, from 1, at which the value at `path` stands in the valid JSON `text`.

    A path that leads nowhere gives the line of its longest part that exists.
    """
    at = _after_blank(text, 0)
    for part in path:
        inner = _json_member(text, at, part)
        if inner is None:
            break
        at = inner
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
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _collect(
    node: Node, at: Location, places: dict[Location, Node], lengths: dict[Location, int]
) -> None:
    """Note every key and list element below `node`, whose own path is `at`."""
    for child in node.named_children:
        if child.type in {"table", "table_array_element"}:
            here = _keys(child.named_children[0])
            if child.type == "table_array_element":
                places.setdefault(here, child)
                lengths[here] = lengths.get(here, -1) + 1
                here = (*here, lengths[here])
            places[here] = child
            _collect(child, here, places, lengths)
        elif child.type == "pair":
            keys = _keys(child.named_children[0])
            for length in range(1, len(keys)):
                places.setdefault((*at, *keys[:length]), child)
            here = (*at, *keys)
            places[here] = child
            _value(child.named_children[1], here, places, lengths)


def _value(
    node: Node, at: Location, places: dict[Location, Node], lengths: dict[Location, int]
) -> None:
    if node.type == "inline_table":
        _collect(node, at, places, lengths)
    elif node.type == "array":
        items = [child for child in node.named_children if child.type != "comment"]
        for index, item in enumerate(items):
            places[*at, index] = item
            _value(item, (*at, index), places, lengths)


def _keys(node: Node) -> Location:
    """The parts of a bare, quoted or dotted key."""
    if node.type == "dotted_key":
        return tuple(part for child in node.named_children for part in _keys(child))
    text = (node.text or b"").decode()
    if node.type == "quoted_key":
        return (next(iter(tomllib.loads(f"{text} = 0"))),)
    return (text,)


_MOST_FILES = 10_000


def nearest_file(path: Path) -> str:
    """`; did you mean …?` of files beside `path` with names like its own; empty where none is."""
    try:
        files = islice(path.parent.iterdir(), _MOST_FILES)
        names = [file.name for file in files if file.name != path.name]
    except (OSError, ValueError):
        return ""
    folder = "" if path.parent == Path() else f"{path.parent}{os.sep}"
    return did_you_mean(path.name, names, folder)


MOST_BYTES = 1_000_000
"""How many bytes a file that people write may have, unless its reader says another number."""

LONGEST_LINE = 100_000_000
"""How many bytes a line may have of a file that is read line by line."""

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # which Windows lacks


def open_to_read(path: Path) -> BinaryIO:
    """The file `path`, opened; raises `OSError`, or `ValueError` for a name that none can have.

    A pipe ends at once where nobody writes into it: it would be waited for until somebody does.
    """

    def opened(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | _AT_ONCE)
        if _AT_ONCE:
            os.set_blocking(descriptor, True)
        return descriptor

    return open(path, "rb", opener=opened)


def lines_of(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each line of `file` with its number, from 1; raises `DataError` for one of `LONGEST_LINE`."""
    for number in count(1):
        line = file.readline(LONGEST_LINE)
        if not line:
            return
        if len(line) == LONGEST_LINE:
            message = f"a line has fewer than {LONGEST_LINE:,} bytes; is this a file of text?"
            raise DataError.at(path, number, message)
        yield number, line


def text_of(
    path: Path,
    kind: str,
    otherwise: str = "",
    *,
    most: int = MOST_BYTES,
    error: type[FileError] | type[DataError] = FileError,
) -> str:
    """The text of the file `path`; raises `error` where it is none that can be read.

    `kind` the file is, and what else than a path could be given, are for the error. Not more than
    `most` bytes are ever read: what is given may have no end.
    """
    data = bytes_of(path, kind, otherwise, most=most, error=error)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        line = data.count(b"\n", 0, reason.start) + 1
        fault = Fault((), "not UTF-8; save the file as UTF-8", file=str(path), line=line)
        raise _refused(error, fault) from reason


def bytes_of(
    path: Path,
    kind: str,
    otherwise: str = "",
    *,
    most: int = MOST_BYTES,
    error: type[FileError] | type[DataError] = FileError,
) -> bytes:
    """The bytes of the file `path`, as `text_of` reads them."""
    try:
        with open_to_read(path) as file:
            about = os.fstat(file.fileno())
            size = about.st_size
            data = b"" if size > most else file.read(most + 1)
    except (OSError, ValueError) as reason:  # a name with a null character is a `ValueError`
        why = getattr(reason, "strerror", None) or reason
        near = nearest_file(path) if isinstance(reason, FileNotFoundError) else ""
        give = f"{near} Give" if near else "; give"
        problem = f"{path}: cannot be read ({why}){give} the path of {kind}{otherwise}"
        raise _refused(error, Fault((), problem)) from reason
    if not data and stat.S_ISFIFO(about.st_mode):
        problem = f"{path}: a pipe into which nobody writes; give the path of {kind}{otherwise}"
        raise _refused(error, Fault((), problem))
    if max(size, len(data)) > most:
        bytes_there = f"{size:,}" if size > most else f"more than {most:,}"
        problem = f"{path}: {bytes_there} bytes; {kind} has at most {most:,}: take a part of it"
        raise _refused(error, Fault((), problem))
    return data


def _refused(error: type[FileError] | type[DataError], fault: Fault) -> FileError | DataError:
    return error((fault,)) if issubclass(error, FileError) else error(str(fault))


def read(
    text: str, filename: str, *, is_json: bool | None = None, error: type[FileError] = FileError
) -> dict[str, Any]:
    """What a TOML text says, or a JSON text; raises `error` where it is none.

    Unless `is_json` says which of them it is, a `filename` that ends in `.json` does.
    """
    if is_json is None:
        is_json = filename.endswith(".json")
    try:
        if not is_json and any(key.count(".") > _DOTS for key in _TOML_KEY.findall(text)):
            raise error((f"{filename}: {_DEEP}",))  # it would be read in quadratic time
        raw = json.loads(text, object_pairs_hook=unique_keys) if is_json else tomllib.loads(text)
        if _is_deep(raw):
            raise error((f"{filename}: {_DEEP}",))
    except ValueError as reason:  # also a number with more digits than Python converts
        kind = "JSON" if is_json else "TOML"
        match = re.search(r" \(at line (\d+), column \d+\)$", str(reason))
        problem = str(reason)[: match.start()] if match else str(reason)
        told = f"this is not {kind}: {problem}; mend the syntax"
        at_line = match and Fault((), told, file=filename, line=int(match[1]))
        raise error((at_line or f"{filename}: {told}",)) from reason
    except RecursionError as reason:
        raise error((f"{filename}: {_DEEP}",)) from reason
    if not isinstance(raw, dict):
        problem = "the file is an object, not a list or a value"
        raise error((Fault((), problem, file=filename, line=1),))
    return raw


_DEEPEST = 100
_DOTS = 1_000
_TOML_KEY = re.compile(r"^[^=\n]+", re.MULTILINE)
_DEEP = f"nested too deeply; at most {_DEEPEST} levels can be read"


def _is_deep(value: object) -> bool:
    """Whether a value is nested more deeply than what looks at it could follow."""
    level = [value]
    for _ in range(_DEEPEST):
        lists = (
            list(element.values()) if isinstance(element, dict) else element for element in level
        )
        level = [item for inner in lists if isinstance(inner, list) for item in inner]
        if not level:
            return False
    return True


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, each of whose keys stands there once, as in TOML; raises `ValueError`."""
    content = dict(pairs)
    if len(content) != len(pairs):
        keys = [key for key, _value in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {quoted(twice)} stands twice in one object; remove one")
    return content


def faults(
    raw: Mapping[str, Any],
    schema: Mapping[str, Any],
    in_words: Callable[[Any], str | None] = lambda _error: None,
) -> list[Fault]:
    """Where `raw` is not what `schema` says, each fault once.

    `in_words` says of a violation what it means to somebody who edits such a file, where that is
    more than can be said of any file.
    """
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(raw)
    problems = [
        _fault(error, in_words(error))
        for error in sorted(errors, key=lambda e: list(map(str, e.path)))
    ]
    return list(dict.fromkeys(problems))


def located(unplaced: Iterable[Fault], text: str, filename: str) -> tuple[Fault, ...]:
    """Each fault with file, line and column; of a JSON file, whose lines say little, the file."""
    if filename.endswith(".json") or find_spec("tree_sitter_toml") is None:  # as in a browser
        return tuple(replace(fault, file=filename) for fault in unplaced)
    placed = [_located(fault, text, filename) for fault in unplaced]
    return tuple(sorted(placed, key=lambda fault: (fault.line or 0, fault.column or 0)))


def _located(fault: Fault, text: str, filename: str) -> Fault:
    if fault.offset is None:
        return replace(fault, file=filename, line=line_of(text, fault.path))
    line, column = position_in(text, fault.path, fault.offset)
    return replace(fault, file=filename, line=line, column=column)


def _fault(error: Any, message: str | None) -> Fault:
    path: Place = tuple(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        path = (*path, error.instance)
    where = f"{format_path(path)}: " if path else ""
    properties = error.schema.get("properties", {})
    known, value = error.validator_value, error.instance
    allowed: tuple[str, ...] = ()
    if message is not None:
        text = message
    elif error.validator == "additionalProperties":
        unknown = sorted(set(error.instance) - set(properties))
        text = f"unknown key {', '.join(unknown)}; known here: {', '.join(properties)}"
        path, value, allowed = (*path, unknown[0]), unknown[0], tuple(properties)
    elif error.validator == "enum":
        allowed = tuple(map(str, known))
        text = f"{quoted(error.instance)} is none of {', '.join(allowed)}"
    elif error.validator == "const":
        text = f"{quoted(error.instance)} is not one that this version reads; write {known}"
    elif error.validator == "required":
        missing = [key for key in known if key not in error.instance]
        told = "is missing; add it" if len(missing) == 1 else "are missing; add them"
        text = f"{', '.join(missing)} {told}"
    elif error.validator == "type":
        kinds = known if isinstance(known, str) else " or ".join(known)
        text = f"{quoted(error.instance)} is not of the type {kinds}; write one that is"
    elif error.validator in ("minimum", "exclusiveMinimum"):
        bound = "more than" if error.validator == "exclusiveMinimum" else "at least"
        text = f"{quoted(error.instance)} is too small; it is {bound} {known}"
    elif error.validator == "maximum":
        text = f"{quoted(error.instance)} is too large; it is at most {known}"
    elif error.validator in ("anyOf", "oneOf") and "description" in error.schema:
        text = f"{quoted(error.instance)} cannot stand here. {error.schema['description']}"
    else:
        text = str(error.message)[:300]
    return Fault(path, where + text, error.validator, value, allowed)
