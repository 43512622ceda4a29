"""A task of a thousand made-up instances, whose scripted agents answer at once: for benchmarks.

It is found as any plug-in is, by an entry point (`installed`).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from guards import Exact
from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.task import DataRow, DataSet, Task


class Player:
    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(self, question: Question) -> Answer:
        asked = f"{self.name}/{question.instance.key}/{len(question.history)}"
        number = int(hashlib.sha256(asked.encode()).hexdigest(), 16)
        return Answer("abc"[number % 3], f"because {'xy'[number // 3 % 2]} " * 10)


def load(_folder: Path | None) -> DataSet:
    rows = (DataRow(Instance(f"i{i}", f"x{i}"), Answer("a", "")) for i in range(1000))
    return DataSet("made up", tuple(rows))


def agents(_data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    same = Exact()
    machine, human = (Agent(Player(name), match=same, agree=same, memo=memo) for name in ("m", "h"))
    return machine, human


TASK = Task("scripted", "scripted agents", load, agents, lambda _data: (), at_once=8)


def installed(folder: Path) -> None:
    """Make `folder`, on PYTHONPATH, a place where the task is installed."""
    info = folder / "scripted_task-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-task\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[pxp_fsm.plugins]\nscripted = scripted_plugin:PLUGIN\n")
