"""Questions to participants: whether answers are ones, and whether training was understood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.studies.files import Item, TrainingItem

LONGEST = 20_000
"""Characters of an answer in words."""
GREATEST = 10**15
"""The greatest number, and the least one below zero."""
SCALE = range(1, 8)
"""The numbers of a scale."""


def checked_answers(items: Sequence[Item | TrainingItem], answers: Any) -> None:
    """Raise `UsageError`, naming the question, where `answers` are none to these `items`.

    `answers` maps names of questions to texts, and to numbers where a number is asked for.
    """
    if not isinstance(answers, dict):
        raise UsageError("the answers are missing")
    known = {item.name: item for item in items}
    for name in answers:
        if name not in known:
            raise UsageError(f"there is no question {quoted(name)}")
    for name, item in known.items():
        value = answers.get(name)
        if value is None or value == "":
            if item.required:
                raise UsageError(f"{name}: this question needs an answer")
            continue
        problem = _problem(item, value)
        if problem:
            raise UsageError(f"{name}: {problem}")


def _problem(item: Item | TrainingItem, value: Any) -> str:
    if item.kind == "number":
        fits = type(value) in (int, float) and -GREATEST <= value <= GREATEST
        return "" if fits else f"{quoted(value)} is no number of at most {GREATEST:,}"
    if item.kind == "scale":
        fits = type(value) is int and value in SCALE
        return "" if fits else f"{quoted(value)} is no whole number from {SCALE[0]} to {SCALE[-1]}"
    if not isinstance(value, str):
        return f"{quoted(value)} is no text"
    if len(value) > LONGEST:
        return f"the answer has {len(value):,} characters; at most {LONGEST:,} are taken"
    if item.choices and value not in item.choices:
        return f"{quoted(value)} is none of {', '.join(item.choices)}"
    return ""


def understood(items: Sequence[TrainingItem], answers: Any) -> bool:
    """Whether every training item was answered as it is meant; case and spaces do not count."""
    return all(
        " ".join(str(answers.get(item.name, "")).split()).casefold()
        == " ".join(item.answer.split()).casefold()
        for item in items
    )
