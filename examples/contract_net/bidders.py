"""Members of the contract net as functions of their turn."""

from collections.abc import Callable
from pathlib import Path

import pxp_fsm as pxp

SYSTEM = pxp.System.load(Path(__file__).with_name("contract_net.toml"))

Function = Callable[[pxp.Turn], pxp.Intent | str | None]


def manager(turn: pxp.Turn) -> pxp.Intent | str | None:
    """Announces the task, and awards it to the cheapest of the bids that have come."""
    if "TASK" in turn.tags:
        return pxp.Intent("TASK", {"kilometres": 12})
    if not turn.guards:
        return next(iter(turn.tags), None)
    prices = {letter.sender: letter.value["price"] for letter in turn.received}
    name = min(prices, key=lambda name: prices[name]).upper()
    return name if turn.state == "THREE" else f"{name}_OF_TWO"


def bidder(rate: int) -> Function:
    """A bidder that asks for so much a kilometre."""
    return lambda turn: pxp.Intent("BID", {"price": rate * turn.value["kilometres"]})


def members() -> dict[str, Function]:
    """All four; far is the cheapest, where its bid comes."""
    return {"manager": manager, "left": bidder(3), "right": bidder(2), "far": bidder(1)}
