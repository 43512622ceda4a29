"""The random behaviour of an agent: its category and revision, drawn at each message.

This is the simple model. It assumes that what an agent finds at a message depends on nothing that
went before it but, where that is asked for, on the tag that it answers; not on the texts, the
instance, or its own earlier messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import NamedTuple

from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.messages import Tag

REVISING = tuple(category for category in Category if category is not Category.A)
"""The categories in which INTERACT may ask whether the answer changed."""


ANSWERED: tuple[str, ...] = (Tag.INIT, Tag.RATIFY, Tag.REFUTE, Tag.REVISE)
"""The tags that INTERACT answers."""


class Cell(NamedTuple):
    """What is drawn at a message: the category, and whether the answer changed."""

    category: Category
    revises: bool


@dataclass(frozen=True)
class Behaviour:
    """The probabilities of the categories, and of revision in B, C and D.

    `categories` and `revise` go by category; what is left out is 0. Values are exact; raises
    `UsageError` where one is outside 0 to 1 or the categories do not add up to 1.
    """

    categories: Mapping[Category, Fraction]
    revise: Mapping[Category, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.named():
            if not 0 <= value <= 1:
                raise UsageError(f"{name} is a probability, from 0 to 1; it was {value}")
        total = sum(map(self.of, Category), Fraction(0))
        if total != 1:
            raise UsageError(f"A, B, C and D must add up to 1; they add up to {total}")

    def of(self, category: Category) -> Fraction:
        """The probability of `category`."""
        return self.categories.get(category, Fraction(0))

    def revises(self, category: Category) -> Fraction:
        """The probability of revision in `category`."""
        return self.revise.get(category, Fraction(0))

    def named(self) -> Iterator[tuple[str, Fraction]]:
        """Each parameter by its name: A, B, C, D, revise.B, revise.C, revise.D."""
        for category in Category:
            yield category.value, self.of(category)
        for category in REVISING:
            yield f"revise.{category.value}", self.revises(category)

    def cells(self) -> dict[Cell, Fraction]:
        """The probability of everything that can be drawn."""
        probabilities = {}
        for category in Category:
            share, revises = self.of(category), self.revises(category)
            probabilities[Cell(category, True)] = share * revises
            probabilities[Cell(category, False)] = share * (1 - revises)
        return probabilities

    def value(self, parameter: str) -> Fraction | None:
        """A parameter's value; None for `revise` where the categories differ in it."""
        if parameter == "revise":
            values = {self.revises(category) for category in REVISING}
            return values.pop() if len(values) == 1 else None
        return dict(self.named())[parameter]

    def with_(self, parameter: str, value: Fraction) -> Behaviour:
        """The same with one parameter set; everything that is drawn is linear in `value`.

        `revise` is that of B, C and D at once. Another category than the one that is set keeps its
        share among the others. Raises `UsageError` where the others have no shares to keep.
        """
        if parameter == "revise":
            return replace(self, revise=dict.fromkeys(REVISING, value))
        if parameter.startswith("revise."):
            category = Category(parameter.removeprefix("revise."))
            return replace(self, revise={**self.revise, category: value})
        category = Category(parameter)
        rest = 1 - self.of(category)
        if rest == 0:
            raise UsageError(
                f"{parameter} is 1, so nothing says how the other categories share what is left "
                f"where it is less; give them shares, for instance {parameter}=1/2"
            )
        scaled = {other: self.of(other) * (1 - value) / rest for other in Category}
        return replace(self, categories={**scaled, category: value})


PARAMETERS = ("A", "B", "C", "D", "revise", "revise.B", "revise.C", "revise.D")
"""What can be set of a behaviour."""


@dataclass(frozen=True)
class Player:
    """An agent by chance: what it does, and, for a tag in `after`, what it does in answer to it."""

    usual: Behaviour
    after: Mapping[str, Behaviour] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tag in self.after:
            if tag not in ANSWERED:
                raise UsageError(
                    f"{tag} is answered by nobody; behaviours may go by {', '.join(ANSWERED)}"
                )

    def answering(self, tag: str) -> Behaviour:
        """What it does in answer to `tag`."""
        return self.after.get(tag, self.usual)

    def value(self, parameter: str) -> Fraction | None:
        """A parameter's value: `revise`, or `RATIFY:revise` in answer to a tag."""
        tag, name = _split(parameter)
        return self._chosen(tag).value(name)

    def with_(self, parameter: str, value: Fraction) -> Player:
        """The same with one parameter set, `revise` or, in answer to a tag, `RATIFY:revise`."""
        tag, name = _split(parameter)
        changed = self._chosen(tag).with_(name, value)
        if not tag:
            return replace(self, usual=changed)
        return replace(self, after={**self.after, tag: changed})

    def _chosen(self, tag: str) -> Behaviour:
        if tag and tag not in self.after:
            raise UsageError(f"nothing is said of what this agent does in answer to {tag}")
        return self.after[tag] if tag else self.usual


def _split(parameter: str) -> tuple[str, str]:
    tag, colon, name = parameter.rpartition(":")
    if name not in PARAMETERS:
        raise UsageError(f"there is no parameter {name!r}; there are {', '.join(PARAMETERS)}")
    return (tag, name) if colon else ("", name)
