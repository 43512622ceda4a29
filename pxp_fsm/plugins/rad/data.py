"""RAD's data: the bundled phantoms, and the authors' published files as they are.

A file that has a fault is refused whole, with the line and the reason.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.plugins.rad.radiograph import LABELS, checked
from pxp_fsm.plugins.rad.radiograph.images import LARGEST_FILE
from pxp_fsm.plugins.rad.relations import InvalidLabels, format_labels, label_set
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.tasks.own_data import read, records
from pxp_fsm.tasks.task import DataRow, DataSet

_X = re.compile(r"(?P<path>.+)#sha256=(?P<digest>[0-9a-f]{16})", re.DOTALL)
_BUNDLED = re.compile(r"phantom-[a-z]+-[0-9]{2}\.png")


def reference(path: Path) -> str:
    """The x of an instance whose picture is at `path`; raises `DataError` where it is none."""
    data = _content(path)
    _checked(path, data)
    return f"{path}#sha256={_digest(data)}"


def path_of(instance: Instance) -> Path:
    """The file in which the picture of `instance` is; raises `DataError` where x names none."""
    return _parted(instance)[0]


def picture(instance: Instance) -> Image:
    """The picture of `instance`, decoded once to be sure; raises `DataError`."""
    path, digest = _parted(instance)
    data = _content(path)
    if _digest(data) != digest:
        raise DataError(f"{path}: the image is not that of instance {instance.key}")
    return _checked(path, data)


def bundled_path(name: str) -> Path:
    """The file of the bundled phantom `name`."""
    return Path(str(resources.files("pxp_fsm.plugins.rad") / "phantoms" / name))


def _parted(instance: Instance) -> tuple[Path, str]:
    parts = _X.fullmatch(instance.x)
    if parts is None:
        raise DataError(f"{quoted(instance.x)} does not name an image (PATH#sha256=DIGEST)")
    name = parts["path"]
    return (bundled_path(name) if _BUNDLED.fullmatch(name) else Path(name)), parts["digest"]


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe would be waited for, a device has no end
            raise DataError(f"{path}: the file does not exist")
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read ({why})") from error


def _checked(path: Path, data: bytes) -> Image:
    try:
        return checked(data)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


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
    given = ",".join(sorted(part.strip() for part in record["label_short"].split(",")))
    if given != ",".join(sorted(short.split(","))):
        raise DataError.at(
            path,
            line,
            f"column label says {format_labels(labels)}, label_short {given!r}, not {short}",
        )
    try:
        x = reference(image_in(path.parent, record["img_path"].strip()))
    except DataError as error:
        raise DataError.at(path, line, f"column img_path: {error}") from error
    return DataRow(Instance(key, x), Answer(format_labels(labels), record["report"]))


def image_in(folder: Path, written_path: str) -> Path:
    """The image that a table in `folder` names; `DataError` where it is not in that folder."""
    name = written_path.removeprefix(_PUBLISHED_AS)
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{written_path}: an image must be in the folder of its table")
    if not path.is_file():
        raise DataError(f"there is no {path}")
    return path
