"""Stored sessions of systems on the command line: shown, monitored."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pxp_fsm as pxp
from pxp_fsm.cli.main import commands
from tests.backends.test_members import SYSTEM


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "lab.sqlite"
    grants = pxp.Actor(lambda _turn: {"seat": 1}, guards=lambda _turn: "FREE")
    with pxp.open_blackboard(path) as board:
        for name in ("lab/1", "lab/2"):
            pxp.Session(
                SYSTEM,
                {"asks": lambda _turn: pxp.Intent("ASK", "\x1b[31m red"), "grants": grants},
                name=name,
                instance="a cinema",
                blackboard=board,
            ).run_sync()
    return path


def ran(database: Path, *arguments: str) -> Result:
    found = CliRunner().invoke(commands, [*arguments, "--database", str(database)])
    assert "Traceback" not in found.output
    return found


def test_a_session_is_shown_with_its_members_and_actions(database: Path) -> None:
    lines = ran(database, "show", "lab/1").output.splitlines()
    assert lines[1] == "instance    a cinema"
    assert lines[2] == "channel     sync (seed 0, loss 0.1, duplication 0.1)"
    assert lines[4].startswith("grants      <lambda> guards=<lambda>, table grants ")
    assert lines[5:8] == [
        '  1  asks>grants ASK  "\\u001b[31m red"',
        '  2  grants>asks GRANT  {"seat":1}',
        "     because FREE yes",
    ]
    assert lines[-1] == "ended       finished (every member is in an end state)"
    listed = ran(database, "show").output
    assert "lab/2" in listed


def test_formulas_are_monitored_on_a_run_and_on_a_session(database: Path) -> None:
    whole = ran(database, "monitor", "lab", "F asks@OVER", "G !grants.GRANT")
    assert whole.exit_code == 1
    assert whole.output.splitlines() == [
        "Monitor F asks@OVER: true in 2",
        "Monitor G !grants.GRANT: false in 2: false in lab/1 at action 2 (grants>asks GRANT), "
        "lab/2 at action 2 (grants>asks GRANT)",
    ]
    one = ran(database, "monitor", "lab/1", "F grants.GRANT")
    assert one.exit_code == 0
    assert one.output.split("\n")[1:4] == [
        "  0                   presumably false",
        "  1 asks>grants ASK   presumably false",
        "  2 grants>asks GRANT  true",
    ]
