"""Assistants as functions of their turn: one that asks, and two that would rather not."""

from collections.abc import Callable
from pathlib import Path

import pxp_fsm as pxp

SYSTEM = pxp.System.load(Path(__file__).with_name("approval.toml"))

Function = Callable[[pxp.Turn], pxp.Intent | str | None]

CALL = pxp.Intent("CALL", {"city": "Delhi"})


def careful(turn: pxp.Turn) -> pxp.Intent:
    """Proposes the call, makes it once it is approved, and says what it knows then."""
    if turn.state == "ANSWERING":
        last = turn.received[-1]
        return pxp.Intent("ANSWER", "I may not look." if last.tag == "DENY" else str(last.value))
    return pxp.Intent(turn.tags[0], {"city": "Delhi"})


def hasty(_turn: pxp.Turn) -> pxp.Intent:
    """Calls the tool at once."""
    return CALL


def stubborn(turn: pxp.Turn) -> pxp.Intent:
    """Proposes the call, and makes it whatever the person says."""
    return careful(turn) if turn.state == "ASKED" else CALL


def members(assistant: Function, guard: str) -> dict[str, Function]:
    """All three; the person judges every call to be HARMLESS or HARMFUL."""

    def tool(_turn: pxp.Turn) -> pxp.Intent:
        return pxp.Intent("RESULT", {"degrees": 31})

    return {"assistant": assistant, "person": lambda _turn: guard, "tool": tool}
