"""Inspect: our tasks with real sessions in them, counted both ways, and its logs as recordings."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import random
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backends.databases import SqlBlackboard
from backends.databases.records import CONCLUDED
from backends.databases.session_documents import STORED_AS
from pxp_fsm.analysis.recordings.files import open_recordings
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.plugins.drug.data import bundled
from pxp_fsm.prompting.model import ChatRole, ChatTurn, Image, Stop
from pxp_fsm.prompting.model import ModelRequest as Asked
from tests.analysis.recorded import audited, pxp

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: extra inspect")

import inspect_ai
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
    get_model,
)

from backends.models.clients.inspect_model import InspectModel
from pxp_fsm.plugins.integrations import inspect_tasks

pytestmark = [
    pytest.mark.deep,
    # Inspect's own: it leaves files and loops to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CLASSES = (
    "one_way_human",
    "one_way_machine",
    "two_way",
    "strong_human",
    "strong_machine",
    "ultra_strong_human",
    "ultra_strong_machine",
)
ANSWERS = {row.instance.x: row.answer for row in bundled().sessions}
SILENT = list(ANSWERS.values())[3]
"""The answer for an instance of which the model says nothing that can be used."""


def output(text: str, stop: str = "stop") -> ModelOutput:
    found = ModelOutput.from_content("mockllm/model", text, stop_reason=stop)
    found.usage = ModelUsage(input_tokens=3, output_tokens=4, total_tokens=7)
    return found


def instance(messages: list[Any]) -> str:
    """The molecule that is asked about."""
    asked = "\n".join(message.text for message in messages)
    return next(x for x in ANSWERS if json.dumps(x)[1:-1] in asked)


def chemist(messages: list[Any], *_others: Any) -> ModelOutput:
    """Right, wrong or unusable, by a digest of what was asked; after a message it may learn."""
    asked = "\n".join(message.text for message in messages)
    coin = random.Random(hashlib.sha256(asked.encode()).digest())
    answer = ANSWERS[instance(messages)]
    draw = coin.random()
    if draw < 0.05 or answer is SILENT:
        return output("I would rather not say.")
    if draw < 0.5:
        said = {"prediction": ["CCO", "CC(=O)O"], "explanation": "By an esterification."}
    else:
        said = {"prediction": answer.prediction.split("."), "explanation": answer.explanation}
    return output(json.dumps(said))


def evaluate(task: Any, answers: Callable[..., ModelOutput], folder: Path, **more: Any) -> EvalLog:
    model = get_model("mockllm/model", custom_outputs=answers, memoize=False)
    [log] = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", **more)
    return log


def scores(log: EvalLog) -> list[dict[str, int]]:
    """What the scorer says of each session that it counts."""
    found = (sample.scores["intelligibility"].value for sample in log.samples or [])
    return [value for value in found if isinstance(value, dict) and value["two_way"] in (0, 1)]


def counts(board: SqlBlackboard, *runs: str) -> tuple[int, dict[str, int]]:
    """How many sessions are in Table 1, and in each class, by the blackboard."""
    repetitions = statistics_of(board, *runs).repetitions
    columns = zip(*(one.counts for one in repetitions), strict=True)
    return sum(one.total for one in repetitions), dict(zip(CLASSES, map(sum, columns), strict=True))


@pytest.mark.parametrize("role", ["machine", "human"])
def test_60_sessions_are_counted_the_same_by_inspect_and_the_blackboard(
    tmp_path: Path, role: str
) -> None:
    database = str(tmp_path / "lab.sqlite")
    task = inspect_tasks.drug("all", role=role, repetitions=3, database=database)
    log = evaluate(task, chemist, tmp_path / "logs")
    assert log.status == "success"
    assert len(log.samples or []) == 60

    counted = scores(log)
    of_inspect = {name: sum(one[name] for one in counted) for name in CLASSES}
    with SqlBlackboard(database) as board:
        [run] = board.runs()
        assert counts(board, run.run) == (len(counted), of_inspect)
        endings = Counter(str(record.ending) for record in board.sessions())
    assert sum(endings.values()) == 60
    assert sum(endings[one] for one in CONCLUDED) == len(counted) < 60  # some replies are none
    assert len({value for value in of_inspect.values() if value}) > 2

    # the metrics of Inspect: the mean over instances of the mean over their repetitions
    each: dict[str, list[dict[str, int]]] = {}
    for sample in log.samples or []:
        value = sample.scores["intelligibility"].value
        if isinstance(value, dict):
            each.setdefault(str(sample.id), []).append(value)
    for score in log.results.scores if log.results else ():
        means = [sum(one[score.name] for one in some) / len(some) for some in each.values()]
        assert score.metrics["mean"].value == pytest.approx(sum(means) / len(means))
        assert score.metrics["stderr"].value >= 0

    # the log alone, read back: the same sessions, the same numbers, the same audit
    with open_recordings(log.location) as found, SqlBlackboard(database) as board:
        assert not found.unread
        assert counts(found.board, run.run) == (len(counted), of_inspect)
        for record in board.sessions():
            assert found.board.events(record.session) == board.events(record.session)
            assert found.board.session(record.session).record == record
    assert audited(log.location) == audited(database)
    formula = "F ended.ratified"
    of_log, of_board = (
        pxp("monitor", run.run, formula, "--database", name, "--json", code=None).stdout
        for name in (log.location, database)
    )
    assert of_log == of_board

    as_json = tmp_path / "log.json"
    write_eval_log(read_eval_log(log.location), str(as_json), format="json")
    assert audited(as_json) == audited(database)


def test_the_command_of_inspect_finds_the_tasks(tmp_path: Path) -> None:
    """In a process of its own, through the entry point, without a database."""
    code = (
        "import json, sys; from inspect_ai import eval\n"
        "from inspect_ai.model import get_model, ModelOutput, ModelUsage\n"
        "def answer(*_):\n"
        "    text = json.dumps({'prediction': ['CCO'], 'explanation': 'e'})\n"
        "    made = ModelOutput.from_content('mockllm/model', text)\n"
        "    made.usage = ModelUsage(); return made\n"
        "model = get_model('mockllm/model', custom_outputs=answer)\n"
        "args = {'instances': ['paracetamol', 'lidocaine'], 'protocol': 'pxp', 'k': 2}\n"
        "[log] = eval('pxp_fsm/drug', task_args=args, model=model, display='none',\n"
        "             log_dir=sys.argv[1])\n"
        "print(log.status, len(log.samples), log.location)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    status, samples, location = done.stdout.splitlines()[-1].split(maxsplit=2)
    assert (status, samples) == ("success", "2")
    found = audited(location)
    assert (found["sessions"], found["not_audited"]) == (2, {})
    shown = pxp("monitor", "drug", "F ended", "--database", location).output
    assert "true in 2" in shown


def test_a_served_model_reads_pictures_in_rad_and_a_judge_has_its_role(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    """Over HTTP, by the Chat Completions protocol, as Inspect's provider speaks it."""
    asked: list[dict[str, Any]] = []

    def complete(request: Request) -> Response:
        body = json.loads(request.get_data())
        asked.append(body)
        text = json.dumps({"prediction": ["Pneumonia"], "explanation": "An opacity."})
        if body["model"] == "judge":
            text = json.dumps({"agree": True, "reason": "the same finding"})
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}
        kind = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return Response(json.dumps({**kind, "choices": [choice], "usage": usage}))

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(complete)
    served = {"base_url": httpserver.url_for("/v1"), "api_key": "none"}
    model, judge = (
        get_model(f"openai-api/local/{name}", memoize=False, **served) for name in ("x", "judge")
    )
    [log] = inspect_ai.eval(
        inspect_tasks.rad(3, judge=True),
        model=model,
        model_roles={"judge": judge},
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    names = Counter(body["model"] for body in asked)
    assert names["x"] >= 3
    assert names["judge"] >= 1
    first = next(body for body in asked if body["model"] == "x")
    parts = first["messages"][-1]["content"]
    assert [one["type"] for one in parts if one["type"] == "image_url"]
    for sample in log.samples or []:
        document = sample.store[STORED_AS]
        assert "inspect:openai-api/local/x" in dict(document["session"]["agents"])["m"]
        assert "inspect:openai-api/local/judge" in dict(document["session"]["agents"])["h"]
        sent = [part for part in document["messages"] if part["sender"] == "m"]
        own = [message for message in sample.messages if message.role == "assistant"]
        assert [json.loads(one.text)["tag"] for one in own] == [part["tag"] for part in sent]
    assert audited(log.location)["sessions"] == 3


def test_what_a_model_raises_is_an_error_of_its_sample_and_a_retry_is_a_session_of_its_own(
    tmp_path: Path,
) -> None:
    tries = Counter[str]()

    def failing(messages: list[Any], *_others: Any) -> ModelOutput:
        about = instance(messages)
        tries[about] += 1
        if tries[about] == 1:
            raise ValueError("the server is away")
        return chemist(messages)

    database = str(tmp_path / "lab.sqlite")
    log = evaluate(
        inspect_tasks.drug(2, database=database), failing, tmp_path / "logs", retry_on_error=1
    )
    assert log.status == "success", log.error
    with SqlBlackboard(database) as board:
        endings = {record.session: record.ending for record in board.sessions()}
    assert sorted(endings) == ["drug-1/1/1", "drug-1/1/1.2", "drug-1/1/2", "drug-1/1/2.2"]
    assert [endings[name] for name in sorted(endings)[::2]] == ["no answer", "no answer"]
    assert audited(log.location)["sessions"] == 2

    tries.clear()
    log = evaluate(inspect_tasks.drug(1), failing, tmp_path / "failed", fail_on_error=False)
    assert "the server is away" in str((log.samples or [])[0].error)
    assert "ended with an error of Inspect" in pxp("audit", log.location, code=2).output


def test_a_log_without_our_sessions_is_read_by_a_mapping(tmp_path: Path) -> None:
    """A log that another task wrote: roles and metadata name the senders."""

    def said(tag: str) -> str:
        return json.dumps({"tag": tag, "prediction": "yes", "explanation": "because"})

    @inspect_ai.solver.solver
    def debate() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.messages.append(ChatMessageAssistant(content=said("INIT")))
            state.messages.append(ChatMessageUser(content=said("RATIFY")))
            last = "RATIFY" if state.sample_id == "good" else "REJECT"
            state.messages.append(ChatMessageAssistant(content=said(last)))
            return state

        return solve

    samples = [inspect_ai.dataset.Sample(id=one, input="Is it?") for one in ("good", "bad")]
    task = inspect_ai.Task(dataset=samples, solver=debate(), name="debate")
    log = evaluate(task, chemist, tmp_path)
    mapping = tmp_path / "mapping.toml"
    mapping.write_text('format = 1\nprotocol = "interact"\n', "utf-8")
    found = audited(log.location, "--mapping", str(mapping))
    assert (found["sessions"], found["messages"]) == (2, 6)
    assert found["possible"] == {"equivalence": 1, "tolerance": 0, "noisy": 0, "never": 1}
    [noted] = found["noted"]
    assert (noted["session"], noted["instance"]) == ("debate/1/2", "bad")
    assert "name a --mapping" in pxp("audit", log.location, code=2).output


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """What Inspect leaves open is collected while its warnings are still ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("log")
    yield Path(evaluate(inspect_tasks.drug(1), chemist, folder).location)


def rewritten(
    log: Path, path: Path, change: Callable[[str, bytes], bytes], way: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(path, "w", way) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda name, data: b"{" if name.startswith("samples/") else data,
        lambda name, data: b"[]" if name == "header.json" else data,
        lambda name, data: b"\xff" if name == "summaries.json" else data,
        lambda name, data: data + b" " * 2**27 if name.startswith("samples/") else data,
    ],
)
def test_logs_that_were_tampered_with_are_refused(
    tmp_path: Path, log: Path, change: Callable[[str, bytes], bytes]
) -> None:
    path = rewritten(log, tmp_path / "x.eval", change)
    done = pxp("audit", str(path), code=2)
    assert done.output.startswith("Error: ")
    assert "x.eval" in done.output


@pytest.mark.parametrize("way", [zipfile.ZIP_DEFLATED, 93])
def test_a_log_whose_members_lie_about_their_size_is_refused(
    tmp_path: Path, log: Path, way: int
) -> None:
    path = tmp_path / "x.eval"
    rewritten(log, path, lambda _name, data: data, way)
    with zipfile.ZipFile(path) as archive:
        sizes = [one.file_size for one in archive.infolist() if "samples/" in one.filename]
    changed = path.read_bytes()
    for size in sizes:
        changed = changed.replace(struct.pack("<I", size), struct.pack("<I", 1000))
    path.write_bytes(changed)
    assert "is not of the 1,000 bytes that it says" in pxp("audit", str(path), code=2).output


def test_a_log_that_was_cut_off_is_refused_with_what_to_do(tmp_path: Path, log: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(log.read_bytes()[:-100])
    assert "inspect log recover" in pxp("audit", str(path), code=2).output


def test_a_session_in_a_log_that_is_none_is_counted_and_not_read(tmp_path: Path, log: Path) -> None:
    def change(name: str, data: bytes) -> bytes:
        if not name.startswith("samples/"):
            return data
        sample = json.loads(data)
        sample["store"][STORED_AS]["messages"][0]["prediction"] = 7
        return json.dumps(sample).encode()

    done = pxp("audit", str(rewritten(log, tmp_path / "x.eval", change)), code=2)
    assert "messages[0].prediction" in done.output


def test_requests_and_replies_are_those_of_inspect() -> None:
    seen: list[Any] = []

    def answer(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
        seen.append((messages, config))
        return output("cut", stop="max_tokens")

    model = InspectModel(get_model("mockllm/model", custom_outputs=answer, memoize=False))
    turns = (
        ChatTurn(ChatRole.USER, "look", (Image("image/png", b"\x89PNG"),)),
        ChatTurn(ChatRole.ASSISTANT, "seen"),
        ChatTurn(ChatRole.USER, "again"),
    )
    asked = Asked("be brief", turns, temperature=0.5, seed=7)
    reply = asyncio.run(model.reply(asked))
    [(messages, config)] = seen
    assert (reply.text, reply.stop) == ("cut", Stop.LENGTH)
    assert (reply.usage.sent, reply.usage.received) == (3, 4)
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[1].content[0].image == "data:image/png;base64,iVBORw=="
    assert (config.temperature, config.seed, config.max_tokens) == (0.5, 7, None)
    assert model.name == "inspect:mockllm/model"


def test_a_role_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no role 'judge'; there are: machine, human"):
        inspect_tasks.drug(role="judge")
