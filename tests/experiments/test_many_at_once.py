"""Many at once: commands on one database, and sessions of several repetitions."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backends.databases import SqlBlackboard
from backends.models import registry
from backends.models.settings import Settings
from pxp_fsm.experiments import costs, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from tests.backends.model_servers import completion
from tests.waiting import PATIENCE

MODEL = "openai:x@http://localhost:1/v1"
FORM = json.dumps({"prediction": "worm", "explanation": "so it is"})


class Slow(httpx2.AsyncBaseTransport):
    """A server that answers nobody before so many wait for it, and counts how many do."""

    def __init__(self) -> None:
        self.before = self.now = self.most = self.asked = 0
        self.full = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.now += 1
        self.asked += 1
        self.most = max(self.most, self.now)
        if self.now >= self.before:
            self.full.set()
        await asyncio.wait_for(self.full.wait(), PATIENCE)
        await asyncio.sleep(0.02)  # more of them than may would come now
        self.now -= 1
        return httpx2.Response(200, json=completion(FORM))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Slow:
    found, made = Slow(), registry.Serving

    def serving(*given: Any, **more: Any) -> registry.Serving:
        return made(*given, **more, transport=found)

    monkeypatch.setattr(costs, "Serving", serving)
    return found


@pytest.mark.parametrize("in_flight", [4, pytest.param(30, marks=pytest.mark.deep)])
def test_sessions_of_all_repetitions_go_on_together(server: Slow, in_flight: int) -> None:
    plan = Plan("animals", instances="5", repetitions=8, machine=MODEL)
    server.before = in_flight
    over: Counter[int] = Counter()

    def count(step: Progress) -> None:
        over[step.repetition] += step.event is None

    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan, board, settings=Settings(in_flight=in_flight))
        assert run.left == Counter(dict.fromkeys(range(1, 9), 5))
        run.execute(count)
        assert server.most == in_flight
        assert over == Counter(dict.fromkeys(range(1, 9), 5))
        assert not +run.left
        records = board.sessions(run.name)
        assert [(one.repetition, one.position) for one in records] == [
            (repetition, position) for repetition in range(1, 9) for position in range(1, 6)
        ]


def test_repetitions_that_carry_on_go_on_together_and_their_sessions_in_a_row(
    server: Slow,
) -> None:
    plan = Plan("animals", instances="3", repetitions=6, machine=MODEL, carry=True)
    server.before = 6
    begun: dict[int, list[int]] = {}

    def note(step: Progress) -> None:
        places = begun.setdefault(step.repetition, [])
        if step.position not in places:
            places.append(step.position)

    with SqlBlackboard(":memory:") as board:
        runs.start(plan, board, settings=Settings(in_flight=64)).execute(note)
    assert server.most == 6
    assert begun == {repetition: [1, 2, 3] for repetition in range(1, 7)}


@pytest.mark.deep
def test_commands_that_start_at_once_on_one_database_each_have_their_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pxp_fsm.cli", "run", "animals", "--instances", "1"]
    started = [
        subprocess.Popen(
            [*command, "--database", "b.sqlite", "--output", str(number)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    said = [one.communicate() for one in started]
    assert [one.returncode for one in started] == [0] * 8, said
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        assert {record.run for record in board.runs()} == {f"animals-{n}" for n in range(1, 9)}


def test_an_interrupt_in_one_of_several_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def stopped() -> None:
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    async def waiting() -> None:
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(runs.together(iter([waiting(), stopped(), waiting()]), 3))
    gc.collect()  # a task whose exception nobody has asked for says so when it goes
    assert caplog.records == []
