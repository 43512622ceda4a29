"""Developers by name: simulated ones, one that follows a file, a person.

`confirms`, `edits:P` (with probability P), `follows:FILE`, `terminal`, `nobody` (unattended).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backends.people import has_terminal
from pxp_fsm import documents
from pxp_fsm.errors import FileError, UsageError, quoted
from pxp_fsm.plugins.easylan.experiments.terminal import TerminalDeveloper
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.operations import MANUAL, WORDS
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

DRAFTS = Path("runs") / "drafts"
KINDS = "nobody, confirms, edits:P (P from 0 to 1), follows:FILE, terminal"


def schema() -> dict[str, Any]:
    """The JSON Schema of the file that a developer follows.

    `act` is what is done about steps, `edit` what is done by hand in the baseline.
    """
    network = files.schema()
    return {
        "$schema": network["$schema"],
        "title": "What a developer does, line by line",
        "type": "object",
        "required": ["format"],
        "additionalProperties": False,
        "properties": {
            "format": {"const": 1},
            "act": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["step", "choice"],
                    "additionalProperties": False,
                    "properties": {
                        "step": {"enum": [str(step) for step in UpdateStep]},
                        "choice": {"enum": [str(choice) for choice in DeveloperChoice]},
                        "about": {"type": "string"},
                        "sets": {"type": "object"},
                        "hint": {"type": "string"},
                    },
                },
            },
            "edit": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["operations"],
                    "additionalProperties": False,
                    "properties": {
                        "about": {"type": "string"},
                        "operations": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"$ref": "#/$defs/operation"},
                        },
                    },
                },
            },
        },
        "$defs": network["$defs"],
    }


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
    return lines_in(_text_of(path), str(path))


def lines_in(text: str, where: str) -> tuple[ScriptedAct, ...]:
    """What a developer does about steps, by the text of the file `where`; raises `FileError`."""
    return tuple(
        ScriptedAct(
            row["step"],
            DeveloperChoice(row["choice"]),
            row.get("about", ""),
            row.get("sets", {}),
            row.get("hint", ""),
        )
        for row in _read(text, where).get("act", ())
    )


def read_edits(path: Path) -> tuple[HandEdit, ...]:
    """What a developer does by hand, from a file (TOML or JSON); raises `FileError`."""
    return edits_in(_text_of(path), str(path))


def edits_in(text: str, where: str) -> tuple[HandEdit, ...]:
    """What a developer does by hand, by the text of the file `where`; raises `FileError`."""
    found = tuple(
        HandEdit(tuple(map(files.operation, row["operations"])), row.get("about", ""))
        for row in _read(text, where).get("edit", ())
    )
    for operation in (one for edit in found for one in edit.operations):
        if not isinstance(operation, MANUAL):
            names = ", ".join(WORDS[kind] for kind in MANUAL)
            done = WORDS[type(operation)]
            raise FileError((f"{where}: {done} is not done by hand; what is: {names}",))
    return found


def _text_of(path: Path) -> str:
    return documents.text_of(path, "what a developer does")


def _read(text: str, where: str) -> dict[str, Any]:
    raw = documents.read(text, where)
    found = documents.faults(raw, schema())
    if found:
        raise FileError(documents.located(found, text, where))
    return raw


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
