"""The budget of a run: caps on cost and calls, checked before each call.

The most that a call can cost is set aside before it is made, and given back where it cost less. A
call that finds no room waits for those under way; with none under way, the run stops.
"""

from __future__ import annotations

import asyncio
import math

from backends.models.catalogue import ModelFacts
from backends.models.failures import CallFailed
from pxp_fsm.errors import Halted, UsageError
from pxp_fsm.prompting.model import Ask, Layer, Reply, Request, Usage

_PARTS = 10**12
"""Money is counted in whole parts of a dollar, so that no sum is a rounding away from its cap."""


class Budget:
    """What a run may spend: `dollars`, and `calls` (attempts too); None is without a cap.

    `spent` and `made` are what it has spent and called before it was resumed.
    """

    def __init__(
        self,
        dollars: float | None = None,
        calls: int | None = None,
        *,
        spent: float = 0.0,
        made: int = 0,
    ) -> None:
        if dollars is not None and not (math.isfinite(dollars) and dollars >= 0):
            raise UsageError(f"a cap on cost must be a number of dollars, not {dollars}")
        if calls is not None and calls < 0:
            raise UsageError(f"a cap on calls must be at least 0, not {calls}")
        self._cap = None if dollars is None else int(dollars * _PARTS)
        self._calls = calls
        self._spent = _parts(spent)
        self._made = made
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

    async def set_aside(self, worst: float) -> int:
        """Set `worst` dollars aside for a call, which counts from now; what to `settle` it with.

        Raises `Halted` where there is no room and no call under way that could make some.
        """
        part = _parts(worst)
        while not self._room(part):
            if self._under_way == 0:
                raise Halted(self._why(worst))
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting
        self._set_aside += part
        self._under_way += 1
        self._made += 1
        return part

    def settle(self, part: int, cost: float) -> None:
        """A call that `part` was set aside for is over and cost so much."""
        self._set_aside -= part
        self._under_way -= 1
        self._spent += _parts(cost)
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)

    def _any_call_left(self) -> bool:
        return self._calls is None or self._made < self._calls

    def _room(self, part: int) -> bool:
        money = self._cap is None or self._spent + self._set_aside + part <= self._cap
        return money and self._any_call_left()

    def _why(self, worst: float) -> str:
        if not self._any_call_left():
            return f"the cap of {self._calls} calls is reached; resume the run with a higher one"
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

    async def reply(ask: Ask, request: Request) -> Reply:
        worst = facts.worst(request)
        part = await budget.set_aside(worst)
        cost = worst  # what was cut short may have been made, and billed, all the same
        try:
            reply = await ask(request)
            cost = _cost(reply, facts, worst)
        except CallFailed as error:
            cost = error.cost = worst if error.billed else 0.0
            raise
        except Halted:
            cost = 0.0
            raise
        else:
            return reply
        finally:
            budget.settle(part, cost)

    return reply


def _cost(reply: Reply, facts: ModelFacts, worst: float) -> float:
    """What it cost; all that was set aside where a server does not say what was used."""
    if facts.price is None or reply.usage == Usage():
        return worst
    return facts.price.of(reply.usage, batched=reply.served.batched)
