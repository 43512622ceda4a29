"""An instance's x for RAD: where its picture is, and which picture it was.

x is a path, "#sha256=" and the start of the digest of the file: a picture that was changed since,
or a path that somebody else wrote into a database, is refused rather than shown.
"""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from pathlib import Path

from backends.models.radiograph import checked
from backends.models.radiograph.images import LARGEST_FILE
from pxp_fsm.errors import DataError
from pxp_fsm.messages import Instance, quoted
from pxp_fsm.models import Image

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
        raise DataError(f"{path}: the picture is not the one that instance {instance.key} is about")
    return _checked(path, data)


def bundled_path(name: str) -> Path:
    """The file of the bundled phantom `name`."""
    return Path(str(resources.files("pxp_fsm.workbench.rad") / "phantoms" / name))


def _parted(instance: Instance) -> tuple[Path, str]:
    parts = _X.fullmatch(instance.x)
    if parts is None:
        raise DataError(f"{quoted(instance.x)} names no picture (PATH#sha256=DIGEST)")
    name = parts["path"]
    return (bundled_path(name) if _BUNDLED.fullmatch(name) else Path(name)), parts["digest"]


def _content(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe would be waited for, a device has no end
            raise DataError(f"{path}: there is no such file")
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
