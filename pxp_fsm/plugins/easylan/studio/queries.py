"""What pages ask of the studio's server, read and checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.easylan.experiments.developers import edits_in, find_developer, lines_in
from pxp_fsm.plugins.easylan.experiments.tasks import BUNDLED, LanTask, load_task, parse
from pxp_fsm.plugins.easylan.model.files import MOST_BYTES
from pxp_fsm.plugins.easylan.studio.state import MOST_EXAMPLES, Coordinate, StudioSample, Text
from pxp_fsm.plugins.easylan.training.developer import Developer
from pxp_fsm.plugins.easylan.training.questions import Remote
from pxp_fsm.plugins.easylan.training.simulated import ScriptedDeveloper

MOST_OPERATIONS = 1_000
SIMULATED = r"nobody|confirms|follows|edits:[0-9.]{1,9}"

Name = Annotated[str, Field(max_length=1_000)]
Number = Annotated[int, Field(ge=0)]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TaskQuery(_Query):
    """What a new network is to do."""

    task: Text


class NetworkEditQuery(_Query):
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


class AnswerQuery(_Query):
    """An answer to the question of that identity, of the form of the library's schema."""

    question: Name
    answer: dict[str, Any]
    distance: Number = 0


class UseQuery(_Query):
    """For how many seconds until now the page was in use."""

    seconds: Annotated[float, Field(ge=0, le=600)]


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


class TrainQuery(_Query):
    """Examples to train on, and who supervises: whoever is at the page, or who is simulated.

    `acts` is the file that a developer follows.
    """

    examples: Annotated[list[StudioSample], Field(max_length=MOST_EXAMPLES)]
    developer: Annotated[str, Field(pattern=rf"^(person|{SIMULATED})$")] = "person"
    acts: FileQuery | None = None

    def supervisor(self) -> Developer | Remote | None:
        """The developer; None is nobody. Raises `UsageError` or `FileError`."""
        if self.developer == "person":
            return Remote()
        if self.developer == "follows":
            acts = _chosen(self.acts)
            return ScriptedDeveloper(lines_in(acts.text, acts.name))
        return find_developer(self.developer, seed=0)


class TestQuery(_Query):
    """What to test on: a task, split by a seed, or examples."""

    task: TaskFileQuery | None = None
    seed: Number = 1
    examples: Annotated[list[StudioSample], Field(max_length=MOST_EXAMPLES)] = []


class CompareQuery(_Query):
    """The task to compare on, the splits, who supervises, and who edits the baseline by hand.

    `acts` is the file that either follows.
    """

    task: TaskFileQuery
    seeds: Annotated[tuple[Number, ...], Field(min_length=1, max_length=100)] = (1,)
    developer: Annotated[str, Field(pattern=rf"^({SIMULATED})$")] = "confirms"
    hand: Literal["adds-examples", "follows"] = "adds-examples"
    acts: FileQuery | None = None
    resume: bool = False

    def followed(self) -> FileQuery | None:
        """The file that somebody follows; None where nobody does. Raises as it is read."""
        if "follows" not in (self.developer, self.hand):
            return None
        acts = _chosen(self.acts)
        lines_in(acts.text, acts.name)
        edits_in(acts.text, acts.name)
        return acts


def _chosen(acts: FileQuery | None) -> FileQuery:
    if acts is None:
        raise UsageError("choose the file that the developer follows")
    return acts


class ActionsQuery(_Query):
    """The stored run of a training whose steps count too: None is no run, empty the latest one."""

    run: Name | None = None


class SettingsQuery(_Query):
    """What the developer wants of the page; None leaves it as it is.

    `compares`: earlier results after each change. `streams`: what models write, as they write it.
    """

    compares: bool | None = None
    streams: bool | None = None
