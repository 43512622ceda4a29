"""Small systems that the tests of systems' sessions share."""

from __future__ import annotations

import asyncio
from typing import Any

import pxp_fsm as pxp
from proofs.systems import Member, parse_channel
from pxp_fsm.sessions.session import Session
from tests.proofs.text_tables import table

HUB = table(
    "hub",
    "IDLE -> ASKED1 send TASK to left\n"
    "ASKED1 -> ASKED2 send TASK to right\n"
    "ASKED2 -> HALF receive BID\n"
    "HALF -> CHOOSE receive BID\n"
    "CHOOSE -> [OVER] send TAKE to left if LEFT\n"
    "CHOOSE -> [OVER] send TAKE to right if RIGHT",
)
BIDDER = table(
    "bidder",
    "IDLE -> BID receive TASK\nBID -> [OVER] send BID to hub\n[OVER] -> [DONE] receive TAKE",
)


def bids(price: int) -> Any:
    async def bid(turn: pxp.Turn) -> pxp.Intent:
        await asyncio.sleep(0)
        return pxp.Intent("BID", {"price": price, "of": turn.value["of"]})

    return bid


def hub(turn: pxp.Turn) -> pxp.Intent:
    """Asks both, and takes the cheaper one."""
    if turn.state == "CHOOSE":
        prices = {one.sender: one.value["price"] for one in turn.received}
        return pxp.Intent(min(prices, key=lambda name: prices[name]).upper())
    return pxp.Intent("TASK", {"of": "a lamp"})


def contract(channel: str = "sync", **options: Any) -> Session:
    system = system_over(channel)
    members = {"hub": hub, "left": bids(7), "right": bids(5)}
    return pxp.Session(system, {**members, **options.pop("members", {})}, **options)


def system_over(channel: str) -> pxp.System:
    members = (Member("hub", HUB), Member("left", BIDDER), Member("right", BIDDER))
    return pxp.System(members, parse_channel(channel))


def wrong(value: Any) -> Any:
    """What no type checker lets through."""
    return value


def two(left: str, right: str, channel: str = "sync") -> pxp.System:
    return pxp.System.load(table("a", left), table("b", right), channel=channel)


STUCK = two(
    "S -> [T] send X if G\nS -> [U] send Y if H",
    "S -> [T] receive X\nU -> [T] receive Y\nS -> U event NEVER",
)


WAITING = two(
    "S -> [T] event APPROVE\nS -> [U] event CANCEL\n[T] -> [U] send X if NEVER",
    "S -> [T] event APPROVE\nS -> [T] event CANCEL\nS -> [T] receive X",
)
SILENT = {"a": lambda _turn: None, "b": lambda _turn: None}
