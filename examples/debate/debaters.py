"""Members of the debate as functions of their turn, where no model is at hand."""

from collections.abc import Callable
from pathlib import Path

import pxp_fsm as pxp

SYSTEM = pxp.System.load(Path(__file__).with_name("debate.toml"))

Function = Callable[[pxp.Turn], pxp.Intent | str | None]


def debater(*arguments: str) -> Function:
    """One that has these arguments, in turn, the last of them for ever."""

    def argue(turn: pxp.Turn) -> pxp.Intent | None:
        count = turn.memory.get("said", 0)
        turn.memory["said"] = count + 1
        return pxp.Intent("ARGUMENT", arguments[min(count, len(arguments) - 1)])

    return argue


def judge(rounds: int, verdict: str = "PRO") -> Function:
    """One that hears so many rounds, and upholds the motion (PRO) or not (CON)."""

    def decide(turn: pxp.Turn) -> pxp.Intent | str | None:
        if not turn.guards:
            heard = turn.value or "Whales are fish."
            return pxp.Intent(turn.tags[0], heard) if turn.tags else None
        turn.memory["rounds"] = turn.memory.get("rounds", 0) + 1
        return pxp.Intent("MORE" if turn.memory["rounds"] < rounds else verdict, turn.value)

    return decide
