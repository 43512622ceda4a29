"""The row that no session takes is taken by messages that cross."""

from __future__ import annotations

import pytest

from pxp_fsm.automata.automaton import Transition, Trigger, Valuation
from pxp_fsm.automata.tables import builtin
from pxp_fsm.plugins.conformance.endpoints import Connection
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.sessions.machine import Machine


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


def test_the_row_that_no_session_takes_is_taken_where_two_hang_up_at_once(
    taken: set[Transition],
) -> None:
    """A session is sequential, so TERM crosses TERM only between agents that queue."""
    ends = {name: Machine(builtin("pxp_hang_up")) for name in "mh"}
    channel = Connection(ends, capacity=1)
    for number, (sender, tag) in enumerate([("m", "INIT"), ("m", "TERM"), ("h", "TERM")], start=1):
        receiver = "h" if sender == "m" else "m"
        channel.carry(Message("s", number, sender, tag, Answer("y", "e"), receiver))
        if tag == "INIT":
            channel.deliver("h")
    channel.deliver("h")
    channel.deliver("m")
    assert sorted(row.row for row in taken) == [1, 2, 8, 11, 13]
