"""Runs with models as participants: served, interrupted, capped, recorded, refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.cli.run import of_preset
from pxp_fsm.errors import DataError, Halted, UsageError
from pxp_fsm.experiments import participants, runs
from pxp_fsm.experiments.plans import (
    build_plan,
    read_plan,
)
from pxp_fsm.experiments.rejudging import judged_pairs
from pxp_fsm.experiments.runs import Plan, Progress
from pxp_fsm.experiments.stored_plans import stored_deviations, stored_plan
from pxp_fsm.prompting.model import Image
from pxp_fsm.tasks.drug.task import DRUG
from pxp_fsm.tasks.prompts import bundled_prompts
from tests.experiments.scripted_server import (
    Body,
    Table,
    agrees_when_convinced,
    frames,
    stubborn_then_convinced,
)


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, stubborn_then_convinced, agrees_when_convinced)


def plan(table: Table, **more: Any) -> Plan:
    return Plan("drug", instances="3", machine=table.model, judge=table.model, **more)


def transcript(board: SqlBlackboard, run: str = "drug-1") -> list[Any]:
    """Everything said and judged, by its place in the run."""
    return [
        (
            record.session.partition("/")[2],
            record.ending,
            record.cause,
            [(e.message.tag, e.message.answer) for e in board.entries(record.session)],
            [
                [(j.relation, j.left, j.right, j.outcome, j.asked) for j in e.judgements]
                for e in board.entries(record.session)
            ],
        )
        for record in sorted(board.sessions(run), key=lambda record: record.session)
    ]


def test_a_run_of_models_says_what_they_said_and_counts_what_they_cost(
    table: Table, tmp_path: Path
) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        run = runs.start(plan(table), board)
        run.execute()
        found = transcript(board)
        assert [ending for _, ending, *_ in found] == ["ratified"] * 3
        tags = [[tag for tag, _ in said] for _, _, _, said, _ in found]
        assert tags == [["INIT", "REFUTE", "REVISE", "REFUTE", "REVISE", "RATIFY", "RATIFY"]] * 3
        costs = {cost.purpose: cost.calls for cost in board.costs(run.name)}
        assert costs == table.purposes
        assert run.meter.calls == sum(costs.values()) == len(table.asked)
        assert (run.meter.sent, run.meter.received) == (100 * run.meter.calls, 10 * run.meter.calls)
        assert "price unknown" in run.meter.shown()
        (record, *_) = board.sessions(run.name)
        assert record.assumptions == ("deterministic", "reflexive")
        described = dict(record.agents)
        assert described["m"].startswith(f"{table.model} prompts=")
        assert f"AGREE=judge {table.model}" in described["h"]


def test_the_server_is_told_of_one_session_only(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board).execute()
        data = {row.instance.x: row.answer for row in run_rows()}
    for body in table.asked:
        told = frames(body)
        if "instance" in told[0]:
            right = data[told[0]["instance"]]
            assert {f["prediction"] for f in told if "tag" in f} <= {right.prediction}


def run_rows() -> Any:
    return read_plan(Plan("drug"))[1].sessions


def test_no_pair_is_judged_twice_in_its_session_and_no_text_with_itself(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board).execute()
        for record in board.sessions("drug-1"):
            for agent in ("m", "h"):
                asked = Counter(
                    (j.left, j.right)
                    for entry in board.entries(record.session)
                    for j in entry.judgements
                    if entry.message.sender == agent and j.relation == "AGREE" and j.asked
                )
                assert set(asked.values()) <= {1}
                assert all(left != right for left, right in asked)
        judged = [
            j
            for record in board.sessions("drug-1")
            for entry in board.entries(record.session)
            for j in entry.judgements
            if j.relation == "AGREE" and j.asked
        ]
    assert len(judged) == table.purposes["judge"]
    for judgement in judged:
        kept = json.loads(judgement.detail)
        assert kept["judge"] == table.model
        assert json.loads(kept["replies"][0])["consistent"] in ("yes", "no")


@pytest.mark.parametrize("scope", ["session", "run", "pair", "call"])
@pytest.mark.parametrize("after", [0, 5, 11])
def test_a_resumed_run_asks_nothing_twice(
    httpserver: HTTPServer, scope: str, after: int, tmp_path: Path
) -> None:
    table = Table(httpserver, stubborn_then_convinced, agrees_when_convinced)
    wanted = replace(plan(table, scope=scope, memo=scope != "call"), instances="2")
    one = Settings(in_flight=1)
    with SqlBlackboard(":memory:") as board:
        runs.start(wanted, board, settings=one).execute()
        undisturbed, asked = transcript(board), len(table.asked)
    table.asked.clear()
    seen = 0

    def stop(step: Progress) -> None:
        nonlocal seen
        if seen == after:
            raise KeyboardInterrupt
        seen += step.message is not None

    database = str(tmp_path / "b.sqlite")
    with SqlBlackboard(database) as board, pytest.raises(KeyboardInterrupt):
        runs.start(wanted, board, settings=one).execute(stop)
    with SqlBlackboard(database) as board:
        run = runs.resume("drug-1", board, one)
        run.execute()
        assert transcript(board) == undisturbed
        assert len(table.asked) == asked
        assert run.meter.calls == asked


def test_a_cap_on_calls_stops_the_run_and_a_higher_one_carries_it_on(
    table: Table, tmp_path: Path
) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        run = runs.start(plan(table), board, settings=Settings(calls=7, in_flight=1))
        with pytest.raises(Halted, match="cap of 7 calls"):
            run.execute()
        assert len(table.asked) == 7
        assert all(ending is None for _, ending, *_ in transcript(board)[-1:])
        runs.resume("drug-1", board).execute()
        assert [ending for _, ending, *_ in transcript(board)] == ["ratified"] * 3


def test_a_recorded_run_is_replayed_without_asking_anybody(table: Table, tmp_path: Path) -> None:
    recording = tmp_path / "calls.jsonl"
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board, settings=Settings(cache=recording)).execute()
        said = transcript(board)
    table.asked.clear()
    with SqlBlackboard(":memory:") as board:
        runs.start(Plan("drug", instances="1"), board)  # so that the run has another name
        run = runs.start(plan(table), board, settings=Settings(replay=recording))
        run.execute()
        assert run.name == "drug-2"
        assert transcript(board, "drug-2") == said
        assert run.meter.calls == 0
    assert table.asked == []


def test_one_that_gives_no_answer_ends_its_own_session_only(httpserver: HTTPServer) -> None:
    rows = run_rows()[:3]
    mute = rows[1].instance.x

    def chemist(body: Body) -> str:
        shown = frames(body)[0]["instance"]
        return "RATIFY" if shown == mute else stubborn_then_convinced(body)

    table = Table(httpserver, chemist, agrees_when_convinced)
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board).execute()
        endings = {r.instance.x: (r.ending, r.cause) for r in board.sessions("drug-1")}
    assert endings.pop(mute)[0] == "no answer"
    assert {ending for ending, _ in endings.values()} == {"ratified"}


def test_a_judge_that_says_neither_yes_nor_no_is_never_a_no(httpserver: HTTPServer) -> None:
    table = Table(httpserver, stubborn_then_convinced, lambda _body: "perhaps")
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board).execute()
        for record in board.sessions("drug-1"):
            assert record.ending == "broken"
            assert "no usable verdict in 3 attempts" in str(record.cause)


@pytest.mark.parametrize(
    ("scope", "assumed"),
    [
        ("run", ("deterministic", "reflexive", "shared")),
        ("pair", ("deterministic", "reflexive", "shared", "symmetric")),
    ],
)
def test_a_shared_judge_makes_the_relations_shared(
    table: Table, scope: str, assumed: tuple[str, ...]
) -> None:
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan(table, scope=scope), board)
        run.execute()
        assert {record.assumptions for record in board.sessions("drug-1")} == {assumed}
        assert any(f"scope {scope}" in note for note in run.notes)


def test_votes_are_asked_and_kept(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(replace(plan(table, votes=3), instances="1"), board).execute()
        asked = [
            j
            for entry in board.entries("drug-1/1/1")
            for j in entry.judgements
            if j.relation == "AGREE" and j.asked
        ]
    assert table.purposes["judge"] == 3 * len(asked)
    assert all(len(json.loads(j.detail)["replies"]) == 3 for j in asked)


def test_a_resumed_run_refuses_other_agents(table: Table, tmp_path: Path) -> None:
    def stop(_step: Progress) -> None:
        raise KeyboardInterrupt

    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        with pytest.raises(KeyboardInterrupt):
            runs.start(plan(table), board).execute(stop)
        run = runs.resume("drug-1", board)
        run.selection = replace(run.selection, machine="openai:another@http://127.0.0.1:9/v1")
        with pytest.raises(UsageError, match="would now be"):
            run.execute()


WARM = bundled_prompts("drug").replace("max_tokens = 1024", "max_tokens = 1024\ntemperature = 0.5")
ELSEWHERE = "openai:x@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"human": "somebody"}, "there is no human 'somebody'; there are: terminal,"),
        ({"human": "gemini:x"}, "there is no model"),
        ({"human": "anthropic:claude-sonnet-4-5"}, "requires a key"),
        ({"human": ELSEWHERE, "subject": "h1"}, "a subject is the person in the human's role"),
        ({"machine": "gemini:x"}, "there is no model"),
        ({"machine": "anthropic:claude-sonnet-4-5"}, "requires a key"),
        ({"judge": "anthropic:claude-sonnet-4-5"}, "requires a key"),
        ({"machine": "anthropic:x@http://127.0.0.1:9", "prompts": WARM}, "temperature"),
        ({"prompts": WARM}, "without a model as machine"),
        ({"effort": "low"}, "without a model as machine"),
        ({"effort": "low", "machine": ELSEWHERE}, "takes no effort 'low'; it takes: none"),
        ({"scope": "run"}, "without a model as machine"),
        ({"scope": "world", "judge": ELSEWHERE}, "there is no scope"),
        ({"votes": 3}, "without a model as judge"),
        ({"votes": 0, "judge": ELSEWHERE}, "votes is at least 1; it was 0"),
        ({"preset": "C-rad"}, "belongs to rad, not to drug"),
        ({"preset": "D-drug"}, "there is no preset"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_stored(
    more: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    with SqlBlackboard(":memory:") as board:
        with pytest.raises((UsageError, DataError), match=said):
            runs.start(Plan("drug", instances="1", **more), board)
        assert board.runs() == ()


def test_a_task_with_pictures_needs_a_model_that_sees_them() -> None:
    problem = DRUG.problem
    assert problem is not None
    seen = replace(problem, picture=lambda _instance: Image("image/png", b"PNG"))
    wanted = Plan("drug", instances="1", machine=ELSEWHERE)
    with pytest.raises(UsageError, match="images"):
        participants.models(wanted, replace(DRUG, problem=seen), read_plan(wanted)[1])
    with pytest.raises(UsageError, match="cannot be answered by a model"):
        participants.models(wanted, replace(DRUG, problem=None), read_plan(wanted)[1])


def test_a_papers_preset_gives_its_settings_and_says_what_is_not_taken(table: Table) -> None:
    wanted = plan(table, preset="C-drug")
    found = participants.models(wanted, *read_plan(wanted))
    assert found.prompts is not None
    assert (found.prompts.judge.max_tokens, found.prompts.judge.temperature) == (10, 0.0)
    paper = "anthropic:claude-3-5-sonnet-latest"
    assert found.deviations == (
        f"Preset C-drug: machine is {table.model}; in the paper it is {paper}.",
        f"Preset C-drug: judge is {table.model}; in the paper it is {paper}.",
        "Preset C-drug: learn is always; in the paper it is better.",
        "The prompts say in our words what the paper's say; --prompts takes those of a file.",
    )
    cold = "anthropic:x@http://127.0.0.1:9"
    found = participants.models(replace(wanted, judge=cold), *read_plan(wanted))
    assert found.prompts is not None
    assert found.prompts.judge.temperature is None
    assert "takes no temperature" in found.deviations[3]


def test_what_is_not_as_in_the_paper_is_told_before_the_run_and_stored(
    table: Table, tmp_path: Path
) -> None:
    where, model = str(tmp_path / "b.sqlite"), table.model
    table.judge = lambda _body: "yes"  # ten tokens hold no JSON
    options = ["--machine", model, "--judge", model, "--validation", "2", "--instances", "1"]
    options += ["--database", where, "--output", str(tmp_path)]
    said = CliRunner().invoke(
        commands,
        ["run", "drug", "--preset", "B-drug", *options, "--learn", "better"],
    )
    assert said.exit_code == 0, said.output
    told = [line for line in said.output.splitlines() if line.startswith("Not as in the paper: ")]
    assert said.output.index(told[-1]) < said.output.index("sessions that")
    assert any("Not in the paper, and chosen here: machine.max_tokens" in line for line in told)
    assert any("size of its validation set; here it is 2 rows" in line for line in told)
    with SqlBlackboard(where, create=False) as board:
        record = board.runs()[0]
        assert [f"Not as in the paper: {line}" for line in stored_deviations(record)] == told
        assert stored_plan(record).preset == "B-drug"


def test_a_preset_is_how_its_paper_ran_the_experiment_unless_said_otherwise() -> None:
    def planned(**given: str) -> Plan:
        return build_plan({**of_preset(given), **given}, Path())

    plain = planned(task="drug", preset="C-drug")
    assert (plain.repetitions, plain.learn, plain.goes_on) == (1, "better", False)
    chosen = planned(task="rad", preset="C-rad", learn="always")
    assert (chosen.repetitions, chosen.learn) == (5, "always")
    assert planned(task="rad", preset="B-rad").goes_on
    person = planned(task="drug", preset="C-drug", human="terminal")
    assert person.learn == "always"  # [C] section 5.3: no such set in uncontrolled experiments
    with pytest.raises(UsageError, match="there is no preset"):
        planned(task="drug", preset="D")


def test_effort_reaches_every_request_and_belongs_to_the_experiment(
    table: Table, tmp_path: Path
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        '[[server]]\nmodels = "openai:*@*"\ncan = ["schema"]\nthinking = 500\neffort = ["low"]\n'
    )
    settings = Settings(catalogue=own)
    wanted = replace(plan(table, effort="low"), instances="1")
    with SqlBlackboard(":memory:") as board:
        runs.start(wanted, board, settings=settings).execute()
        assert stored_plan(board.runs()[0]) == wanted
    assert {body["reasoning_effort"] for body in table.asked} == {"low"}
    assert {body["max_tokens"] for body in table.asked} == {1024 + 500, 64 + 500}
    assert "effort" not in plan(table).meaning()
    with pytest.raises(UsageError, match="takes no effort 'high'; it takes: low"):
        participants.models(replace(wanted, effort="high"), *read_plan(wanted), settings)


@pytest.fixture
def pxp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """The command in a folder of its own; what it prints."""
    monkeypatch.chdir(tmp_path)

    def called(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(commands, arguments)
        assert done.exit_code == code, done.output
        return done.output

    yield called


def test_the_command_runs_models_and_says_what_they_cost(
    table: Table, pxp: Callable[..., str], tmp_path: Path
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        bundled_prompts("drug").replace("synthetic organic chemistry", "synthesis"), "utf-8"
    )
    models = ("--machine", table.model, "--judge", table.model, "--prompts", str(own))
    said = pxp("run", "drug", "--instances", "2", *models)
    assert f"Models: machine {table.model}, judge {table.model}" in said
    assert "Models were asked: " in said
    assert "calls/min" in said
    assert "AGREE is an approximation" not in said
    assert "You are an expert in synthesis." in json.dumps(table.asked)


def test_the_command_says_how_to_carry_on_a_capped_run(
    table: Table, pxp: Callable[..., str]
) -> None:
    models = ("--machine", table.model, "--judge", table.model)
    said = pxp("run", "drug", "--instances", "2", *models, "--max-calls", "3", code=2)
    assert "cap of 3 calls" in said
    assert "--resume drug-1" in said
    assert "ratified 2" in pxp("run", "drug", "--resume", "drug-1")
    refused = pxp("run", "drug", "--resume", "drug-1", "--judge-scope", "run", code=2)
    assert "leave out --judge-scope" in refused


def test_what_a_run_took_is_told_by_what_it_was_for(table: Table, pxp: Callable[..., str]) -> None:
    models = ("--machine", table.model, "--judge", table.model)
    pxp("run", "drug", "--instances", "2", *models)
    lines = [line.split() for line in pxp("cost", "runs/blackboard.sqlite").splitlines()]
    told = {words[1]: words for words in lines if words[:1] == ["drug-1"]}
    asked = table.purposes
    assert {purpose: int(words[3]) for purpose, words in told.items() if purpose != "all"} == asked
    answers, calls = asked["answer"], sum(asked.values())
    assert told["answer"][4:10] == ["0", "0", "0", f"{answers / 2:.1f}", f"{answers * 100:,}", "0"]
    assert told["all"][2] == str(calls)
    pxp("run", "drug", "--instances", "1")
    assert "drug-2" not in pxp("cost")
    assert "No model was asked." in pxp("cost", "--run", "drug-2")
    assert "no run 'drug-9'" in pxp("cost", "--run", "drug-9", code=2)


def test_a_judge_is_asked_again_about_a_stored_run(table: Table, pxp: Callable[..., str]) -> None:
    """The one that judged then agrees with itself; a moody one says no every third time."""
    models = ("--machine", table.model, "--judge", table.model)
    pxp("run", "drug", "--instances", "2", *models)
    with SqlBlackboard("runs/blackboard.sqlite") as board:
        pairs = judged_pairs(board, "drug-1")
    known = {frozenset((pair.left, pair.right)) for pair in pairs}
    table.asked.clear()
    said = pxp("judge", "drug-1", "--judge", table.model, "--consistency", "3")
    assert len(table.asked) == 2 * 3 * len(known)
    assert f"{len(known)} pairs, 3 each way" in said
    for line in ("the verdict of the run", "all samples of a pair alike"):
        assert f"{line:<34}{len(known)}/{len(known)} (1.00" in said
    assert "two samples of a pair alike       1.00 on average" in said

    turns: Counter[str] = Counter()

    def moody(body: Body) -> str:
        asked = json.dumps(frames(body)[:2])
        turns[asked] += 1
        return json.dumps({"consistent": "no" if turns[asked] == 3 else "yes"})

    table.judge = moody
    said = pxp("judge", "drug-1", "--judge", table.model, "--consistency", "3", "--limit", "2")
    assert "all samples of a pair alike       0/2 (0.00, 95% 0.00-0.66)" in said
    assert "two samples of a pair alike       0.33 on average" in said
    table.judge = lambda _body: "hm"
    said = pxp("judge", "drug-1", "--judge", table.model, "--limit", "1")
    assert "questions without a verdict       2" in said
    assert "no run 'x'" in pxp("judge", "x", "--judge", table.model, code=2)
