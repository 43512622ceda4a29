"""RAD: findings in chest X-rays (arXiv 2410.20600, section 4.1): its data, agents and accuracy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from backends.databases.blackboard import Proxy
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.errors import DataError, UsageError, quoted, require_extra
from pxp_fsm.plugins.rad.data import bundled, image_in, picture, published, reference, training
from pxp_fsm.plugins.rad.radiograph import LABELS, Radiograph
from pxp_fsm.plugins.rad.relations import NONE, LabelSets, SameFindings, format_labels, label_set
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.own_data import RowForm, read_data, table_of
from pxp_fsm.tasks.task import DataRow, DataSet, Task

YES, NO = "yes", "no"
_ANSWERS = (YES, NO)
_LABEL = re.compile(r"\w[\w ()/'+.-]{0,59}")
"""A label of one's own data: it stands in the text of prompts, where nothing may steer a reader."""


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
    labels = data.labels if data.asked is None else _ANSWERS

    def from_text(text: str) -> str:
        """Labels joined with ",", or `none`, as a message carries them; raises `DataError`."""
        found = label_set(text, labels)
        if data.asked is not None and len(found) != 1:
            raise DataError(f"the prediction must be {YES} or {NO}, not {quoted(text)}")
        return format_labels(found)

    def from_json(value: object) -> str:
        """A list of labels, empty for none, as a message carries them; raises `DataError`."""
        if data.asked is not None:
            if not isinstance(value, str):
                raise DataError(f"the prediction must be {YES} or {NO}, not {quoted(value)}")
            return from_text(value)
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise DataError(
                f"the findings must be a list of labels, empty for none, not {quoted(value)}"
            )
        for label in value:
            if not isinstance(label, str):
                raise DataError(f"a label must be a text, not {quoted(label)}")
        return format_labels(label for one in value for label in _one(one, labels))

    findings = {
        "type": "array",
        "items": {"type": "string", "enum": list(labels)},
        "description": "the findings; empty where there is none of them",
    }
    one = {"type": "string", "enum": [*_ANSWERS], "description": f"whether it shows {data.asked}"}
    typed = "the findings, joined by commas, or none"
    return Problem(
        name="rad",
        query=query(data),
        prediction=findings if data.asked is None else one,
        from_json=from_json,
        from_text=from_text,
        to_json=lambda text: sorted(label_set(text, labels)) if data.asked is None else text,
        labels=labels,
        topics=data.labels,
        none=NONE if data.asked is None else None,
        picture=picture,
        described=lambda _instance: None,
        form=f"A prediction is {typed if data.asked is None else 'yes or no'}.",
    )


def _one(label: str, labels: Sequence[str]) -> frozenset[str]:
    if "," in label or " ".join(label.split()).casefold() == NONE:
        raise DataError(f"each entry must be one of {', '.join(labels)}, not {quoted(label)}")
    return label_set(label, labels)


def one_label(data: DataSet, label: str) -> DataSet:
    """The data with yes or no for `label` as predictions; `UsageError` where they have it not."""
    asked = next((one for one in data.labels if one.casefold() == label.strip().casefold()), None)
    if asked is None:
        raise UsageError(
            f"the data have no label {quoted(label)}; there are: {', '.join(data.labels)}", "label"
        )

    def answered(rows: Sequence[DataRow]) -> tuple[DataRow, ...]:
        found = ((row, asked in label_set(row.answer.prediction, data.labels)) for row in rows)
        return tuple(
            replace(row, answer=replace(row.answer, prediction=YES if shown else NO))
            for row, shown in found
        )

    return replace(
        data,
        origin=f"{data.origin}, asked for {asked}",
        sessions=answered(data.sessions),
        validation=answered(data.validation),
        test=answered(data.test),
        examples=answered(data.examples),
        asked=asked,
    )


