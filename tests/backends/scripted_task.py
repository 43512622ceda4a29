"""A task whose agents are scripted: what they say depends on the seed and on what they learned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict

from backends.databases import RunRecord, SqlBlackboard
from guards import Exact
from pxp_fsm import __version__
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.task import DataRow, DataSet, Task


class Player:
    """Says one of a few things, by a hash of its name, the question and what it has learned."""

    def __init__(self, name: str, learns: bool, learned: str = "") -> None:
        self.name = name
        self.learned = learned
        if learns:
            self.learn = self._learn

    def _learn(self, instance: Instance, message: Message) -> None:
        said = f"{self.learned}{instance.key}{message.answer.prediction}"
        self.learned = hashlib.sha256(said.encode()).hexdigest()

    async def answer(self, question: Question) -> Answer:
        asked = f"{self.name}/{question.instance.key}/{len(question.history)}/{self.learned}"
        number = int(hashlib.sha256(asked.encode()).hexdigest(), 16)
        return Answer("abc"[number % 3], ("because " + "xy"[number // 3 % 2]) * 20)


def task(
    *,
    learns: bool = True,
    at_once: int = 1,
    human: Callable[[], Respondent] | None = None,
) -> Task:
    def agents(drawn: DataSet, memo: bool) -> tuple[Agent, Agent]:
        same = Exact()
        person = human() if human else Player("h", False)
        return (
            Agent(Player("m", learns, drawn.draw), match=same, agree=same, memo=memo),
            Agent(person, match=same, agree=same, memo=memo),
        )

    return Task("scripted", "scripted", lambda _f: data(20), agents, lambda _d: [], at_once=at_once)


def data(size: int) -> DataSet:
    rows = (DataRow(Instance(f"i{i}", f"x{i}"), Answer("a", "")) for i in range(size))
    return DataSet("scripted", tuple(rows))


def open_run(
    board: SqlBlackboard, made: Task, plan: Plan, sessions: int, name: str = "s-1"
) -> Run[TaskOpening]:
    """The run `name`, recorded if it is new."""
    if name not in [record.run for record in board.runs()]:
        written = json.dumps(asdict(plan))
        board.start_run(RunRecord(name, "scripted", written, plan.seed, __version__, "f" * 64))
    return Run(name, TaskOpening(plan, made, data(sessions)), board)


def transcript(board: SqlBlackboard, run: str = "s-1") -> list[object]:
    """Everything that a run says, without times."""
    found: list[object] = []
    for record in board.sessions(run):
        found.append((record.session, record.instance, record.ending, record.cause))
        for entry in board.events(record.session):
            judged = [(j.relation, j.left, j.right, j.outcome, j.asked) for j in entry.judgements]
            found.append((entry.carried, entry.addition, judged))
    found += board.directions(run)
    return found
