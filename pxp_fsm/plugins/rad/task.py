"""RAD: findings in chest X-rays (arXiv 2410.20600, section 4.1), a task of labels.

What is its own is here: the question, the films, what is measured in them, and AGREE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

from guards.labels import NONE, LabelSets, format_labels, label_set
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import NoAnswer, UsageError, require_extra
from pxp_fsm.plugins.rad.data import bundled, film_in, picture, published, training
from pxp_fsm.plugins.rad.radiograph import LABELS, Radiograph
from pxp_fsm.plugins.rad.radiograph.measures import Measures
from pxp_fsm.plugins.rad.relations import SameFindings
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.labels.neighbours import Neighbours
from pxp_fsm.tasks.labels.pictures import reference
from pxp_fsm.tasks.labels.table import own_labels, with_labels
from pxp_fsm.tasks.labels.task import (
    NO,
    YES,
    accuracy_of,
    agents_of,
    label_problem,
    one_label,
    seen_first,
)
from pxp_fsm.tasks.own_data import RowForm, read_data, table_of
from pxp_fsm.tasks.task import DataRow, DataSet, Task


def query(data: DataSet) -> str:
    """What is asked about each picture."""
    if data.asked is not None:
        asked = f"Does this chest X-ray show {data.asked}? Predict {YES} or {NO}."
    else:
        asked = (
            "Which of these findings does this chest X-ray show, one, several or none of them: "
            f"{', '.join(data.labels)}?"
        )
    return f"{asked} Explain it as a radiology report would."


def problem_of(data: DataSet) -> Problem:
    """A set out of the labels of the data, or yes or no for the one that is asked about."""
    whole = label_problem("rad", query(data), data, "findings", f"whether it shows {data.asked}")
    return replace(whole, picture=picture, described=lambda _instance: None)


PROBLEM = problem_of(DataSet("", (), labels=LABELS))
"""The problem of the papers' five labels."""

FORM = RowForm(
    lambda text, folder: reference(film_in(folder.absolute(), text)),
    lambda text, _x: own_labels(text, LABELS),
)

_NEEDED = {"skimage": "scikit-image"}


def load(folder: Path | None) -> DataSet:
    """X-rays of one's own or the authors' from `folder`, or the bundled phantoms."""
    require_extra("rad", "RAD", {"PIL": "pillow"})
    if folder is None:
        return replace(bundled(), labels=LABELS)
    if table_of(folder) is None:
        return replace(published(folder), labels=LABELS)
    return with_labels(folder, read_data(folder, FORM))


def check_machine(data: DataSet) -> None:
    """Raise `UsageError` where the radiograph's packages are missing, or it knows a label not."""
    require_extra("rad", "RAD's own machine", _NEEDED)
    asked = data.labels if data.asked is None else (data.asked,)
    other = [label for label in asked if label not in LABELS]
    if other:
        raise UsageError(
            f"RAD's own machine knows {', '.join(LABELS)}, and the data have {', '.join(other)}; "
            f"name a model",
            "machine",
        )
    seen_first(data, training())


Reader: TypeAlias = Neighbours[Measures]
"""A machine that sees radiographs and predicts sets of findings."""


class OneFinding:
    """A reader asked about one finding, yes or no; it learns as it does of sets."""

    def __init__(self, reader: Reader, finding: str) -> None:
        self._reader = reader
        self._finding = finding

    @property
    def name(self) -> str:
        """The reader's own."""
        return self._reader.name

    def copy(self) -> OneFinding:
        """The same with what it has learned, to learn on from apart."""
        return OneFinding(self._reader.copy(), self._finding)

    async def answer(self, question: Question) -> Answer:
        """Yes or no, with what was measured; raises `NoAnswer`."""
        reading = await self._reader.answer(question)
        return replace(reading, prediction=self._asked(reading.prediction))

    def prediction(self, instance: Instance) -> str:
        """Yes or no; raises `NoAnswer`."""
        return self._asked(self._reader.prediction(instance))

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        """The natural logarithm of the probability that `prediction`, yes or no, has to it."""
        shown = prediction == YES
        every = (subset for n in range(len(LABELS) + 1) for subset in combinations(LABELS, n))
        wanted = [format_labels(labels) for labels in every if (self._finding in labels) is shown]
        return self._reader.log_probability(question.instance, wanted)

    def _asked(self, prediction: str) -> str:
        return YES if self._finding in label_set(prediction, LABELS) else NO

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn that the picture shows the finding, or not; other findings stay as it sees them.

        A picture that cannot be measured is passed over.
        """
        try:
            seen = label_set(self._reader.prediction(instance), LABELS)
        except NoAnswer:
            return
        shown = {self._finding} if message.answer.prediction == YES else set()
        answer = replace(message.answer, prediction=format_labels(seen - {self._finding} | shown))
        self._reader.learn(instance, replace(message, payload=answer))


def is_canonical(prediction: str) -> bool:
    """Whether `prediction` is a set of the papers' labels in the form that messages carry."""
    labels = [] if prediction == NONE else prediction.split(", ")
    return set(labels) <= {*LABELS} and format_labels(labels) == prediction


def reader(seen: Sequence[DataRow] = ()) -> Reader:
    """A machine that has `seen` these films with their labels."""
    possible = 1 << len(LABELS)
    sight = Radiograph(picture)
    return Neighbours(sight, seen, usable=is_canonical, possible=possible, otherwise=NONE)


def untaught() -> Reader:
    """The machine as it is before any session: it has seen the phantoms drawn for its training."""
    return reader(training())


def _machine(data: DataSet) -> Reader | OneFinding:
    begun = reader(seen_first(data, training()))
    return begun if data.asked is None else OneFinding(begun, data.asked)


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    """A machine that has seen phantoms only, and the database proxy as the human."""
    match = LabelSets(problem_of(data).labels or LABELS)
    return agents_of(_machine(data), data, match, SameFindings(), query(data), memo)


def accuracy(data: DataSet) -> Sequence[str]:
    """How often exactly the right set of labels is named, as lines to print."""
    kind = "other phantoms" if data.in_sample else "phantoms, never a real film"
    return accuracy_of(_machine(data), data, f"{len(seen_first(data, training()))} {kind}")


RAD = Task(
    name="rad",
    about="findings in chest X-rays",
    load=load,
    agents=agents,
    accuracy=accuracy,
    problem=PROBLEM,
    problem_of=problem_of,
    one_label=one_label,
    check_machine=check_machine,
    precedents="all",
    notes=(RESEARCH_ONLY,),
    has_likelihood=True,
    role_notes={
        "human": ("The human is a database (an oracle agent: it never REVISEs).",),
        "judge": (
            "AGREE is an approximation: it reads findings and their sides out of the reports.",
        ),
        "machine": (
            "The machine measures grey values, and has learned from drawings.",
            "Reports name their own labels, and the machine repeats what it was told: the table "
            "says that it remembers, the accuracy on the sets held back what it has learned.",
            "Repetitions differ by the order of instances (drawn from the seed), and so by what "
            "the machine had learned before each, and by its drawings where they are few:N; "
            "nothing else is random.",
        ),
    },
)
