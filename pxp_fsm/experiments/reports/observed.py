"""Sessions as a report counts them: tags, and why each tag, read in one pass and without texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, text

from pxp_fsm.protocol.decisions import Category, category
from pxp_fsm.protocol.relations import Outcome

_DECIDED = (Outcome.YES, Outcome.NO, Outcome.UNSURE)


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


_SESSIONS = text(
    """
    SELECT session, repetition, position, instance, k, ending, initiator
    FROM sessions WHERE run = :run ORDER BY repetition, position
    """
)
_ENTRIES = text(
    """
    SELECT s.repetition, s.position, e.number, e.sender, e.tag, e.prediction_digest
    FROM sessions AS s JOIN entries AS e ON e.session = s.session
    WHERE s.run = :run ORDER BY s.repetition, s.position, e.number
    """
)
_JUDGEMENTS = text(
    """
    SELECT s.repetition, s.position, j.number, j.outcome
    FROM sessions AS s JOIN judgements AS j ON j.session = s.session
    WHERE s.run = :run AND j.relation IN ('MATCH', 'AGREE')
    ORDER BY s.repetition, s.position, j.number, j.place
    """
)
RELATIONS = ("MATCH", "AGREE")
"""What tags follow from; LEARN is logged beside them."""

_AT_ONCE = 2000


def observed(connection: Connection, run: str, *, reasons: bool = True) -> Iterator[Observed]:
    """Every session of `run`, in the order in which they were planned; a few at a time in memory.

    Without `reasons` no judgement is read, and every step's reason is None. The three queries are
    in the same order and are merged, so that nothing is held but one session.
    """
    streaming = connection.execution_options(yield_per=_AT_ONCE)
    entries = _grouped(streaming.execute(_ENTRIES, {"run": run}))
    judgements = _grouped(streaming.execute(_JUDGEMENTS, {"run": run}) if reasons else ())
    said, judged = next(entries, None), next(judgements, None)
    for session, *place, instance, k, ending, initiator in streaming.execute(
        _SESSIONS, {"run": run}
    ):
        rows: list[Any] = []
        outcomes: dict[int, list[str]] = {}
        if said is not None and said[0] == tuple(place):
            rows, said = said[1], next(entries, None)
        if judged is not None and judged[0] == tuple(place):
            for row in judged[1]:
                outcomes.setdefault(row[2], []).append(row[3])
            judged = next(judgements, None)
        steps = tuple(
            ObservedMessage(sender == initiator, tag, prediction, reason(outcomes.get(number, ())))
            for _, _, number, sender, tag, prediction in rows
        )
        yield Observed(session, place[0], place[1], instance, k, ending, steps)


def _grouped(rows: Any) -> Iterator[tuple[tuple[int, int], list[Any]]]:
    for place, of_session in groupby(rows, key=itemgetter(0, 1)):
        yield place, list(of_session)


def reason(outcomes: Sequence[str]) -> Reason | None:
    """The reason that the outcomes of a message's judgements, in their order, give.

    The first two are MATCH and AGREE of what was received with one's own; those after them are of
    the new answer.
    """
    if len(outcomes) < 2 or not all(outcome in _DECIDED for outcome in outcomes):
        return None
    match, agree, *rest = (outcome == Outcome.YES for outcome in outcomes)
    return Reason(category(match, agree), all(rest) if rest else None)
