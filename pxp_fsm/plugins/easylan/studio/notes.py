"""What a studio keeps beside a network's file: places of agents, examples, texts under way.

The file `my.lan.json.studio` is written after each change, so that a page that is loaded again, a
server that is started again and another device go on with what was there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.documents import text_of
from pxp_fsm.errors import FileError

MOST_BYTES = 50_000_000
MOST_EXAMPLES = 10_000
MOST_DRAFTS = 1_000

Coordinate = Annotated[float, Field(ge=-100_000, le=100_000)]
Text = Annotated[str, Field(max_length=1_000_000)]


class StudioSample(BaseModel):
    """An input, and the output that is asked for; empty where it is not known yet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Text
    output: Text = ""


class StudioEffortSpent(BaseModel):
    """A developer's effort: UED as it was done and the least, seconds in all and for models."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ued: int = 0
    least: int = 0
    total: float = 0.0
    waiting: float = 0.0


class Notes(BaseModel):
    """What is kept beside the network; `drafts` are texts under way, by the field they are in.

    `compares` says whether earlier results are compared after each change.
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal["pxp-fsm studio"] = "pxp-fsm studio"
    version: Literal[1] = 1
    positions: dict[str, tuple[Coordinate, Coordinate]] = {}
    examples: Annotated[tuple[StudioSample, ...], Field(max_length=MOST_EXAMPLES)] = ()
    effort: StudioEffortSpent = StudioEffortSpent()
    drafts: Annotated[dict[str, Text], Field(max_length=MOST_DRAFTS)] = {}
    compares: bool = True


def path_of(network: Path) -> Path:
    """The file of the notes on the network in a file."""
    return network.with_name(f"{network.name}.studio")


def load(path: Path) -> Notes:
    """The notes in a file; none where there is no file. Raises `FileError`."""
    if not path.exists():
        return Notes()
    text = text_of(path, "the notes of a studio", most=MOST_BYTES)
    try:
        return Notes.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        said = f"{path}: {place}: {first['msg']}; mend it, or remove the file to begin anew"
        raise FileError((said,)) from error


def save(notes: Notes, path: Path) -> None:
    """Write the notes, whole or not at all. Raises as `write_atomically` does."""
    write_atomically(path, notes.model_dump_json() + "\n")
