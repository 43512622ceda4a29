"""Runs of systems: one process at a time, caps that hold over resumes, and kills that lose nothing.

A killed run is compared with one that nobody disturbed: the same actions, payloads and endings.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plan_data import with_stored_caps
from pxp_fsm.experiments.plans import Plan
from tests.automata.test_system_files import written
from tests.backends.model_servers import completion

COMMIT = Path(__file__).parents[2] / "examples/two_phase_commit/two_phase.toml"


def run(folder: Path, *arguments: object) -> tuple[int, str]:
    """`pxp run` with an output folder of its own; its exit code and output."""
    given = [str(one) for one in arguments]
    done = CliRunner().invoke(commands, ["run", *given, "--output", str(folder / "runs")])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def board_of(folder: Path) -> SqlBlackboard:
    return SqlBlackboard(str(folder / "runs/blackboard.sqlite"), create=False)


def test_a_second_process_is_kept_out_of_a_run(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert run(tmp_path, path, "--repetitions", 2)[0] == 0
    with board_of(tmp_path) as other:
        other.lock("asking-1")
        code, said = run(tmp_path, path, "asking-1")
        assert code == 3 and "another process is working on run asking-1" in said
    code, said = run(tmp_path, path, "asking-1")
    assert code == 0 and "finished: 2" in said


def test_a_run_of_another_version_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    run(tmp_path, path)
    monkeypatch.setattr("pxp_fsm.experiments.runs.__version__", "99.0")
    code, said = run(tmp_path, path, "asking-1")
    assert code == 2 and "resume it with that version, or start a new run" in said


def test_a_program_runs_a_system_as_it_runs_a_task(tmp_path: Path) -> None:
    path, who = written(tmp_path), {"client": "random", "server": "random"}
    with SqlBlackboard(":memory:") as board:
        given: dict[str, Any] = {"respondents": who, "sessions": 3, "seed": 2}
        done = runs.run(path, board, **given, name="mine")
        assert (done.name, done.total, done.endings().total()) == ("mine", 3, 3)
        stored = plain(board, "mine")
        assert runs.run(str(path), board, **given, name="mine").finished == 3
        assert plain(board, "mine") == stored
        assert runs.run(str(path), board, **given).name == "asking-1"
        assert plain(board, "asking-1") == stored
        with pytest.raises(UsageError, match="its respondents was"):
            runs.run(path, board, respondents={"client": "terminal"}, name="mine")
        with pytest.raises(UsageError, match="run mine has another plan"):
            runs.run(path, board, respondents=who, sessions=4, seed=2, name="mine")
        with pytest.raises(UsageError, match="applies to a task"):
            runs.run(path, board, machine=lambda _question: pxp.Answer("a", "b"))
        with pytest.raises(UsageError, match="applies to a system"):
            runs.run("animals", board, respondents=who)


@pytest.fixture
def server(httpserver: HTTPServer) -> tuple[str, list[Any]]:
    """A model that always replies to ASK, each time in other words, and what it was asked."""
    asked: list[Any] = []

    def reply(request: Request) -> Response:
        asked.append(json.loads(request.data))
        intent = {"do": "REPLY", "to": "client", "payload": len(asked)}
        status = 200 if len(asked) % 2 else 500  # an attempt that fails counts too
        body = json.dumps(completion(json.dumps(intent)))
        return Response(body, status=status, mimetype="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(reply)
    return f"openai:x@{httpserver.url_for('/v1')}", asked


def test_a_system_keeps_its_cap_over_resumes(
    tmp_path: Path, server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.models.middleware.retry.RetryPolicy.pause", lambda *_: 0.0)
    model, asked = server
    (tmp_path / "own.toml").write_text(
        '[models]\nin_flight = 2\n[[server]]\nmodels = "openai:x@*"\ncan = ["schema"]\n',
        encoding="utf-8",
    )
    path = written(tmp_path)
    who = ("--set", f"server.respondent={model}", "--models", tmp_path / "own.toml")
    begun = (path, "--repetitions", 9, *who, "--max-calls", 3)
    code, said = run(tmp_path, *begun)
    assert (code, len(asked)) == (2, 3) and "the cap of 3 calls" in said
    assert "carry on with\n  " in said and "asking-1" in said
    for _ in range(2):
        code, said = run(tmp_path, path, *who, "asking-1")
        assert (code, len(asked)) == (2, 3) and "the cap of 3 calls" in said
    code, said = run(tmp_path, path, *who, "asking-1", "--max-calls", 5)
    assert (code, len(asked)) == (2, 5)


def test_a_plan_keeps_its_caps_unless_others_are_given() -> None:
    plan, given = Plan("animals", instances="1"), Settings(calls=3, dollars=0.5)
    with SqlBlackboard(":memory:") as board:
        name = runs.start(plan, board, settings=given).name
        assert runs.resume(name, board).opening.settings.caps == {"calls": 3, "dollars": 0.5}
        other = runs.resume(name, board, Settings(calls=9))
        assert (other.opening.settings.caps, other.opening.plan) == (
            {"calls": 9, "dollars": 0.5},
            plan,
        )
        assert "caps" not in board.run(runs.start(plan, board).name).plan


@pytest.mark.parametrize(
    "caps", ['["calls"]', '{"attempts": 1}', '{"calls": true}', '{"dollars": NaN}', '{"calls": -1}']
)
def test_caps_that_are_none_are_refused(caps: str) -> None:
    class Stored:
        run, task, plan = "animals-1", "animals", f'{{"task": "animals", "caps": {caps}}}'

    with pytest.raises(UsageError, match="the caps of run 'animals-1' cannot be read"):
        with_stored_caps(None, Stored())


def plain(board: SqlBlackboard, run: str) -> list[Any]:
    """What must be the same: all but names, times and how long somebody thought."""
    return [
        (
            record.repetition,
            record.position,
            record.ending,
            record.cause,
            [
                (one.number, one.action, one.guard, one.message, one.memory, len(one.judgements))
                for one in (event.in_session("") for event in board.events(record.session))
            ],
        )
        for record in sorted(board.sessions(run), key=lambda one: one.position)
    ]


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1])
def test_a_run_that_is_killed_again_and_again_is_as_if_it_had_not_been(
    seed: int, tmp_path: Path
) -> None:
    assert kill(seed, tmp_path) == 3


def kill(seed: int, tmp_path: Path) -> int:
    """SIGKILL to `pxp run FILE` at random instants, over a lossy channel, which then goes on.

    How often, in one run or several; `AssertionError` where one is not as if it had not been.
    """
    folder = tmp_path / "system"
    folder.mkdir()
    source = COMMIT.parent
    for path in source.glob("*.toml"):
        text = path.read_text("utf-8").replace('channel = "sync"', 'channel = "lossy:2"')
        (folder / path.name).write_text(text, encoding="utf-8")
    size = ["--repetitions", "20", "--seed", str(seed)]
    assert run(tmp_path, folder / COMMIT.name, *size)[0] == 0
    command = [sys.executable, "-m", "pxp_fsm.cli", "run", str(folder / COMMIT.name)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    draw, kills = random.Random(seed), 0
    for number in count(1):
        place, begun, code = tmp_path / f"killed-{number}", False, -9
        while code == -9:
            again = ["two_phase-1"] if begun else size
            with subprocess.Popen(
                [*command, *again, "--output", str(place)],
                env=environment, stdout=subprocess.PIPE, text=True,
            ) as process:  # fmt: skip
                assert process.stdout is not None
                after = draw.randint(1, 6)
                for line in process.stdout:
                    begun = begun or line.startswith("Run ")
                    after -= line.startswith("Session ")
                    if after == 0 and kills < 3:
                        time.sleep(draw.uniform(0, 0.02))
                        process.kill()
            code = process.returncode
            kills += code == -9  # or it had ended before
        assert code == 0
        database = place / "blackboard.sqlite"
        with board_of(tmp_path) as whole, SqlBlackboard(str(database), create=False) as killed:
            assert plain(killed, "two_phase-1") == plain(whole, "two_phase-1")
        assert not verify(str(database)).problems
        if kills >= 3:
            break
    return kills
