"""A command of studies names what can be chosen."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import pxp


def test_an_argument_that_is_missing_comes_with_its_choices(tmp_path: Path) -> None:
    refused = pxp("study", "change", "my.toml", cwd=tmp_path)
    assert refused.returncode == 2
    assert "Choose from:\n  open,\n  pause," in refused.stderr
