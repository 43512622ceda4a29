"""A file that is replaced at once when it is whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from pxp_fsm.errors import UsageError


def leave(path: Path, write: Callable[[TextIO], None]) -> None:
    """Write a text file by `write`; nothing half-written is left.

    Raises `UsageError` where its folder is not there, and `OSError` where the disk refuses.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            write(file)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
