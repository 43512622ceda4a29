"""Experiments with models of both protocols: against an independent server, and in batches."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pexpect
import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.prompting.framing import encoded
from pxp_fsm.tasks.task import find_task
from tests.experiments.scripted_server import (
    Body,
    Table,
    agrees_when_convinced,
    judging,
    stubborn_then_convinced,
)

JUDGE = "You compare two"
SESSION = ["INIT", "REFUTE", "REVISE", "REFUTE", "REVISE", "RATIFY", "RATIFY"]
CATALOGUE = """
[[server]]
models = "*:model@http://127.0.0.1:*"
can = ["schema", "images"]

[[price]]
models = "*:model@http://127.0.0.1:*"
input = 1.0
output = 5.0
as_of = 2026-01-01

[[server]]
models = "anthropic:many@http://*"
can = ["schema", "images", "batches"]

[[price]]
models = "anthropic:many@http://*"
input = 1.0
output = 5.0
batch = 0.5
as_of = 2026-01-01
"""


@pytest.fixture
def pxp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The command in a folder of its own; what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments: str) -> str:
        done = CliRunner().invoke(commands, arguments)
        assert done.exit_code == 0, done.output
        return done.output

    yield called


def with_models(name: str, settings: str) -> str:
    """A models file of the current folder: the catalogue and settings; its name."""
    Path(name).write_text(f"{CATALOGUE}\n[models]\n{settings}\n", "utf-8")
    return name


def played(task: str) -> list[dict[str, Any]]:
    """Replies: wrong at first, then the other's prediction, and in the end its reasons too."""
    problem = find_task(task).problem
    assert problem is not None
    wrong: object = "worm" if task == "animals" else ["Cardiomegaly", "Pneumothorax"]
    judged = [("My view", "no"), ("You are right", "yes"), ("", "no")]
    replies: list[dict[str, Any]] = [
        {
            "match": {"systemMessage": JUDGE, **({"userMessage": text} if text else {})},
            "response": {"content": json.dumps({"consistent": verdict})},
        }
        for text, verdict in judged
    ]
    for prediction in sorted({row.answer.prediction for row in read_plan(Plan(task))[1].sessions}):
        shown = encoded({"prediction": prediction}).strip("{}")
        for turn, view in ((1, "My view."), (2, "You are right.")):
            said = {"prediction": problem.to_json(prediction), "explanation": view}
            replies.append(
                {
                    "match": {"userMessage": shown, "turnIndex": turn},
                    "response": {"content": json.dumps(said)},
                }
            )
    first = json.dumps({"prediction": wrong, "explanation": "My view."})
    return [*replies, {"match": {"turnIndex": 0}, "response": {"content": first}}]


