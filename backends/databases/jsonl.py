"""A run as JSON Lines: a header, then one row a line, each with the name of its table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backends.databases.schema import SCHEMA_VERSION
from backends.databases.transfer import FORMAT, READ, Rows
from pxp_fsm.errors import DataError


def write(rows: Rows, path: Path) -> None:
    """Write `rows` to `path`, which must not exist; a file that is there is whole."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_line({"format": FORMAT, "schema": SCHEMA_VERSION}))
        for table, row in rows:
            file.write(_line({"table": table, **row}))
    part.replace(path)


def read(path: Path) -> Rows:
    """The rows of the file `path`; raises `DataError` with the line where it is not one of ours."""
    with path.open("rb") as file:
        header = _parsed(path, 1, file.readline())
        if header.get("format") != FORMAT:
            raise DataError.at(path, 1, "this is not an export of a blackboard")
        if header.get("schema") not in READ:
            raise DataError.at(
                path,
                1,
                f"it was written from schema version {header.get('schema')!r}, this program reads "
                f"{' and '.join(READ)}",
            )
        for number, line in enumerate(file, start=2):
            row = _parsed(path, number, line)
            table = row.pop("table", None)
            if not isinstance(table, str):
                raise DataError.at(path, number, "it does not say of which table it is")
            yield table, row


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError.at(path, number, f"this is no JSON ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise DataError.at(path, number, "a line is a JSON object")
    return found
