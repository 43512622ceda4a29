"""Tables beside a table: which file of its folder an error can suggest as the missing partner's."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pxp_fsm.automata.documents import read, text_of
from pxp_fsm.errors import TableError

_MOST, _LARGEST = 200, 1_000_000
"""Files of a folder that are looked into, and the bytes of a file that may be a table."""


def table_called(name: object, path: Path) -> str:
    """What to do where the table of that `name` is beside `path`, and was not given; else ""."""
    found = next(((file, raw) for file, raw in _beside(path) if raw["name"] == name), None)
    if found is None:
        return ""
    file, raw = found
    return f"{file} is the table {raw['name']}: give both, as in {_both(path, file)}"


def table_receiving(tag: object, path: Path) -> str:
    """What to do where a table that receives `tag` is beside `path`, and was not given; else "".

    Of several it is the one whose tags fit best: those that one sends and the other receives.
    """
    found = [(file, raw) for file, raw in _beside(path) if tag in _tags(raw, "receive")]
    if not found:
        return ""
    own = _read(path)
    sent, received, name = _tags(own, "send"), _tags(own, "receive"), own["name"]

    def misfits(one: tuple[Path, Mapping[str, Any]]) -> int:
        return len(sent - _tags(one[1], "receive")) + len(received ^ _tags(one[1], "send"))

    file, raw = min(found, key=misfits)
    peers = [(path, raw["name"], None), (file, name, raw.get("peer"))]
    written = " and ".join(
        f"peer = {json.dumps(peer, ensure_ascii=False)} below the name in {where}"
        for where, peer, now in peers
        if now != peer
    )
    return f"{file} receives it: write {written}, then give both, as in {_both(path, file)}"


def _tags(raw: Mapping[str, Any], key: str) -> set[str]:
    """The tags that a document's rows send, or receive, as far as they are texts."""
    found = [row.get(key) for row in raw["rows"] if isinstance(row, dict)]
    return {
        tag
        for one in found
        for tag in (one if isinstance(one, list) else [one])
        if isinstance(tag, str)
    }


def _both(path: Path, file: Path) -> str:
    return shlex.join(["pxp", "check", str(path), str(file)])


def _beside(path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The other documents of the folder that have the shape of a table."""
    for file in toml_files(path.parent):
        if file == path:
            continue
        try:
            raw = _read(file)
        except (TableError, OSError):
            continue
        if isinstance(raw.get("name"), str) and isinstance(raw.get("rows"), list):
            yield file, raw


def _read(file: Path) -> Mapping[str, Any]:
    return read(text_of(file, "a table", error=TableError), str(file), error=TableError)


def toml_files(folder: Path) -> Iterator[Path]:
    """The regular files of a folder that may be tables or systems in TOML, 200 at the most."""
    return islice(filter(_is_small, sorted(folder.glob("*.toml"))), _MOST)


def _is_small(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _LARGEST
    except OSError:
        return False
