"""Published numbers besides the tables: points of curves, and the order of tags."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

SESSIONS = 20
"""Sessions in each published column."""


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A point of a published curve: so many sessions of 20 are in the class by that message."""

    task: str
    title: str
    kind: str
    message: int
    sessions: int
    source: str


@dataclass(frozen=True, slots=True)
class PublishedRatified:
    """Sessions of 20 that both ratified within three messages, and after more."""

    task: str
    title: str
    within_3: int
    later: int


@dataclass(frozen=True, slots=True)
class PublishedTag:
    """A case of the tag-category table; None where the tag does not depend on it."""

    category: str
    tag: str
    late: bool | None = None
    changed: bool | None = None


def points(task: str) -> Sequence[PublishedPoint]:
    """The points of a task's curves that the text gives in numbers."""
    return tuple(PublishedPoint(**row) for row in _data()["point"] if row["task"] == task)


def ratified(task: str) -> Sequence[PublishedRatified]:
    """What the text says of ratified sessions of a task."""
    return tuple(PublishedRatified(**row) for row in _data()["ratified"] if row["task"] == task)


def tags() -> Sequence[PublishedTag]:
    """The tag-category table."""
    return tuple(PublishedTag(**row) for row in _data()["tag"])


@cache
def _data() -> dict[str, Any]:
    resource = resources.files("pxp_fsm.experiments").joinpath("published.toml")
    return tomllib.loads(resource.read_text("utf-8"))
