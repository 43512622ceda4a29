"""Runs with models as participants: served, interrupted, capped, recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.judge import judged_pairs
from pxp_fsm.errors import Halted, UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from tests.experiments.scripted_server import (
    Body,
    Table,
    agrees_when_convinced,
    frames,
    plan,
    stubborn_then_convinced,
)
from tests.tasks.animals import PROMPTS


def transcript(board: SqlBlackboard, run: str = "animals-1") -> list[Any]:
    """Everything said and judged, by its place in the run."""
    return [
        (
            record.session.partition("/")[2],
            record.ending,
            record.cause,
            [(e.carried.tag, e.carried.answer) for e in board.events(record.session)],
            [
                [(j.relation, j.left, j.right, j.outcome, j.asked) for j in e.judgements]
                for e in board.events(record.session)
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
    return read_plan(Plan("animals"))[1].sessions


def test_no_pair_is_judged_twice_in_its_session_and_no_text_with_itself(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board).execute()
        for record in board.sessions("animals-1"):
            for agent in ("m", "h"):
                asked = Counter(
                    (j.left, j.right)
                    for entry in board.events(record.session)
                    for j in entry.judgements
                    if entry.carried.sender == agent and j.relation == "AGREE" and j.asked
                )
                assert set(asked.values()) <= {1}
                assert all(left != right for left, right in asked)
        judged = [
            j
            for record in board.sessions("animals-1")
            for entry in board.events(record.session)
            for j in entry.judgements
            if j.relation == "AGREE" and j.asked
        ]
    assert len(judged) == table.purposes["judge"]
    for judgement in judged:
        kept = json.loads(judgement.detail)
        assert kept["judge"] == table.model
        assert json.loads(kept["replies"][0])["consistent"] in ("yes", "no")


@pytest.mark.parametrize(
    ("scope", "after"),
    [
        ("session", 5),
        pytest.param("pair", 5, marks=pytest.mark.deep),
        *(
            pytest.param(scope, after, marks=pytest.mark.deep)
            for scope in ("session", "run", "pair", "call")
            for after in (0, 5, 11)
            if after != 5 or scope in ("run", "call")
        ),
    ],
)
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
        seen += step.event is not None

    database = str(tmp_path / "b.sqlite")
    with SqlBlackboard(database) as board, pytest.raises(KeyboardInterrupt):
        runs.start(wanted, board, settings=one).execute(stop)
    with SqlBlackboard(database) as board:
        run = runs.resume("animals-1", board, one)
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
        with pytest.raises(Halted, match="cap of 7 calls"):
            runs.resume("animals-1", board).execute()
        assert len(table.asked) == 7
        runs.resume("animals-1", board, settings=Settings(calls=100)).execute()
        assert [ending for _, ending, *_ in transcript(board)] == ["ratified"] * 3


def test_a_recorded_run_is_replayed_without_asking_anybody(table: Table, tmp_path: Path) -> None:
    recording = tmp_path / "calls.jsonl"
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board, settings=Settings(cache=recording)).execute()
        said = transcript(board)
    table.asked.clear()
    with SqlBlackboard(":memory:") as board:
        runs.start(Plan("animals", instances="1"), board)  # so that the run has another name
        run = runs.start(plan(table), board, settings=Settings(replay=recording))
        run.execute()
        assert run.name == "animals-2"
        assert transcript(board, "animals-2") == said
        costs = board.costs("animals-2")
        calls, cached = (sum(getattr(one, name) for one in costs) for name in ("calls", "cached"))
        assert calls == cached > 0
        assert run.meter.shown().startswith(f"{calls} calls, {cached} of them cached, ")
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
        endings = {r.instance.x: (r.ending, r.cause) for r in board.sessions("animals-1")}
    assert endings.pop(mute)[0] == "no answer"
    assert {ending for ending, _ in endings.values()} == {"ratified"}


def test_a_judge_that_says_neither_yes_nor_no_is_never_a_no(httpserver: HTTPServer) -> None:
    table = Table(httpserver, stubborn_then_convinced, lambda _body: "perhaps")
    with SqlBlackboard(":memory:") as board:
        runs.start(plan(table), board).execute()
        for record in board.sessions("animals-1"):
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
        assert {record.assumptions for record in board.sessions("animals-1")} == {assumed}
        assert any(f"scope {scope}" in note for note in run.opening.notes)


def test_votes_are_asked_and_kept(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        runs.start(replace(plan(table, votes=3), instances="1"), board).execute()
        asked = [
            j
            for entry in board.events("animals-1/1/1")
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
        run = runs.resume("animals-1", board)
        run.opening.selection = replace(
            run.opening.selection, machine="openai:another@http://127.0.0.1:9/v1"
        )
        with pytest.raises(UsageError, match="would now be"):
            run.execute()


def test_the_command_runs_models_and_says_what_they_cost(
    table: Table, pxp: Callable[..., str], tmp_path: Path
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(PROMPTS.replace("You know animals.", "You know birds."), "utf-8")
    models = (
        "--machine",
        table.model,
        "--set",
        f"agents.judge={table.model}",
        "--set",
        f"agents.prompts={own}",
    )
    said = pxp("run", "animals", "--instances", "2", *models)
    assert f"Models: machine {table.model}, judge {table.model}" in said
    assert "Models were asked: " in said
    assert "calls/min" in said
    assert "AGREE is an approximation" not in said
    assert "You know birds." in json.dumps(table.asked)


def test_the_command_says_how_to_carry_on_a_capped_run(
    table: Table, pxp: Callable[..., str]
) -> None:
    models = ("--machine", table.model, "--set", f"agents.judge={table.model}")
    said = pxp("run", "animals", "--instances", "2", *models, "--max-calls", "3", code=2)
    assert "cap of 3 calls" in said
    assert "animals-1" in said
    again = ("run", "animals", "animals-1")
    assert "cap of 3 calls" in pxp(*again, code=2)
    assert "ratified 2" in pxp(*again, "--max-calls", "100")
    refused = pxp("run", "animals", "animals-1", "--set", "agents.scope=run", code=2)
    assert "leave out --set agents.scope" in refused


@pytest.mark.deep
def test_what_a_run_took_is_told_by_what_it_was_for(table: Table, pxp: Callable[..., str]) -> None:
    models = ("--machine", table.model, "--set", f"agents.judge={table.model}")
    pxp("run", "animals", "--instances", "2", *models)
    lines = [
        line.split()
        for line in pxp("list", "costs", "--database", "runs/blackboard.sqlite").splitlines()
    ]
    told = {words[1]: words for words in lines if words[:1] == ["animals-1"]}
    asked = table.purposes
    assert {purpose: int(words[3]) for purpose, words in told.items() if purpose != "all"} == asked
    answers, calls = asked["answer"], sum(asked.values())
    assert told["answer"][4:10] == ["0", "0", "0", f"{answers / 2:.1f}", f"{answers * 100:,}", "0"]
    assert told["all"][2] == str(calls)
    pxp("run", "animals", "--instances", "1")
    assert "animals-2" not in pxp("list", "costs")
    assert "There are no costs." in pxp("list", "costs", "animals-2")
    assert "no run 'animals-9'" in pxp("list", "costs", "animals-9", code=2)


@pytest.mark.deep
def test_a_judge_is_asked_again_about_a_stored_run(table: Table, pxp: Callable[..., str]) -> None:
    """The one that judged then agrees with itself; a moody one says no every third time."""
    models = ("--machine", table.model, "--set", f"agents.judge={table.model}")
    pxp("run", "animals", "--instances", "2", *models)
    with SqlBlackboard("runs/blackboard.sqlite") as board:
        pairs = judged_pairs(board, "animals-1")
    known = {frozenset((pair.left, pair.right)) for pair in pairs}
    table.asked.clear()
    said = pxp("judge", "animals-1", table.model, "--repetitions", "3")
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
    said = pxp("judge", "animals-1", table.model, "--repetitions", "3", "--limit", "2")
    assert "all samples of a pair alike       0/2 (0.00, 95% 0.00-0.66)" in said
    assert "two samples of a pair alike       0.33 on average" in said
    table.judge = lambda _body: "hm"
    said = pxp("judge", "animals-1", table.model, "--limit", "1")
    assert "questions without a verdict       2" in said
    assert "no run 'x'" in pxp("judge", "x", table.model, code=2)
