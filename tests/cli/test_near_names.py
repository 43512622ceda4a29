"""A name that is nothing is answered with the nearest that is something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import pxp

KEPT = Path(__file__).parents[1] / "kept"


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("chekc", "interact"), "did you mean check"),
        (("check", "interact", "--propery", "x"), "Did you mean '--property'?"),
        (("check", "interact", "--property", "strong-onse"), "did you mean strong-once"),
        (("run", "lables"), "did you mean labels?"),
        (("help", "no-deadlok"), "did you mean no-deadlock"),
        (("draw", "interct"), "did you mean interact?"),
        (("check", "kept/experimnt.toml"), "did you mean kept/experiment.toml?"),
        (("check", "a=kept/experimnt.toml", "b=pxp"), "did you mean kept/experiment.toml?"),
        (("import", "experimnt.toml"), "does not exist; give"),
        (("import", "kept/experimnt.toml"), "did you mean kept/experiment.toml? Give"),
        (("list", "runs", "--database", "kept/run.sqlite"), "did you mean kept/runs.sqlite?"),
        (("report", "kept/runs.sqlite", "drg-1"), "did you mean drug-1"),
    ],
)
def test_the_nearest_name_is_told(tmp_path: Path, words: tuple[str, ...], near: str) -> None:
    (tmp_path / "kept").symlink_to(KEPT)
    done = pxp(*words, cwd=tmp_path)
    assert (done.returncode, near in done.stderr) == (2, True), done.stderr
