"""Recordings for analysis: the sessions of a run without their texts, and counts of them.

A text is known by its digest. Everything comes in the order in which the sessions were planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause, bindparam, text

from backends.databases.blackboard import SqlBlackboard
from backends.databases.faults import DatabaseUnavailable, retried, translated_errors
from backends.databases.records import SessionRecord
from backends.databases.views import inlined
from pxp_fsm.automata.actions import ActionRecord
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import JudgedAnswer, Outcome, held

_BATCH = 2000
"""Rows that are fetched at a time."""


class RecordedMessage(NamedTuple):
    """A message with what was judged to arrive at it; its texts are digests."""

    number: int
    sender: str
    tag: str
    prediction: str
    explanation: str
    judged: tuple[JudgedAnswer, ...] = ()


class RecordedClasses(NamedTuple):
    """Which definitions of intelligibility hold for an agent, as the database computes them."""

    one_way: bool
    one_way_any: bool
    strong: bool
    ultra_strong: bool


class RecordedSession(NamedTuple):
    """A session without its texts; a tuple, for there may be a hundred thousand.

    `turns` says how the agents of a panel take turns, of which `agents` has the first two; it is
    empty where two agents talk. `agents` are name and description of initiator and responder;
    `unsent` was judged for a message that is not stored; `classes` are of initiator and responder.
    What was not asked for is empty.
    """

    session: str
    repetition: int
    position: int
    instance: str
    protocol: str
    n: int | None
    k: int | None
    automaton: str
    fingerprint: str
    assumptions: str
    ending: str | None
    turns: str
    agents: tuple[tuple[str, str], tuple[str, str]]
    messages: tuple[RecordedMessage, ...]
    unsent: tuple[JudgedAnswer, ...]
    classes: tuple[RecordedClasses, ...]

    @property
    def initiator(self) -> str:
        """The agent that sends first: the machine of the papers' tables."""
        return self.agents[0][0]

    @property
    def responder(self) -> str:
        """The other agent: the human of the papers' tables."""
        return self.agents[1][0]


class Details(Enum):
    """What is read of a session beside its messages."""

    OUTCOMES = "what MATCH and AGREE answered"
    PAIRS = "what MATCH and AGREE answered, of which texts"
    CLASSES = "which definitions of intelligibility hold for each agent"


_SESSIONS = text(
    """
    SELECT session, repetition, position, instance, protocol, n, k, automaton, fingerprint,
           assumptions, ending, faults, initiator, initiator_description,
           responder, responder_description
    FROM sessions WHERE run = :run ORDER BY repetition, position
    """
)
_MESSAGES = text(
    """
    SELECT s.session, e.number, e.member, e.label, e.payload_digest, e.explanation_digest
    FROM sessions AS s JOIN events AS e ON e.session = s.session
    WHERE s.run = :run AND e.explanation_digest IS NOT NULL
    ORDER BY s.repetition, s.position, e.number
    """
)
_JUDGEMENTS, _PAIRS = (
    text(
        f"""
        SELECT s.session, j.number, j.relation, {columns}, j.outcome
        FROM sessions AS s JOIN judgements AS j ON j.session = s.session
        WHERE s.run = :run AND j.relation IN ('MATCH', 'AGREE')
        ORDER BY s.repetition, s.position, j.number, j.place
        """  # noqa: S608 - our own names
    )
    for columns in ("'', ''", "j.left_digest, j.right_digest")
)
_CLASSES = text(
    inlined(
        """
    SELECT s.session, first.one_way, first.one_way_any, first.strong, first.ultra_strong,
           second.one_way, second.one_way_any, second.strong, second.ultra_strong
    FROM sessions AS s
    JOIN intelligibility AS first ON first.session = s.session AND first.agent = s.initiator
    JOIN intelligibility AS second ON second.session = s.session AND second.agent = s.responder
    WHERE s.run = :run ORDER BY s.repetition, s.position
    """,
        "intelligibility",
    )
)
_HELD = {outcome.value: held(outcome) for outcome in Outcome}


def recorded_sessions(
    board: SqlBlackboard, run: str, *details: Details, messages: bool = True
) -> Iterator[RecordedSession]:
    """Every session of `run`, with its messages unless they are not wanted, and with `details`.

    One session at a time is in memory: the queries are in the same order and are merged. A database
    that is away is waited for, and read on after the last session that was given out.
    """
    reached = (0, 0)
    sessions: Iterator[RecordedSession] = iter(())

    def begin() -> RecordedSession | None:
        nonlocal sessions
        sessions = _streamed(board, run, *details, messages=messages)
        return next(
            (session for session in sessions if (session.repetition, session.position) > reached),
            None,
        )

    recorded = retried(begin, board.patience)
    while recorded is not None:
        yield recorded
        reached = recorded.repetition, recorded.position
        try:
            recorded = next(sessions, None)
        except DatabaseUnavailable:
            recorded = retried(begin, board.patience)


