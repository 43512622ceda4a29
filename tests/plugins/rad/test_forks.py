"""A session is carried on by a run of its own task only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import pxp


@pytest.mark.deep
def test_a_session_of_animals_is_not_carried_on_by_findings(tmp_path: Path) -> None:
    assert pxp("run", "animals", "--instances", "2", cwd=tmp_path).returncode == 0
    done = pxp("run", "rad", "animals-1/1/2@2", cwd=tmp_path)
    assert done.returncode == 2
    assert "is of task animals, not rad" in done.stderr
