"""Data of one's own, for every task: a table of rows, as CSV or as JSON Lines.

A row has an instance `x`, the `prediction` and the `explanation` that count as right; it may have a
`key`, the instance's name, and a `set`: sessions, validation, test, or examples, whose answers
models are shown. Where `x` is a picture it is a path from the table's own folder. A task may call
these columns by names of its own.

CSV is read as spreadsheets write it: with commas, semicolons or tabs, with or without a byte order
mark, and with the empty rows and columns that they leave at the ends.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, FileError, UsageError, counted, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Answer, Instance, text_problem
from pxp_fsm.tasks.task import DataRow, DataSet

MOST_BYTES = 200_000_000


def read(path: Path) -> str:
    """The text of `path`, UTF-8 with or without a byte order mark; raises `DataError`."""
    return text_of(path, "a file of data", most=MOST_BYTES, error=DataError)


def records(
    text: str, path: Path, columns: tuple[str, ...]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Each record with the line that it starts on; `DataError` for the first malformed one."""
    separator = _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        header = _without_empty_end([name.strip() for name in next(reader, [])], 0)
        missing = [column for column in columns if column not in header]
        if missing:
            there = f"there are {', '.join(header)}" if header else "the file is empty"
            raise DataError.at(path, 1, f"column {', '.join(missing)} is missing; {there}")
        twice = sorted({name for name in header if header.count(name) > 1})
        if twice:
            named = ", ".join(name or "without a name" for name in twice)
            raise DataError.at(
                path, 1, f"column {named} is named more than once; give each a name of its own"
            )
        while True:
            line = reader.line_num + 1
            fields = next(reader, None)
            if fields is None:
                return
            if any(fields):
                fields = _without_empty_end(fields, len(header))
                yield line, _record(path, line, header, fields, columns, separator)
    except csv.Error as error:
        raise DataError.at(path, line, f"this is not CSV: {error}") from error


