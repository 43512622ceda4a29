"""What MATCH and AGREE may answer after some messages of a session, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proofs.core.explore import TooLarge
from proofs.sessions.model import SessionModel, SessionState, tag_of
from pxp_fsm.automata.actions import Say
from pxp_fsm.errors import Refused
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.decisions import category

MOST = 20_000
"""The states of the model that may be possible after a message."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One combination of the answers of MATCH and AGREE: its category, and the replies to it.

    `replies` are empty where the assumptions do not allow the combination there.
    """

    match: bool
    agree: bool
    category: str
    replies: tuple[str, ...]


def answers_after(model: SessionModel, says: Sequence[Say]) -> tuple[Answers, ...]:
    """The four combinations at the message after `says`; none before message 2, and at the end.

    >>> from proofs.sessions.model import session
    >>> from pxp_fsm.protocol.messages import Tag
    >>> from proofs.sessions.relational import Theory
    >>> from pxp_fsm.protocol.relations import EQUIVALENCE
    >>> from pxp_fsm.protocol.rules import Interact
    >>> model = SessionModel(Interact(), Theory(EQUIVALENCE), observes=False)
    >>> for one in answers_after(model, session(Tag.INIT)):
    ...     print(one.match, one.agree, one.category, *one.replies)
    True True A RATIFY
    True False B REFUTE
    False True C REFUTE
    False False D REFUTE

    Raises `Refused` where no session under these assumptions begins so, `TooLarge` where too many
    states of the model are possible.
    """
    here: Iterable[SessionState] = tuple(model.initial())
    for number, say in enumerate(says, 1):
        here = {
            step.target: None
            for state in here
            for step in model.successors(state)
            if step.action == say
        }
        if not here:
            raise Refused(
                f"no session of {model.name} under these assumptions has {say.tag} as message "
                f"{number} after the messages before it"
            )
        if len(here) > MOST:
            raise TooLarge(f"more than {MOST} states of the sessions are possible")
    if not says or all(state.over for state in here):
        return ()
    replies: dict[tuple[bool, bool], dict[str, None]] = {}
    for state in here:
        if state.over:
            continue
        for y, e in model.judgements(state):
            tags = replies.setdefault((y.same, e.same), {})
            tags.update(dict.fromkeys(map(tag_of, model.after(state, y, e))))
    return tuple(
        Answers(match, agree, str(category(match, agree)), tuple(filter(None, sorted(permitted))))
        for match in (True, False)
        for agree in (True, False)
        for permitted in [replies.get((match, agree), {})]
    )
