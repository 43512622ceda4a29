"""Developers by name: simulated ones, one that follows a file, a person.

`confirms`, `edits:P` (with probability P), `follows:FILE`, `terminal`, `nobody` (unattended).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.people import has_terminal
from pxp_fsm.documents import text_of
from pxp_fsm.errors import FileError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.plugins.easylan.experiments.terminal import TerminalDeveloper
from pxp_fsm.plugins.easylan.model.operations import MANUAL, WORDS, LoggedOperation
from pxp_fsm.plugins.easylan.training.developer import Developer, DeveloperChoice
from pxp_fsm.plugins.easylan.training.simulated import (
    AddsExamples,
    Confirming,
    Editing,
    FollowsEdits,
    HandEdit,
    HandEditor,
    Satisfied,
    ScriptedAct,
    ScriptedDeveloper,
    equal,
)
from pxp_fsm.plugins.easylan.training.steps import UpdateStep
from pxp_fsm.schemas import FileKind

DRAFTS = Path("runs") / "drafts"
KINDS = "nobody, confirms, edits:P (P from 0 to 1), follows:FILE, terminal"


@dataclass(frozen=True)
class FollowedAct:
    """What is done about a step."""

    step: UpdateStep
    choice: DeveloperChoice
    about: str = ""
    sets: Mapping[str, Any] = option("The fields of its result that are set.", {})
    hint: str = ""


@dataclass(frozen=True)
class FollowedEdit:
    """What is done by hand in the baseline."""

    operations: tuple[LoggedOperation, ...] = option("The operations, in order.", least=1)
    about: str = option("What it is about.", "", least=0)


@dataclass(frozen=True)
class FollowedFile:
    """What a developer does, line by line."""

    act: tuple[FollowedAct, ...] = option("What is done about steps.", ())
    edit: tuple[FollowedEdit, ...] = option("What is done by hand in the baseline.", ())


FOLLOWED = FileKind(FollowedFile, "what a developer does", "What a developer does, line by line")


def find_developer(
    name: str, seed: int, will_do: Satisfied | None = None, drafts: Path = DRAFTS
) -> Developer | None:
    """The developer that `name` means; None is nobody. Raises `UsageError` or `FileError`.

    `will_do` says of outputs whether they will do; without it a person is asked, and a simulated
    developer wants the output to be the one that was asked for. `drafts` is where a person's texts
    are kept.
    """
    kind, _, rest = name.partition(":")
    if name == "nobody":
        return None
    if name == "terminal":
        return _person(will_do, drafts)
    will_do = will_do or equal
    if name == "confirms":
        return Confirming(will_do)
    if kind == "follows" and rest:
        return ScriptedDeveloper(read_lines(Path(rest)), will_do)
    if kind == "edits":
        return Editing(_probability(rest), seed, will_do)
    raise UsageError(f"there is no developer {quoted(name)}; there are: {KINDS}")


def hand(name: str) -> HandEditor:
    """Who edits the baseline by hand: `adds-examples`, or `follows:FILE`.

    Raises `UsageError` or `FileError`.
    """
    kind, _, rest = name.partition(":")
    if name == "adds-examples":
        return AddsExamples()
    if kind == "follows" and rest:
        return FollowsEdits(read_edits(Path(rest)))
    raise UsageError(f"there is no hand {quoted(name)}; there are: adds-examples, follows:FILE")


def read_lines(path: Path) -> tuple[ScriptedAct, ...]:
    """What a developer does about steps, from a file (TOML or JSON); raises `FileError`."""
    return lines_in(text_of(path, FOLLOWED.what), str(path))


def lines_in(text: str, where: str) -> tuple[ScriptedAct, ...]:
    """What a developer does about steps, by the text of the file `where`; raises `FileError`."""
    return tuple(
        ScriptedAct(row.step, row.choice, row.about, dict(row.sets), row.hint)
        for row in FOLLOWED.parse(text, where).value.act
    )


def read_edits(path: Path) -> tuple[HandEdit, ...]:
    """What a developer does by hand, from a file (TOML or JSON); raises `FileError`."""
    return edits_in(text_of(path, FOLLOWED.what), str(path))


def edits_in(text: str, where: str) -> tuple[HandEdit, ...]:
    """What a developer does by hand, by the text of the file `where`; raises `FileError`."""
    edits = tuple(
        HandEdit(row.operations, row.about) for row in FOLLOWED.parse(text, where).value.edit
    )
    for operation in (operation for edit in edits for operation in edit.operations):
        if not isinstance(operation, MANUAL):
            names = ", ".join(WORDS[kind] for kind in MANUAL)
            done = WORDS[type(operation)]
            raise FileError((f"{where}: {done} is not done by hand; what is: {names}",))
    return edits


def _probability(text: str) -> float:
    try:
        probability = float(text)
    except ValueError:
        probability = -1.0
    if not 0 <= probability <= 1:
        raise UsageError(f"edits:P needs a probability from 0 to 1, not {quoted(text)}")
    return probability


def _person(will_do: Satisfied | None, drafts: Path) -> Developer:
    if not has_terminal():
        raise UsageError(
            "the developer 'terminal' requires a terminal; the others are: " + KINDS, "developer"
        )
    return TerminalDeveloper(drafts, will_do)
