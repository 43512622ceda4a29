"""Task files for networks of agents: question, criteria, training and testing examples."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated

from pxp_fsm.errors import Fault
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option
from pxp_fsm.protocol.messages import text_problem
from pxp_fsm.schemas import FileKind

BUNDLED = ("grammar", "translation", "compression", "couplets")
"""The paper's four tasks (arXiv 2404.15974, Table 5), the tutorial first."""

_HERE = "pxp_fsm.plugins.easylan.experiments"
_NEEDS = {"same_label": "label", "without": "note", "at_most": "characters"}
"""Which further key a rule must have."""

RULES = (
    "same_length",
    "no_shared_characters",
    "no_repeated_characters",
    "same_label",
    "without",
    "at_most",
    "equal",
)
"""The rules by which a program decides a criterion."""

_A_NAME = "is no name: a name has lower-case letters, digits, _ and -, at most 40"


class By(StrEnum):
    """Who decides a criterion."""

    PROGRAM = "program"
    JUDGE = "judge"


Line = Annotated[str, Option(pattern=r"\S", problem="says nothing; write a text")]
Label = Annotated[
    str, Option(pattern=r"^[^,;\n]+$", problem="is no label: a label has no comma and no semicolon")
]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One of the criteria: what it says, who decides it, and by which rule where a program does.

    `label`, `note` and `characters` are what the rule is about; a judge is shown the example's
    notes of the name `note`.
    """

    says: Line
    by: By
    rule: str = option("The rule by which a program decides.", "", choices=RULES)
    label: str = ""
    note: str = ""
    characters: int = option("What the rule at_most is about.", 0, least=1)

    def problems(self) -> Iterator[Fault]:
        """Where the rule does not go with who decides, or lacks what it is about."""
        if (self.by is By.PROGRAM) != bool(self.rule):
            yield Fault(
                (),
                "a judge has no rule; drop it"
                if self.rule
                else "a program decides by a rule; add one",
            )
        needed = _NEEDS.get(self.rule)
        if needed and not getattr(self, needed):
            yield Fault((), f"the rule {self.rule} needs {needed}; add it")


@dataclass(frozen=True, slots=True)
class TaskExample:
    """An input, a good output for it, and what is known of it, by name."""

    input: Line
    truth: Line
    notes: Mapping[str, tuple[Annotated[str, Option(least=1)], ...]] = option(
        "What a rule or a judge is told of the example.", {}
    )

    def problems(self) -> Iterator[Fault]:
        """Text that cannot be sent or stored."""
        problem = text_problem(self.input) or text_problem(self.truth)
        if problem:
            yield Fault((), problem)


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

    name: Annotated[str, Option(pattern="^[a-z][a-z0-9_-]{0,39}$", problem=_A_NAME)]
    title: str = option("The name as people write it.")
    task: Line = option("What the first agent is told to do.")
    output: Line = option("What its output is.")
    source: str = option("Whose task and whose examples.")
    criteria: tuple[Criterion, ...] = option("What an output must meet.", least=1)
    examples: tuple[TaskExample, ...] = option("What to train and to test with.", least=2)
    train: int = option(
        "How many examples are for training; the others are for testing.", 8, least=1
    )
    labels: tuple[Label, ...] = option(
        "The words that an output is a list of, for the rule same_label.", (), least=1, unique=True
    )
    none: Label = option("The word for no label at all.", "")

    @property
    def judged(self) -> bool:
        """Whether a judge is needed."""
        return any(criterion.by is By.JUDGE for criterion in self.criteria)

    def problems(self) -> Iterator[Fault]:
        """Where nothing is left to test with, or what a rule is about is not there."""
        if self.train >= len(self.examples):
            message = (
                f"{self.train} of {len(self.examples)} examples are for training; leave at least "
                f"one to test with"
            )
            yield Fault(("train",), message)
        known = {name for example in self.examples for name in example.notes}
        for place, criterion in enumerate(self.criteria):
            if criterion.label and criterion.label not in self.labels:
                listed = ", ".join(self.labels) or "none"
                message = f"{criterion.label} is none of the labels: {listed}"
                yield Fault(("criteria", place, "label"), message)
            if criterion.note and criterion.note not in known:
                message = f"no example has notes of the name {criterion.note}"
                yield Fault(("criteria", place, "note"), message)
        seen: dict[str, int] = {}
        for place, example in enumerate(self.examples):
            if example.input in seen:
                message = (
                    f"the same input as example {seen[example.input] + 1}: one could train what "
                    f"the other tests; drop one"
                )
                yield Fault(("examples", place, "input"), message)
            seen.setdefault(example.input, place)

    def split(self, seed: int) -> ExampleSplit:
        """The examples divided at random by `seed`, each part in a random order."""
        shuffled = random.Random(seed).sample(self.examples, len(self.examples))
        return ExampleSplit(tuple(shuffled[: self.train]), tuple(shuffled[self.train :]), seed)


NETWORK_TASK = FileKind(
    LanTask,
    "a task",
    "A task for networks of LLM agents",
    "A task, the criteria that its outputs must all meet, and examples to train and test with.",
    otherwise=f", or one of {', '.join(BUNDLED)}",
)


def bundled_text(name: str) -> str:
    """The text of a file of this room."""
    return resources.files(_HERE).joinpath(name).read_text("utf-8")


def meanings() -> dict[str, str]:
    """The bundled tasks by name: what each is about, who decides its criteria, its examples."""
    return {name: _meaning(load_task(name)) for name in BUNDLED}


def bundled_names() -> tuple[str, ...]:
    """The names of the bundled tasks."""
    return BUNDLED


def _meaning(task: LanTask) -> str:
    by = Counter(criterion.by for criterion in task.criteria)
    deciders = " and ".join(f"{by[who]} by a {who}" for who in By if by[who])
    examples = f"{task.train} + {len(task.examples) - task.train} examples"
    return f"{task.title}; criteria: {deciders}; {examples} to train + test"


def load_task(name_or_path: str | Path) -> LanTask:
    """A bundled task by its name, or one from a file (TOML, or JSON by its name).

    Raises `FileError` with every fault found, each with its line.
    """
    if isinstance(name_or_path, str) and name_or_path in BUNDLED:
        where = f"{name_or_path}.toml"
        return parse(bundled_text(where), where)
    return NETWORK_TASK.load(name_or_path).value


def parse(text: str, filename: str) -> LanTask:
    """The task that `text` says; raises `FileError` with every fault found."""
    return NETWORK_TASK.parse(text, filename).value