def _streamed(
    board: SqlBlackboard, run: str, *details: Details, messages: bool
) -> Iterator[RecordedSession]:
    with translated_errors(board.shown), board.engine.connect() as connection:
        streaming, values = connection.execution_options(yield_per=_BATCH), {"run": run}

        def read(query: TextClause) -> Iterator[Sequence[Any]]:
            # many rows at once: the driver is asked as often
            return chain.from_iterable(streaming.execute(query, values).partitions(_BATCH))

        def rows(query: TextClause, wanted: bool) -> _RowsBySession:
            return _RowsBySession(read(query) if wanted else ())

        pairs = Details.PAIRS in details
        sent = rows(_MESSAGES, messages)
        judged = rows(_PAIRS if pairs else _JUDGEMENTS, pairs or Details.OUTCOMES in details)
        classified = rows(_CLASSES, Details.CLASSES in details)
        for name, *row, initiator, initiator_is, responder, responder_is in read(_SESSIONS):
            answers = _answers(judged.of(name))
            yield RecordedSession._make(
                (
                    name,
                    *row,
                    ((initiator, initiator_is), (responder, responder_is)),
                    tuple(
                        [
                            RecordedMessage(number, sender, tag, y, e, answers.pop(number, ()))
                            for _, number, sender, tag, y, e in sent.of(name)
                        ]
                    ),
                    tuple(chain.from_iterable(answers.values())),
                    tuple(
                        [
                            RecordedClasses(*map(bool, holds))
                            for classes_row in classified.of(name)
                            for holds in (classes_row[1:5], classes_row[5:])
                        ]
                    ),
                )
            )


def _answers(rows: Iterable[Sequence[Any]]) -> dict[int, tuple[JudgedAnswer, ...]]:
    """The answers of a session by the number of the message they are about.

    An outcome that no program of ours wrote counts as no answer.
    """
    return {
        number: tuple(
            [
                JudgedAnswer(relation, left, right, _HELD.get(outcome))
                for _, _, relation, left, right, outcome in of_message
            ]
        )
        for number, of_message in groupby(rows, key=itemgetter(1))
    }


