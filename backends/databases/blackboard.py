"""The blackboard Δ on a relational database, through SQLAlchemy: one transaction per message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType

from sqlalchemy import func, insert, select, update

from backends.databases import schema
from backends.databases.engine import explained, open_engine
from backends.databases.records import RunRecord, SessionRecord, StoredSession
from pxp_fsm.errors import BlackboardError
from pxp_fsm.messages import Answer, Instance, Message
from pxp_fsm.relations import Judgement, Outcome
from pxp_fsm.session import Entry


class SqlBlackboard:
    """A blackboard on the database `name`: the path of an SQLite file, or any SQLAlchemy URL.

    Fills the interface `pxp_fsm.interfaces.Blackboard`. Raises `BlackboardError` for whatever the
    database refuses; nothing half-written is left. Use it as a context manager, or `dispose` it.
    """

    def __init__(self, name: str, *, create: bool = True) -> None:
        self.engine = open_engine(name, create=create)
        self.shown = self.engine.url.render_as_string(hide_password=True)

    def __enter__(self) -> SqlBlackboard:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.dispose()

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def start_run(self, record: RunRecord) -> None:
        """Record a run; its name must be new."""
        values = {
            "run": record.run,
            "task": record.task,
            "plan": record.plan,
            "seed": record.seed,
            "version": record.version,
            "data_fingerprint": record.data_fingerprint,
            "created": _now(),
        }
        with explained(self.shown), self.engine.begin() as connection:
            connection.execute(insert(schema.runs), values)

    def start_session(self, record: SessionRecord) -> None:
        """Record a session with its agents and its data instance, all of it or nothing."""
        session = {
            "session": record.session,
            "run": record.run,
            "repetition": record.repetition,
            "position": record.position,
            "protocol": record.protocol,
            "n": record.n,
            "k": record.k,
            "automaton": record.automaton,
            "fingerprint": record.fingerprint,
            "memo": int(record.memo),
            "assumptions": " ".join(record.assumptions),
            "created": _now(),
        }
        agents = [
            {"session": record.session, "name": name, "role": role, "description": description}
            for role, (name, description) in zip(
                ("initiator", "responder"), record.agents, strict=True
            )
        ]
        datum = {
            "session": record.session,
            "instance": record.instance.key,
            "x": record.instance.x,
        }
        with explained(self.shown), self.engine.begin() as connection:
            connection.execute(insert(schema.sessions), session)
            connection.execute(insert(schema.agents), agents)
            connection.execute(insert(schema.data), datum)

    def append(self, message: Message, context: str, judgements: Sequence[Judgement]) -> None:
        """Store a message, what it adds to the context, and what was judged to arrive at it."""
        with explained(self.shown), self.engine.begin() as connection:
            connection.execute(
                insert(schema.messages),
                {
                    "session": message.session,
                    "number": message.number,
                    "sender": message.sender,
                    "tag": message.tag,
                    "prediction": message.answer.prediction,
                    "explanation": message.answer.explanation,
                    "receiver": message.receiver,
                    "created": _now(),
                },
            )
            connection.execute(
                insert(schema.contexts),
                {"session": message.session, "number": message.number, "addition": context},
            )
            rows = _judgement_rows(message.session, message.number, judgements)
            if rows:
                connection.execute(insert(schema.judgements), rows)

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        """Record how a session ended; refused where it has ended otherwise before."""
        table = schema.sessions
        number = select(func.count()).where(schema.messages.c.session == session)
        with explained(self.shown), self.engine.begin() as connection:
            before = connection.scalar(select(table.c.ending).where(table.c.session == session))
            if before == ending:
                return
            if before is not None:
                raise BlackboardError(f"session {session} has ended already ({before})")
            connection.execute(
                update(table).where(table.c.session == session).values(ending=ending, cause=cause)
            )
            rows = _judgement_rows(session, (connection.scalar(number) or 0) + 1, judgements)
            if rows:
                connection.execute(insert(schema.judgements), rows)

    def runs(self) -> tuple[RunRecord, ...]:
        """Every run, oldest first."""
        query = select(schema.runs).order_by(schema.runs.c.created, schema.runs.c.run)
        with explained(self.shown), self.engine.connect() as connection:
            return tuple(RunRecord(**row._mapping) for row in connection.execute(query))

    def sessions(self, run: str | None = None) -> tuple[SessionRecord, ...]:
        """The sessions of a run (or of all runs), in the order in which they were planned."""
        s, m = schema.sessions, schema.messages
        number = (
            select(func.count())
            .where(m.c.session == s.c.session)
            .scalar_subquery()
            .label("messages")
        )
        query = (
            select(s, schema.data.c.instance, schema.data.c.x, number)
            .join(schema.data, schema.data.c.session == s.c.session)
            .join(schema.runs, schema.runs.c.run == s.c.run)
            .order_by(schema.runs.c.created, s.c.run, s.c.repetition, s.c.position)
        )
        if run is not None:
            query = query.where(s.c.run == run)
        a = schema.agents
        agents = select(a.c.session, a.c.name, a.c.description).order_by(a.c.session, a.c.role)
        if run is not None:
            agents = agents.join(s, s.c.session == a.c.session).where(s.c.run == run)
        with explained(self.shown), self.engine.connect() as connection:
            named: dict[str, list[tuple[str, str]]] = {}
            for session, name, description in connection.execute(agents):
                named.setdefault(session, []).append((name, description))
            return tuple(
                SessionRecord(
                    session=row.session,
                    run=row.run,
                    repetition=row.repetition,
                    position=row.position,
                    instance=Instance(row.instance, row.x),
                    protocol=row.protocol,
                    n=row.n,
                    k=row.k,
                    automaton=row.automaton,
                    fingerprint=row.fingerprint,
                    memo=bool(row.memo),
                    assumptions=tuple(row.assumptions.split()),
                    agents=tuple(named[row.session]),
                    ending=row.ending,
                    cause=row.cause,
                    messages=row.messages,
                )
                for row in connection.execute(query)
            )

    def entries(self, session: str) -> tuple[Entry, ...]:
        """A session's messages, each with its context and judgements, in order."""
        m, c, j = schema.messages, schema.contexts, schema.judgements
        rows = (
            select(m, c.c.addition)
            .join(c, (c.c.session == m.c.session) & (c.c.number == m.c.number))
            .where(m.c.session == session)
            .order_by(m.c.number)
        )
        judged = select(j).where(j.c.session == session).order_by(j.c.number, j.c.place)
        with explained(self.shown), self.engine.connect() as connection:
            by_number: dict[int, list[Judgement]] = {}
            for row in connection.execute(judged):
                by_number.setdefault(row.number, []).append(
                    Judgement(
                        row.relation,
                        row.left_digest,
                        row.right_digest,
                        Outcome(row.outcome),
                        bool(row.asked),
                        row.seconds,
                        row.detail,
                    )
                )
            return tuple(
                Entry(
                    Message(
                        row.session,
                        row.number,
                        row.sender,
                        row.tag,
                        Answer(row.prediction, row.explanation),
                        row.receiver,
                    ),
                    row.addition,
                    tuple(by_number.get(row.number, ())),
                )
                for row in connection.execute(rows)
            )

    def session(self, name: str) -> StoredSession:
        """One session whole; `BlackboardError` where there is none of that name."""
        found = [record for record in self.sessions() if record.session == name]
        if not found:
            raise BlackboardError(
                f"{self.shown} has no session {name!r}; `pxp sessions` lists what there is"
            )
        return StoredSession(found[0], self.entries(name))


def _judgement_rows(
    session: str, number: int, judgements: Sequence[Judgement]
) -> list[dict[str, object]]:
    return [
        {
            "session": session,
            "number": number,
            "place": place,
            "relation": judgement.relation,
            "left_digest": judgement.left,
            "right_digest": judgement.right,
            "outcome": judgement.outcome.value,
            "asked": int(judgement.asked),
            "seconds": judgement.seconds,
            "detail": judgement.detail,
        }
        for place, judgement in enumerate(judgements, start=1)
    ]


def _now() -> str:
    """The time, UTC, ISO 8601; for people to read: nothing is ordered by it but runs."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
