"""Files that are written whole: what a killed process leaves behind is swept by the next."""

from __future__ import annotations

import os
from pathlib import Path

from pxp_fsm.artifacts import write_atomically


def test_old_drafts_of_a_file_are_swept_and_nothing_else(tmp_path: Path) -> None:
    abandoned, folder = tmp_path / ".n.json.0123abcd-1f-0123", tmp_path / ".n.json.89abcdef-2a-4567"
    abandoned.write_text("half")
    folder.mkdir()
    (folder / "part").write_text("half")
    kept = [
        tmp_path / name
        for name in (".n.json.fedcba98-1-89ab", ".other.json.0123abcd-1f-0123", ".n.json.mine")
    ]
    for path in kept:
        path.write_text("somebody's")
    for path in (abandoned, folder, *kept[1:]):
        os.utime(path, (0, 0))
    write_atomically(tmp_path / "n.json", "whole")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "n.json"])
