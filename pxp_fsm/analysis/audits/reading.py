"""Recorded sessions of a database in the form that an audit needs: digests, no texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from backends.databases import SqlBlackboard
from backends.databases.own_sessions import SYSTEM
from backends.databases.recordings import (
    Details,
    RecordedClasses,
    RecordedJudgement,
    RecordedSession,
    recorded_sessions,
)
from proofs.audit import AuditedMessage, Judged, Recording
from proofs.audit.findings import held
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

_DETAILS = (Details.PAIRS, Details.CLASSES, Details.TWO_WAY)
_CLASSES = [f"{name}:{role}" for role in "mh" for name in RecordedClasses._fields]
_DERIVED = re.compile(r"(?:^|.* )guards=derived(?:, never revises)? MATCH=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stored:
    """A recorded session with its place; `rules` are what it followed.

    `why_not` says why they are not known: `SYSTEM` where it is a session of a system.
    """

    recording: Recording
    instance: str
    rules: Rules | None
    why_not: str = ""


def recordings(board: SqlBlackboard, run: str) -> Iterator[Stored]:
    """Every session of `run`, in the order in which they were planned; one at a time in memory."""
    rules: dict[tuple[str, int | None, int | None, str, str], tuple[Rules | None, str]] = {}
    for session in recorded_sessions(board, run, *_DETAILS):
        key = session.protocol, session.n, session.k, session.automaton, session.fingerprint
        if key not in rules:
            rules[key] = _rules(*key)
        (first, first_is), (_, second_is) = session.agents
        recording = Recording(
            session.session,
            tuple(
                [
                    AuditedMessage(sender == first, tag, y, e, _judged(judgements))
                    for _, sender, tag, y, e, judgements in session.messages
                ]
            ),
            session.ending,
            _judged(session.unsent),
            (_derived(first_is), _derived(second_is)),
            frozenset(session.assumptions.split()),
            _classes(session),
        )
        numbers = [message.number for message in session.messages]
        gap = numbers != list(range(1, len(numbers) + 1))
        known = (None, "messages of it are missing; see pxp verify") if gap else rules[key]
        if session.protocol == SYSTEM:
            known = None, SYSTEM
        yield Stored(recording, session.instance, *known)


def _judged(judgements: Sequence[RecordedJudgement]) -> tuple[Judged, ...]:
    return tuple(
        [
            Judged(relation, left, right, held(outcome))
            for relation, outcome, left, right in judgements
        ]
    )


@cache
def _derived(description: str) -> bool:
    """Whether an agent's guards follow from its relations, as its description says."""
    return _DERIVED.fullmatch(description) is not None


def _classes(session: RecordedSession) -> dict[str, bool]:
    found = dict(zip(_CLASSES, chain.from_iterable(session.classes), strict=False))
    return found if session.two_way is None else {**found, "two_way": session.two_way}


def _rules(
    protocol: str, n: int | None, k: int | None, automaton: str, fingerprint: str
) -> tuple[Rules | None, str]:
    """The rules that a session is recorded to have followed, or why they are not at hand."""
    if automaton not in BUILTIN:
        return None, f"it followed the table {automaton!r}, which is not one of the package's"
    if builtin(automaton).fingerprint != fingerprint:
        return None, f"it followed another table {automaton} than today's"
    try:
        if (protocol, automaton) == ("interact", "interact") and n is not None and k is not None:
            return Interact(n, k), ""
        if (protocol, automaton, n) == ("pxp", "pxp", None):
            return Pxp(k), ""
    except UsageError as error:
        return None, str(error)
    return None, f"what {protocol} with the table {automaton} allows is not known here"
