"""What pages ask of the studio's server, read and checked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.networks.tasks import BUNDLED, LanTask, load_task, parse
from pxp_fsm.networks.model.files import MOST_BYTES
from pxp_fsm.web.studio.notes import MOST_EXAMPLES, Coordinate, Sample, Text

MOST_OPERATIONS = 1_000

Name = Annotated[str, Field(max_length=1_000)]
Number = Annotated[int, Field(ge=0)]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TaskQuery(_Query):
    """What a new network is to do."""

    task: Text


class EditQuery(_Query):
    """Operations on the network of `version`, as its log has them, and what they are about."""

    version: Number
    operations: Annotated[list[dict[str, Any]], Field(max_length=MOST_OPERATIONS)]
    about: Text = ""
    distance: Number = 0


class DraftQuery(_Query):
    """Operations that are thought of."""

    operations: Annotated[list[dict[str, Any]], Field(max_length=MOST_OPERATIONS)]


class VersionQuery(_Query):
    """The version of the network that the page shows."""

    version: Number
    distance: Number = 0


class RestoreQuery(VersionQuery):
    """Also the version that it is to be like again."""

    to: Number


class MergeQuery(VersionQuery):
    """Also the agent that goes, and the one that takes over what it does."""

    name: Name
    into: Name


class MoveQuery(_Query):
    """Where an agent is to stand: its middle."""

    name: Name
    x: Coordinate
    y: Coordinate


class RunQuery(_Query):
    """An input of the network."""

    input: Text


class TrainQuery(_Query):
    """Examples to train on."""

    examples: Annotated[list[Sample], Field(max_length=MOST_EXAMPLES)]


class AnswerQuery(_Query):
    """An answer to the question of that identity, of the form of the library's schema."""

    question: Name
    answer: dict[str, Any]
    distance: Number = 0


class TextQuery(_Query):
    """A text that is under way in a field."""

    field: Annotated[str, Field(max_length=300)]
    text: Text


class FileQuery(_Query):
    """A file that was chosen on the page: its name and its text."""

    name: Name
    text: Annotated[str, Field(max_length=MOST_BYTES)]


class TaskFileQuery(FileQuery):
    """A task: one that comes with the package, by its name alone, or a file that was chosen."""

    text: Annotated[str, Field(max_length=MOST_BYTES)] = ""

    def task(self) -> LanTask:
        """The task. Raises `UsageError` or `FileError`."""
        if self.text:
            return parse(self.text, self.name)
        if self.name not in BUNDLED:
            raise UsageError(f"there is no task {quoted(self.name)}; choose one, or a file")
        return load_task(self.name)


class TestQuery(_Query):
    """What to test on: a task, split by a seed, or examples."""

    task: TaskFileQuery | None = None
    seed: Number = 1
    examples: Annotated[list[Sample], Field(max_length=MOST_EXAMPLES)] = []


class CompareQuery(_Query):
    """The task to compare on, the splits, and who supervises."""

    task: TaskFileQuery
    seeds: Annotated[tuple[Number, ...], Field(min_length=1, max_length=100)] = (1,)
    developer: Annotated[str, Field(pattern=r"^(nobody|confirms|edits:[0-9.]{1,9})$")] = "confirms"
    resume: bool = False


class SettingsQuery(_Query):
    """Whether earlier results are compared after each change."""

    compares: bool
