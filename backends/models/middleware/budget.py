"""The budget of a run: caps on cost and calls, checked before each call.

The most that a call can cost is reserved before it is made, in the run's `Ledger` too, and given
back where it cost less. What is not settled there, because the process was stopped, counts in full.
A call that finds no room waits for those under way; with none under way, the run stops.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace

from backends.models.catalogue import ModelFacts
from backends.models.failures import CallFailed
from pxp_fsm.errors import Halted, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import (
    NOTHING_SPENT,
    Ask,
    Layer,
    Ledger,
    ModelRequest,
    Reply,
    Reservation,
    Spending,
    Usage,
)

_PARTS = 10**12
"""Money is counted in whole parts of a dollar, so that no sum is a rounding away from its cap."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a call may cost, in parts of a dollar, and its place in the ledger."""

    part: int
    stored: Reservation | None


class Budget:
    """What a run may spend: `dollars`, and `calls` (attempts too); None is without a cap.

    `spent` is what it has spent before it was resumed; `ledger` is where each attempt is stored
    before it is sent. A call that costs more than was reserved for it shows that the most which a
    call may cost is not known: where money is capped, no other is made.
    """

    def __init__(
        self,
        dollars: float | None = None,
        calls: int | None = None,
        *,
        spent: Spending = NOTHING_SPENT,
        ledger: Ledger | None = None,
    ) -> None:
        if dollars is not None and not (math.isfinite(dollars) and dollars >= 0):
            raise UsageError(f"a cap on cost must be a number of dollars, not {dollars}")
        if calls is not None and calls < 0:
            raise UsageError(f"a cap on calls must be at least 0, not {calls}")
        self._cap = None if dollars is None else int(dollars * _PARTS)
        self._calls = calls
        if dollars is not None and spent.unpriced:
            raise UsageError(
                f"the price of {spent.unpriced} earlier calls of this run is unknown, so its cost "
                f"cannot be capped; cap the calls"
            )
        self._spent = _parts(spent.dollars)
        self._made = spent.calls
        self._exceeded = spent.exceeded
        self._ledger = ledger
        self._set_aside = 0
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def capped_in_money(self) -> bool:
        return self._cap is not None

    @property
    def spent(self) -> float:
        """Dollars spent so far."""
        return self._spent / _PARTS

    @property
    def made(self) -> int:
        """Calls made so far."""
        return self._made

    async def reserve(self, model: str, request: ModelRequest, worst: float | None) -> Reserved:
        """Reserve `worst` dollars for a call (None: not known), which counts from now.

        Raises `Halted` where there is no room and no call under way that could make some, and what
        the ledger raises: nothing may be sent then.
        """
        part = _parts(worst or 0.0)
        while not self._room(part):
            if self._under_way == 0:
                raise Halted(self._why(worst or 0.0))
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        self._set_aside += part
        self._under_way += 1
        self._made += 1
        try:
            stored = None if self._ledger is None else self._ledger.reserve(model, request, worst)
        except BaseException:
            self.leave(Reserved(part, None))  # it may have been stored all the same
            raise
        return Reserved(part, stored)

    def settle(self, reserved: Reserved, cost: float | None) -> None:
        """A reserved call is over and did cost so much (None: the price is not known)."""
        part = _parts(cost or 0.0)
        self._exceeded = self._exceeded or part > reserved.part
        try:
            if self._ledger is not None and reserved.stored is not None:
                self._ledger.settle(reserved.stored, cost)
        except BaseException:
            self._end(reserved, max(part, reserved.part))  # as the ledger has it, at most
            raise
        self._end(reserved, part)

    def leave(self, reserved: Reserved) -> None:
        """A reserved call was cut short: it may have been made and billed, and counts in full."""
        self._end(reserved, reserved.part)

    def _end(self, reserved: Reserved, part: int) -> None:
        self._set_aside -= reserved.part
        self._under_way -= 1
        self._spent += part
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _any_call_left(self) -> bool:
        return self._calls is None or self._made < self._calls

    def _room(self, part: int) -> bool:
        if self._cap is None:
            return self._any_call_left()
        room = not self._exceeded and self._spent + self._set_aside + part <= self._cap
        return room and self._any_call_left()

    def _why(self, worst: float) -> str:
        if not self._any_call_left():
            return f"the cap of {self._calls} calls is reached; resume the run with a higher one"
        if self._exceeded:
            return (
                f"a call cost more than the most that was reserved for it, so that a cap on cost "
                f"cannot be kept: ${self.spent:.4f} are spent; resume the run with a cap on calls"
            )
        cap = (self._cap or 0) / _PARTS
        return (
            f"the cap of ${cap:g} would be passed: ${self.spent:.4f} are spent, and the next call "
            f"may cost ${worst:.4f}; resume the run with a higher one"
        )


def _parts(dollars: float) -> int:
    return math.ceil(dollars * _PARTS)


def unpriced(name: str) -> UsageError:
    """Why money cannot be capped with the model `name`."""
    return UsageError(
        f"the price of {name} is unknown, so its cost cannot be capped; add a [[price]] to your "
        f"catalogue, or cap the calls"
    )


def capped(budget: Budget, facts: ModelFacts) -> Layer:
    """Keeps a model within `budget`.

    Raises `UsageError` at once where money is capped, but no price is known.
    """
    if facts.price is None and budget.capped_in_money:
        raise unpriced(str(facts.name))

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
        worst = facts.worst(request)
        reserved = await budget.reserve(
            str(facts.name), request, None if facts.price is None else worst
        )
        try:
            reply = await ask(request)
        except CallFailed as error:
            error.cost = worst if error.billed else 0.0
            budget.settle(reserved, None if facts.price is None else error.cost)
            raise
        except Halted:
            budget.settle(reserved, None if facts.price is None else 0.0)
            raise
        except BaseException:
            budget.leave(reserved)
            raise
        cost = _cost(reply, facts, worst)
        budget.settle(reserved, None if facts.price is None else cost)
        return replace(reply, served=replace(reply.served, cost=cost))

    return reply


def _cost(reply: Reply, facts: ModelFacts, worst: float) -> float:
    """What it cost; all that was reserved where a server does not say what was used."""
    if facts.price is None or not _is_known(reply):
        return worst
    return facts.price.of(reply.usage, batched=reply.served.batched)


def _is_known(reply: Reply) -> bool:
    """Whether its usage can be: no request is empty, and no text comes of no tokens."""
    used: Usage = reply.usage
    return used.sent + used.cache_read + used.cache_written > 0 and (
        used.received > 0 or not reply.text
    )
