"""Caps of a run whose processes are killed again and again: the server counts what it bills.

It bills what it answers and what a gateway in front of it gives up, not what it is too busy for.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from tests.backends.model_servers import completion
from tests.command_line import PLACES

PRICE = 1e-5
CATALOGUE = """
[[server]]
models = "openai:x@*"
can = ["schema"]

[[price]]
models = "openai:x@*"
input = 10
output = 10
as_of = 2026-01-01
"""


@pytest.mark.deep
@pytest.mark.parametrize("executor", [None, "processes://2"])
def test_a_cap_on_cost_holds_over_kills_and_resumes(
    executor: str | None, httpserver: HTTPServer, tmp_path: Path
) -> None:
    kills, unsettled = spend(1, httpserver, tmp_path, executor)
    assert kills >= 3
    assert unsettled >= 1


def spend(
    seed: int, httpserver: HTTPServer, tmp_path: Path, executor: str | None = None
) -> tuple[int, int]:
    """Kill a run with a cap again and again, until it stops for its cap.

    With an `executor`, one of its workers is killed as well as the process that started them. How
    often something was killed, and how many calls have no known end. `AssertionError` where more
    was billed than is stored, or than the cap.
    """
    draw, cap, billed, kills = random.Random(seed), 0.60, 0.0, 0
    dies_at = 0.0  # what is billed when the process is killed, in the middle of its next call

    def reply(_request: Request) -> Response:
        nonlocal billed, dies_at, kills
        time.sleep(draw.uniform(0.01, 0.1))
        if billed > dies_at and running.poll() is None and kills < 4:
            kills += 1
            workers = workers_of(running.pid)
            if workers and draw.random() < 0.5:
                os.kill(draw.choice(workers), signal.SIGKILL)
                dies_at = billed + draw.uniform(0.0, 0.05)
            else:
                running.kill()
                running.wait()
        used = {"prompt_tokens": draw.randint(100, 1000), "completion_tokens": draw.randint(1, 300)}
        if draw.random() < 0.1:
            return Response("busy", status=503)
        billed += sum(used.values()) * PRICE
        if draw.random() < 0.1:
            return Response("the server behind was too slow", status=504)
        said = json.dumps({"prediction": "worm", "explanation": f"reason {draw.random()}"})
        return Response(
            json.dumps({**completion(said), "usage": used}), mimetype="application/json"
        )

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(reply)
    (tmp_path / "own.toml").write_text(f"{CATALOGUE}\n[models]\nin_flight = 8\n")
    model = f"openai:x@{httpserver.url_for('/v1')}"
    pxp = [sys.executable, "-m", "pxp_fsm.cli", "run", "animals", "--database", "b.sqlite"]
    limits = ["--max-dollars", str(cap), "--models", "own.toml"]
    limits += [] if executor is None else ["--executor", executor]
    plan = ["--instances", "12", "--repetitions", "40", "--machine", model]
    environment = {**os.environ, "PYTHONPATH": PLACES}
    code = None
    while code in (None, -9):
        dies_at = billed + draw.uniform(0.0, 0.05)
        resumed = ["animals-1"] if code else plan
        with subprocess.Popen(
            [*pxp, *resumed, *limits], cwd=tmp_path, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as running:  # fmt: skip
            said = running.stderr.read() if running.stderr is not None else b""
        code = running.returncode
    assert b" would be passed" in said, said
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        spent = board.spending("animals-1")
        (cost,) = board.costs("animals-1")
    assert verify(str(tmp_path / "b.sqlite")).problems == ()
    assert billed <= spent.dollars + 1e-9
    assert spent.dollars <= cap + 1e-9
    assert cost.dollars == pytest.approx(spent.dollars)
    return kills, cost.unsettled


def workers_of(process: int) -> list[int]:
    """The worker processes that a process has started; none where the system does not say."""
    children = Path(f"/proc/{process}/task/{process}/children")
    workers = list[int]()
    with suppress(OSError):
        for child in map(int, children.read_text().split()):
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                workers.append(child)
    return workers