def _own_labels(text: str, _x: str) -> str:
    """Labels as a table of one's own has them, those of the papers spelled as there."""
    own = [part.strip() for part in text.split(",") if part.strip().casefold() not in ("", NONE)]
    for label in own:
        if _LABEL.fullmatch(label) is None:
            raise DataError(
                f"a label is up to 60 letters, digits, spaces and ()/'+.-, not {quoted(label)}"
            )
    return format_labels(label_set(text, (*own, *LABELS)))


PROBLEM = problem_of(DataSet("", (), labels=LABELS))
"""The problem of the papers' five labels."""

FORM = RowForm(lambda text, folder: reference(image_in(folder.absolute(), text)), _own_labels)

_NEEDED = {"skimage": "scikit-image"}


def load(folder: Path | None) -> DataSet:
    """X-rays of one's own or the authors' from `folder`, or the bundled phantoms."""
    require_extra("rad", "RAD", {"PIL": "pillow"})
    if folder is None:
        return replace(bundled(), labels=LABELS)
    if table_of(folder) is None:
        return replace(published(folder), labels=LABELS)
    data = read_data(folder, FORM)
    rows = (*data.sessions, *data.validation, *data.test, *data.examples)
    every = (row.answer.prediction for row in rows)
    found = {one.casefold(): one for text in every for one in text.split(", ") if one != NONE}
    if not found:
        raise DataError(f"{folder}: every prediction is {NONE}; no row has a label to ask about")
    return replace(data, labels=tuple(sorted(found.values())))


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


