"""The server of experts whose database is slow."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.sessions.events import Event
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.experts import answers, pages
from tests.web.experts import MINE, served

pytestmark = pytest.mark.deep


def test_what_is_acknowledged_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = SqlBlackboard.append

    def slowly(board: SqlBlackboard, session: str, event: Event) -> None:
        time.sleep(0.5 if event.carried.sender == HUMAN else 0)
        append(board, session, event)

    monkeypatch.setattr(SqlBlackboard, "append", slowly)
    monkeypatch.setattr(pages, "PATIENCE", 0.05)
    monkeypatch.setattr(answers, "PATIENCE", 0.05)
    with served(tmp_path / "lab.sqlite", "ann") as found:
        ann = found.expert("ann")
        view = ann.gives(ann.gives(ann.waiting(), "own", **MINE), "REF")
        assert ann.reply(view, "send").status_code == 200
        session = found.host.places[view["id"]].session
        assert [one.carried.tag for one in found.host.board.events(session)][:2] == [
            "INIT",
            "REFUTE",
        ]
