"""The server of experts under hostile requests and kills."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.sessions.events import Event
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.experts import answers, pages
from pxp_fsm.web.guard import RequestBudget
from tests.web.expert_load import check, measured
from tests.web.experts import MINE, QuickServer, served
from tests.web.requests import ask_every_route

pytestmark = pytest.mark.deep


def test_no_request_is_a_fault_of_the_server(tmp_path: Path) -> None:
    with served(tmp_path / "lab.sqlite", "ann", budget=RequestBudget(1e9, 1e9)) as found:
        ann = found.expert("ann")
        view = ann.waiting()
        known = {"{session}": view["id"], "{number}": "1"}
        ask_every_route(found.client, [found.tokens["ann"], found.tokens[""]], known)
        assert ann.view(view["id"])["standing"] in ("you", "partner", "over", "paused")


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


def test_kills_under_load_lose_and_double_nothing(tmp_path: Path) -> None:
    lab = QuickServer(tmp_path, 4, 1)
    with lab:
        load = asyncio.run(measured(lab, 4, 3, 3_600, thinks=0.2))  # until all are over
    stored, lost, doubled = check(lab.database, load)
    assert stored >= 4
    assert (lost, doubled) == (0, 0)
