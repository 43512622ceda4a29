"""Commands in odd surroundings end with a sentence, never with a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pxp_fsm.errors import DataError
from pxp_fsm.tasks import own_data
from tests.backends.test_database_opening import run_all
from tests.command_line import pxp

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


WRITES = [
    "run animals --instances 1",
    "run animals --instances 1 --database {database} --output out",
    "run animals --instances 1 --output {folder} --database new.sqlite",
    "check interact --certificate c.json",
    "check pxp -o c.xml",
    "draw pxp",
    "draw animals-1/1/1 --database {database}",
    "export animals-1 --database {database}",
    "export animals-1 --format zip --database {database}",
    "export pxp -o p.scxml",
    "report {database} animals-1",
    "audit {database} animals-1 -o a.html",
    "import {folder}/run.jsonl --database new.sqlite",
    "serve pxp -o x.html",
    "lan new triage -o triage.lan.json",
]


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_a_folder_without_permission_to_write_ends_commands_with_a_sentence(tmp_path: Path) -> None:
    folder, database = tmp_path / "kept", str(tmp_path / "b.sqlite")
    folder.mkdir()
    made = pxp("run", "animals", "--instances", "2", "--database", database, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    place = ("--database", database, "-o", "run.jsonl")
    assert pxp("export", "animals-1", *place, cwd=tmp_path).returncode == 0
    folder.chmod(0o555)
    try:
        commands = [
            command.format(database=database, folder=tmp_path).split() for command in WRITES
        ]
        for command, (code, out, error) in zip(commands, run_all(commands, folder), strict=True):
            assert "Traceback" not in out + error, (command, error)
            assert code in (2, 3), (command, out)
            assert re.search(r"[Pp]ermission|may be written", error), error
            assert len(error.splitlines()) < 4, error
        assert [*folder.iterdir()] == []
    finally:
        folder.chmod(0o755)