@pytest.fixture(scope="module")
def others(
    llmock: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """A server of others that plays the agents of a task; its address."""
    there: dict[str, str] = {}

    def playing(task: str) -> str:
        if task not in there:
            path = tmp_path_factory.mktemp("llmock") / f"{task}.json"
            path.write_text(json.dumps({"fixtures": played(task)}), "utf-8")
            there[task] = llmock(path)
        return there[task]

    return playing


def journal(address: str) -> list[Any]:
    with urlopen(f"{address}/__aimock/journal?limit=100000", timeout=5) as found:  # noqa: S310 - our own
        return list(json.load(found))


def spoken(output: str) -> dict[str, list[Any]]:
    """All that was said and judged, word for word; only how long it took is left out."""
    with SqlBlackboard(f"{output}/blackboard.sqlite", create=False) as board:
        return {
            record.session: [
                record.ending,
                record.cause,
                [(entry.carried, entry.addition) for entry in board.events(record.session)],
                [
                    replace(judgement, seconds=0.0)
                    for entry in board.events(record.session)
                    for judgement in entry.judgements
                ],
            ]
            for record in board.sessions(board.runs()[0].run)
        }


def told(pxp: Callable[..., str], database: str) -> dict[str, list[str]]:
    lines = [line.split() for line in pxp("list", "costs", "--database", database).splitlines()]
    return {words[1]: words[2:] for words in lines if words and words[0][-2:] == "-1"}


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_whole_experiment_against_a_server_of_others(
    kind: str, others: Callable[[str], str], pxp: Callable[..., str]
) -> None:
    run_against_others("animals", kind, others, pxp)


def run_against_others(
    task: str, kind: str, others: Callable[[str], str], pxp: Callable[..., str]
) -> None:
    """A live experiment is charged as it was asked, and one from its recording says the same."""
    address = others(task)
    before = len(journal(address))
    model = f"{kind}:model@{address}" + ("/v1" if kind == "openai" else "")
    asked = ("--machine", model, "--set", f"agents.judge={model}", "--seed", "1")
    common = ("run", task, "--instances", "6", "--repetitions", "2", *asked)
    live = with_models("live.toml", 'cache = "calls.jsonl"')
    said = pxp(*common, "--models", live, "--output", "live")
    assert f"Models: machine {model}, judge {model}" in said
    calls = journal(address)[before:]
    assert {call["response"]["status"] for call in calls} == {200}
    database = "live/blackboard.sqlite"
    cost = told(pxp, database)
    assert cost["answer"][1] == "48"
    assert int(cost["answer"][1]) + int(cost["judge"][1]) == int(cost["all"][0]) == len(calls)
    tags = [[message.tag for message, _ in found[2]] for found in spoken("live").values()]
    assert tags == [SESSION] * 12

    recorded = with_models("again.toml", 'replay = "calls.jsonl"')
    replay = ("--models", recorded, "--output", "again")
    assert "of them cached" in pxp(*common, *replay)
    assert len(journal(address)) == before + len(calls)
    again = told(pxp, "again/blackboard.sqlite")
    assert [again["answer"][i] for i in (1, 2)] == ["48", "48"]
    assert spoken("again") == spoken("live")


@dataclass
class Office:
    """A server that takes Message Batches and nothing else, and plays chemist and judge."""

    server: HTTPServer
    batches: list[list[Body]] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = "/v1/messages/batches"
        self.server.expect_request(path, "POST").respond_with_handler(self._taken)
        each = rf"{path}/b[0-9]+"
        self.server.expect_request(re.compile(rf"{each}$")).respond_with_handler(self._asked_after)
        self.server.expect_request(re.compile(rf"{each}/results")).respond_with_handler(
            self._results
        )

    def _taken(self, request: Request) -> Response:
        asked = request.get_json()["requests"]
        self.batches.append(asked)
        return self._told(len(self.batches) - 1)

    def _asked_after(self, request: Request) -> Response:
        return self._told(int(request.path.rpartition("/b")[2]))

    def _told(self, number: int) -> Response:
        url = self.server.url_for(f"/v1/messages/batches/b{number}/results")
        batch = {
            "id": f"b{number}",
            "type": "message_batch",
            "processing_status": "ended",
            "results_url": url,
        }
        return Response(json.dumps(batch), content_type="application/json")

    def _results(self, request: Request) -> Response:
        asked = self.batches[int(request.path.split("/")[-2][1:])]
        lines = [
            {
                "custom_id": one["custom_id"],
                "result": {"type": "succeeded", "message": _message(_said(flat(one["params"])))},
            }
            for one in reversed(asked)  # in no order that anybody may count on
        ]
        return Response("\n".join(map(json.dumps, lines)))


def flat(parameters: Body) -> Body:
    """A request in Anthropic's words as one in OpenAI's."""
    turns = [
        {
            "role": turn["role"],
            "content": "".join(part.get("text", "") for part in turn["content"]),
        }
        for turn in parameters["messages"]
    ]
    return {"messages": [{"role": "system", "content": parameters["system"]}, *turns]}


def _said(body: Body) -> str:
    return agrees_when_convinced(body) if judging(body) else stubborn_then_convinced(body)


def _message(text: str) -> Body:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "many",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


@pytest.mark.deep
def test_a_run_in_batches_sends_each_round_of_all_sessions_as_one(
    httpserver: HTTPServer, pxp: Callable[..., str]
) -> None:
    office = Office(httpserver)
    model = f"anthropic:many@{httpserver.url_for('')}"
    asked = ("--machine", model, "--set", f"agents.judge={model}")
    common = ("run", "animals", "--instances", "3", *asked)
    batches = with_models("live.toml", 'batches = true\ncache = "calls.jsonl"')
    pxp(*common, "--models", batches, "--output", "live")
    sizes = [len(batch) for batch in office.batches]
    answers = [batch for batch in office.batches if not judging(flat(batch[0]["params"]))]
    assert [len(batch) for batch in answers] == [3] * 4
    cost = told(pxp, "live/blackboard.sqlite")
    assert int(cost["all"][0]) == sum(sizes)
    assert max(sizes) == 3
    dollars = sum(sizes) * (100 * 1.0 + 10 * 5.0) / 1e6 / 2
    assert f"{dollars:.4f}" in cost["all"]
    tags = [[message.tag for message, _ in found[2]] for found in spoken("live").values()]
    assert tags == [SESSION] * 3
    recorded = with_models("again.toml", 'replay = "calls.jsonl"')
    pxp(*common, "--models", recorded, "--output", "again")
    assert len(office.batches) == len(sizes)
    assert spoken("again") == spoken("live")


@pytest.mark.deep
def test_a_terminal_of_80_columns_shows_how_far_a_run_of_models_is(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    table = Table(httpserver, stubborn_then_convinced, agrees_when_convinced)
    asked = [
        "--machine",
        table.model,
        "--set",
        f"agents.judge={table.model}",
        "--models",
        "one.toml",
    ]
    (tmp_path / "one.toml").write_text("[models]\nin_flight = 1\n")
    child = pexpect.spawn(
        sys.executable,
        ["-m", "pxp_fsm.cli", "run", "animals", "--instances", "3", *asked],
        cwd=str(tmp_path),
        dimensions=(24, 80),
        encoding="utf-8",
        timeout=60,
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", child.before)
    assert re.search(r"repetition 1 .*[0-3]/3 sessions, .* so far, .* left", shown)
    assert re.search(r"\nINIT [1-3]", shown)
    assert re.search(
        r"\n\d+ calls, [\d,]+ tokens in, \d+ out, price unknown, [\d,]+ calls/min", shown
    )
