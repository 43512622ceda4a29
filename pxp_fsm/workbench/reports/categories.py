"""Which tag a category gives (arXiv 2410.20600, Procedure 2; NeurIPS workshop version, Appendix C).

The rows are what the protocols' decision functions say, asked for every case there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pxp_fsm.decisions import Category
from pxp_fsm.rules import Interact, Rules
from pxp_fsm.workbench.reports.tallies import Situation, Tally

MEANING = {
    Category.A: ("matches", "agrees"),
    Category.B: ("matches", "differs"),
    Category.C: ("differs", "agrees"),
    Category.D: ("differs", "differs"),
}
"""What a category says of the prediction and of the explanation."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table: the case, the tag it gives, and how often each agent was in it."""

    category: str
    prediction: str
    explanation: str
    condition: str
    tag: str
    machine: int
    human: int


def rows(rules: Rules, tally: Tally) -> tuple[Rule, ...]:
    """The table with the counts of a run; rows that the rules do not have come last."""
    named = dict.fromkeys(_named(rules))
    others = sorted(
        {situation for situation, _ in tally.situations} - {situation for situation, _ in named},
        key=lambda situation: (str(situation.category), situation.tag, situation.late),
    )
    return tuple(
        _row(tally, situation, condition)
        for situation, condition in (*named, *((other, _other(other)) for other in others))
    )


def _row(tally: Tally, situation: Situation, condition: str) -> Rule:
    found = situation.category
    prediction, explanation = ("", "") if found is None else MEANING[found]
    counts = (tally.situations[situation, role] for role in (True, False))
    return Rule(
        "" if found is None else found.value,
        prediction,
        explanation,
        condition,
        situation.tag,
        *counts,
    )


def _other(situation: Situation) -> str:
    return "named, not derived" if situation.category is None else "by another rule"


def _named(rules: Rules) -> Iterator[tuple[Situation, str]]:
    rows = rules.automaton.transitions
    tags = {row.guard: row.label for row in rows if row.guard is not None}
    for found in Category:
        for late in (False, True) if _depends_on_k(rules, found) else (False,):
            number = (rules.k or 0) + late
            for revises in (True, False):
                guard = rules.guard(found, revises, number)
                asked = revises if rules.depends_on_revision(found, number) else None
                words = _condition(rules, late, asked, found)
                yield Situation(found, late, tags[guard.value]), words


def _depends_on_k(rules: Rules, found: Category) -> bool:
    return isinstance(rules, Interact) and found is Category.D


def _condition(rules: Rules, late: bool, revises: bool | None, found: Category) -> str:
    parts = []
    if _depends_on_k(rules, found):
        parts.append(f"message after {rules.k}" if late else f"message up to {rules.k}")
    if revises is not None and isinstance(rules, Interact):
        parts.append("answer changed" if revises else "answer unchanged")
    elif revises is not None:
        parts.append("reconciled" if revises else "not reconciled")
    return ", ".join(parts)
