"""Observations of sessions for a report: tags and their reasons, read once without texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backends.databases import SqlBlackboard
from backends.databases.recordings import Details, recorded_sessions
from pxp_fsm.protocol.decisions import Category, category
from pxp_fsm.protocol.relations import Outcome

_YES = Outcome.YES
_DECIDED = (_YES, Outcome.NO, Outcome.UNSURE)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a message has its tag, as far as judgements tell.

    `category` compares what was received with one's own. `held` is whether MATCH and AGREE held of
    the new answer too: with one's previous one in INTERACT (if not, it changed), with what was
    received in PXP (if so, it was reconciled). None where that was not asked.
    """

    category: Category
    held: bool | None


@dataclass(frozen=True, slots=True)
class ObservedMessage:
    """One message: whose it is, its tag, the digest of its prediction, and why that tag.

    `reason` is None where nothing was judged: the first message, and tags that somebody named.
    """

    machine: bool
    tag: str
    prediction: str
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class Observed:
    """A session without its texts. The initiator is the machine, the responder the human."""

    session: str
    repetition: int
    position: int
    instance: str
    k: int | None
    ending: str | None
    steps: tuple[ObservedMessage, ...]


RELATIONS = ("MATCH", "AGREE")
"""What tags follow from; LEARN is logged beside them."""


def observed(board: SqlBlackboard, run: str, *, reasons: bool = True) -> Iterator[Observed]:
    """Every session of `run`, in the order in which they were planned; one at a time in memory.

    Without `reasons` no judgement is read, and every step's reason is None.
    """
    details = (Details.OUTCOMES,) if reasons else ()
    for session in recorded_sessions(board, run, *details):
        machine = session.initiator
        yield Observed(
            session.session,
            session.repetition,
            session.position,
            session.instance,
            session.k,
            session.ending,
            tuple(
                ObservedMessage(
                    sender == machine, tag, y, reason([one.outcome for one in judgements])
                )
                for _, sender, tag, y, _, judgements in session.messages
            ),
        )


def reason(outcomes: Sequence[Outcome]) -> Reason | None:
    """The reason that the outcomes of a message's judgements, in their order, give.

    The first two are MATCH and AGREE of what was received with one's own; those after them are of
    the new answer.
    """
    if len(outcomes) < 2 or not all(outcome in _DECIDED for outcome in outcomes):
        return None
    match, agree, *rest = [outcome is _YES for outcome in outcomes]
    return Reason(category(match, agree), all(rest) if rest else None)
