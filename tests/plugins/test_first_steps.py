"""What people try first, with all plug-ins."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.test_first_steps import ROOT
from tests.command_line import pxp as command


@pytest.mark.deep
def test_the_commands_in_the_table_of_the_readme_run_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    listed = re.findall(
        r"\| `pxp ([^`]+)` \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    serve = [one for one in listed if one.startswith("serve")]
    assert (len(listed), len(serve)) == (7, 1)
    for one in listed:
        if one not in serve:
            done = command(*shlex.split(one), cwd=tmp_path)
            assert done.returncode == 0, f"{one}\n{done.stdout}{done.stderr}"
