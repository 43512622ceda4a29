"""Recorded sessions out of a database, as an audit asks for them: digests, and no texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, text

from proofs.audit import Judged, Recording, Said
from proofs.audit.findings import held
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

_AT_ONCE = 5000
_DERIVED = re.compile(r"(?:^|.* )guards=derived(?:, never revises)? MATCH=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stored:
    """A recorded session with its place; `rules` are what it followed, or `why_not` they are not
    known."""

    recording: Recording
    instance: str
    rules: Rules | None
    why_not: str = ""


_SESSIONS = text(
    """
    SELECT repetition, position, session, instance, protocol, n, k, automaton, fingerprint,
           assumptions, initiator, initiator_description, responder, responder_description, ending
    FROM sessions WHERE run = :run ORDER BY repetition, position
    """
)
_ENTRIES = text(
    """
    SELECT s.repetition, s.position, e.number, e.sender, e.tag, e.prediction_digest,
           e.explanation_digest
    FROM sessions AS s JOIN entries AS e ON e.session = s.session
    WHERE s.run = :run ORDER BY s.repetition, s.position, e.number
    """
)
_JUDGEMENTS = text(
    """
    SELECT s.repetition, s.position, j.number, j.relation, j.left_digest, j.right_digest, j.outcome
    FROM sessions AS s JOIN judgements AS j ON j.session = s.session
    WHERE s.run = :run AND j.relation IN ('MATCH', 'AGREE')
    ORDER BY s.repetition, s.position, j.number, j.place
    """
)
_CLASSES = text(
    """
    SELECT s.repetition, s.position, i.agent, i.one_way, i.one_way_any, i.strong, i.ultra_strong,
           t.two_way
    FROM sessions AS s
    JOIN intelligibility AS i ON i.session = s.session
    JOIN two_way_intelligibility AS t ON t.session = s.session
    WHERE s.run = :run ORDER BY s.repetition, s.position
    """
)
_NAMES = ("one_way", "one_way_any", "strong", "ultra_strong")


def recordings(connection: Connection, run: str) -> Iterator[Stored]:
    """Every session of `run`, in the order in which they were planned; one at a time in memory.

    The queries are in the same order and are merged.
    """
    streaming = connection.execution_options(yield_per=_AT_ONCE)
    entries, judgements, classes = (
        _Following(streaming.execute(query, {"run": run}))
        for query in (_ENTRIES, _JUDGEMENTS, _CLASSES)
    )
    rules: dict[tuple[Any, ...], tuple[Rules | None, str]] = {}
    for repetition, position, name, instance, *what, ending in streaming.execute(
        _SESSIONS, {"run": run}
    ):
        place = repetition, position
        protocol, n, k, automaton, fingerprint, assumptions, first, made, second, of = what
        key = protocol, n, k, automaton, fingerprint
        if key not in rules:
            rules[key] = _rules(*key)
        judged: dict[int, list[Judged]] = {}
        for _, _, number, relation, left, right, outcome in judgements.at(place):
            judged.setdefault(number, []).append(Judged(relation, left, right, held(outcome)))
        rows = entries.at(place)
        said = tuple(
            Said(sender == first, tag, y, e, tuple(judged.pop(number, ())))
            for _, _, number, sender, tag, y, e in rows
        )
        recording = Recording(
            name,
            said,
            ending,
            tuple(one for rest in judged.values() for one in rest),
            (_derived(made), _derived(of)),
            frozenset(assumptions.split()),
            _classes(classes.at(place), {first: "m", second: "h"}),
        )
        gap = [row[2] for row in rows] != list(range(1, len(rows) + 1))
        known = (None, "messages of it are missing; see pxp verify") if gap else rules[key]
        yield Stored(recording, instance, *known)


class _Following:
    """Rows in groups by place, taken as their place comes."""

    def __init__(self, rows: Any) -> None:
        self._groups = groupby(rows, key=itemgetter(0, 1))
        self._next = self._taken()

    def at(self, place: tuple[int, int]) -> list[Any]:
        """The rows of `place`; none where there are none."""
        if self._next is None or self._next[0] != place:
            return []
        rows, self._next = self._next[1], self._taken()
        return rows

    def _taken(self) -> tuple[tuple[int, int], list[Any]] | None:
        found = next(self._groups, None)
        return None if found is None else (found[0], list(found[1]))


def _derived(description: str) -> bool:
    """Whether an agent's guards follow from its relations, as its description says."""
    return _DERIVED.fullmatch(description) is not None


def _classes(rows: list[Any], agents: dict[str, str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for _, _, agent, *values, two_way in rows:
        for name, value in zip(_NAMES, values, strict=True):
            found[f"{name}:{agents[agent]}"] = bool(value)
        found["two_way"] = bool(two_way)
    return found


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
