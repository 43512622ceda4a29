"""Faulty files of each kind, with what is said of them word by word: `tests/kept/faults`."""

from __future__ import annotations

import os
import resource
import signal
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backends.models.catalogue import catalogue
from backends.models.scripts import read_script
from pxp_fsm.analysis.recordings.conversations import read_mapping
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import PXPError
from pxp_fsm.experiments import files as experiments

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "kept" / "faults"

Loader = Callable[[Path], object]
LOADERS: dict[str, Loader] = {
    "table": load_automaton,
    "system": read_system,
    "experiment": experiments.load,
    "mapping": read_mapping,
    "script": read_script,
    "script_lines": read_script,
    "catalogue": catalogue,
}
"""What reads a file of each kind."""


@dataclass(frozen=True)
class FaultyFile:
    """A file without fault in which `old` is replaced by `new`; what is said of it, line by line.

    Nothing is said of one that is none.
    """

    kind: str
    name: str
    base: str
    old: str
    new: str
    says: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}-{self.old}-{self.new}"

    @property
    def text(self) -> str:
        assert self.old in self.base
        return self.base.replace(self.old, self.new, 1)


def faulty_files(kind: str) -> Iterator[FaultyFile]:
    """The faulty files of a kind."""
    raw: dict[str, Any] = tomllib.loads((FOLDER / f"{kind}.toml").read_text("utf-8"))
    for case in raw["case"]:
        says = tuple(case["says"])
        yield FaultyFile(kind, raw["file"], raw["base"], case["old"], case["new"], says)


def what_is_said(load: Loader, path: Path, text: str) -> tuple[str, ...]:
    """What is said, line by line, of a file with that text."""
    path.write_text(text, "utf-8")
    try:
        load(path)
    except PXPError as error:
        return tuple(str(error).split("\n"))
    return ()


ODD = (
    "pipe",
    "folder",
    pytest.param("device", marks=pytest.mark.deep),
    pytest.param("gigabyte", marks=pytest.mark.deep),
)
"""What is no file that a reader can use: a pipe without a writer, a folder, a device without end,
and a line of a gigabyte."""


@dataclass(frozen=True)
class Reader:
    """What reads a file called `name`, which begins with `beginning`.

    A `silent` one has a result for files that it does not know; others refuse with a sentence.
    """

    read: Callable[[Path], object]
    name: str = "odd.toml"
    beginning: bytes = b""
    silent: bool = False


def check_odd(reader: Reader, kind: str, folder: Path) -> None:
    """An odd file is refused, or without effect: at once, and in bounded memory."""
    path = folder / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.write(reader.beginning)
            file.truncate(2**30)  # sparse: it takes no room on the disk
    with _bounded():
        try:
            reader.read(path)
        except (PXPError, OSError) as error:
            assert path.name in str(error), error
            return
    assert reader.silent


@contextmanager
def _bounded(seconds: int = 60, more: int = 800_000_000) -> Iterator[None]:
    """A block that may take so long, and so many bytes of memory more."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, before[1]))
    handler = signal.signal(signal.SIGALRM, _waited)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _waited(_number: int, _frame: object) -> None:
    raise AssertionError("it is waited for")
