"""The tables of the blackboard: each fact is stored once.

Researchers read the views (`views.py`), which are the papers' Δ = {D, M, C} and what is computed
from it; `docs/blackboard.md` describes both. Texts are kept by their SHA-256, so that what is said
twice is stored once. What is stored stands in hash chains (`chain.py`): a row with a column `chain`
has a link of its own, and what else is stored is covered by one.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

from pxp_fsm.automata.actions import KINDS
from pxp_fsm.lazy_dataclasses import dataclass

SCHEMA_VERSION = "1"
ERASED = "(erased)"
"""What is shown in place of a text that was erased."""

metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    """Columns of texts that are always there."""
    return [Column(name, Text, nullable=False) for name in names]


def _text_of(name: str) -> Column[str]:
    """A column of a text that can be erased; NULL where there is none."""
    return Column(name, Text, ForeignKey("texts.digest"))


version = Table("blackboard_version", metadata, Column("version_num", Text, primary_key=True))

# The salt is that of the session in which a text was said; it is empty where the text belongs to
# nobody (a table), and where it was erased, and there is no text. With row ids: without them SQLite
# keeps a row where its key is, and reads a text of ten megabytes whole each time a search passes by
# it.
texts = Table(
    "texts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("text", Text),
    Column("salt", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("ordinal", Integer, primary_key=True, autoincrement=True),
    Column("run", Text, nullable=False, unique=True),
    *_texts("task", "plan"),
    Column("seed", BigInteger, nullable=False),
    *_texts("version", "data_fingerprint", "subject", "created", "chain"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("session", Text, primary_key=True),
    Column("run", Text, ForeignKey("runs.run"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("repetition", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("instance", Text, nullable=False),
    Column("x_digest", Text, ForeignKey("texts.digest"), nullable=False),
    Column("protocol", Text, nullable=False),
    Column("n", Integer),
    Column("k", Integer),
    *_texts("automaton", "fingerprint"),
    Column("memo", Integer, nullable=False),
    *_texts(
        "assumptions",
        "initiator",
        "initiator_description",
        "responder",
        "responder_description",
        "subject",
        "channel",
        "faults",
        "created",
        "chain",
    ),
    Column("ending", Text),
    Column("cause", Text),
    _text_of("cause_digest"),
    Column("length", Integer),
    UniqueConstraint("run", "ordinal"),
    UniqueConstraint("run", "repetition", "position"),
    CheckConstraint("initiator <> responder", name="two_agents"),
    CheckConstraint(
        "(ending IS NULL) = (cause IS NULL) AND (ending IS NULL) = (length IS NULL)"
        " AND (cause_digest IS NULL OR ending IS NOT NULL)",
        name="ending_is_whole",
    ),
)

# A session of a system has a channel and members, where one of INTERACT or PXP has no channel and
# two agents.
members = Table(
    "members",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("place", Integer, primary_key=True),
    *_texts("name", "automaton", "fingerprint"),
    Column("table_digest", Text, ForeignKey("texts.digest"), nullable=False),
    Column("description", Text, nullable=False),
    UniqueConstraint("session", "name"),
    sqlite_with_rowid=False,
)

# What happened in a session, in order. `member` sends or decides and `partner` receives; `message`
# is the number of the event that sent what is delivered here. `payload` is what the message
# carries: JSON, or the prediction of an answer, whose explanation stands beside it.
events = Table(
    "events",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, CheckConstraint("number >= 1", name="first_is_1"), primary_key=True),
    *_texts("kind", "member", "partner", "label", "guard"),
    Column("message", Integer),
    _text_of("payload_digest"),
    _text_of("explanation_digest"),
    _text_of("memory_digest"),
    Column("addition", Text, nullable=False),
    _text_of("addition_digest"),
    *_texts("created", "chain"),
    CheckConstraint(f"kind IN ({', '.join(map(repr, KINDS))})", name="kind_is_known"),
    CheckConstraint("member <> partner OR member = ''", name="not_to_itself"),
    CheckConstraint(
        "explanation_digest IS NULL OR payload_digest IS NOT NULL", name="answer_is_whole"
    ),
    sqlite_with_rowid=False,
)

# What was judged to arrive at event `number` of a session, or at its end.
judgements = Table(
    "judgements",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("place", Integer, primary_key=True),
    *_texts("relation", "left_digest", "right_digest", "outcome"),
    Column("asked", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    _text_of("detail_digest"),
    CheckConstraint(
        "outcome IN ('yes', 'no', 'unsure', 'late', 'broken')", name="outcome_is_known"
    ),
    sqlite_with_rowid=False,
)

# The latest link of each chain, and how many it has: of the events of a session; of the sessions of
# a run, of what its work took, and of what was given out or erased. With it, that the last rows are
# gone is seen, and who adds to a chain sees whether somebody else has.
heads = Table(
    "heads",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("chain", Text, nullable=False),
    CheckConstraint("kind IN ('events', 'sessions', 'work', 'custody')", name="kind_is_known"),
    sqlite_with_rowid=False,
)


def _record(name: str, *columns: SchemaItem) -> Table:
    """A table whose rows are numbered in a chain of their run, together with other tables."""
    return Table(
        name,
        metadata,
        Column("run", Text, ForeignKey("runs.run"), primary_key=True),
        Column("number", Integer, primary_key=True),
        *columns,
        *_texts("created", "chain"),
        sqlite_with_rowid=False,
    )


# What a model was asked, each request once a run; `calls.prompt` is its digest.
prompts = Table(
    "prompts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("salt", Text, nullable=False),
    Column("text", Text),
)

calls = _record(
    "calls",
    Column("session", Text, ForeignKey("sessions.session")),
    *_texts("purpose", "model"),
    Column("prompt", Text, ForeignKey("prompts.digest"), nullable=False),
    Column("epoch", Integer, nullable=False),
    _text_of("reply_digest"),
    Column("stop", Text),
    _text_of("failure_digest"),
    Column("sent", Integer, nullable=False),
    Column("received", Integer, nullable=False),
    Column("cache_read", Integer, nullable=False),
    Column("cache_written", Integer, nullable=False),
    Column("dollars", Double),
    Column("seconds", Double, nullable=False),
    Column("retries", Integer, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("batched", Integer, nullable=False),
    Column("cached", Integer, nullable=False),
    CheckConstraint("(reply_digest IS NULL) = (stop IS NULL)", name="reply_is_whole"),
)

# Each attempt to ask a model, stored before it is sent: `reserved` is the most that it may cost;
# empty where no price is known.
reservations = _record(
    "reservations",
    Column("session", Text, ForeignKey("sessions.session")),
    *_texts("purpose", "model"),
    Column("reserved", Double),
)

# What an attempt did cost; one that has no such row counts in full.
settlements = _record(
    "settlements",
    Column("reservation", Integer, nullable=False),
    Column("dollars", Double),
    UniqueConstraint("run", "reservation"),
    ForeignKeyConstraint(["run", "reservation"], ["reservations.run", "reservations.number"]),
)

# How a person arrived at a message or an action: seconds in which they did something and in which
# they did not, and with which version of the page and of the consent. `event` is its number.
timings = _record(
    "timings",
    Column("session", Text, ForeignKey("sessions.session"), nullable=False),
    Column("event", Integer, CheckConstraint("event >= 1", name="first_is_1"), nullable=False),
    Column("active", Double, nullable=False),
    Column("idle", Double, nullable=False),
    Column("edits", Integer, nullable=False),
    Column("pastes", Integer, nullable=False),
    *_texts("page", "consent"),
    UniqueConstraint("session", "event"),
)

# What was given out of a run as files, which no erasure reaches.
exports = _record("exports", *_texts("kind", "name", "digest"))

# Each session whose texts were erased, with how many; they are empty while it is done.
erasures = _record(
    "erasures",
    Column("session", Text, ForeignKey("sessions.session"), nullable=False, unique=True),
    Column("texts", Integer),
    Column("prompts", Integer),
)

RECORDS = {"work": (calls, reservations, settlements, timings), "custody": (exports, erasures)}
"""The tables of the two chains of a run beside its sessions."""

# The three that are no part of what a run holds: they change, and rows are removed.
drafts = Table(
    "drafts",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, nullable=False),
    *_texts("content", "saved"),
)

# Only the SHA-256 of a token is stored; times are seconds since 1970.
tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    *_texts("scope", "subject", "purpose"),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("used", Double),
    Column("revoked", Double),
)

# Who a subject is outside: the only place with an identifier of a person.
identifiers = Table(
    "identifiers",
    metadata,
    Column("run", Text, ForeignKey("runs.run"), primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

TEXTS_OF_SESSIONS = tuple(
    column
    for table in metadata.sorted_tables
    for column in table.columns
    if column.references(texts.c.digest) and table is not members
)
"""The columns that refer to what was said in a session: all but a member's table."""

