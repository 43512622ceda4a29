"""RAD: findings in chest X-rays (arXiv 2410.20600, section 4.1): its data, agents and accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from backends.databases.proxy import Proxy
from backends.models.local.radiograph import LABELS, Radiograph
from guards.relations.radiology import NONE, LabelSets, SameFindings, format_labels, label_set
from pxp_fsm.errors import DataError, quoted, require_extra
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.protocol.messages import Message, Tag
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.own_data import Form, read_data, table_of
from pxp_fsm.tasks.rad.data import bundled, image_in, picture, published, reference, training
from pxp_fsm.tasks.task import DataSet, Row, Task

QUERY = (
    "Which of these findings does this chest X-ray show, one, several or none of them: "
    f"{', '.join(LABELS)}? Explain it as a radiology report would."
)


def from_text(text: str) -> str:
    """Labels joined with ",", or `none`, as a message carries them; raises `DataError`."""
    return format_labels(label_set(text, LABELS))


def from_json(value: object) -> str:
    """A list of labels, empty for none, as a message carries them; raises `DataError`."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise DataError(
            f"the findings must be a list of labels, empty for none, not {quoted(value)}"
        )
    for label in value:
        if not isinstance(label, str):
            raise DataError(f"a label must be a text, not {quoted(label)}")
    return format_labels(label for one in value for label in _one(one))


def _one(label: str) -> frozenset[str]:
    if "," in label or " ".join(label.split()).casefold() == NONE:
        raise DataError(f"each entry must be one of {', '.join(LABELS)}, not {quoted(label)}")
    return label_set(label, LABELS)


PROBLEM = Problem(
    name="rad",
    query=QUERY,
    prediction={
        "type": "array",
        "items": {"type": "string", "enum": list(LABELS)},
        "description": "the findings; empty where there is none of them",
    },
    from_json=from_json,
    from_text=from_text,
    to_json=lambda text: sorted(label_set(text, LABELS)),
    labels=LABELS,
    none=NONE,
    picture=picture,
    described=lambda _instance: None,
    form="A prediction is the findings, joined by commas, or none.",
)


FORM = Form(lambda text, folder: reference(image_in(folder.absolute(), text)), from_text)

_NEEDED = {"skimage": "scikit-image", "sklearn": "scikit-learn"}


def load(folder: Path | None) -> DataSet:
    """X-rays of one's own or the authors' from `folder`, or the bundled phantoms."""
    require_extra("rad", "RAD's own machine", _NEEDED)
    if folder is None:
        return bundled()
    return published(folder) if table_of(folder) is None else read_data(folder, FORM)


def untaught() -> Radiograph:
    """The machine as it is before any session: it has seen the phantoms drawn for its training."""
    seen = [(picture(row.instance), labels_of(row)) for row in training()]
    return Radiograph(picture, seen)


def labels_of(row: Row) -> frozenset[str]:
    """The labels that count as right for `row`."""
    return label_set(row.answer.prediction, LABELS)


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    """A machine that has seen phantoms only, and the database proxy as the human."""
    match, agree = LabelSets(LABELS), SameFindings()
    answers = {row.instance.key: row.answer for row in data.sessions}
    machine = Agent(untaught(), match=match, agree=agree, query=QUERY, memo=memo)
    return machine, replace(machine, respondent=Proxy(answers), guards=Derived(revises=False))


def right(machine: Radiograph, rows: Sequence[Row]) -> int:
    """For how many of `rows` the machine predicts exactly the right set of labels."""
    found = machine.labels_of_all([row.instance for row in rows])
    return sum(said == labels_of(row) for said, row in zip(found, rows, strict=True))


def predicted(machine: Radiograph, row: Row) -> frozenset[str] | None:
    """The labels that `machine` predicts for `row`, or None where it has no answer."""
    return machine.labels_of_all([row.instance])[0]


def taught(machine: Radiograph, rows: Sequence[Row]) -> Radiograph:
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
    machine, sessions = untaught(), data.whole or data.sessions
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
        f"  then, label by label, {name}: {_by_label(after, rows)}" for name, rows in held_back
    ]
    return lines + [
        f"  always the same answer, {name}: {_constant(rows)}" for name, rows in held_back
    ]


def _sets(data: DataSet) -> list[tuple[str, Sequence[Row]]]:
    return [
        ("sessions", data.whole or data.sessions),
        ("validation", data.validation),
        ("test", data.test),
    ]


def _share(machine: Radiograph, rows: Sequence[Row]) -> str:
    count = right(machine, rows)
    return f"{count}/{len(rows)} ({count / len(rows):.0%})"


def _by_label(machine: Radiograph, rows: Sequence[Row]) -> str:
    """For each label, how often it was found of how often it is there, and how often wrongly."""
    predictions = machine.labels_of_all([row.instance for row in rows])
    pairs = [
        (said or frozenset(), labels_of(row)) for said, row in zip(predictions, rows, strict=True)
    ]
    told = []
    for label in LABELS:
        there = sum(label in correct for _, correct in pairs)
        found = sum(label in said and label in correct for said, correct in pairs)
        wrong = sum(label in said and label not in correct for said, correct in pairs)
        told.append(f"{label} {found} of {there} and {wrong} wrongly")
    return ", ".join(told)


def _constant(rows: Sequence[Row]) -> str:
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
    notes=("Nothing here is a diagnosis.",),
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
