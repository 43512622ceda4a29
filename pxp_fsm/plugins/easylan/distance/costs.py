"""The published costs of a developer's manual operations (UED), read from their file.

Source: arXiv 2309.15943, section 6.5.1.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pxp_fsm.errors import require_extra
from pxp_fsm.plugins.easylan.model.network import LanAgent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int32]


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
    resource = resources.files("pxp_fsm.plugins.easylan.distance").joinpath("costs.toml")
    return tomllib.loads(resource.read_text("utf-8"))


_NEVER = 1 << 29


def text_cost(before: str, after: str) -> int:
    """The least UED that turns `before` into `after`; time and memory of their lengths' product.

    Exact for the costs as they are published: the equal beginning and end are set aside first, and
    with other prices that could lose the optimum.
    """
    before, after = _apart(before, after)
    if not before or not after:
        return place_cost(len(before), len(after))
    return _aligned([before], after)[0]


def text_costs(befores: Sequence[str], after: str) -> list[int]:
    """`text_cost` of each of the `befores`, all at once: faster than one by one."""
    return _aligned(befores, after) if befores and after else [text_cost(x, after) for x in befores]


def place_cost(deleted: int, typed: int) -> int:
    """The least UED of one place where that many characters go and that many come."""
    if deleted == 0 and typed == 0:
        return 0
    one_by_one = cost("place") + (deleted + typed) * cost("press")
    selected = cost("mark") + max(typed, 1) * cost("press")
    return min(one_by_one, selected) if deleted else one_by_one


def _apart(before: str, after: str) -> tuple[str, str]:
    """What is left of both without their equal beginning and end."""
    start = _alike(before, after)
    before, after = before[start:], after[start:]
    end = _alike(before[::-1], after[::-1])
    return before[: len(before) - end], after[: len(after) - end]


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _aligned(befores: Sequence[str], after: str) -> list[int]:
    """The least cost over all ways to keep characters of each text, by rows over `after`.

    Of a row, index i stands for the first i characters of a text being dealt with. A place is only
    begun where a kept character (or nothing) stands before it: two that touch are never less than
    one.
    """
    require_extra("lan", "the distance between texts", {"numpy": "NumPy"})
    import numpy as np

    place, mark, press = cost("place"), cost("mark"), cost("press")
    longest = max(map(len, befores))
    source = np.zeros((len(befores), longest), dtype=np.uint32)
    for row, before in enumerate(befores):
        source[row, : len(before)] = np.frombuffer(before.encode("utf-32-le"), dtype=np.uint32)
    steps = np.arange(longest + 1, dtype=np.int32) * np.int32(press)
    kept: Rows = np.full((len(befores), longest + 1), _NEVER, dtype=np.int32)
    kept[:, 0] = 0
    cursor = np.minimum.accumulate(kept + place - steps, axis=1) + steps
    marked = np.minimum.accumulate(kept, axis=1) + mark
    typed = np.full_like(kept, _NEVER)
    closed = np.minimum(np.minimum(kept, cursor), marked + press)
    kept[:, 0] = _NEVER
    for character in after:
        kept[:, 1:] = np.where(source == ord(character), closed[:, :-1], _NEVER)
        np.minimum(kept + place, cursor + press, out=cursor)
        cursor -= steps
        np.minimum.accumulate(cursor, axis=1, out=cursor)
        cursor += steps
        np.minimum(marked, typed, out=typed)
        typed += press
        np.minimum.accumulate(kept, axis=1, out=marked)
        marked += mark
        np.minimum(kept, cursor, out=closed)
        np.minimum(closed, typed, out=closed)
        np.minimum(closed, marked + press, out=closed)
    return [int(closed[row, len(before)]) for row, before in enumerate(befores)]


FIELDS: dict[str, Callable[[LanAgent], str]] = {
    "name": lambda agent: agent.name,
    "task": lambda agent: agent.task,
    "output": lambda agent: agent.output,
    "control knowledge": lambda agent: "\x00".join(agent.control.knowledge),
    "knowledge": lambda agent: "\x00".join(agent.knowledge),
}
"""What the form of an agent shows; a key begins a further piece of knowledge.

The pieces are told apart by a character that stands in none of them.
"""

EMPTY = LanAgent("", "", "")
"""What the form of a new agent shows."""

TextCost = Callable[[str, str], int]


def form_cost(before: LanAgent, after: LanAgent, text: TextCost = text_cost) -> int:
    """The least UED within an open form, saving included; 0 where nothing in it changes."""
    spent = sum(text(shown(before), shown(after)) for shown in FIELDS.values())
    spent += cost("switch") * (before.control.enabled != after.control.enabled)
    return spent + cost("save") if spent else 0


def creation_cost(agent: LanAgent) -> int:
    """The least UED of a new agent like this, without its edges."""
    return cost("create") + form_cost(EMPTY, agent)


def edited_cost(before: LanAgent, after: LanAgent, text: TextCost = text_cost) -> int:
    """The least UED of making an agent into another, without edges: its form is opened first."""
    spent = form_cost(before, after, text)
    return cost("open") + spent if spent else 0
