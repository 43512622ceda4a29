"""Replay of recorded messages through one agent's automaton: the row of each message.

What several agents have said to each other is replayed by two of them at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

from pxp_fsm.automata.automaton import Automaton, Kind, Transition, happening
from pxp_fsm.errors import Refused
from pxp_fsm.protocol.messages import Message, Tag
from pxp_fsm.sessions.policy import CLOSE


def conversations(messages: Iterable[Message]) -> tuple[tuple[Message, ...], ...]:
    """What each two agents have said to each other, from one INIT to the next; the first begins.

    Between two agents that is everything; where an INIT came a second time, it begins anew.

    >>> import pxp_fsm as pxp
    >>> said = pxp.Answer("mammal", "It breathes air.")
    >>> sent = ("a", "INIT", "b"), ("a", "INIT", "c"), ("b", "RATIFY", "a")
    >>> messages = [
    ...     pxp.Message("s", number, sender, tag, said, receiver)
    ...     for number, (sender, tag, receiver) in enumerate(sent, 1)
    ... ]
    >>> [[each.number for each in one] for one in conversations(messages)]
    [[1, 3], [2]]
    """
    talks: list[list[Message]] = []
    latest: dict[frozenset[str], list[Message]] = {}
    for message in messages:
        ends = frozenset((message.sender, message.receiver))
        if message.tag == Tag.INIT or ends not in latest:
            latest[ends] = []
            talks.append(latest[ends])
        latest[ends].append(message)
    return tuple(map(tuple, talks))


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
