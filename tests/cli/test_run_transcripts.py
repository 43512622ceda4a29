"""What `pxp run` prints of a system: new, resumed, forked; kept word by word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.command_line import pxp

KEPT = Path(__file__).parents[1] / "kept" / "transcripts"
COMMIT = Path(__file__).parents[2] / "examples/two_phase_commit/two_phase.toml"

Commands = Mapping[str, tuple[str, ...]]

SYSTEM: Commands = {
    "system-new": ("SYSTEM", "--repetitions", "3", "--seed", "5"),
    "system-one": ("SYSTEM", "--seed", "5"),
    "system-over": ("SYSTEM", "two_phase-1"),
    "system-forked": ("SYSTEM", "two_phase-2/1/1@2", "--seed", "9"),
    "system-many": ("SYSTEM", "--repetitions", "25", "--seed", "1"),
    "system-monitored": ("SYSTEM", "--monitor", "G !event.CRASH"),
    "system-wrong": ("SYSTEM", "--set", "learning.keep=never"),
    "system-unknown": ("SYSTEM", "two_phase-9"),
}


def transcript(folder: Path, name: str, arguments: tuple[str, ...]) -> str:
    """The command, its exit code, and what it has printed; the example's path left out."""
    given = [str(COMMIT) if word == "SYSTEM" else word for word in arguments]
    done = pxp("run", *given, cwd=folder)
    told = f"$ pxp run {' '.join(arguments)}\n{done.stdout}--\n{done.stderr}-- {done.returncode}\n"
    told = told.replace(str(COMMIT), "SYSTEM").replace(f"{COMMIT.parents[2]}/", "")
    return re.sub(r"\d+(\.\d+)? s\b", "N s", told)


def check(folder: Path, commands: Commands) -> None:
    for name, arguments in commands.items():
        told, path = transcript(folder, name, arguments), KEPT / f"{name}.txt"
        assert told == path.read_text("utf-8"), name


def test_runs_of_a_system_print_what_they_printed(tmp_path: Path) -> None:
    check(tmp_path, SYSTEM)
