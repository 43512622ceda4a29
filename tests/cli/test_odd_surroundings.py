"""Commands in odd surroundings end with a sentence, never with a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pxp_fsm.errors import DataError
from pxp_fsm.tasks import own_data

PXP = [sys.executable, "-m", "pxp_fsm.cli"]


def ended(command: bytes, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command line of the shell comes to."""
    environment = dict(os.environ)
    line = b"exec " + b" ".join(part.encode() for part in PXP) + b" " + command
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder,
        env=environment, errors="replace",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "codes"),
    [
        (b"--version >&-", {0}),
        (b"show --database $'b\\xff.sqlite'", {2, 3}),
        pytest.param(b"--version >&- 2>&-", {0}, marks=pytest.mark.deep),
        pytest.param(b"check $'t\\xff.toml'", {2}, marks=pytest.mark.deep),
        pytest.param(
            b"run animals --instances 1 --data $'d\\xff.csv'", {2}, marks=pytest.mark.deep
        ),
        pytest.param(b"import $'r\\xff.jsonl'", {2}, marks=pytest.mark.deep),
        pytest.param(b"verify $'b\\xff.sqlite'", {2, 3}, marks=pytest.mark.deep),
    ],
)
def test_it_ends_with_a_sentence(command: bytes, codes: set[int], tmp_path: Path) -> None:
    for name in (b"t\xff.toml", b"d\xff.csv", b"r\xff.jsonl", b"b\xff.sqlite"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("no such thing")
    done = ended(command, tmp_path)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in codes, done.stderr


def test_a_csv_file_of_gigabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(3 * 2**30)  # sparse: it takes no room on the disk
    with pytest.raises(
        DataError, match="3,221,225,472 bytes; a file of data has at most 200,000,000: take"
    ):
        own_data.read(path)