class OneFinding:
    """The radiograph asked about one finding, yes or no; it learns as it does of sets."""

    def __init__(self, radiograph: Radiograph, finding: str) -> None:
        self._radiograph = radiograph
        self._finding = finding

    @property
    def name(self) -> str:
        """The radiograph's own."""
        return self._radiograph.name

    def copy(self) -> OneFinding:
        """The same with what it has learned, to learn on from apart."""
        return OneFinding(self._radiograph.copy(), self._finding)

    async def answer(self, question: Question) -> Answer:
        """Yes or no, with what was measured; raises `NoAnswer`."""
        said = await self._radiograph.answer(question)
        return replace(said, prediction=next(iter(self.labels(question.instance))))

    def labels(self, instance: Instance) -> frozenset[str]:
        """Yes or no; raises `NoAnswer`."""
        return self._asked(self._radiograph.labels(instance))

    def labels_of_all(self, instances: Sequence[Instance]) -> list[frozenset[str] | None]:
        """Yes or no for each of `instances`, None where it has no answer."""
        found = self._radiograph.labels_of_all(instances)
        return [None if said is None else self._asked(said) for said in found]

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        """The natural logarithm of the probability that `prediction`, yes or no, has to it."""
        shown = prediction == YES
        every = (
            frozenset(each) for n in range(len(LABELS) + 1) for each in combinations(LABELS, n)
        )
        wanted = [one for one in every if (self._finding in one) is shown]
        return self._radiograph.log_probability(question.instance, wanted)

    def _asked(self, said: Set[str]) -> frozenset[str]:
        return frozenset([YES if self._finding in said else NO])

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn that the picture shows the finding, or not; other findings stay as it sees them.

        A picture that cannot be measured is passed over.
        """
        [said] = self._radiograph.labels_of_all([instance])
        if said is None:
            return
        shown = {self._finding} if message.answer.prediction == YES else set()
        answer = replace(message.answer, prediction=format_labels(said - {self._finding} | shown))
        self._radiograph.learn(instance, replace(message, payload=answer))


Machine = Radiograph | OneFinding


def untaught() -> Radiograph:
    """The machine as it is before any session: it has seen the phantoms drawn for its training."""
    seen = [(picture(row.instance), labels_of(row)) for row in training()]
    return Radiograph(picture, seen)


def _machine(data: DataSet) -> Machine:
    return untaught() if data.asked is None else OneFinding(untaught(), data.asked)


def labels_of(row: DataRow) -> frozenset[str]:
    """The labels, or yes or no, that count as right for `row`."""
    return label_set(row.answer.prediction, (*LABELS, *_ANSWERS))


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    """A machine that has seen phantoms only, and the database proxy as the human."""
    match, agree = LabelSets(problem_of(data).labels or LABELS), SameFindings()
    answers = {row.instance.key: row.answer for row in data.sessions}
    respondent = _machine(data)
    machine = Agent(respondent, match=match, agree=agree, query=query(data), memo=memo)
    return machine, replace(machine, respondent=Proxy(answers), guards=Derived(revises=False))


def right(machine: Machine, rows: Sequence[DataRow]) -> int:
    """For how many of `rows` the machine predicts exactly the right set of labels."""
    found = machine.labels_of_all([row.instance for row in rows])
    return sum(said == labels_of(row) for said, row in zip(found, rows, strict=True))


def predicted(machine: Machine, row: DataRow) -> frozenset[str] | None:
    """The labels that `machine` predicts for `row`, or None where it has no answer."""
    return machine.labels_of_all([row.instance])[0]


def taught(machine: Machine, rows: Sequence[DataRow]) -> Machine:
    """A copy of `machine` that has been told the labels of `rows`, once each."""
    told = machine.copy()
    for row in rows:
        told.learn(row.instance, Message("taught", 2, "h", Tag.REFUTE, row.answer, "m"))
    return told


def accuracy(data: DataSet) -> Sequence[str]:
    """How often exactly the right set of labels is named, as lines to print.

    Session rows are told to the machine while it learns, so that only the sets held back say what
    it has learned.
    """
    machine, sessions = _machine(data), data.whole or data.sessions
    after = taught(machine, sessions)
    kind = "other phantoms" if data.in_sample else "phantoms, never a real film"
    lines = [
        f"Exactly the right labels ({data.origin}):",
        f"  before learning, the machine having seen {len(training())} {kind}:",
        *(f"    {name}: {_share(machine, rows)}" for name, rows in _sets(data) if rows),
        "  after it was told the labels of all rows for sessions, once each:",
        *(f"    {name}: {_share(after, rows)}" for name, rows in _sets(data)[1:] if rows),
    ]
    held_back = [(name, rows) for name, rows in _sets(data)[1:] if rows]
    lines += [
        f"  then, label by label, {name}: {_by_label(after, rows, problem_of(data).labels)}"
        for name, rows in held_back
    ]
    return lines + [
        f"  always the same answer, {name}: {_constant(rows)}" for name, rows in held_back
    ]


def _sets(data: DataSet) -> list[tuple[str, Sequence[DataRow]]]:
    return [
        ("sessions", data.whole or data.sessions),
        ("validation", data.validation),
        ("test", data.test),
    ]


def _share(machine: Machine, rows: Sequence[DataRow]) -> str:
    count = right(machine, rows)
    return f"{count}/{len(rows)} ({count / len(rows):.0%})"


def _by_label(machine: Machine, rows: Sequence[DataRow], labels: Sequence[str]) -> str:
    """For each label, how often it was found of how often it is there, and how often wrongly."""
    predictions = machine.labels_of_all([row.instance for row in rows])
    pairs = [
        (said or frozenset(), labels_of(row)) for said, row in zip(predictions, rows, strict=True)
    ]
    told = []
    for label in labels:
        there = sum(label in correct for _, correct in pairs)
        found = sum(label in said and label in correct for said, correct in pairs)
        wrong = sum(label in said and label not in correct for said, correct in pairs)
        told.append(f"{label} {found} of {there} and {wrong} wrongly")
    return ", ".join(told)


def _constant(rows: Sequence[DataRow]) -> str:
    """What always giving the most frequent answer would come to."""
    best, count = Counter(map(labels_of, rows)).most_common(1)[0]
    return f"{count}/{len(rows)} ({', '.join(sorted(best)) or 'none'})"


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
            "the machine had learned before each; nothing else is random.",
        ),
    },
)
