"""Faulty files of each kind, with what is said of them word by word: `tests/kept/faults`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
