"""RAD's data: the bundled phantoms, and the authors' published files as they are.

A file that has a fault is refused whole, with the line and the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from backends.models.radiograph import LABELS
from guards.labels import InvalidLabels, label_set, written
from pxp_fsm.errors import DataError
from pxp_fsm.messages import Answer, Instance
from pxp_fsm.workbench.csv_records import read, records
from pxp_fsm.workbench.rad.pictures import bundled_path, reference
from pxp_fsm.workbench.tasks import DataSet, Row

SESSIONS_FILE, VALIDATION_FILE = "train_xray_data.csv", "val_xray_data.csv"
"""The authors' files, with `label`, `label_short`, `img_path` and `report`."""

_COLUMNS = ("case", "label", "label_short", "img_path", "report")
_SHORT = {
    "Atelectasis": "ATCS",
    "Cardiomegaly": "CRDM",
    "Pleural Effusion": "PLEF",
    "Pneumonia": "PNUM",
    "Pneumothorax": "PNTX",
}
_PHANTOM_COLUMNS = ("set", "case", "label", "img_path", "report")
_PUBLISHED_AS = "data/"
"""What every `img_path` of the authors begins with: their folder's name."""


def bundled() -> DataSet:
    """The phantoms that come with the package, in three sets; see also `training`."""
    sets = _phantoms()
    return DataSet(
        "bundled phantoms: synthetic pictures drawn by this package, no patient's",
        sets["sessions"],
        sets["validation"],
        sets["test"],
        in_sample=True,
    )


def training() -> tuple[Row, ...]:
    """The phantoms that the machine has seen before it learns anything."""
    return _phantoms()["training"]


@cache
def _phantoms() -> Mapping[str, tuple[Row, ...]]:
    table = bundled_path("phantoms.csv")
    sets: dict[str, list[Row]] = {}
    for _line, record in records(read(table), table, _PHANTOM_COLUMNS):
        path = bundled_path(record["img_path"])
        x = f"{path.name}#{reference(path).rpartition('#')[2]}"
        answer = Answer(written(label_set(record["label"], LABELS)), record["report"])
        sets.setdefault(record["set"], []).append(Row(Instance(record["case"], x), answer))
    return {name: tuple(rows) for name, rows in sets.items()}


def published(folder: Path) -> DataSet:
    """The authors' X-rays from `folder`, or from its sub-folder `data`, as they published them.

    Their training set is for sessions, their validation set for validation. Raises `DataError`
    where a folder or file is missing, or a row cannot be used: an image that is none, or a label
    that is not one of the five.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: there is no such folder; give the one that holds {SESSIONS_FILE}"
        )
    places = (folder.absolute(), folder.absolute() / "data")
    place = next((place for place in places if (place / SESSIONS_FILE).is_file()), None)
    if place is None:
        raise DataError(
            f"{folder}: there is no {SESSIONS_FILE} in it, nor in its folder data; "
            f"give the authors' data folder as it is"
        )
    sessions, validation = (
        _published_set(place / name) for name in (SESSIONS_FILE, VALIDATION_FILE)
    )
    origin = (
        f"the authors' {SESSIONS_FILE} ({len(sessions)} films) and {VALIDATION_FILE} "
        f"({len(validation)})"
    )
    return DataSet(origin, sessions, validation)


def _published_set(path: Path) -> tuple[Row, ...]:
    taken: Counter[str] = Counter()
    rows = []
    for line, record in records(read(path), path, _COLUMNS):
        case = record["case"].strip()
        taken[case] += 1
        key = case if taken[case] == 1 else f"{case}-{taken[case]}"
        rows.append(_published_row(path, line, key, record))
    if not rows:
        raise DataError(f"{path}: holds no films")
    return tuple(rows)


def _published_row(path: Path, line: int, key: str, record: Mapping[str, str]) -> Row:
    try:
        labels = label_set(record["label"], LABELS)
    except InvalidLabels as error:
        raise DataError.at(path, line, f"column label: {error}") from error
    short = ",".join(_SHORT[label] for label in sorted(labels)) or "none"
    given = ",".join(sorted(part.strip() for part in record["label_short"].split(",")))
    if given != ",".join(sorted(short.split(","))):
        raise DataError.at(
            path, line, f"column label says {written(labels)}, label_short {given!r}, not {short}"
        )
    try:
        x = reference(_image(path.parent, record["img_path"].strip()))
    except DataError as error:
        raise DataError.at(path, line, f"column img_path: {error}") from error
    return Row(Instance(key, x), Answer(written(labels), record["report"]))


def _image(folder: Path, written_path: str) -> Path:
    """The image that a table in `folder` names; it must lie in that folder."""
    name = written_path.removeprefix(_PUBLISHED_AS)
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{written_path}: an image lies in the folder of its table")
    if not path.is_file():
        raise DataError(f"there is no {path}")
    return path
