"""CSV files of users: records with line numbers, and faults with file, line and reason."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from pxp_fsm.errors import DataError
from pxp_fsm.protocol.messages import text_problem

MOST_BYTES = 200_000_000


def read(path: Path) -> str:
    """The text of `path`, UTF-8 with or without a byte order mark; raises `DataError`."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"{path}: more than {MOST_BYTES:,} bytes; take a part of it")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from error


def records(
    text: str, path: Path, columns: tuple[str, ...]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Each record with the line that it starts on; `DataError` for the first malformed one."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        header = next(reader, [])
        missing = [column for column in columns if column not in header]
        if missing:
            there = f"there are {', '.join(header)}" if header else "the file is empty"
            raise DataError.at(path, 1, f"column {', '.join(missing)} is missing; {there}")
        twice = sorted({name for name in header if header.count(name) > 1})
        if twice:
            raise DataError.at(path, 1, f"column {', '.join(twice)} is named more than once")
        while True:
            line = reader.line_num + 1
            fields = next(reader, None)
            if fields is None:
                return
            if fields:
                yield line, _record(path, line, header, fields, columns)
    except csv.Error as error:
        raise DataError.at(path, line, f"this is not CSV: {error}") from error


def _record(
    path: Path, line: int, header: list[str], fields: list[str], columns: tuple[str, ...]
) -> Mapping[str, str]:
    if len(fields) != len(header):
        raise DataError.at(
            path,
            line,
            f"{len(fields)} fields, but the header names {len(header)}; quote the commas",
        )
    record = dict(zip(header, fields, strict=True))
    for column in columns:
        if not record[column].strip():
            raise DataError.at(path, line, f"column {column} is empty")
        problem = text_problem(record[column])
        if problem is not None:
            raise DataError.at(path, line, f"column {column}: {problem}")
    return record
