"""What a panel adds to a fork: to leave an agent out from a message on, or to pass its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import FORK, option


@dataclass(frozen=True, kw_only=True)
class TurnChange:
    """What is changed of the turn of a panel's message, which is made anew.

    `without` an agent its channels are closed from there on; with `skip` the turn is passed to the
    agent that would be next.
    """

    without: str | None = option(
        "Of a panel: close the channels of AGENT from MESSAGE on, which is made anew.",
        None,
        metavar="AGENT",
        group=FORK,
    )
    skip: bool = option(
        "Of a panel: pass the turn of MESSAGE to the agent that would be next.", False, group=FORK
    )

    @property
    def chosen(self) -> Sequence[str]:
        """The fields that are set."""
        return [
            *(["without"] if self.without is not None else []),
            *(["skip"] if self.skip else []),
        ]

    def applied(self, plan: Plan, names: Sequence[str], number: int) -> Plan:
        """`plan`, of a session of these agents, with what is changed after message `number`."""
        if plan.agents is None:
            raise UsageError(
                "this session is one of two agents; in a panel an agent is left out, or its turn "
                "passed",
                self.chosen[0],
            )
        if self.without is not None and self.without not in names:
            raise UsageError(
                f"the panel has no agent {quoted(self.without)}; there are: {', '.join(names)}",
                "without",
            )
        changes = [f"without:{self.without}@{number}"] if self.without is not None else []
        changes += [f"skip:{number}"] if self.skip else []
        return replace(plan, added=",".join([*filter(None, [plan.added]), *changes]))
