"""A file of SQLite in which one byte is damaged: found, or without effect, never a traceback."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard, schema
from backends.databases.verify import NOT_COVERED, verify
from pxp_fsm.errors import BlackboardError
from pxp_fsm.sessions.events import Event
from tests.backends.records import NAME, RUN, message, record
from tests.command_line import pxp
from tests.sampling import WHOLE

COVERED = [table.name for table in schema.metadata.sorted_tables if table.name not in NOT_COVERED]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return small_database(tmp_path_factory.mktemp("whole") / "b.sqlite")


def small_database(path: Path) -> bytes:
    """The bytes of a small database, on pages of 512 bytes, without a log beside it."""
    with SqlBlackboard(str(path)) as board:
        board.start_run(RUN)
        board.start_session(record(NAME, 1))
        for number in (1, 2):
            said = message(number, "", f"y{number}", f"e{number}", NAME)
            board.append(NAME, Event.of_message(said, "noted"))
        board.end(NAME, "late", "AGREE: no answer", [])
    with closing(sqlite3.connect(path)) as connection:
        for pragma in ("journal_mode=DELETE", "page_size=512"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("VACUUM")
    return path.read_bytes()


def content(path: Path) -> list[list[tuple[object, ...]]]:
    """What the tables hold that are evidence, read without our code."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        return [connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in COVERED]


def damaged(path: Path, whole: bytes, at: int, draw: random.Random) -> Path:
    """The database with another byte at a place, and no files of another one beside it."""
    byte = whole[at] ^ draw.choice([0xFF, 1 << draw.randrange(8)])
    path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
    for end in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    return path


def judged(whole: bytes, places: Iterable[int], tmp_path: Path, seed: int) -> dict[str, int]:
    """How many damages were refused, found and without effect; fails at any other outcome."""
    draw, counts = random.Random(seed), {"refused": 0, "found": 0, "same": 0}
    path = tmp_path / "b.sqlite"
    (tmp_path / "whole.sqlite").write_bytes(whole)
    before = content(tmp_path / "whole.sqlite")
    for at in places:
        try:
            report = verify(str(damaged(path, whole, at, draw)))
        except BlackboardError:
            counts["refused"] += 1
            continue
        if report.problems:
            counts["found"] += 1
        else:
            assert content(path) == before, f"byte {at} differs, and nothing was said"
            counts["same"] += 1
    return counts


@pytest.mark.deep
def test_one_damaged_byte_is_found_or_has_no_effect(whole: bytes, tmp_path: Path) -> None:
    counts = judged(whole, range(11, len(whole), len(whole) // 30), tmp_path, 1)
    assert min(counts.values()) > 1


@pytest.mark.deep
def test_damaged_bytes_all_over_a_file(whole: bytes, tmp_path: Path) -> None:
    judged(whole, range(0, len(whole), 1 if WHOLE else 131), tmp_path, 0)


@pytest.mark.parametrize(
    "command", ["verify b.sqlite", "show b.sqlite", "list costs --database b.sqlite"]
)
def test_a_damaged_name_ends_a_command_with_a_sentence(
    command: str, whole: bytes, tmp_path: Path
) -> None:
    at = whole.index(b"CREATE TRIGGER exports_unchanged") + len("CREATE TRIGGER e")
    (tmp_path / "b.sqlite").write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
    done = pxp(*command.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert "malformed" in done.stderr
    assert "put a copy back" in done.stderr
