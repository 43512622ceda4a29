"""DRUG's data: the bundled molecules, and the authors' published files as they are.

A file that has a fault is refused whole, with the line and the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from pxp_fsm.errors import DataError
from pxp_fsm.plugins.drug.relations import InvalidSmiles, canonical_reactants, canonical_smiles
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.tasks.own_data import read, records
from pxp_fsm.tasks.task import DataRow, DataSet

PUBLISHED_FILE = "retro.csv"
"""The authors' file: `output` is the reactants, `input` the product, `explanation` the pathway."""

EXAMPLES_FILE = "few_shot_DRUG.csv"
"""The authors' examples, of the same columns: what their models are shown in each prompt."""

_SETS = ("sessions", "validation", "test")


def bundled() -> DataSet:
    """The approved drugs that come with the package, in three sets."""
    resource = resources.files("pxp_fsm.plugins.drug").joinpath("molecules.csv")
    columns = ("set", "name", "smiles", "reactants", "pathway")
    sets: dict[str, list[DataRow]] = {name: [] for name in _SETS}
    for _line, record in records(resource.read_text("utf-8"), Path("molecules.csv"), columns):
        sets[record["set"]].append(
            DataRow(
                Instance(record["name"], record["smiles"]),
                Answer(record["reactants"], record["pathway"]),
            )
        )
    sessions, validation, test = (tuple(sets[name]) for name in _SETS)
    origin = "bundled approved drugs"
    return DataSet(origin, sessions, validation, test, in_sample=True)


def published(folder: Path) -> DataSet:
    """The authors' reactions from `folder`, or from its sub-folder `data`, as they published them.

    Raises `DataError` where the folder or the file is missing, or a row of it cannot be used.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: there is no such folder; give one that holds data.csv or data.jsonl "
            f"(pxp help data), or the authors' {PUBLISHED_FILE}"
        )
    places = (folder / PUBLISHED_FILE, folder / "data" / PUBLISHED_FILE)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise DataError(
            f"{folder}: there is no {PUBLISHED_FILE} in it, nor in its folder data; write "
            f"your rows to data.csv (pxp help data), or give the authors' data folder as it is"
        )
    rows = _published_rows(path, "retro")
    if not rows:
        raise DataError(f"{path}: has no reactions")
    shown: tuple[DataRow, ...] = ()
    if path.with_name(EXAMPLES_FILE).is_file():
        asked = {row.instance.x for row in rows}
        example_rows = _published_rows(path.with_name(EXAMPLES_FILE), "example")
        shown = tuple(row for row in example_rows if row.instance.x not in asked)
    origin = f"the authors' {PUBLISHED_FILE} ({len(rows)} reactions)"
    return DataSet(origin, rows, examples=shown)


def _published_rows(path: Path, kind: str) -> tuple[DataRow, ...]:
    columns = ("input", "output", "explanation")
    return tuple(
        _published_row(path, line, f"{kind}-{number}", record)
        for number, (line, record) in enumerate(records(read(path), path, columns), start=1)
    )


def _published_row(path: Path, line: int, key: str, record: Mapping[str, str]) -> DataRow:
    try:
        product = canonical_smiles(record["input"])
        canonical_reactants(record["output"])
    except InvalidSmiles as error:
        raise DataError.at(path, line, str(error)) from error
    return DataRow(Instance(key, product), Answer(record["output"], record["explanation"]))