class _RowsBySession:
    """Rows that begin with a session's name, taken session by session in their order."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next = next(self._groups, None)

    def of(self, session: str) -> Iterable[Sequence[Any]]:
        """The rows of `session`; sessions are asked for in their order."""
        if self._next is None or self._next[0] != session:
            return ()
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


class RecordedAction(NamedTuple):
    """What happened in a session, by its number, without what was said."""

    number: int
    action: ActionRecord


_HAPPENED = text(
    """
    SELECT session, number, kind, member, partner, label, guard FROM events
    WHERE session IN :sessions ORDER BY session, number
    """
).bindparams(bindparam("sessions", expanding=True))

_SESSIONS_AT_ONCE = 500


def recorded_actions(
    board: SqlBlackboard, run: str
) -> Iterator[tuple[SessionRecord, tuple[RecordedAction, ...]]]:
    """Every session of `run`, whatever it followed, with what happened in it.

    The actions are as they stand in the database: their words may mean none (`action_of`).
    """
    every = board.sessions(run)
    for start in range(0, len(every), _SESSIONS_AT_ONCE):
        records = every[start : start + _SESSIONS_AT_ONCE]
        names = {"sessions": [record.session for record in records]}
        rows = board.read(partial(_happened, values=names))
        happened: dict[str, list[RecordedAction]] = {}
        for session, number, *words in rows:
            happened.setdefault(session, []).append(RecordedAction(number, ActionRecord(*words)))
        for record in records:
            yield record, tuple(happened.get(record.session, ()))


def _happened(connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
    return connection.execute(_HAPPENED, values).all()


class Table1Row(NamedTuple):
    """A repetition in the papers' Table 1: its sessions that the protocol ended, by class."""

    repetition: int
    total: int
    one_way_human: int
    one_way_machine: int
    two_way: int
    strong_human: int
    strong_machine: int
    ultra_strong_human: int
    ultra_strong_machine: int


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Counts over a run: Table 1, sessions by ending (None: not over), messages by sender, tag."""

    table1: tuple[Table1Row, ...]
    endings: Mapping[str | None, int]
    tags: Mapping[tuple[str, str], int]


_TABLE1 = text(
    inlined(
        f"SELECT {', '.join(Table1Row._fields)} FROM table1 WHERE run = :run ORDER BY repetition",  # noqa: S608 - our own names
        "table1",
    )
)
_ENDINGS = text(
    "SELECT ending, COUNT(*) FROM sessions WHERE run = :run GROUP BY ending ORDER BY ending"
)
_TAGS = text(
    """
    SELECT events.member, events.label, COUNT(*)
    FROM events JOIN sessions ON sessions.session = events.session
    WHERE sessions.run = :run AND events.explanation_digest IS NOT NULL
    GROUP BY events.member, events.label
    """
)


def run_counts(board: SqlBlackboard, run: str) -> RunCounts:
    """What is counted of `run`, as far as it has got."""

    def counted(connection: Connection) -> RunCounts:
        table1, endings, tags = (
            connection.execute(query, {"run": run}).all() for query in (_TABLE1, _ENDINGS, _TAGS)
        )
        return RunCounts(
            tuple(Table1Row(*map(int, row)) for row in table1),
            dict(map(tuple, endings)),
            {(sender, tag): number for sender, tag, number in tags},
        )

    return board.read(counted)


class BoundedProtocol(NamedTuple):
    """A protocol with the bounds under which sessions ran."""

    protocol: str
    n: int | None
    k: int | None


def protocols_of(board: SqlBlackboard, run: str) -> tuple[BoundedProtocol, ...]:
    """The protocols and bounds that sessions of `run` followed, each once."""
    query = text("SELECT DISTINCT protocol, n, k FROM sessions WHERE run = :run")
    return board.read(
        lambda connection: tuple(
            BoundedProtocol(*row) for row in connection.execute(query, {"run": run})
        )
    )


_PREDICTIONS = text(
    """
    SELECT digest, text FROM texts WHERE digest IN (
      SELECT events.payload_digest FROM sessions
      JOIN events ON events.session = sessions.session
      WHERE sessions.run = :run AND events.explanation_digest IS NOT NULL) AND text IS NOT NULL
    """
)


def predictions(board: SqlBlackboard, run: str) -> Mapping[str, str]:
    """The predictions that were sent in `run` and not erased, by digest."""
    return board.read(
        lambda connection: dict(map(tuple, connection.execute(_PREDICTIONS, {"run": run})))
    )


_ILLUSTRATIVE = text(
    """
    SELECT sessions.session
    FROM sessions
    LEFT JOIN events ON events.session = sessions.session
    WHERE sessions.run = :run
    GROUP BY sessions.session, sessions.ordinal, sessions.ending
    ORDER BY
      CASE WHEN sessions.ending = 'ratified'
            AND SUM(CASE WHEN events.label = 'REVISE' THEN 1 ELSE 0 END) > 0 THEN 0 ELSE 1 END,
      COUNT(events.number) DESC, sessions.ordinal
    LIMIT 1
    """
)


def illustrative_session(board: SqlBlackboard, run: str) -> str:
    """The session to draw: the longest that was ratified after a REVISE, else the longest."""
    return board.read(lambda connection: str(connection.scalar(_ILLUSTRATIVE, {"run": run})))


def action_counts(board: SqlBlackboard, run: str) -> dict[ActionRecord, int]:
    """How often each action happened in the sessions of `run`, in alphabetical order."""
    counts = board.read(lambda connection: connection.execute(_ACTIONS, {"run": run}).all())
    return {ActionRecord(*words): times for *words, times in counts}


def durations(board: SqlBlackboard, run: str) -> dict[str, float]:
    """Seconds from the opening of each session to its last action; what one waited is in them."""
    times = board.read(lambda connection: connection.execute(_TIMES, {"run": run}).all())
    return {session: _elapsed(begun, latest) for session, begun, latest in times}


def _elapsed(begun: str, latest: str) -> float:
    elapsed = datetime.fromisoformat(latest) - datetime.fromisoformat(begun)
    return max(0.0, elapsed.total_seconds())


_ACTIONS = text(
    """
    SELECT kind, member, partner, label, guard, COUNT(*)
    FROM events JOIN sessions ON sessions.session = events.session
    WHERE sessions.run = :run
    GROUP BY kind, member, partner, label, guard
    ORDER BY kind, member, partner, label, guard
    """
)

_TIMES = text(
    """
    SELECT sessions.session, sessions.created, MAX(events.created)
    FROM events JOIN sessions ON sessions.session = events.session
    WHERE sessions.run = :run
    GROUP BY sessions.session, sessions.created
    """
)
