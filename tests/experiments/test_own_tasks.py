"""Tasks and agents of a program, in runs: fresh in each repetition, resumed, refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

import pxp_fsm as pxp
from backends.databases import Proxy, SqlBlackboard
from backends.models.settings import Settings
from guards.text import exact
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import members, openings, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.write import write
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.task import DataRow, DataSet, Task
from tests.experiments.scripted_server import Body, Table
from tests.tasks import animals

ROWS = tuple(DataRow(Instance(f"i{n}", f"x{n}"), Answer(str(n), "so it is")) for n in range(4))


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    truth = Proxy({row.instance.key: row.answer for row in data.sessions})
    agent = Agent(truth, match=exact, agree=exact, memo=memo)
    return agent, agent


NUMBERS = Task(
    "numbers",
    "numbers",
    lambda _folder: DataSet("four numbers", ROWS),
    agents,
    problem=Problem("numbers", "Which?", {"type": "string"}, str, str),
    prompts=animals.PROMPTS,
)
PLAN = Plan("numbers", order="fixed", repetitions=2, n=6)


class Pupil:
    """Answers how many messages it has heard; as the other does, once it heard it there."""

    name = "pupil"

    def __init__(self, heard: int = 0) -> None:
        self.heard = heard

    def copy(self) -> Pupil:
        return Pupil(self.heard)

    def learn(self, instance: Instance, message: Message) -> None:
        self.heard += 1

    async def answer(self, question: Question) -> Answer:
        return Answer(str(self.heard), "so it is")


def said(board: SqlBlackboard, run: str) -> dict[str, list[tuple[str, str]]]:
    return {
        record.session.partition("/")[2]: [
            (entry.carried.tag, entry.carried.answer.prediction)
            for entry in board.events(record.session)
        ]
        for record in board.sessions(run)
    }


def test_each_repetition_begins_with_a_machine_that_has_learned_nothing() -> None:
    pupil = Pupil()
    with SqlBlackboard(":memory:") as board:
        run = pxp.run(PLAN, board, task=NUMBERS, machine=pupil)
        found = said(board, run.name)
    assert pupil.heard == 0
    assert [found[f"1/{n}"] for n in (1, 2, 3, 4)] == [found[f"2/{n}"] for n in (1, 2, 3, 4)]
    first, second = found["1/1"][0], found["1/2"][0]
    assert first == ("INIT", "0")
    assert second > ("INIT", "0")  # it goes on with what it heard in the first session


@pytest.mark.parametrize("after", [1, 6, 11])
def test_a_run_that_was_stopped_is_carried_on_under_its_name(after: int) -> None:
    with SqlBlackboard(":memory:") as board:
        whole = pxp.run(PLAN, board, task=NUMBERS, machine=Pupil(), name="whole")
        wanted = said(board, whole.name)
        stopped = runs.start(openings.TaskOpening.read(PLAN, _seated()), board, name="mine")
        seen = 0

        def stop(step: runs.Progress) -> None:
            nonlocal seen
            seen += step.event is not None
            if seen == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            stopped.execute(stop)
        assert said(board, "mine") != wanted
        pxp.run(PLAN, board, task=NUMBERS, machine=Pupil(), name="mine")
        assert said(board, "mine") == wanted
        with pytest.raises(UsageError, match="run mine has another plan"):
            pxp.run(replace(PLAN, seed=7), board, task=NUMBERS, machine=Pupil(), name="mine")
        with pytest.raises(UsageError, match="m was 'pupil guards=derived"):
            unfinished = runs.start(openings.TaskOpening.read(PLAN, _seated()), board, name="other")
            with pytest.raises(KeyboardInterrupt):
                seen = after - 1
                unfinished.execute(stop)
            pxp.run(PLAN, board, task=NUMBERS, machine=_silent, name="other")


def _silent(question: Question) -> Answer:
    raise pxp.NoAnswer("nothing to say")


def _seated() -> Task:
    return members.seated(NUMBERS, PLAN, Pupil())


def test_a_function_takes_a_place_with_the_relations_of_the_task() -> None:
    def human(question: Question) -> Answer:
        return Answer("yes", "I am a person.")

    with SqlBlackboard(":memory:") as board:
        run = pxp.run(Plan("animals", instances="1"), board, human=human)
        (record,) = board.sessions(run.name)
    described = dict(record.agents)
    assert described["h"].startswith("human guards=derived MATCH=exact")
    assert described["m"].startswith("naturalist")


class Uncopied:
    """Learns, and cannot be copied."""

    name = "uncopied"

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn nothing."""

    async def answer(self, question: Question) -> Answer:
        return Answer("0", "so it is")


def test_what_cannot_take_part_is_refused() -> None:
    with SqlBlackboard(":memory:") as board:
        for field in ("machine", "human"):
            plan = Plan("animals", machine="openai:a@http://b/v1", human="terminal")
            with pytest.raises(UsageError, match=f"the plan names its {field} already"):
                pxp.run(plan, board, **{field: _silent})  # type: ignore[call-overload]
        with pytest.raises(UsageError, match=r"Uncopied object.* learns and has no copy\(\)"):
            pxp.run(PLAN, board, task=NUMBERS, machine=Uncopied())
        assert board.runs() == ()
        with pytest.raises(UsageError, match="there is no task 'numbers'"):
            pxp.run(PLAN, board)


@pytest.mark.deep
def test_a_model_answers_a_task_of_ones_own_and_a_report_is_made(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    def right(body: Body) -> str:
        return json.dumps({"prediction": "0", "explanation": "so it is"})

    table = Table(httpserver, right, lambda _body: "yes")
    plan = replace(PLAN, machine=table.model, repetitions=1)
    with SqlBlackboard(":memory:") as board:
        run = pxp.run(plan, board, task=NUMBERS, settings=Settings(in_flight=1))
        assert board.sessions(run.name)[0].ending == "ratified"
        reports, _ = write(board, (), tmp_path / "page.html")
        assert reports[0].statistics.repetitions[0].total == 4
    page = (tmp_path / "page.html").read_text("utf-8")
    assert (
        "there is no task &#39;numbers&#39;" in page
    )  # what needs the task says why it is not there
