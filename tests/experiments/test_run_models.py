"""Runs with models that carry their conversations on, and whose lessons are weighed."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import Halted
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress
from tests.experiments.scripted_server import Body, Table, agrees_when_convinced, frames, judging
from tests.tasks.animals import bundled

ONE = Settings(in_flight=1)
ROWS = bundled()
OURS = {row.instance.x for row in ROWS.sessions[:2]}
RIGHT = {row.instance.x: row.answer.prediction for row in (*ROWS.whole, *ROWS.validation)}
HELD = len(ROWS.validation or [row for row in ROWS.whole if row not in ROWS.sessions])


def latest(body: Body) -> tuple[str, list[dict[str, Any]]]:
    """The instance that a chemist is asked about, and what was said of it by the other."""
    told = frames(body)
    start = max(place for place, frame in enumerate(told) if "instance" in frame)
    return told[start]["instance"], [frame for frame in told[start:] if "tag" in frame]


def chemist(body: Body) -> str:
    """A worm at first, then what the other says; who has heard of anything knows the rest."""
    instance, heard = latest(body)
    if heard:
        prediction = heard[-1]["prediction"]
    elif instance in OURS or not any("tag" in frame for frame in frames(body)):
        prediction = "worm"
    else:
        prediction = RIGHT[instance]
    view = "You are right." if len(heard) > 1 else f"My view, {len(heard)}."
    return json.dumps({"prediction": prediction, "explanation": view})


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, chemist, agrees_when_convinced)


def plan(table: Table, **more: Any) -> Plan:
    return Plan("animals", instances="2", machine=table.model, judge=table.model, **more)


def said(board: SqlBlackboard) -> list[Any]:
    return [
        [(entry.carried.tag, entry.carried.answer) for entry in board.events(record.session)]
        for record in sorted(board.sessions("animals-1"), key=lambda record: record.session)
    ]


def undisturbed(table: Table, wanted: Plan) -> tuple[list[Any], list[Body]]:
    """What is said in a run that nothing interrupts, and what the server is asked."""
    with SqlBlackboard(":memory:") as board:
        runs.start(wanted, board, settings=ONE).execute()
        found = said(board), list(table.asked)
    table.asked.clear()
    return found


def answers(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if not judging(body)]


def test_a_model_that_carries_on_is_told_its_earlier_sessions(table: Table) -> None:
    told, asked = undisturbed(table, plan(table, carry=True))
    first, second = (len(session) for session in told)
    assert first > 3 < second
    conversations = [body["messages"][1:] for body in answers(asked)]
    for turns in conversations:
        roles = [turn["role"] for turn in turns]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    about = [[f["instance"] for f in frames(body) if "instance" in f] for body in answers(asked)]
    assert sorted(map(len, about)) == list(map(len, about))  # one session after the other
    one, both = about[0], about[-1]
    assert one == both[:1]
    assert set(both) == OURS
    opening = next(turns for turns, told in zip(conversations, about, strict=True) if told == both)
    own = [json.loads(turn["content"]) for turn in opening if turn["role"] == "assistant"]
    assert own[0]["prediction"] == "worm"
    assert len(own) == (first + 1) // 2
    without, _ = undisturbed(table, plan(table))
    assert [len(session) for session in without] == [first, second]


def test_without_it_a_model_is_told_of_one_session_only(table: Table) -> None:
    _, asked = undisturbed(table, plan(table))
    assert {sum("instance" in f for f in frames(body)) for body in answers(asked)} == {1}


def test_sessions_that_carry_on_wait_for_each_other(table: Table) -> None:
    going, most, lock = 0, 0, threading.Lock()

    def counted(body: Body) -> str:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
        try:
            return chemist(body)
        finally:
            with lock:
                going -= 1

    table.chemist = counted
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan(table, carry=True), board, settings=Settings(in_flight=8))
        assert run.opening.carries
        assert [(unit.first, unit.last) for unit in run.units()] == [(1, 2)]
        run.execute()
    assert most == 1


LEARNING = [
    {"carry": True},
    *(
        pytest.param(more, marks=pytest.mark.deep)
        for more in (
            {"learn": "better"},
            {"learn": "better", "gate": "context", "carry": True},
            {"learn": "equal", "carry": True},
        )
    ),
]


@pytest.mark.parametrize("more", LEARNING, ids=str)
@pytest.mark.parametrize("after", [1, pytest.param(6, marks=pytest.mark.deep)])
def test_what_carries_on_is_resumed_without_asking_twice(
    table: Table, more: dict[str, Any], after: int, tmp_path: Path
) -> None:
    wanted = plan(table, **more)
    found, asked = undisturbed(table, wanted)
    seen = 0

    def stop(step: Progress) -> None:
        nonlocal seen
        seen += step.event is not None
        if seen == after:
            raise KeyboardInterrupt

    database = str(tmp_path / "b.sqlite")
    with SqlBlackboard(database) as board, pytest.raises(KeyboardInterrupt):
        runs.start(wanted, board, settings=ONE).execute(stop)
    with SqlBlackboard(database) as board:
        run = runs.resume("animals-1", board, ONE)
        run.execute()
        assert said(board) == found
        assert run.meter.calls == len(table.asked) == len(asked)
    assert Counter(map(json.dumps, table.asked)) == Counter(map(json.dumps, asked))


@pytest.mark.parametrize("more", LEARNING, ids=str)
def test_what_carries_on_is_replayed_as_it_was(
    table: Table, more: dict[str, Any], tmp_path: Path
) -> None:
    wanted, recording = plan(table, **more), tmp_path / "calls.jsonl"
    with SqlBlackboard(":memory:") as board:
        runs.start(wanted, board, settings=Settings(cache=recording)).execute()
        found = said(board)
    table.asked.clear()
    with SqlBlackboard(":memory:") as board:
        runs.start(wanted, board, settings=Settings(replay=recording)).execute()
        assert said(board) == found
    assert table.asked == []


def validating(body: Body) -> bool:
    return not judging(body) and latest(body)[0] not in OURS


@pytest.mark.deep
def test_lessons_are_weighed_at_their_own_cost(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first lesson, and after each that would change an answer: no more than that."""
    monkeypatch.chdir(tmp_path)
    models = ("--machine", table.model, "--set", f"agents.judge={table.model}")
    command = [
        "run",
        "animals",
        "--instances",
        "2",
        *models,
        "--set",
        "learning.keep=better",
        "--set",
        "learning.carry=true",
    ]
    done = CliRunner().invoke(commands, command)
    assert done.exit_code == 0, done.output
    assert f"on {HELD} validation instances" in done.output
    asked = Counter(
        "judge" if judging(body) else "validation" if validating(body) else "answer"
        for body in table.asked
    )
    printed = CliRunner().invoke(commands, ["list", "costs"]).output
    lines = [line.split() for line in printed.splitlines()]
    told = {words[1]: int(words[3]) for words in lines if words[:1] == ["animals-1"] if words[3:]}
    assert {purpose: told[purpose] for purpose in asked} == asked
    with SqlBlackboard("runs/blackboard.sqlite") as board:
        weighed = [
            json.loads(judgement.detail)
            for record in board.sessions("animals-1")
            for entry in board.events(record.session)
            for judgement in entry.judgements
            if judgement.relation == "LEARN" and judgement.asked
        ]
    assert weighed[0] == {"before": 0, "after": HELD, "of": HELD, "unanswered": 0}
    assert asked["validation"] == HELD * (1 + len(weighed))


@pytest.mark.deep
def test_a_cap_counts_what_weighs_lessons(table: Table, tmp_path: Path) -> None:
    """It stops the run in the middle of a weighing, which goes on where it was."""
    wanted = plan(table, learn="better", carry=True)
    found, asked = undisturbed(table, wanted)
    first = next(place for place, body in enumerate(asked) if validating(body))
    cap = first + HELD // 2
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        with pytest.raises(Halted, match=f"cap of {cap} calls"):
            runs.start(wanted, board, settings=replace(ONE, calls=cap)).execute()
        assert len(table.asked) == cap
        runs.resume("animals-1", board, replace(ONE, calls=10_000)).execute()
        assert said(board) == found
    assert len(table.asked) == len(asked)
