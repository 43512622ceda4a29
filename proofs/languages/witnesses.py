"""From a tag sequence back to a session: a trace of the model, taken by the real machines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from proofs.actions import Say
from proofs.explore import Trace, explore
from proofs.following import Following, Place
from proofs.languages.language import symbol
from proofs.languages.protocols import Reading
from proofs.replay import replay
from proofs.sessions import AGENTS, State
from pxp_fsm.intelligibility import ALPHABET
from pxp_fsm.messages import Message

_MESSAGES: dict[str, Say] = {
    symbol(agent, tag): Say(agent, tag) for agent, tag in product(AGENTS, ALPHABET)
}


def realised(
    reading: Reading, word: Iterable[str], *, complete: bool = True
) -> Trace[State] | None:
    """A trace whose tags are `word`, of a session that is then over; None where there is none.

    With `complete` false it need not be over.
    """
    followed = tuple(_MESSAGES.get(one) for one in word)
    space = explore(Following(reading.model, followed))
    found = space.find(
        lambda place: place.followed == len(followed) and bool(place.state.over or not complete)
    )
    return None if found is None else found.map(_state)


def _state(place: Place[State]) -> State:
    return place.state


def replayed(
    reading: Reading, word: Iterable[str], *, complete: bool = True
) -> tuple[Message, ...]:
    """The messages of a real session with the tags `word`, sent by two running agents.

    Empty where the protocol has no such session. Raises `NotReplayed` where the machines do
    something else than the model, which would be a fault of ours.
    """
    trace = realised(reading, word, complete=complete)
    return () if trace is None else replay(reading.model, trace)
