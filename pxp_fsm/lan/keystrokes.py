"""The least UED by which one text becomes another in a field of a form.

A text is edited in places, one after the other. In each, either the cursor is put there, and
characters are deleted and typed one by one; or a stretch is selected, and is deleted by one key or
replaced by what is typed. What stands between two places is kept, for nothing. The costs are those
of `costs.toml`, so deleting a piece of text is 3 (arXiv 2309.15943, section 6.5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pxp_fsm.lan.costs import cost

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int32]

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
