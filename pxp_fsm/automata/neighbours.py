"""Tables beside a table: which file of its folder an error can suggest as the missing partner's."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pxp_fsm.automata.documents import read, text_of
from pxp_fsm.errors import TableError

_MOST, _LARGEST = 200, 1_000_000
"""Files of a folder that are looked into, and the bytes of a file that may be a table."""


def table_called(name: object, path: Path) -> str:
    """What to do where the table of that `name` is beside `path`, and was not given; else ""."""
    return _suggestion(path, lambda raw: raw.get("name") == name)


def table_receiving(tag: object, path: Path) -> str:
    """What to do where a table that receives `tag` is beside `path`, and was not given; else ""."""

    def receives(raw: Mapping[str, Any]) -> bool:
        found = [row.get("receive") for row in raw["rows"] if isinstance(row, dict)]
        return any(tag == one or (isinstance(one, list) and tag in one) for one in found)

    return _suggestion(path, receives, "write peer = {name}, and ")


def _suggestion(path: Path, fits: Callable[[Mapping[str, Any]], bool], first: str = "") -> str:
    found = next(((file, raw) for file, raw in _beside(path) if fits(raw)), None)
    if found is None:
        return ""
    file, raw = found
    command = shlex.join(["pxp", "check", str(path), str(file)])
    first = first.format(name=json.dumps(raw["name"]))
    return f"{file} is the table {raw['name']}: {first}give both, as in {command}"


def _beside(path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The other documents of the folder that have the shape of a table."""
    for file in toml_files(path.parent):
        if file == path:
            continue
        try:
            raw = read(text_of(file, "a table", error=TableError), str(file), error=TableError)
        except (TableError, OSError):
            continue
        if isinstance(raw.get("name"), str) and isinstance(raw.get("rows"), list):
            yield file, raw


def toml_files(folder: Path) -> Iterator[Path]:
    """The regular files of a folder that may be tables or systems in TOML, 200 at the most."""
    return islice(filter(_is_small, sorted(folder.glob("*.toml"))), _MOST)


def _is_small(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _LARGEST
    except OSError:
        return False
