"""The server of experts under hostile requests and kills."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from backends.databases import SqlBlackboard
from pxp_fsm.protocol.messages import Message
from pxp_fsm.tasks.task import HUMAN
from pxp_fsm.web.experts import answers, server
from pxp_fsm.web.experts.admission import Budget
from tests.web.expert_load import check, measured
from tests.web.experts import MINE, QuickServer, Served, served

pytestmark = pytest.mark.deep


def test_no_request_is_a_fault_of_the_server(tmp_path: Path) -> None:
    """2,000 requests, over all routes, made from the server's own description, right and wrong."""
    schemathesis = pytest.importorskip("schemathesis", reason="pip install schemathesis")
    wrong = schemathesis.GenerationMode.NEGATIVE
    with served(tmp_path / "lab.sqlite", "ann", budget=Budget(1e9, 1e9)) as found:
        ann = found.expert("ann")
        view = ann.waiting()
        described = ann.ask("GET", "/openapi.json").json()
        routes = [
            one.ok() for one in schemathesis.openapi.from_dict(described).get_all_operations()
        ]
        for route in routes:
            cases = route.as_strategy() | route.as_strategy(generation_mode=wrong)
            _ask(found, cases, view["id"], -(-2_000 // (2 * len(routes))))
        assert ann.view(view["id"])["standing"] in ("you", "partner", "over", "paused")


def _ask(found: Served, cases: st.SearchStrategy[Any], session: str, examples: int) -> None:
    """Send requests of one route as an expert and as the researcher, half of them of a session."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.booleans())
    def ask(case: Any, there: bool) -> None:
        sent = case.as_transport_kwargs()
        path = str(sent["url"]).partition("127.0.0.1")[2]
        if there:
            path = case.path.replace("{session}", session).replace("{number}", "1")
        body = {"json": sent.get("json"), "content": sent.get("data"), "params": sent.get("params")}
        if not isinstance(body["content"], str | bytes):
            del body["content"]
        for who in ("ann", ""):
            headers = {
                **{
                    name: value
                    for name, value in dict(sent.get("headers") or {}).items()
                    if name.lower() in ("content-type", "accept")
                },
                "authorization": f"Bearer {found.tokens[who]}",
            }
            try:
                answer = found.client.request(sent["method"], path, headers=headers, **body)
            except (httpx2.InvalidURL, UnicodeError, TypeError):
                continue  # no client can send it
            assert answer.status_code < 500, (path, body, answer.text)

    ask()


def test_what_is_acknowledged_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = SqlBlackboard.append

    def slowly(board: SqlBlackboard, message: Message, *more: Any) -> None:
        time.sleep(0.5 if message.sender == HUMAN else 0)
        append(board, message, *more)

    monkeypatch.setattr(SqlBlackboard, "append", slowly)
    monkeypatch.setattr(server, "PATIENCE", 0.05)
    monkeypatch.setattr(answers, "PATIENCE", 0.05)
    with served(tmp_path / "lab.sqlite", "ann") as found:
        ann = found.expert("ann")
        view = ann.gives(ann.gives(ann.waiting(), "own", **MINE), "REF")
        assert ann.reply(view, "send").status_code == 200
        session = found.runner.places[view["id"]].session
        assert [one.message.tag for one in found.runner.board.entries(session)][:2] == [
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