_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""What may stand between the fields of a row."""


def _separator(text: str) -> str:
    """That which makes the most fields of the header; a comma where none makes two."""
    header = text.split("\n", 1)[0]

    def fields(separator: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=separator), []))
        except csv.Error:
            return 0

    return max(_SEPARATORS, key=fields)


def _without_empty_end(fields: list[str], least: int) -> list[str]:
    """`fields` without the empty ones at their end, but for the first `least`."""
    while len(fields) > least and not fields[-1].strip():
        fields = fields[:-1]
    return fields


def _record(
    path: Path,
    line: int,
    header: list[str],
    fields: list[str],
    columns: tuple[str, ...],
    separator: str,
) -> Mapping[str, str]:
    if len(fields) != len(header):
        raise DataError.at(
            path,
            line,
            f"{len(fields)} fields, but the header names {len(header)}; quote the "
            f"{_SEPARATORS[separator]} that are part of a text",
        )
    record = dict(zip(header, fields, strict=True))
    for column in columns:
        if not record[column].strip():
            raise DataError.at(path, line, f"column {column} is empty")
        problem = text_problem(record[column])
        if problem is not None:
            raise DataError.at(path, line, f"column {column}: {problem}")
    return record


FILES = ("data.csv", "data.jsonl")
"""The names of the table in a folder of data."""

SETS = ("sessions", "validation", "test")
EVERY_SET = (*SETS, "examples")
_NEEDED = ("x", "prediction", "explanation")
_KEPT = (*_NEEDED, "key", "set")
_SUFFIXES = (".csv", ".tsv", ".jsonl")

Record = tuple[int, dict[str, str]]
"""A row as it is written, with its line."""


@dataclass(frozen=True)
class RowForm:
    """How a task reads a row; both functions raise `DataError`, saying what is wrong.

    `x` makes what an instance carries of what stands in the table, which is in the folder given;
    `prediction` makes a prediction about such an `x` as a message carries it. `names` are what the
    table calls the columns x, prediction, explanation, key and set, where it calls them otherwise,
    and `empty` is what to write where there is no prediction. `draw` puts the rows of a table that
    names no set into sets, by their numbers; None: all are for sessions.
    """

    x: Callable[[str, Path], str] = lambda text, _folder: text
    prediction: Callable[[str, str], str] = lambda text, _x: text
    names: Mapping[str, str] = field(default_factory=dict)
    empty: str = "fill it in"
    draw: Callable[[Sequence[DataRow]], Sequence[str]] | None = None


class RowFilter(Protocol):
    """Options by which a plug-in lets `pxp data select` keep rows."""

    def keep(
        self, table: Path, rows: Sequence[Record], seed: int, say: Callable[[str], None]
    ) -> Sequence[Record]:
        """The rows of `table` that are kept, in their order; what is drawn depends on `seed`.

        `say` is told, in a sentence, where fewer rows can be drawn than are wanted. Raises
        `UsageError`, with the field, for options that do not fit, and `DataError` with the place of
        a row that cannot be read.
        """


def table_of(path: Path) -> Path | None:
    """The table that `path` is, or that the folder `path` holds; None where there is none."""
    if path.is_file() and path.suffix in _SUFFIXES:
        return path
    return next((path / name for name in FILES if (path / name).is_file()), None)


def read_data(path: Path, form: RowForm = RowForm()) -> DataSet:
    """The data set in the table `path`, or in the folder that holds one.

    Raises `FileError` with the faults of its rows, each with file and line, and `DataError` where
    there is no table.
    """
    table = existing_table(path)
    reader, rows = _Reader(table, form), read_records(table)
    reader.check_columns(list(dict.fromkeys(name for _, record in rows for name in record)))
    for line, record in rows:
        reader.take(line, record)
    return reader.found()


def existing_table(path: Path) -> Path:
    """The table that `path` is or holds; raises `DataError` where there is none."""
    table = table_of(path)
    if table is not None:
        return table
    if not path.exists():
        raise DataError(
            f"{path}: there is no such folder; give one that holds {' or '.join(FILES)} "
            "(pxp help data)"
        )
    if path.is_file():
        raise DataError(f"{path}: a table is .csv, .tsv or .jsonl; save it as CSV (pxp help data)")
    others = sorted(file.name for file in path.iterdir() if file.suffix in _SUFFIXES)
    rename = f"; there is {', '.join(others[:3])}: rename it, or give its path" if others else ""
    raise DataError(f"{path}: there is no {' or '.join(FILES)} in it{rename} (pxp help data)")


def read_records(table: Path) -> Sequence[Record]:
    """The rows of a table as they are written; raises `DataError` for the first that is none."""
    text = read(table)
    if table.suffix == ".jsonl":
        return list(_objects(text, table))
    return [(line, dict(record)) for line, record in records(text, table, ())]


def write_records(table: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write rows as a table, CSV or JSON Lines by its name; raises `OSError`."""
    if table.suffix == ".jsonl":
        text = "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
    else:
        columns = list(dict.fromkeys(name for row in rows for name in row))
        made = io.StringIO()
        writer = csv.DictWriter(made, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
        text = made.getvalue()
    write_atomically(table, text)


def sample(
    rows: Sequence[Record], number: int, seed: int, say: Callable[[str], None], of: str = ""
) -> Sequence[Record]:
    """`number` of the rows, drawn by `seed`, in the order in which they stand.

    Where there are fewer, `say` is told so, and `of` what they are, and all of them are taken.
    """
    if number > len(rows):
        say(f"{number} rows{of} are wanted, and there are {len(rows)}; all of them are taken")
        return rows
    chosen = random.Random(seed).sample(range(len(rows)), number)
    return [rows[place] for place in sorted(chosen)]


def split(
    rows: Sequence[Record], sizes: Mapping[str, int], seed: int
) -> Sequence[Mapping[str, str]]:
    """The rows with the set that each was drawn into; those of no set are left out."""
    drawn = list(rows)
    random.Random(seed).shuffle(drawn)
    if sum(sizes.values()) > len(drawn):
        raise UsageError(f"{sum(sizes.values())} rows are wanted, and there are {len(drawn)}")
    of: dict[int, str] = {}
    for name, size in sizes.items():
        of |= {line: name for line, _ in drawn[len(of) : len(of) + size]}
    return [{**row, "set": of[line]} for line, row in rows if line in of]


def _size(name: str, rows: int) -> str:
    """`1 session`, `2 sessions`; `validation` and `test` have no plural."""
    return counted(rows, name.removesuffix("s")) if name.endswith("s") else f"{rows:,} {name}"


def _objects(text: str, table: Path) -> Iterator[Record]:
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            record = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise DataError.at(table, line, f"this is not JSON: {error}") from error
        if not isinstance(record, dict) or not all(isinstance(v, str) for v in record.values()):
            raise DataError.at(table, line, "this is not an object of texts")
        yield line, record


class _Reader:
    """Takes the rows of a table, one by one, and keeps the faults of those that are none."""

    def __init__(self, table: Path, form: RowForm) -> None:
        self._table = table
        self._form = form
        self._names = {name: form.names.get(name, name) for name in _KEPT}
        self._faults: list[str] = []
        self._rows: list[tuple[DataRow, str]] = []
        self._keys: dict[str, int] = {}
        self._texts: dict[str, int] = {}

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise `FileError` where the table of these columns lacks one, with what renames them."""
        needed = [self._names[column] for column in _NEEDED]
        missing = [name for name in needed if name not in columns]
        if not columns or not missing:
            return
        others = {name.lower(): name for name in columns if name not in self._names.values()}
        renamed = []
        for name in missing:
            near = get_close_matches(name, others, n=1)
            only = [*others] if len(missing) == 1 and len(others) == 1 else []
            renamed.append(f"{name}={others[(near or only)[0]] if near or only else 'COLUMN'}")
        table, written = self._table, f"renamed{self._table.suffix}"
        options = (word for assignment in renamed for word in ("--column", assignment))
        command = shlex.join(["pxp", "data", "select", str(table), *options, "-o", written])
        columns_are = (
            f"columns {', '.join(missing)} are" if missing[1:] else f"column {missing[0]} is"
        )
        remedy = f"add {'them' if missing[1:] else 'it'}"
        remedy += f", or rename columns: {command}" if others else ""
        problem = f"{columns_are} missing; there are {', '.join(columns)}: {remedy}"
        raise FileError([str(DataError.at(table, 1, problem))])

    def take(self, line: int, record: Mapping[str, str]) -> None:
        """Take one row."""
        fields = {name: record.get(written, "").strip() for name, written in self._names.items()}
        try:
            row = self._row(line, fields)
            if fields["set"] not in ("", *EVERY_SET):
                sets = ", ".join(EVERY_SET)
                raise self._fault("set", f"{quoted(fields['set'])} is none of {sets}")
        except DataError as error:
            self._faults.append(str(DataError.at(self._table, line, str(error))))
            return
        self._rows.append((row, fields["set"]))

    def found(self) -> DataSet:
        """The data set; `FileError` where a row had a fault."""
        named = any(name for _, name in self._rows)
        drawn = None if named else self._form.draw
        rows = [row for row, _ in self._rows]
        names = [name or SETS[0] for _, name in self._rows] if drawn is None else drawn(rows)
        sets: dict[str, list[DataRow]] = {name: [] for name in EVERY_SET}
        for row, name in zip(rows, names, strict=True):
            sets[name].append(row)
        if not self._faults and not sets["sessions"]:
            self._faults.append(f"{self._table}: no row is for sessions")
        if self._faults:
            raise FileError(self._faults)
        sizes = ", ".join(_size(name, len(rows)) for name, rows in sets.items() if rows)
        sessions, validation, test, examples = (tuple(rows) for rows in sets.values())
        origin = f"{self._table.name} ({sizes}{'' if drawn is None else ', drawn'})"
        return DataSet(origin, sessions, validation, test, examples=examples)

    def _row(self, line: int, fields: Mapping[str, str]) -> DataRow:
        for column in _NEEDED:
            if not fields[column]:
                remedy = self._form.empty if column == "prediction" else "fill it in"
                raise DataError(
                    f"column {self._names[column]} is empty or missing; {remedy}, or remove the row"
                )
        for column in _KEPT:
            problem = text_problem(fields[column])
            if problem is not None:
                raise self._fault(column, problem)
        try:
            x = self._form.x(fields["x"], self._table.parent)
        except DataError as error:
            raise self._fault("x", str(error)) from error
        try:
            prediction = self._form.prediction(fields["prediction"], x)
        except DataError as error:
            raise self._fault("prediction", str(error)) from error
        key = self._key(line, fields["key"] or f"row-{line}")
        if self._texts.setdefault(x, line) != line:
            raise self._fault(
                "x", f"the same instance is on line {self._texts[x]}; remove one of the two rows"
            )
        return DataRow(Instance(key, x), Answer(prediction, fields["explanation"]))

    def _key(self, line: int, key: str) -> str:
        if "," in key or not key.isprintable():
            raise self._fault("key", f"{quoted(key)} is no name (no commas, one line)")
        if self._keys.setdefault(key, line) != line:
            raise self._fault(
                "key",
                f"{quoted(key)} is on line {self._keys[key]} too; give each row a name of its own",
            )
        return key

    def _fault(self, column: str, problem: str) -> DataError:
        return DataError(f"column {self._names[column]}: {problem}")
