"""A session that ends by a fault says its cause where it happens, with a user's own traceback."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from pxp_fsm.experiments.runs import Reporter
from pxp_fsm.experiments.summary import causes
from pxp_fsm.protocol.rules import Ending
from tests.experiments.test_own_tasks import NUMBERS, PLAN


def broken(question: pxp.Question) -> pxp.Answer:
    raise KeyError("of \x1b[2J mine")


@dataclass
class Over:
    name: str = "r/1/1"
    ending: Ending | None = Ending.NO_ANSWER
    cause: str = "it said nothing"
    fault: Exception | None = None


def test_a_run_reports_each_cause_once_with_the_users_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        run = pxp.run(PLAN, board, task=NUMBERS, human=pxp.respondent(broken), name="r")
        told = list(causes(board, run.name))
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sum("ended by a fault" in line for line in said) == 1
    assert said[0].startswith("Session r/1/1 ended by a fault, no answer: broken: KeyError")
    assert said[1] == "Traceback (most recent call last):"
    assert any(f'{Path(__file__).name}", line ' in line and "in broken" in line for line in said)
    assert said[-1].startswith("KeyError: ")
    assert "\x1b" not in "".join(said)
    (line,) = told
    assert line.startswith("  no answer: broken: KeyError")
    assert line.endswith("(8 sessions)")


def test_causes_are_reported_once_and_not_without_end() -> None:
    reporter = Reporter()
    assert list(reporter.lines(Over())) == [
        "Session r/1/1 ended by a fault, no answer: it said nothing"
    ]
    assert list(reporter.lines(Over(name="r/1/2"))) == []
    assert list(reporter.lines(Over(ending=Ending.RATIFIED, cause="RATIFY RATIFY"))) == []
    assert list(reporter.lines(Over(ending=None, cause=""))) == []
    many = sum(len(list(reporter.lines(Over(cause=str(number))))) for number in range(1000))
    assert many == 19


def test_a_session_shows_its_cause() -> None:
    def silent(question: pxp.Question) -> pxp.Answer:
        raise pxp.NoAnswer("the lab is closed")

    agent = pxp.Agent(silent, match=pxp.exact, agree=pxp.exact)
    session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="x").run_sync()
    assert repr(session).endswith("no answer: silent: the lab is closed>")
