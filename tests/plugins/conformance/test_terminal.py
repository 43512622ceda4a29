"""Ctrl-C while a program is tested."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.test_terminal import PXP
from tests.command_line import interrupted, take_sigint
from tests.waiting import until


def test_ctrl_c_anywhere_is_one_line(tmp_path: Path) -> None:
    """Here in `conform`, which waits for a program that never answers."""
    (tmp_path / "silent.py").write_text(
        "import pathlib, time\npathlib.Path('began').touch()\ntime.sleep(600)\n", "utf-8"
    )
    process = subprocess.Popen(
        [*PXP, "conform", f"{sys.executable} silent.py", "--timeout", "600"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_sigint,  # noqa: PLW1509 - no threads here
    )
    until(lambda: process.poll() is not None or (tmp_path / "began").exists())
    _, error = interrupted(process)
    assert (process.returncode, error) == (130, "Stopped.\n")
