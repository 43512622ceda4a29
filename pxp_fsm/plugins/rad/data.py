"""RAD's data: the bundled phantoms, and the authors' published files as they are.

A file that has a fault is refused whole, with the line and the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from guards.labels import InvalidLabels, format_labels, label_set
from pxp_fsm.errors import DataError
from pxp_fsm.plugins.rad.radiograph import LABELS
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.tasks.labels import pictures
from pxp_fsm.tasks.labels.pictures import reference
from pxp_fsm.tasks.own_data import read, records
from pxp_fsm.tasks.task import DataRow, DataSet

_BUNDLED = re.compile(r"phantom-[a-z]+-[0-9]{2}\.png")


def path_of(instance: Instance) -> Path:
    """The file in which the picture of `instance` is; raises `DataError` where x names none."""
    return pictures.path_of(instance, _place)


def picture(instance: Instance) -> Image:
    """The picture of `instance`, decoded once to be sure; raises `DataError`."""
    return pictures.picture(instance, _place)


def bundled_path(name: str) -> Path:
    """The file of the bundled phantom `name`."""
    return Path(str(resources.files("pxp_fsm.plugins.rad") / "phantoms" / name))


def _place(name: str) -> Path:
    return bundled_path(name) if _BUNDLED.fullmatch(name) else Path(name)


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


def training() -> tuple[DataRow, ...]:
    """The phantoms that the machine has seen before it learns anything."""
    return _phantoms()["training"]


@cache
def _phantoms() -> Mapping[str, tuple[DataRow, ...]]:
    table = bundled_path("phantoms.csv")
    sets: dict[str, list[DataRow]] = {}
    for _line, record in records(read(table), table, _PHANTOM_COLUMNS):
        path = bundled_path(record["img_path"])
        x = f"{path.name}#{reference(path).rpartition('#')[2]}"
        answer = Answer(format_labels(label_set(record["label"], LABELS)), record["report"])
        sets.setdefault(record["set"], []).append(DataRow(Instance(record["case"], x), answer))
    return {name: tuple(rows) for name, rows in sets.items()}


def published(folder: Path) -> DataSet:
    """The authors' X-rays from `folder`, or from its sub-folder `data`, as they published them.

    Their training set is for sessions, their validation set for validation. Raises `DataError`
    where a folder or file is missing, or a row cannot be used: an image that is none, or a label
    that is not one of the five.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder}: there is no such folder; give one that holds data.csv or data.jsonl "
            f"(pxp help data), or the authors' {SESSIONS_FILE}"
        )
    places = (folder.absolute(), folder.absolute() / "data")
    place = next((place for place in places if (place / SESSIONS_FILE).is_file()), None)
    if place is None:
        raise DataError(
            f"{folder}: there is no {SESSIONS_FILE} in it, nor in its folder data; write "
            f"your rows to data.csv (pxp help data), or give the authors' data folder as it is"
        )
    sessions, validation = (
        _published_set(place / name) for name in (SESSIONS_FILE, VALIDATION_FILE)
    )
    origin = (
        f"the authors' {SESSIONS_FILE} ({len(sessions)} films) and {VALIDATION_FILE} "
        f"({len(validation)})"
    )
    return DataSet(origin, sessions, validation)


def _published_set(path: Path) -> tuple[DataRow, ...]:
    taken: Counter[str] = Counter()
    rows = []
    for line, record in records(read(path), path, _COLUMNS):
        case = record["case"].strip()
        taken[case] += 1
        key = case if taken[case] == 1 else f"{case}-{taken[case]}"
        rows.append(_published_row(path, line, key, record))
    if not rows:
        raise DataError(f"{path}: has no films")
    return tuple(rows)


def _published_row(path: Path, line: int, key: str, record: Mapping[str, str]) -> DataRow:
    try:
        labels = label_set(record["label"], LABELS)
    except InvalidLabels as error:
        raise DataError.at(path, line, f"column label: {error}") from error
    short = ",".join(_SHORT[label] for label in sorted(labels)) or "none"
    listed = ",".join(sorted(part.strip() for part in record["label_short"].split(",")))
    if listed != ",".join(sorted(short.split(","))):
        raise DataError.at(
            path,
            line,
            f"column label says {format_labels(labels)}, label_short {listed!r}, not {short}",
        )
    try:
        x = reference(film_in(path.parent, record["img_path"].strip()))
    except DataError as error:
        raise DataError.at(path, line, f"column img_path: {error}") from error
    return DataRow(Instance(key, x), Answer(format_labels(labels), record["report"]))


def film_in(folder: Path, written_path: str) -> Path:
    """The film that a table in `folder` names; `DataError` where it is not in that folder."""
    return pictures.image_in(folder, written_path.removeprefix(_PUBLISHED_AS))
