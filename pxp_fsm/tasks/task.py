"""The interface of a task: its data, its agents, and its questions to models and people.

A task is loaded only when it is asked for: its agents need much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pxp_fsm import registry
from pxp_fsm.errors import unknown_name
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.policy import ContextFunction

MACHINE, HUMAN = "m", "h"
"""The names of a task's two agents in its sessions; the machine begins."""


class PredictionKind(StrEnum):
    """What predictions of a task of labels are made of.

    `LABELS`: a set of labels, which may be empty. `LABEL`: one label. `TEXT`: any text.
    """

    LABELS = "labels"
    LABEL = "label"
    TEXT = "answer"


@dataclass(frozen=True, slots=True)
class DataRow:
    """An instance with the answer that counts as correct for it."""

    instance: Instance
    answer: Answer


@dataclass(frozen=True, slots=True)
class DataSet:
    """The rows of a task: those that sessions are about, and those held back.

    `origin` says in words where they come from; `in_sample` that the predictor's authors wrote them
    too. Where `sessions` is a choice of rows, `whole` is all that there were to choose from.
    `precedents` says which precedents a machine may use that has some ("" leaves it to the task),
    and `draw`, which is another for each repetition, decides what is drawn of them. `labels` are
    those that predictions are made of, where they are a closed list, as `kind` says; `asked` is the
    one that alone is asked about, yes or no. `pictures` says that instances are pictures. `terms`
    are the key terms by which explanations agree, each with its wordings. `examples` are rows whose
    answers models are shown. `materials` is what can be bought, where predictions are pathways back
    to it, and `compared` the part of them that MATCH compares.
    """

    origin: str
    sessions: tuple[DataRow, ...]
    validation: tuple[DataRow, ...] = ()
    test: tuple[DataRow, ...] = ()
    in_sample: bool = False
    whole: tuple[DataRow, ...] = ()
    examples: tuple[DataRow, ...] = ()
    precedents: str = ""
    draw: str = "0/1"
    labels: tuple[str, ...] = ()
    asked: str | None = None
    kind: PredictionKind = PredictionKind.LABELS
    pictures: bool = False
    terms: tuple[tuple[str, ...], ...] = ()
    materials: frozenset[str] = frozenset()
    compared: str = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the session rows, in their order."""
        parts = (
            part
            for row in self.sessions
            for part in (
                row.instance.key,
                row.instance.x,
                row.answer.prediction,
                row.answer.explanation,
            )
        )
        return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


class Recorded(NamedTuple):
    """A recorded session: the draw of its repetition (`DataSet.draw`), its instance's key."""

    draw: str
    key: str
    messages: Sequence[Message]


@dataclass(frozen=True)
class Task:
    """A problem that sessions can be about.

    `load` reads the data (None: the bundled set); `agents` makes a fresh pair (machine, human), in
    sessions m and h, for
    one repetition; `accuracy` says how good the untaught machine is on all rows, as lines to be
    printed, and `known_rows` which rows it has met before, as lines that begin a run; `notes`,
    shown wherever results are shown, say what is approximate, and what is random
    beside the order of instances; `role_notes` say it of the task's own `machine`, `human` and
    `judge`, and are shown where nobody else sits in their place. `at_once` is how many sessions of
    a repetition may go on at a time: more than 1 only where no agent takes anything from one
    session to the next. `problem` is how models and people are asked; None where the task can only
    be answered by its own agents. `prompts` is the text of its file of prompts; None: those that
    come with a task of its name. `update_context` says what each message adds to the context C,
    which models are shown. `precedents` are those that its own machine begins with where a plan
    names none (`few:20`, `all`), "" where it has none to choose from; `has_likelihood` that it says
    how likely its answers are. `elsewhere` are rows of another kind than those of the sessions,
    with what they are in words: whether what was learned holds there.
    `problem_of` is the problem that the data make, where the labels are theirs, and `one_label` the
    data where one label is asked about, yes or no (`UsageError` for one that they do not have);
    `pathways` the data where predictions are pathways back to a list of materials, by MATCH on a
    part of them.
    `check_machine` raises `UsageError` where its own machine cannot work, or not with these data.
    `learned` says, as lines to be printed, what the machine's answers in
    recorded sessions owe to lessons. `why_not` says why a machine does not
    predict what a person has in mind: the machine, the instance and the prediction; None where it
    is a machine that cannot tell.
    """

    name: str
    about: str
    load: Callable[[Path | None], DataSet]
    agents: Callable[[DataSet, bool], tuple[Agent, Agent]]
    accuracy: Callable[[DataSet], Sequence[str]] = lambda _data: ()
    known_rows: Callable[[DataSet], Sequence[str]] = lambda _data: ()
    notes: tuple[str, ...] = ()
    at_once: int = 1
    problem: Problem | None = None
    role_notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prompts: str | None = None
    update_context: ContextFunction | None = None
    precedents: str = ""
    has_likelihood: bool = False
    elsewhere: Callable[[], tuple[str, tuple[DataRow, ...]]] | None = None
    learned: Callable[[DataSet, Iterable[Recorded]], Sequence[str]] | None = None
    why_not: Callable[[Respondent, Instance, str], str | None] | None = None
    problem_of: Callable[[DataSet], Problem] | None = None
    one_label: Callable[[DataSet, str], DataSet] | None = None
    pathways: Callable[[DataSet, Path, str | None], DataSet] | None = None
    check_machine: Callable[[DataSet], None] | None = None


def task_names() -> tuple[str, ...]:
    """The names of every task there is, sorted."""
    return tuple(sorted(registry.contributions("tasks")))


def task_meanings() -> dict[str, str]:
    """What each task is about, by name, as its plug-in says it."""
    meanings: dict[str, str] = {}
    for plugin in registry.plugins():
        for name in plugin.tasks:
            meanings.setdefault(name, plugin.about)
    return dict(sorted(meanings.items()))


def find_task(name: str) -> Task:
    """The task of that name; `UsageError` where there is none."""
    where = registry.contribution("tasks", name)
    if where is None:
        raise unknown_name("task", name, task_meanings(), "task")
    task: Task = registry.load(where)
    return task
