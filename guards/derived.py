"""The guards that follow from an agent's MATCH and AGREE and from whether it can revise."""

from __future__ import annotations

from pxp_fsm.automaton import Valuation, one_hot
from pxp_fsm.decisions import GUARDS, category
from pxp_fsm.situation import Situation


class Derived:
    """RAT, REF, REV and REJ by the protocol's decision functions.

    `revises=False` makes an oracle agent: its answers are always taken to be correct, so it never
    REVISEs, and what would be REV is REF. Relations are asked only as far as the guard depends on
    them.
    """

    def __init__(self, *, revises: bool = True) -> None:
        self._revises = revises

    @property
    def name(self) -> str:
        return "derived" if self._revises else "derived, never revises"

    async def decide(self, situation: Situation) -> Valuation:
        rules, relations = situation.rules, situation.relations
        received, own = situation.received.answer, situation.own
        match = await relations.match(received.prediction, own.prediction)
        agree = await relations.agree(received.explanation, own.explanation)
        found = category(match, agree)
        revises = False
        if rules.depends_on_revision(found, situation.number):
            new = await situation.revised()
            if self._revises:
                revises = await rules.revises(relations, new, own, received)
        return one_hot(rules.guard(found, revises, situation.number), tuple(GUARDS))
