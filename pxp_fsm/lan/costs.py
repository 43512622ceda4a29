"""The published table of what a developer's manual operations cost (UED), read from its file.

Source: arXiv 2309.15943, section 6.5.1.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Operation:
    """A manual operation: the gestures it is made of, why those, and what they cost together."""

    name: str
    gestures: tuple[str, ...]
    why: str
    cost: int


@cache
def gestures() -> Mapping[str, int]:
    """The UED of a click, a key, a drag and a selection."""
    return MappingProxyType(_table()["gestures"])


@cache
def operations() -> tuple[Operation, ...]:
    """Every manual operation of the table, in its order."""
    return tuple(
        Operation(
            row["name"],
            tuple(row["gestures"]),
            row["why"],
            sum(gestures()[gesture] for gesture in row["gestures"]),
        )
        for row in _table()["operation"]
    )


@cache
def cost(name: str) -> int:
    """The UED of the operation of that name."""
    return next(operation.cost for operation in operations() if operation.name == name)


@cache
def _table() -> dict[str, Any]:
    resource = resources.files("pxp_fsm.lan").joinpath("costs.toml")
    return tomllib.loads(resource.read_text("utf-8"))
