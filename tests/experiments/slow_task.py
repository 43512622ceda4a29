"""A task that comes as an installed plug-in, with scripted agents that take their time.

What the machine says depends on all that it has learned in its repetition, so that a session that
is carried on wrongly is seen. While the file `PXP_HELD` is there, a process answers so often
only, and then waits: whoever kills it there needs not be quick.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from itertools import count
from pathlib import Path

from guards import Exact
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.task import DataRow, DataSet, Task

BEFORE_HELD = 20
"""The answers of a process before it is held."""

_answers = count(1)


class Player:
    def __init__(self, name: str, learned: str = "") -> None:
        self.name = name
        self.learned = learned

    def copy(self) -> Player:
        return Player(self.name, self.learned)

    def learn(self, instance: Instance, message: Message) -> None:
        said = f"{self.learned}{instance.key}{message.answer.prediction}"
        self.learned = hashlib.sha256(said.encode()).hexdigest()

    async def answer(self, question: Question) -> Answer:
        held = os.environ.get("PXP_HELD", "")
        if held and next(_answers) > BEFORE_HELD:
            while Path(held).exists():
                await asyncio.sleep(0.01)
        asked = f"{self.name}/{question.instance.key}/{len(question.history)}/{self.learned}"
        number = int(hashlib.sha256(asked.encode()).hexdigest(), 16)
        return Answer("abc"[number % 3], "because " + "xy"[number // 3 % 2])


def _load(_folder: Path | None) -> DataSet:
    rows = tuple(DataRow(Instance(f"i{i}", f"x{i}"), Answer("abc"[i % 3], "")) for i in range(30))
    return DataSet("made up", rows[:20], validation=rows[20:])


def _agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    same = Exact()
    players = Player("m", data.draw), Player("h")
    machine, human = (Agent(player, match=same, agree=same, memo=memo) for player in players)
    return machine, human


TASK = Task("slow", "scripted agents that take their time", _load, _agents, lambda _data: ())


def install(folder: Path) -> None:
    """Make `folder`, on PYTHONPATH, a place where the task is installed."""
    info = folder / "slow_task-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-task\nVersion: 0\n")
    (info / "entry_points.txt").write_text(
        "[pxp_fsm.plugins]\nslow = tests.experiments.slow_plugin:PLUGIN\n"
    )
