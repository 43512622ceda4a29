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

_MOST = 200
"""Files of a folder that are looked into."""


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
    try:
        files = sorted(path.parent.glob("*.toml"))
    except OSError:
        return
    for file in islice((one for one in files if one != path), _MOST):
        try:
            raw = read(text_of(file, "a table", error=TableError), str(file), error=TableError)
        except (TableError, OSError):
            continue
        if isinstance(raw.get("name"), str) and isinstance(raw.get("rows"), list):
            yield file, raw
