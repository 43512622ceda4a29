"""Opening a database: a refused one is left unchanged, and a read-only one can be read."""

from __future__ import annotations

import ctypes
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from backends.databases.engine import database_url
from pxp_fsm.errors import BlackboardError, NotThere, UsageError
from tests.backends.records import NAME, RUN, as_stored, message, record
from tests.command_line import PLACES


def theirs(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE theirs (x)",),
        ("PRAGMA journal_mode=WAL", "CREATE TABLE theirs (x)"),
        (
            "CREATE TABLE blackboard_version (version_num)",
            "INSERT INTO blackboard_version VALUES (99)",
        ),
    ],
    ids=["other tables", "with a log", "another version"],
)
def test_what_is_refused_keeps_every_byte(
    tmp_path: Path, statements: tuple[str, ...], create: bool
) -> None:
    theirs(tmp_path / "b.sqlite", *statements)
    before = contents(tmp_path)
    with pytest.raises(BlackboardError, match=r"other tables|schema version 99"):
        SqlBlackboard(str(tmp_path / "b.sqlite"), create=create)
    assert contents(tmp_path) == before


def test_an_empty_file_is_not_filled_by_who_only_reads(tmp_path: Path) -> None:
    (tmp_path / "b.sqlite").touch()
    with pytest.raises(NotThere, match="is empty"):
        SqlBlackboard(str(tmp_path / "b.sqlite"), create=False)
    assert contents(tmp_path) == {"b.sqlite": b""}
    SqlBlackboard(str(tmp_path / "b.sqlite")).close()
    with sqlite3.connect(tmp_path / "b.sqlite") as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def unprivileged() -> None:
    """Permissions count for this process, even if it is root's (CAP_DAC_OVERRIDE and its like)."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


READING = """
import json, pathlib, sys
from tests.command_line import pxp
done = [pxp(*arguments, cwd=pathlib.Path.cwd()) for arguments in json.load(sys.stdin)]
print(json.dumps([(each.returncode, each.stdout, each.stderr) for each in done]))
"""


def run_all(commands: list[list[str]], cwd: Path) -> list[tuple[int, str, str]]:
    """The exit codes and outputs of `commands` in one process for which permissions count."""
    done = subprocess.run(
        [sys.executable, "-c", READING],
        cwd=cwd,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=unprivileged,
        env={**os.environ, "PYTHONPATH": PLACES},
    )
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
@pytest.mark.parametrize(
    ("folder_mode", "file_mode"),
    [
        (0o555, 0o444),
        pytest.param(0o555, 0o644, marks=pytest.mark.deep),
    ],
)
def test_a_database_that_may_not_be_written_can_be_read(
    tmp_path: Path, folder_mode: int, file_mode: int
) -> None:
    folder, path = tmp_path / "kept", tmp_path / "kept" / "a?b%20#.sqlite"
    folder.mkdir()
    with SqlBlackboard(str(path)) as board:
        board.start_run(RUN)
        board.start_session(record())
        board.append(*as_stored(message(1), "{}", []))
    before = contents(folder)
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    try:
        place = ("--database", str(path))
        reads = {
            NAME: ["show", *place],
            "1  m → h  INIT": ["show", NAME, *place],
            "Drawn": ["draw", NAME, *place, "-o", str(tmp_path / "a.mmd")],
            "Nothing was changed.": ["verify", str(path)],
        }
        *read, (code, _, error) = run_all([*reads.values(), ["run", "animals", *place]], tmp_path)
        for says, (done, out, wrong) in zip(reads, read, strict=True):
            assert (done, says in out) == (0, True), wrong
        assert (code, "may be written" in error) == (3, True), error
        assert "Traceback" not in error
    finally:
        folder.chmod(0o755)
    assert contents(folder) == before


def test_a_database_that_is_being_written_is_read_with_its_latest_message(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    with SqlBlackboard(str(path)) as board:
        board.start_run(RUN)
        board.start_session(record())
        with SqlBlackboard(str(path), create=False) as reader:
            board.append(*as_stored(message(1), "{}", []))
            assert len(reader.events(NAME)) == 1


@pytest.mark.parametrize("url", ["postgresql://u:secret@h:notaport/db", "://", "sqlite://:x:y"])
def test_a_url_that_cannot_be_read_is_said_without_its_password(url: str) -> None:
    with pytest.raises(UsageError, match="cannot be read; write sqlite:///FILE") as raised:
        database_url(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("query", "waits"), [("", 1), ("?synchronous=NORMAL", 1), ("?synchronous=full", 2)]
)
def test_when_sqlite_waits_for_the_disk_is_chosen_in_the_url(
    tmp_path: Path, query: str, waits: int
) -> None:
    for _time in ("when it is made", "when it is there"):
        with (
            SqlBlackboard(f"sqlite:///{tmp_path}/b.sqlite{query}") as board,
            board.engine.connect() as connection,
        ):
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == waits
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_database_that_a_power_cut_could_destroy_is_not_offered(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NORMAL or FULL"):
        SqlBlackboard(f"sqlite:///{tmp_path}/b.sqlite?synchronous=OFF")
    assert contents(tmp_path) == {}
