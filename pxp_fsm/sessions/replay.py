"""Replay of recorded messages through one agent's automaton: the row of each message."""

from __future__ import annotations

from collections.abc import Iterable

from pxp_fsm.automata.automaton import Automaton, Kind, Transition, happening
from pxp_fsm.errors import Refused
from pxp_fsm.protocol.messages import Message
from pxp_fsm.sessions.policy import CLOSE


def trace(
    automaton: Automaton, messages: Iterable[Message], agent: str, *, over: bool
) -> tuple[Transition, ...]:
    """The transitions that `agent`'s automaton took; `over` if the session ended as it should.

    A session that is over without TERM was closed by the schedule, which is the last transition.
    Raises `Refused` for the first message that the automaton does not allow.
    """
    state, taken = automaton.initial, list[Transition]()
    for message in messages:
        sent = message.sender == agent
        row = (automaton.sends if sent else automaton.receives)(state, message.tag)
        if row is None:
            raise Refused(
                f"message {message.number} of {message.session}: {agent} is in state {state}, in "
                f"which {automaton.name} does not {'send' if sent else 'receive'} {message.tag}"
            )
        taken.append(row)
        state = row.target
    closes = any(t.kind is Kind.EVENT and t.label == CLOSE for t in automaton.leaving(state))
    if over and closes and state not in automaton.final:
        taken.append(automaton.step(state, happening(CLOSE)))
    return tuple(taken)
