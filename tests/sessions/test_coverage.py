"""Every row of every built-in table is taken by a running session, or by messages that cross."""

from __future__ import annotations

import pytest

from guards import ChanceGuards
from pxp_fsm.automata.automaton import Transition, Trigger, Valuation
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.machine import Machine
from tests.sessions.agents import agent, run


@pytest.fixture(name="taken")
def _taken(monkeypatch: pytest.MonkeyPatch) -> set[Transition]:
    """What any machine takes from now on."""
    found: set[Transition] = set()
    fire = Machine.fire

    def noting(
        self: Machine, event: Trigger, valuation: Valuation | None = None, payload: object = None
    ) -> Transition:
        transition = fire(self, event, valuation, payload)
        found.add(transition)
        return transition

    monkeypatch.setattr(Machine, "fire", noting)
    return found


@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        (Interact(8, 2), 12),
        (Pxp(1), 12),
        (Pxp(1, hang_up=lambda sent, _: sent == "REVISE"), 14),
    ],
    ids=["interact", "pxp", "pxp_hang_up"],
)
def test_sessions_take_every_row(rules: Rules, rows: int, taken: set[Transition]) -> None:
    for seed in range(40):
        m, h = agent(guards=ChanceGuards(seed)), agent(guards=ChanceGuards(seed + 1000))
        run(m, h, rules)
    left = set(rules.automaton.transitions) - taken
    assert [(row.row, row.source, row.action) for row in left] == (
        [(13, "END", "-TERM")] if rules.automaton.name == "pxp_hang_up" else []
    )
    assert len(taken) == rows
