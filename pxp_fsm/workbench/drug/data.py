"""DRUG's data: the bundled molecules, and the authors' published files as they are.

A file that has a fault is refused whole, with the line and the reason.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from guards.chemistry import InvalidSmiles, canonical_reactants, canonical_smiles
from pxp_fsm.errors import DataError
from pxp_fsm.messages import Answer, Instance, text_problem
from pxp_fsm.workbench.tasks import DataSet, Row

PUBLISHED_FILE = "retro.csv"
"""The authors' file: `output` is the reactants, `input` the product, `explanation` the pathway."""

_SETS = ("sessions", "validation", "test")


def bundled() -> DataSet:
    """The approved drugs that come with the package, in three sets."""
    resource = resources.files("pxp_fsm.workbench.drug").joinpath("molecules.csv")
    columns = ("set", "name", "smiles", "reactants", "pathway")
    sets: dict[str, list[Row]] = {name: [] for name in _SETS}
    for _line, record in _records(resource.read_text("utf-8"), Path("molecules.csv"), columns):
        sets[record["set"]].append(
            Row(
                Instance(record["name"], record["smiles"]),
                Answer(record["reactants"], record["pathway"]),
            )
        )
    sessions, validation, test = (tuple(sets[name]) for name in _SETS)
    origin = "bundled set of approved drugs, one textbook step each"
    return DataSet(origin, sessions, validation, test, in_sample=True)


def published(folder: Path) -> DataSet:
    """The authors' reactions from `folder`, or from its sub-folder `data`, as they published them.

    Raises `DataError` where the folder or the file is missing, or a row of it cannot be used.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: there is no such folder; give the one that holds {PUBLISHED_FILE}"
        )
    places = (folder / PUBLISHED_FILE, folder / "data" / PUBLISHED_FILE)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise DataError(
            f"{folder}: there is no {PUBLISHED_FILE} in it, nor in its folder data; "
            f"give the authors' data folder as it is"
        )
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from error
    columns = ("input", "output", "explanation")
    rows = tuple(
        _published_row(path, line, number, record)
        for number, (line, record) in enumerate(_records(text, path, columns), start=1)
    )
    if not rows:
        raise DataError(f"{path}: holds no reactions")
    return DataSet(f"the authors' {PUBLISHED_FILE} ({len(rows)} reactions)", rows)


def _published_row(path: Path, line: int, number: int, record: Mapping[str, str]) -> Row:
    try:
        product = canonical_smiles(record["input"])
        canonical_reactants(record["output"])
    except InvalidSmiles as error:
        raise DataError.at(path, line, str(error)) from error
    return Row(
        Instance(f"retro-{number}", product), Answer(record["output"], record["explanation"])
    )


def _records(
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
