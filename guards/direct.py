"""Guards given directly: one oracle for each, each asked once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from pxp_fsm.automaton import Valuation
from pxp_fsm.errors import GuardError
from pxp_fsm.situation import Situation

Oracle = Callable[[Situation], Awaitable[bool]]
"""Says whether one guard holds in a situation."""


class Direct:
    """Guards from one oracle each, by the guard's name.

    All of them are asked, once a message, in the table's order. That exactly one holds is checked
    by the machine, not assumed. Raises `GuardError` where a guard of the table has no oracle.
    """

    name = "direct"
    follows_relations = False

    def __init__(self, oracles: Mapping[str, Oracle]) -> None:
        self._oracles = dict(oracles)

    async def decide(self, situation: Situation) -> Valuation:
        missing = [guard for guard in situation.guards if guard not in self._oracles]
        if missing:
            raise GuardError(f"no oracle was given for guard {', '.join(missing)}")
        return {guard: await self._oracles[guard](situation) for guard in situation.guards}
