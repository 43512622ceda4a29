"""Pictures as instances: a path, with the start of the file's digest, so that none is exchanged."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.tasks.labels.images import LARGEST_FILE, checked

_X = re.compile(r"(?P<path>.+)#sha256=(?P<digest>[0-9a-f]{16})", re.DOTALL)

Place = Callable[[str], Path]
"""The file that the path of an instance means."""


def reference(path: Path) -> str:
    """The x of an instance whose picture is at `path`; raises `DataError` where it is none."""
    data = _content(path)
    _checked(path, data)
    return f"{path}#sha256={_digest(data)}"


def path_of(instance: Instance, place: Place = Path) -> Path:
    """The file in which the picture of `instance` is; raises `DataError` where x names none."""
    return _parted(instance, place)[0]


def picture(instance: Instance, place: Place = Path) -> Image:
    """The picture of `instance`, decoded once to be sure; raises `DataError`."""
    path, digest = _parted(instance, place)
    data = _content(path)
    if _digest(data) != digest:
        raise DataError(f"{path}: the image is not that of instance {instance.key}")
    return _checked(path, data)


def image_in(folder: Path, written_path: str) -> Path:
    """The image that a table in `folder` names; `DataError` where it is not in that folder."""
    path = folder / written_path
    try:
        within = path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # a null character, links in a circle
        raise DataError(f"{quoted(written_path)} is no path of a file") from error
    if Path(written_path).is_absolute() or not within:
        raise DataError(
            f"{written_path}: an image must be in the folder of its table; put it there, and write "
            f"its path from that folder"
        )
    if not path.is_file():
        raise DataError(
            f"there is no {path}; put the image there, or correct the path (with / between folders)"
        )
    return path


def _parted(instance: Instance, place: Place) -> tuple[Path, str]:
    parts = _X.fullmatch(instance.x)
    if parts is None:
        raise DataError(f"{quoted(instance.x)} does not name an image (PATH#sha256=DIGEST)")
    return place(parts["path"]), parts["digest"]


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
