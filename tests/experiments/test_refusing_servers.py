"""Servers that refuse: the run ends with their words, counts nothing, and is carried on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from tests.experiments.scripted_server import Table
from tests.sampling import sampled

KINDS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
DATABASE = "runs/blackboard.sqlite"


def one_at_a_time() -> tuple[str, str]:
    """Options with a models file of the current folder, so that one request is sent at a time."""
    Path("one.toml").write_text("[models]\nin_flight = 1\n")
    return "--models", "one.toml"


@pytest.mark.parametrize(
    ("kind", "status"),
    sampled([("openai", 400), ("openai", 403), ("anthropic", 404), ("anthropic", 401)], 4),
)
def test_what_is_wrong_at_the_first_calls_ends_the_run_and_counts_nothing(
    pxp: Callable[..., str], httpserver: HTTPServer, kind: str, status: int
) -> None:
    said = {"error": {"type": "x", "message": f"we refuse you, {status} times"}}
    httpserver.expect_request(KINDS[kind]).respond_with_json(said, status=status)
    url = httpserver.url_for("/v1" if kind == "openai" else "").rstrip("/")
    model = ("--machine", f"{kind}:x@{url}")
    told = pxp("run", "animals", "--instances", "3", *model, *one_at_a_time(), code=2)
    assert f"HTTP {status}" in told
    assert f"we refuse you, {status} times" in told
    assert "Traceback" not in told
    assert len(httpserver.log) == 1
    with SqlBlackboard(DATABASE, create=False) as board:
        assert [record.ending for record in board.sessions("animals-1")] in ([], [None])
        assert not any(board.events(record.session) for record in board.sessions("animals-1"))
        assert not any(cost.calls or cost.dollars for cost in board.costs("animals-1"))


@pytest.mark.deep
def test_a_run_that_was_refused_is_carried_on(
    pxp: Callable[..., str], table: Table, httpserver: HTTPServer
) -> None:
    refusal = httpserver.expect_oneshot_request("/v1/chat/completions")
    refusal.respond_with_json({"error": {"message": "no such model"}}, status=404)
    models = ("--machine", table.model, "--set", f"agents.judge={table.model}")
    told = pxp("run", "animals", "--instances", "1", *models, *one_at_a_time(), code=2)
    assert "no such model" in told
    assert not table.asked
    assert "Sessions ended: " in pxp("run", "animals", "animals-1")
    with SqlBlackboard(DATABASE, create=False) as board:
        assert [record.ending for record in board.sessions("animals-1")] == ["ratified"]


@pytest.mark.deep
def test_a_connection_that_is_refused_is_tried_three_times_and_said_at_once(
    pxp: Callable[..., str], tmp_path: Path
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{closed.getsockname()[1]}"
    told = pxp(
        "run", "animals", "--instances", "3", "--machine", f"openai:x@http://{where}", code=2
    )
    assert "tried 3 times: check the server" in told
    assert where in told
    assert "attempt 1 of 3" in told
    with SqlBlackboard(str(tmp_path / DATABASE), create=False) as board:
        assert not any(board.events(record.session) for record in board.sessions("animals-1"))
