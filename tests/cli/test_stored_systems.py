"""Stored sessions of systems on the command line: shown, monitored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pxp_fsm as pxp
from pxp_fsm.automata.channels import parse_channel
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
    assert lines[2] == "channel     sync (seed 0)"
    assert lines[4].startswith("grants      <lambda> guards=<lambda>, table grants ")
    assert lines[5:8] == [
        '  1  asks>grants ASK  "\\u001b[31m red"',
        '  2  grants>asks GRANT  {"seat":1}',
        "     because FREE yes",
    ]
    assert lines[-1] == "ended       finished (every member is in an end state)"
    listed = ran(database, "show").output
    assert "lab/2" in listed
    assert listed.splitlines()[0].split() == ["session", "instance", "protocol", "actions", "ended"]
    assert [row["actions"] for row in json.loads(ran(database, "show", "--json").output)] == [
        "2"
    ] * 2


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        ("sync", ""),
        ("fifo:1", ""),
        ("lossy:1", "loss 0.3"),
        ("reordering:2", ""),
        ("duplicating:1", "duplication 0.2"),
        ("lossy+duplicating:1", "loss 0.3, duplication 0.2"),
        ("fifo:1,a:b=lossy:1", "loss 0.3"),
    ],
)
def test_only_the_faults_that_a_channel_can_have_are_told(channel: str, said: str) -> None:
    assert pxp.Faults(loss=0.3, duplication=0.2).of(parse_channel(channel)) == said


def test_what_sessions_have_is_named_by_their_kind(tmp_path: Path) -> None:
    """Two agents send messages; of both kinds in one list there are events."""
    path = tmp_path / "both.sqlite"
    act = {"asks": lambda _turn: None, "grants": lambda _turn: None}

    async def answer(_question: pxp.Question) -> pxp.Answer:
        return pxp.Answer("yes", "so it is")

    two = {name: pxp.Agent(answer, match=str.__eq__, agree=str.__eq__) for name in ("m", "h")}
    with pxp.open_blackboard(path) as board:
        pxp.Session(pxp.Interact(), two, instance="x", name="two/1", blackboard=board).run_sync()
        headings = ran(path, "show").output.splitlines()[0].split()
        assert headings == ["session", "instance", "protocol", "messages", "ended"]
        pxp.Session(SYSTEM, act, name="lab/1", blackboard=board).run_sync()
    assert ran(path, "show").output.splitlines()[0].split()[3] == "events"
    rows = json.loads(ran(path, "show", "--json").output)
    assert [key for row in rows for key in row if key in ("messages", "actions", "events")] == [
        "messages",
        "actions",
    ]


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
