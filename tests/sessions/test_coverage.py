"""Every row of every built-in table is taken by a running session, or by messages that cross."""

from __future__ import annotations

import pytest

from guards import Chance
from pxp_fsm.automata.automaton import Event, Transition, Valuation
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.channel import Channel
from pxp_fsm.sessions.machine import Machine
from tests.sessions.agents import agent, run


@pytest.fixture(name="taken")
def _taken(monkeypatch: pytest.MonkeyPatch) -> set[Transition]:
    """What any machine takes from now on."""
    found: set[Transition] = set()
    fire = Machine.fire

    def noting(self: Machine, event: Event, valuation: Valuation | None = None) -> Transition:
        transition = fire(self, event, valuation)
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
        m, h = agent(guards=Chance(seed)), agent(guards=Chance(seed + 1000))
        run(m, h, rules)
    left = set(rules.automaton.transitions) - taken
    assert [(row.row, row.source, row.action) for row in left] == (
        [(13, "END", "-TERM")] if rules.automaton.name == "pxp_hang_up" else []
    )
    assert len(taken) == rows


def test_the_row_that_no_session_takes_is_taken_where_two_hang_up_at_once(
    taken: set[Transition],
) -> None:
    """A session is sequential, so TERM crosses TERM only between agents that queue."""
    ends = {name: Machine(builtin("pxp_hang_up")) for name in "mh"}
    channel = Channel("s", ends, capacity=1)
    for number, (sender, tag) in enumerate([("m", "INIT"), ("m", "TERM"), ("h", "TERM")], start=1):
        receiver = "h" if sender == "m" else "m"
        channel.carry(Message("s", number, sender, tag, Answer("y", "e"), receiver))
        if tag == "INIT":
            channel.deliver("h")
    channel.deliver("h")
    channel.deliver("m")
    assert sorted(row.row for row in taken) == [1, 2, 8, 11, 13]
