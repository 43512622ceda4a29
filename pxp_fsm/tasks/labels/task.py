"""LABELS: a classification of one's own, of texts or pictures (RAD is one with eyes of its own)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from backends.databases.blackboard import Proxy
from guards.labels import NONE, LabelSets, format_labels, label_set
from guards.terms import KeyTerms
from guards.text import normalised_text
from pxp_fsm.errors import DataError, UsageError, counted, quoted
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.protocol.relations import Relation
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.labels.neighbours import (
    CopyablePredictor,
    Neighbours,
    Predictor,
    predictions,
    right,
    taught,
)
from pxp_fsm.tasks.labels.pictures import picture
from pxp_fsm.tasks.labels.sights import PictureSight, TextSight
from pxp_fsm.tasks.labels.table import free_text, load_labels, with_answers
from pxp_fsm.tasks.task import DataRow, DataSet, PredictionKind, Task

YES, NO = "yes", "no"
ANSWERS = (YES, NO)
"""What is predicted where one label is asked about."""

_Machine: TypeAlias = Neighbours[Any]


def query(data: DataSet) -> str:
    """What is asked about each text or picture."""
    medium, labels = "picture" if data.pictures else "text", ", ".join(data.labels)
    if data.asked is not None:
        asked = f"Does the label {data.asked} fit this {medium}? Predict {YES} or {NO}."
    elif data.kind is PredictionKind.TEXT:
        asked = f"What is the answer to this {medium}?"
    elif data.kind is PredictionKind.LABEL:
        asked = f"Which one of these labels fits this {medium}: {labels}?"
    else:
        asked = f"Which of these labels fit this {medium}, one, several or none of them: {labels}?"
    return f"{asked} Explain why."


def predicted_words(data: DataSet) -> tuple[str, ...]:
    """The words that predictions are made of; none for free text."""
    return data.labels if data.asked is None else ANSWERS


def canonical(data: DataSet, text: str) -> str:
    """A prediction about `data` as a message carries it; raises `DataError`."""
    if data.kind is PredictionKind.TEXT:
        return free_text(text)
    words = predicted_words(data)
    chosen = label_set(text, words)
    if len(chosen) != 1 and (data.asked is not None or data.kind is PredictionKind.LABEL):
        one_of = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
        raise DataError(f"the prediction must be {one_of}, not {quoted(text)}")
    return format_labels(chosen)


def label_problem(
    name: str, asked: str, data: DataSet, noun: str = "labels", about: str = ""
) -> Problem:
    """The problem of `data`, asked by the question `asked`: a set of labels, one, or free text.

    `noun` is what labels are called, and `about` what the schema says of the one label.
    """
    single = data.asked is not None or data.kind is PredictionKind.LABEL
    words = predicted_words(data)

    def from_json(value: object) -> str:
        """A list of labels, or a text, as a message carries it; raises `DataError`."""
        if single or data.kind is PredictionKind.TEXT:
            if not isinstance(value, str):
                raise DataError(f"the prediction must be a text, not {quoted(value)}")
            return canonical(data, value)
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise DataError(
                f"the {noun} must be a list of labels, empty for none, not {quoted(value)}"
            )
        for label in value:
            if not isinstance(label, str):
                raise DataError(f"a label must be a text, not {quoted(label)}")
        return format_labels(label for element in value for label in _one(element, words))

    schema: Mapping[str, object]
    if data.kind is PredictionKind.TEXT:
        schema = {"type": "string", "description": "the answer, on one line"}
        form = "A prediction is a text on one line."
    elif single:
        schema = {"type": "string", "enum": [*words], "description": about or "the label"}
        form = f"A prediction is {'yes or no' if data.asked is not None else 'one of the labels'}."
    else:
        schema = {
            "type": "array",
            "items": {"type": "string", "enum": [*words]},
            "description": f"the {noun}; empty where there is none of them",
        }
        form = f"A prediction is a list of {noun}, joined by commas, or none."
    several = not single and data.kind is not PredictionKind.TEXT
    return Problem(
        name=name,
        query=asked,
        prediction=schema,
        from_json=from_json,
        from_text=lambda text: canonical(data, text),
        to_json=lambda text: sorted(label_set(text, words)) if several else text,
        labels=words,
        topics=data.labels,
        none=NONE if several else None,
        form=form,
    )


def _one(label: str, labels: Sequence[str]) -> frozenset[str]:
    if "," in label or " ".join(label.split()).casefold() == NONE:
        raise DataError(f"each entry must be one of {', '.join(labels)}, not {quoted(label)}")
    return label_set(label, labels)


def problem_of(data: DataSet) -> Problem:
    """The problem of a table: its texts or pictures, and its labels."""
    problem = label_problem("labels", query(data), data)
    if not data.pictures:
        return problem
    return replace(problem, picture=picture, described=lambda _instance: None)


def one_label(data: DataSet, label: str) -> DataSet:
    """The data with yes or no for `label` as predictions; `UsageError` where they have it not."""
    asked = next(
        (known for known in data.labels if known.casefold() == label.strip().casefold()),
        None,
    )
    if asked is None:
        there = f"there are: {', '.join(data.labels)}" if data.labels else "its answers are texts"
        raise UsageError(f"the data have no label {quoted(label)}; {there}", "label")

    def answered(answer: Answer) -> Answer:
        shown = asked in label_set(answer.prediction, data.labels)
        return replace(answer, prediction=YES if shown else NO)

    origin = f"{data.origin}, asked for {asked}"
    return replace(with_answers(data, answered), origin=origin, asked=asked)


def load(folder: Path | None) -> DataSet:
    """The table in `folder`; raises `UsageError` where none is given."""
    if folder is None:
        raise UsageError(
            "labels is about a table of your own; give its folder (pxp help labels)", "data"
        )
    return load_labels(folder)


def check_machine(data: DataSet) -> None:
    """Raise `UsageError` where there is nothing that the offline machine could begin with."""
    if not data.examples:
        raise UsageError(
            "the offline machine begins with the rows of the set examples, and these data have "
            "none; write examples in the column set of some rows, leave that column out, or name a "
            "model",
            "machine",
        )
    seen_first(data, data.examples)


def seen_first(data: DataSet, examples: Sequence[DataRow]) -> Sequence[DataRow]:
    """The examples that the machine has seen before any session: all, or few by `data.draw`.

    Raises `UsageError` for other precedents than these, and where there are not so many.
    """
    few = data.precedents.removeprefix("few:")
    if few in ("", "all"):
        return examples
    if few == "others" or int(few) > len(examples):
        raise UsageError(
            f"the machine has {counted(len(examples), 'example')} to begin with; give few:N, with "
            f"N up to {len(examples)}, or all",
            "precedents",
        )
    return random.Random(data.draw).sample(examples, int(few))


def machine_of(data: DataSet) -> _Machine:
    """The machine as it is before any session: it has seen the examples."""
    words = predicted_words(data)
    several = data.asked is None and data.kind is PredictionKind.LABELS
    possible = 1 << len(words) if several else len(words)

    def usable(text: str) -> bool:
        try:
            return canonical(data, text) == text
        except DataError:
            return False

    return Neighbours(
        PictureSight(picture) if data.pictures else TextSight(),
        seen_first(data, data.examples),
        usable=usable,
        possible=None if data.kind is PredictionKind.TEXT else possible,
    )


def agents_of(
    machine: Any, data: DataSet, match: Relation, agree: Relation, asked: str, memo: bool
) -> tuple[Agent, Agent]:
    """`machine`, and the database proxy as the human, which takes its answers to be right."""
    answers = {row.instance.key: row.answer for row in data.sessions}
    first = Agent(machine, match=match, agree=agree, query=asked, memo=memo)
    return first, replace(first, respondent=Proxy(answers), guards=Derived(revises=False))


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    """A machine that has seen the examples alone, and the database proxy as the human."""
    words = predicted_words(data)
    match: Relation = LabelSets(words) if words else normalised_text
    return agents_of(machine_of(data), data, match, KeyTerms(data.terms), query(data), memo)


def accuracy(data: DataSet) -> Sequence[str]:
    """How often the machine predicts exactly what counts as right, as lines to print."""
    if not data.examples:
        return ()
    seen = seen_first(data, data.examples)
    return accuracy_of(machine_of(data), data, counted(len(seen), "example"))


def accuracy_of(machine: CopyablePredictor, data: DataSet, seen: str) -> Sequence[str]:
    """How often `machine`, which has `seen` something, predicts exactly what counts as right.

    Session rows are told to the machine while it learns, so that only the sets held back say what
    it has learned.
    """
    sessions = data.whole or data.sessions
    held_back = [
        (name, rows)
        for name, rows in (("validation", data.validation), ("test", data.test))
        if rows
    ]
    sets = [("sessions", sessions), *held_back]
    after = taught(machine, sessions)
    lines = [
        f"Exactly the right labels ({data.origin}):",
        f"  before learning, the machine having seen {seen}:",
        *(f"    {name}: {_share(machine, rows)}" for name, rows in sets),
        "  after it was told the labels of all rows for sessions, once each:",
        *(f"    {name}: {_share(after, rows)}" for name, rows in held_back),
    ]
    words = predicted_words(data)
    if words:
        lines += [
            f"  then, label by label, {name}: {_by_label(after, rows, words)}"
            for name, rows in held_back
        ]
    return lines + [
        f"  always the same answer, {name}: {_constant(rows)}" for name, rows in held_back
    ]


def _share(machine: Predictor, rows: Sequence[DataRow]) -> str:
    count = right(machine, rows)
    return f"{count}/{len(rows)} ({count / len(rows):.0%})"


def _by_label(machine: Predictor, rows: Sequence[DataRow], labels: Sequence[str]) -> str:
    """For each label, how often it was found of how often it is there, and how often wrongly."""
    pairs = [
        (
            label_set(prediction, labels) if prediction else frozenset(),
            label_set(row.answer.prediction, labels),
        )
        for prediction, row in zip(predictions(machine, rows), rows, strict=True)
    ]
    told = []
    for label in labels:
        there = sum(label in correct for _, correct in pairs)
        hits = sum(label in predicted and label in correct for predicted, correct in pairs)
        wrong = sum(label in predicted and label not in correct for predicted, correct in pairs)
        told.append(f"{label} {hits} of {there} and {wrong} wrongly")
    return ", ".join(told)


def _constant(rows: Sequence[DataRow]) -> str:
    """What always giving the most frequent answer would come to."""
    best, count = Counter(row.answer.prediction for row in rows).most_common(1)[0]
    return f"{count}/{len(rows)} ({best})"


def why_not(machine: object, instance: Instance, prediction: str) -> str | None:
    """The nearest cases that the task's own machine knows; None where it does predict it."""
    if not isinstance(machine, Neighbours) or machine.prediction(instance) == prediction:
        return None
    return machine.why_not(instance, prediction)


NOTES: Mapping[str, tuple[str, ...]] = {
    "human": ("The human is a database (an oracle agent: it never REVISEs).",),
    "judge": (
        "AGREE is an approximation: two explanations agree if they share a key term (terms.txt, or "
        "words that are typical of one prediction); name a judge for better.",
    ),
    "machine": (
        "The machine predicts what the nearest known rows have, at first the examples.",
        "It repeats what it was told about a row: the table says that it remembers, the accuracy "
        "on the sets held back what it has learned.",
        "Repetitions differ by the order of instances (drawn from the seed), and so by what the "
        "machine had learned before each, and by its examples where they are few:N; nothing else "
        "is random.",
    ),
}

LABELS = Task(
    name="labels",
    about="labels of your own texts or pictures",
    load=load,
    agents=agents,
    accuracy=accuracy,
    problem=problem_of(DataSet("", ())),
    problem_of=problem_of,
    one_label=one_label,
    check_machine=check_machine,
    precedents="all",
    has_likelihood=True,
    role_notes=NOTES,
    why_not=why_not,
)
