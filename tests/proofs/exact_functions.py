"""Decision functions that are exact, though not the shortest."""

from __future__ import annotations

from pxp_fsm.protocol.messages import Tag

BOUND = 20


def helper(number: int, bound: int = BOUND) -> bool:
    """Some other function of the same kind."""
    late = number - 1
    late += 1
    return bound <= late if late % 2 == 0 else max(late, 3) > bound


def roundabout(sent: int, n: int, stopped: bool) -> bool:
    if not isinstance(sent, int) or isinstance(n, bool | float | str):
        raise ValueError(f"{sent} and {n!r} are no whole numbers")
    if stopped is True or n in (7, 9) or n == Tag.INIT:  # type: ignore[comparison-overlap]
        return helper(n) or stopped
    return not -sent + n > 0 and helper(number=sent) is not None
