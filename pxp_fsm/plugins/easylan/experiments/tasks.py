"""Task files for networks of agents: question, criteria, training and testing examples.

The structure is what `task.schema.json` says; this loader uses that very schema.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm import documents
from pxp_fsm.errors import Fault, FileError, Place
from pxp_fsm.protocol.messages import text_problem

BUNDLED = ("grammar", "translation", "compression", "couplets")
"""The paper's four tasks (arXiv 2309.15943, Table 5), the tutorial first."""

_HERE = "pxp_fsm.plugins.easylan.experiments"
_NEEDS = {"same_label": "label", "without": "note", "at_most": "characters"}
"""Which further key a rule must have."""


class By(StrEnum):
    """Who decides a criterion."""

    PROGRAM = "program"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One of the criteria: what it says, who decides it, and by which rule where a program does.

    `label`, `note` and `characters` are what the rule is about; a judge is shown the example's
    notes of the name `note`.
    """

    says: str
    by: By
    rule: str = ""
    label: str = ""
    note: str = ""
    characters: int = 0


@dataclass(frozen=True, slots=True)
class TaskExample:
    """An input, a good output for it, and what is known of it, by name."""

    input: str
    truth: str
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ExampleSplit:
    """A task's examples, those to train with and those to test with apart; by which seed."""

    train: tuple[TaskExample, ...]
    test: tuple[TaskExample, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class LanTask:
    """A task: what the first agent is told, which criteria an output must all meet, examples.

    `train` of the examples are for training. `labels` are the words that an output is a list of,
    where it is one, and `none` the word for an empty list.
    """

    name: str
    title: str
    task: str
    output: str
    source: str
    criteria: tuple[Criterion, ...]
    examples: tuple[TaskExample, ...]
    train: int
    labels: tuple[str, ...] = ()
    none: str = ""

    @property
    def judged(self) -> bool:
        """Whether a judge is needed."""
        return any(criterion.by is By.JUDGE for criterion in self.criteria)

    def split(self, seed: int) -> ExampleSplit:
        """The examples divided at random by `seed`, each part in a random order."""
        shuffled = random.Random(seed).sample(self.examples, len(self.examples))
        return ExampleSplit(tuple(shuffled[: self.train]), tuple(shuffled[self.train :]), seed)


def schema() -> dict[str, Any]:
    """The JSON Schema of task files, as published with the package."""
    loaded: dict[str, Any] = json.loads(bundled_text("task.schema.json"))
    return loaded


def bundled_text(name: str) -> str:
    """The text of a file of this room."""
    return resources.files(_HERE).joinpath(name).read_text("utf-8")


def meanings() -> dict[str, str]:
    """The bundled tasks by name, with what each is about."""
    return {name: load_task(name).title for name in BUNDLED}


def load_task(name_or_path: str | Path) -> LanTask:
    """A bundled task by its name, or one from a file (TOML, or JSON by its name).

    Raises `FileError` with every fault found, each with its line.
    """
    if isinstance(name_or_path, str) and name_or_path in BUNDLED:
        where = f"{name_or_path}.toml"
        return parse(bundled_text(where), where)
    path = Path(name_or_path)
    text = documents.text_of(path, "a task", f", or one of {', '.join(BUNDLED)}")
    return parse(text, str(path))


def parse(text: str, filename: str) -> LanTask:
    """The task that `text` says; raises `FileError` with every fault found."""
    raw = documents.read(text, filename)
    found = documents.faults(raw, schema()) or list(_faults(raw))
    if found:
        raise FileError(documents.located(found, text, filename))
    return LanTask(
        **{key: raw[key] for key in ("name", "title", "task", "output", "source")},
        criteria=tuple(Criterion(**(row | {"by": By(row["by"])})) for row in raw["criteria"]),
        examples=tuple(_example(row) for row in raw["examples"]),
        train=raw.get("train", 8),
        labels=tuple(raw.get("labels", ())),
        none=raw.get("none", ""),
    )


def _example(row: Mapping[str, Any]) -> TaskExample:
    notes = {name: tuple(texts) for name, texts in row.get("notes", {}).items()}
    return TaskExample(row["input"], row["truth"], MappingProxyType(notes))


def _faults(raw: Mapping[str, Any]) -> Iterable[Fault]:
    """What a schema cannot say."""
    if raw.get("train", 8) >= len(raw["examples"]):
        yield Fault(
            ("train",),
            f"{raw.get('train', 8)} of {len(raw['examples'])} examples are for training; leave "
            f"at least one to test with",
        )
    known = {name for row in raw["examples"] for name in row.get("notes", {})}
    for place, row in enumerate(raw["criteria"]):
        yield from _criterion_faults(row, ("criteria", place), raw.get("labels", ()), known)
    seen: dict[str, int] = {}
    for place, row in enumerate(raw["examples"]):
        if row["input"] in seen:
            yield Fault(
                ("examples", place, "input"),
                f"the same input as example {seen[row['input']] + 1}: one could train what the "
                f"other tests; drop one",
            )
        seen.setdefault(row["input"], place)
        problem = text_problem(row["input"]) or text_problem(row["truth"])
        if problem:
            yield Fault(("examples", place), problem)


def _criterion_faults(
    row: Mapping[str, Any], at: Place, labels: Iterable[str], notes: set[str]
) -> Iterable[Fault]:
    rule = row.get("rule", "")
    if (row["by"] == "program") != bool(rule):
        said = (
            "a program decides by a rule; add one" if not rule else "a judge has no rule; drop it"
        )
        yield Fault(at, said)
    needed = _NEEDS.get(rule)
    if needed and needed not in row:
        yield Fault(at, f"the rule {rule} needs {needed}; add it")
    if row.get("label", next(iter(labels), "")) not in {"", *labels}:
        listed = ", ".join(labels) or "none"
        yield Fault((*at, "label"), f"{row['label']} is none of the labels: {listed}")
    if "note" in row and row["note"] not in notes:
        yield Fault((*at, "note"), f"no example has notes of the name {row['note']}")
