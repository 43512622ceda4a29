"""Criteria that a program decides: small rules about an output, its input and what is known of it.

Characters are letters and digits of any script; spaces and punctuation do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from pxp_fsm.workbench.lan_tasks.reading import Criterion, Example, LanTask

Rule = Callable[[LanTask, Criterion, Example, str], bool]

_BETWEEN = re.compile(r"[,;、，；\n]")


def met(task: LanTask, criterion: Criterion, example: Example, output: str) -> bool:
    """Whether `output` meets a criterion that a program decides; one without a character none."""
    return bool(characters(output)) and RULES[criterion.rule](task, criterion, example, output)


def characters(text: str) -> list[str]:
    """The letters and digits of `text`, each as one character where Unicode has one for it."""
    return [one for one in unicodedata.normalize("NFC", text) if one.isalnum()]


def labels(task: LanTask, text: str) -> frozenset[str] | None:
    """The labels that `text` is a list of; None where it is no list of the task's labels."""
    parts = {part.strip().rstrip(".").casefold() for part in _BETWEEN.split(text)} - {""}
    if parts == {task.none.casefold()}:
        return frozenset()
    known = {label.casefold(): label for label in task.labels}
    return frozenset(known[part] for part in parts) if parts and parts <= set(known) else None


def _same_length(_task: LanTask, _criterion: Criterion, example: Example, output: str) -> bool:
    return len(characters(output)) == len(characters(example.input))


def _no_shared(_task: LanTask, _criterion: Criterion, example: Example, output: str) -> bool:
    return not set(characters(output)) & set(characters(example.input))


def _no_repeated(_task: LanTask, _criterion: Criterion, _example: Example, output: str) -> bool:
    return len(set(characters(output))) == len(characters(output))


def _same_label(task: LanTask, criterion: Criterion, example: Example, output: str) -> bool:
    said, wanted = labels(task, output), labels(task, example.truth)
    return said is not None and (criterion.label in said) == (criterion.label in (wanted or ()))


def _without(_task: LanTask, criterion: Criterion, example: Example, output: str) -> bool:
    return not any(stretch in output for stretch in example.notes.get(criterion.note, ()))


def _at_most(_task: LanTask, criterion: Criterion, _example: Example, output: str) -> bool:
    return len(characters(output)) <= criterion.characters


def _equal(_task: LanTask, _criterion: Criterion, example: Example, output: str) -> bool:
    return characters(output) == characters(example.truth)


RULES: dict[str, Rule] = {
    "same_length": _same_length,
    "no_shared_characters": _no_shared,
    "no_repeated_characters": _no_repeated,
    "same_label": _same_label,
    "without": _without,
    "at_most": _at_most,
    "equal": _equal,
}
"""The rules by name: as many characters as the input; none of the input's; none twice; the label
is said where the truth says it; none of the example's stretches of that note; a length; the truth
itself."""
