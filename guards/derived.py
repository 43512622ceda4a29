"""The guards that follow from an agent's MATCH and AGREE and from whether it can revise."""

from __future__ import annotations

from pxp_fsm.automaton import Valuation
from pxp_fsm.situation import Situation


class Derived:
    """RAT, REF, REV and REJ by the protocol's decision functions.

    `revises=False` makes an oracle agent: its answers are always taken to be correct, so it never
    REVISEs, and what would be REV is REF (which changes nothing for one whose answer stays the
    same: it has nothing to revise). Relations are asked only as far as the guard depends on
    them.
    """

    follows_relations = True

    def __init__(self, *, revises: bool = True) -> None:
        self._revises = revises

    @property
    def name(self) -> str:
        return "derived" if self._revises else "derived, never revises"

    async def decide(self, situation: Situation) -> Valuation:
        return await situation.derived(revises=self._revises)
