"""Files: written complete or not at all, locked while rewritten, cached; fingerprints of them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import resources
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
    _sweep(path)
    draft = path.with_name(f".{path.name}.{_here()}-{os.getpid():x}-{secrets.token_hex(2)}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OSError(
            f"{path}: cannot be written ({error.strerror}); choose another place"
        ) from error
    finally:
        _remove(draft)


_ABANDONED = 3600.0
"""Seconds after which nobody is still writing a draft that has not changed."""


@cache
def _here() -> str:
    """A name of where the processes of this one's numbers are: a machine, or a container."""
    names = [os.uname().nodename] if hasattr(os, "uname") else []
    with suppress(OSError):
        names.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256(" ".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _is_running(process: int) -> bool:
    """Whether a process of that number may be running here."""
    if os.name != "posix" or sys.platform == "emscripten":  # where there is no asking
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _sweep(path: Path) -> None:
    """Remove the drafts of `path` that killed processes left behind."""
    drafts = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-f]{{8}})-([0-9a-f]+)-[0-9a-f]{{4}}")
    with suppress(OSError):
        for beside in path.parent.iterdir():
            draft = drafts.fullmatch(beside.name)
            if draft is None:
                continue
            killed = draft[1] == _here() and not _is_running(int(draft[2], 16))
            if killed or beside.lstat().st_mtime < time.time() - _ABANDONED:
                _remove(beside)


def _remove(draft: Path) -> None:
    if draft.is_dir() and not draft.is_symlink():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, waits: bool = True) -> Iterator[None]:
    """A block in which no other process or thread is in one on the same `path`; it is waited for.

    A lock ends with its process: the empty file beside `path` that a killed one leaves locks
    nothing. Raises `UsageError` where the folder of `path` is not there, and where somebody is in
    such a block for whom one does not wait (`waits=False`); `OSError` where it may not be written.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    beside = path.with_name(f".{path.name}.lock")
    while True:
        held = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _hold(held, path, waits)
            if _is_at(held, beside):
                break
        except BaseException:
            os.close(held)
            raise
        os.close(held)  # its last holder removed it in between
    try:
        yield
    finally:
        with suppress(OSError):  # on Windows an open file stays; it holds no lock
            beside.unlink()
        os.close(held)


def _hold(held: int, path: Path, waits: bool) -> None:
    if not _lock(held, waits):
        raise UsageError(
            f"{path}: another process is working with it; wait until it ends, or stop it"
        )


def _is_at(held: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(held), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(held: int, waits: bool) -> bool:
        """Lock an open file; whether it is locked."""
        with suppress(*() if waits else (OSError,)):
            msvcrt.locking(held, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)
            return True
        return False

else:
    import fcntl

    def _lock(held: int, waits: bool) -> bool:
        """Lock an open file; whether it is locked."""
        with suppress(*() if waits else (BlockingIOError,)):
            fcntl.flock(held, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` to the file `path`, text as UTF-8; raises what `atomic_path` does."""
    with atomic_path(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


@cache
def package_fingerprint(package: str, names: tuple[str, ...], also: str = "") -> str:
    """What depends on the files `names` of `package` is identified by: 12 hex digits of a SHA-256.

    `also` is counted in, as the version of a library may be.
    """
    digest = hashlib.sha256(also.encode())
    for name in names:
        content = resources.files(package).joinpath(name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(b"%d %s" % (len(content), content))
    return digest.hexdigest()[:12]


def policy_digest(text: str) -> str:
    """A script or style that stands in a page, as its content security policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def cache_folder() -> Path:
    """The user's folder of what is compiled once, in `$XDG_CACHE_HOME` or `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pxp-fsm"


def file_name(subject: str) -> str:
    """A file name for the drawing of `subject`: letters, digits, dots, dashes, underscores."""
    stem = Path(subject).stem if subject.endswith((".toml", ".json")) else subject
    return re.sub(r"[^\w.-]+", "-", stem, flags=re.ASCII).strip("-.") or "drawing"
