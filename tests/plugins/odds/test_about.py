"""Odds on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import pxp


def test_odds_of_interact_need_no_behaviour(tmp_path: Path) -> None:
    done = pxp("odds", "interact", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    alike = "A=1/4,B=1/4,C=1/4,D=1/4,revise=1/2"
    given = pxp("odds", "interact", "--machine", alike, "--human", alike, cwd=tmp_path)
    first, _, rest = done.stdout.partition("\n")
    assert alike in first
    assert rest == given.stdout
    assert pxp("odds", "interact", "--human", alike, cwd=tmp_path).returncode == 2
