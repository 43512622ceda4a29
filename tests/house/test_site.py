"""The site is built without a warning, its notebooks run, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import pxp_fsm as pxp
from proofs.claims.catalogue import CLAIMS
from proofs.subjects import NAMES
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments.files import EXPERIMENT

ROOT = Path(__file__).parents[2]
CODE = ' class="docutils literal notranslate"><span class="pre">'


@pytest.mark.deep
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="the site needs the extra site")
    pytest.importorskip("myst_nb", reason="the site needs the extra site")
    pytest.importorskip("sphinx_copybutton", reason="the site needs the extra site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    names = {path.relative_to(tmp_path).as_posix().removesuffix(".html") for path in pages}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= names
    for path, text in pages.items():
        loaded = re.findall(r"<(?:script|img|link)[^>]* (?:src|href)=\"(https?:[^\"]*)", text)
        assert loaded == [], path
    reference = (tmp_path / "reference" / "api" / "pxp.html").read_text("utf-8")
    known = {name for name in pxp.__all__ if f'id="pxp_fsm.{name}"' in reference}
    rooms = {path.stem for path in (tmp_path / "reference" / "api").glob("*.html")}
    assert known | rooms >= set(pxp.__all__)
    told = {path.stem for path in (tmp_path / "reference" / "commands").glob("*.html")}
    assert told == {"pxp", *commands.list_commands(click.Context(commands))}
    explained = (tmp_path / "reference" / "checks.html").read_text("utf-8")
    assert explained.count("Why it matters: ") == len(NAMES)
    claims = (tmp_path / "reference" / "claims.html").read_text("utf-8")
    assert claims.count("Source: ") == len(CLAIMS)
    assert "Source: [B] section 4.3, which reports the sequence." in claims
    files = (tmp_path / "reference" / "schemas" / "an-experiment.html").read_text("utf-8")
    assert not [
        key for key in EXPERIMENT.schema()["properties"] if f"<li><p><code{CODE}{key}<" not in files
    ]
    assert r">>> |\\.\\.\\. |\\$ " in (tmp_path / "_static" / "copybutton.js").read_text("utf-8")
