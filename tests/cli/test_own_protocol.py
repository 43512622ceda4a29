"""The workbook examples/own_protocol: its page shows its files, its picture, and what SPIN says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from pxp_fsm.cli.main import commands

WORKBOOK = Path(__file__).parents[2] / "examples/own_protocol"
PAGE = (WORKBOOK / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_shows_the_files_that_lie_beside_it() -> None:
    shown = {text.split()[1]: text for text in blocks("toml")}
    assert shown.pop("empty.toml") == "# empty.toml\n"
    assert shown.pop("begun.toml") == '# begun.toml\ninitial = "IDLE"\n'
    beside = {path.name: path.read_text("utf-8") for path in WORKBOOK.glob("*.toml")}
    assert shown == beside


def test_the_picture_on_the_page_is_the_counterexample_that_is_drawn(tmp_path: Path) -> None:
    (command,) = re.findall(r"^\$ pxp (draw deal.toml .*)$", PAGE, re.MULTILINE)
    arguments = command.replace("deal.toml", str(WORKBOOK / "deal.toml")).split()
    arguments[-1] = str(tmp_path / "crossing.mmd")
    assert CliRunner().invoke(commands, arguments).exit_code == 0
    assert (tmp_path / "crossing.mmd").read_text("utf-8") == blocks("mermaid")[0]


@pytest.mark.deep
@pytest.mark.skipif(
    not (shutil.which("spin") and shutil.which("gcc")), reason="needs SPIN and a C compiler"
)
def test_spin_says_what_the_page_says_it_does(tmp_path: Path) -> None:
    (command,) = re.findall(r"^\$ pxp (export .*)$", PAGE, re.MULTILINE)
    arguments = re.findall(r'"[^"]*"|\S+', command)
    arguments = [one.strip('"') for one in arguments]
    target = tmp_path / "bargain.pml"
    named = {"bargain.pml": str(target)}
    named |= {path.name: str(path) for path in WORKBOOK.glob("*.toml")}
    told = CliRunner().invoke(commands, [named.get(one, one) for one in arguments])
    assert told.exit_code == 0, told.output
    for line in blocks("sh")[0].splitlines():
        done = subprocess.run(
            line.split(), cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert "errors: 0" in done.stdout
