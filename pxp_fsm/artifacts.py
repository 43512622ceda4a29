"""Atomic writing of files: complete or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pxp_fsm.errors import UsageError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A path beside `path`, for a file or a folder that takes its place when the block is done.

    If the block raises, `path` stays as it was and nothing is left beside it. Raises `UsageError`
    where the folder of `path` is not there, and `OSError` where the disk refuses.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OSError(
            f"{path}: cannot be written ({error.strerror}); choose another place"
        ) from error
    finally:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` to the file `path`, text as UTF-8; raises what `atomic_path` does."""
    with atomic_path(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
