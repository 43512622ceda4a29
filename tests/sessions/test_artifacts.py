"""What is written is whole or not there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pxp_fsm.artifacts import atomic_path, write_atomically
from pxp_fsm.errors import UsageError


def test_a_file_is_replaced_by_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, "é\n")
    write_atomically(path, b"\xc3\xa9")
    assert path.read_bytes() == "é".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with atomic_path(path) as draft:
        draft.mkdir()
        (draft / "part").touch()
        assert not path.exists()
    assert [one.name for one in path.iterdir()] == ["part"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_fails_leaves_everything_as_it_was(tmp_path: Path, folder: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_path(path) as draft:
            if folder:
                draft.mkdir()
                (draft / "part").touch()
            else:
                draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_names_the_file_and_not_its_draft(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "full").touch()
    with pytest.raises(OSError, match=r"/taken: cannot be written \("):
        write_atomically(tmp_path / "taken", "x")
    with pytest.raises(UsageError, match="there is no folder"):
        write_atomically(tmp_path / "nowhere" / "a.txt", "x")
    assert [one.name for one in tmp_path.iterdir()] == ["taken"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a draft goes after an hour")
def test_the_next_to_write_removes_what_a_killed_process_left_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    (tmp_path / ".a.txt.0123").touch()  # of somebody else
    code = (
        "import os, signal, sys; from pathlib import Path; from pxp_fsm.artifacts import *\n"
        "with atomic_path(Path(sys.argv[1])) as draft:\n"
        "    draft.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    (left,) = tmp_path.glob(".a.txt.*-*")
    assert (path.read_text(), left.read_text()) == ("old", "half")
    with atomic_path(path) as draft:
        assert not left.exists()
        draft.write_text("mine")
        write_atomically(path, "meanwhile")  # this process is running: its draft stays
        assert draft.exists()
        os.utime(draft, (0, time.time() - 3700))
        write_atomically(path, "an hour later")
        assert not draft.exists()
        draft.write_text("new")
    assert path.read_text() == "new"
    assert {beside.name for beside in tmp_path.iterdir()} == {"a.txt", ".a.txt.0123"}
