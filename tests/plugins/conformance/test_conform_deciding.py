"""`pxp conform` of programs and services that decide by themselves what they send."""

from __future__ import annotations

import json
import runpy
import threading
from pathlib import Path

import pytest
import werkzeug
from pytest_httpserver import HTTPServer

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.conformance import programs as conformance
from pxp_fsm.plugins.conformance import views
from pxp_fsm.plugins.conformance.programs import ConformanceRequest
from tests.plugins.conformance.test_conform import FAST, OWN, ROOT, SHELL, pxp, told
from tests.waiting import PATIENCE

TASKS = str(ROOT / "examples" / "agent_protocols" / "mcp_task_server.toml")


OWN_TASK = f"{FAST} '{ROOT / 'examples' / 'own_task.py'}'"


def test_a_program_that_decides_by_itself_what_it_sends(tmp_path: Path) -> None:
    done = pxp(OWN_TASK, TASKS, "--timeout", "60", "--extra-states", "0", cwd=tmp_path)
    assert done.stdout == (
        "CONFORMS to mcp_task_server by uioco: 88 tests, 555 inputs\n"
        "Proved of a program that always answers alike after a reset and has at most 5 states "
        "(5 told apart, 0 extra), and for 7 different inputs, given when it is quiet.\n"
        "Allowed, and never seen: receive CALL from client: +RESULT to client; receive GET from "
        "client: +WORKING to client; receive GET from client: +INPUT_REQUIRED to client.\n"
        "Not tested: any other input, how long it takes, what it does besides replying.\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("reset", ["message", pytest.param("restart", marks=pytest.mark.deep)])
def test_a_deviation_with_all_that_is_allowed(tmp_path: Path, reset: str) -> None:
    found = conformance.run(ConformanceRequest(f"{OWN_TASK} --bug", TASKS, 0, 60, reset))
    assert found.exit_code == conformance.DIFFERS
    assert list(views.lines(found))[1:] == [
        "  step  input                       expected              got",
        "  1     receive CALL from client    +TASK to client       +TASK to client",
        "  2     event WORK_DONE             nothing               nothing",
        "  3     receive CANCEL from client  +ACK to client        +ACK to client",
        "! 4     receive GET from client     +COMPLETED to client  +CANCELLED to client",
        "No shorter sequence of inputs shows a difference.",
    ]
    told = json.loads(views.as_json(found))
    assert (told["relation"], told["repetitions"], told["shortest"]) == ("uioco", 1, True)
    assert told["difference"][-1] == {
        "input": "receive GET from client",
        "expected": ["+COMPLETED to client"],
        "got": ["+CANCELLED to client"],
        "fault": None,
    }
    way = tmp_path / "way.mmd"
    assert views.draw(found, way)
    assert "differs in COMPLETED#95;GET" in way.read_text("utf-8")


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        ('{"refused": "no"}', "refused"),
        ('{"did": "+TASK to client"}', "it said +TASK to client, not what it sent"),
        ('{"sent": ["TASK"]}', "it said a line that is not an answer"),
        ('{"sent": ["+TASK to client", "+TASK to client"]}', "+TASK to client, +TASK to client"),
    ],
)
def test_an_answer_that_is_not_what_was_sent(tmp_path: Path, answer: str, got: str) -> None:
    program = SHELL.replace('{"did": "reset"}', '{"sent": []}') + f"    print({answer!r}, flush=1)"
    (tmp_path / "it.py").write_text(program, "utf-8")
    said = told(ConformanceRequest(f"{FAST} '{tmp_path / 'it.py'}'", TASKS)).splitlines()
    assert said[-2].startswith("! 1     receive CALL from client")
    assert got in said[-2]


def served(httpserver: HTTPServer) -> str:
    """The program of the examples, with its bug, as a service."""
    loaded = runpy.run_path(str(ROOT / "examples" / "own_task.py"))
    servers = [loaded["Server"](bug=True)]

    def answer(request: werkzeug.Request) -> werkzeug.Response:
        asked = json.loads(request.data)
        if asked["do"] == "reset":
            servers[0], sent = loaded["Server"](bug=True), []
        elif asked["do"] == "event":
            sent = servers[0].event(asked["name"])
        else:
            sent = servers[0].receive(asked["tag"])
        body = json.dumps({"sent": [f"+{tag} to client" for tag in sent]})
        return werkzeug.Response(body, content_type="application/json")

    httpserver.expect_request("/task", method="POST").respond_with_handler(answer)
    return httpserver.url_for("/task")


def test_a_service_with_a_bug(httpserver: HTTPServer) -> None:
    assert "! 4     receive GET from client" in told(
        ConformanceRequest(served(httpserver), TASKS, 0)
    )


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ("hello", 200, "the program cannot be tested: it said a line that is not JSON: 'hello'"),
        ('{"refused": ""}', 200, "it refused a reset; a service must do what a reset asks for"),
        ("x" * 70_000, 200, "it said more than 65536 bytes"),
        ('{"sent": []}', 500, "it replied with status 500"),
        ('{"sent": []}', 302, "it replied with status 302"),
    ],
)
def test_what_is_no_service_for_this(
    httpserver: HTTPServer, body: str, status: int, problem: str
) -> None:
    httpserver.expect_request("/").respond_with_data(body, status)
    with pytest.raises(UsageError, match=problem):
        conformance.run(ConformanceRequest(httpserver.url_for("/"), TASKS))


def test_a_service_that_is_not_there(httpserver: HTTPServer) -> None:
    with pytest.raises(UsageError, match="the connection failed"):
        conformance.run(ConformanceRequest("http://127.0.0.1:1/", TASKS))
    with pytest.raises(UsageError, match="is no URL"):
        conformance.run(ConformanceRequest("http://127.0.0.1:port/", TASKS))
    with pytest.raises(UsageError, match="a service cannot be started again"):
        conformance.run(ConformanceRequest("http://127.0.0.1:1/", TASKS, reset="restart"))
    with pytest.raises(UsageError, match="--repetitions are for a program that decides by itself"):
        conformance.run(ConformanceRequest(OWN, repetitions=2, timeout=60))

    over = threading.Event()

    def late(_: werkzeug.Request) -> werkzeug.Response:
        over.wait(PATIENCE)
        return werkzeug.Response("{}")

    httpserver.expect_request("/").respond_with_handler(late)
    try:
        slow = conformance.run(ConformanceRequest(httpserver.url_for("/"), TASKS, timeout=0.2))
    finally:
        over.set()
    assert "it did not reply within 0.2 s" in next(views.lines(slow))