CLOSING = ("ending", "cause", "cause_digest", "length")
"""The columns of a session that its end gives."""


def _covered(table: Table, *without: str) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns if column.name not in ("chain", *without))


COVERED: dict[str, tuple[str, ...]] = {
    runs.name: _covered(runs, "ordinal"),
    sessions.name: _covered(sessions, *CLOSING),
    "closing": CLOSING,
    **{
        table.name: _covered(table)
        for table in (members, events, judgements, *RECORDS["work"], *RECORDS["custody"])
    },
}
"""The columns that a link covers, of each kind of row; a run's ordinal is its database's."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as it is exchanged: its columns, and which of them are numbers, reals or empty."""

    name: str
    columns: tuple[str, ...]
    whole: frozenset[str]
    real: frozenset[str]
    optional: frozenset[str]


def _shape(table: Table) -> Shape:
    columns = [column for column in table.columns if column is not runs.c.ordinal]
    kinds = {column.name: column.type.python_type for column in columns}
    return Shape(
        table.name,
        tuple(kinds),
        frozenset(name for name, kind in kinds.items() if kind is int),
        frozenset(name for name, kind in kinds.items() if kind is float),
        frozenset(column.name for column in columns if column.nullable),
    )


EXCHANGED = (
    texts,
    prompts,
    runs,
    heads,
    sessions,
    members,
    events,
    judgements,
    *RECORDS["work"],
    *RECORDS["custody"],
)
"""The tables that are exchanged, in the order in which they come in."""
SHAPES = {table.name: _shape(table) for table in EXCHANGED}
"""How each is exchanged."""
