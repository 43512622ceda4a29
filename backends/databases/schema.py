"""The tables of the blackboard: each fact is stored once.

Researchers read the views (`views.py`), which are the papers' Δ = {D, M, C} and what is computed
from it; `docs/blackboard.md` describes both. Texts are kept by their SHA-256, so that what is said
twice is stored once; a session's entries form a hash chain (`chain.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = "8"
ERASED = "(erased)"
"""What is shown in place of a text that was erased."""

metadata = MetaData()


def _texts(*names: str) -> list[Column[str]]:
    """Columns of texts that are always there."""
    return [Column(name, Text, nullable=False) for name in names]


version = Table("blackboard_version", metadata, Column("version_num", Text, primary_key=True))

# The salt is that of the session in which a text was said; it is empty where a text was stored
# before version 7, when sessions shared texts, and where it was erased, and there is no text. With
# row ids: without them SQLite keeps a row where its key is, and reads a text of ten megabytes whole
# each time a search passes by it.
texts = Table(
    "texts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("text", Text),
    Column("salt", Text, nullable=False, server_default=""),
)

runs = Table(
    "runs",
    metadata,
    Column("ordinal", Integer, primary_key=True, autoincrement=True),
    Column("run", Text, nullable=False, unique=True),
    *_texts("task", "plan"),
    Column("seed", BigInteger, nullable=False),
    *_texts("version", "data_fingerprint", "created", "opening"),
    Column("opened", Integer, nullable=False),
    Column("head", Text, nullable=False),
    Column("subject", Text, nullable=False, server_default=""),
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
        "created",
        "opening",
    ),
    Column("ending", Text),
    Column("cause", Text),
    Column("length", Integer),
    Column("seal", Text),
    Column("subject", Text, nullable=False, server_default=""),
    Column("channel", Text, nullable=False, server_default=""),
    Column("faults", Text, nullable=False, server_default=""),
    Column("cause_digest", Text, ForeignKey("texts.digest")),
    UniqueConstraint("run", "ordinal"),
    UniqueConstraint("run", "repetition", "position"),
    CheckConstraint("initiator <> responder", name="two_agents"),
    CheckConstraint(
        "(ending IS NULL) = (cause IS NULL) AND (ending IS NULL) = (length IS NULL)"
        " AND (ending IS NULL) = (seal IS NULL)",
        name="ending_is_whole",
    ),
)

tags = Table("tags", metadata, Column("tag", Text, primary_key=True))

entries = Table(
    "entries",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, CheckConstraint("number >= 1", name="first_is_1"), primary_key=True),
    Column("sender", Text, nullable=False),
    Column("tag", Text, ForeignKey("tags.tag"), nullable=False),
    Column("prediction_digest", Text, ForeignKey("texts.digest"), nullable=False),
    Column("explanation_digest", Text, ForeignKey("texts.digest"), nullable=False),
    *_texts("receiver", "addition", "created", "chain"),
    Column("addition_digest", Text, ForeignKey("texts.digest")),
    CheckConstraint("sender <> receiver", name="sender_is_not_receiver"),
    sqlite_with_rowid=False,
)

# A session of a system has a channel, members and actions, where one of INTERACT or PXP has no
# channel, two agents and entries.
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

# `letter` is the number of the action that sent what is delivered here.
actions = Table(
    "actions",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_texts("kind", "member", "partner", "label", "guard"),
    Column("letter", Integer),
    Column("payload_digest", Text, ForeignKey("texts.digest")),
    Column("memory_digest", Text, ForeignKey("texts.digest")),
    *_texts("created", "chain"),
    CheckConstraint(
        "kind IN ('exchange', 'send', 'lose', 'deliver', 'duplicate', 'choose', 'decide',"
        " 'external')",
        name="kind_is_known",
    ),
    sqlite_with_rowid=False,
)

judgements = Table(
    "judgements",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("place", Integer, primary_key=True),
    *_texts("relation", "left_digest", "right_digest", "outcome"),
    Column("asked", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("detail", Text, nullable=False),
    Column("detail_digest", Text, ForeignKey("texts.digest")),
    CheckConstraint(
        "outcome IN ('yes', 'no', 'unsure', 'late', 'broken')", name="outcome_is_known"
    ),
    sqlite_with_rowid=False,
)

calls = Table(
    "calls",
    metadata,
    Column("run", Text, ForeignKey("runs.run"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("session", Text, ForeignKey("sessions.session")),
    *_texts("purpose", "model", "prompt"),
    Column("epoch", Integer, nullable=False),
    Column("reply_digest", Text, ForeignKey("texts.digest")),
    Column("stop", Text),
    Column("failure", Text, nullable=False),
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
    Column("created", Text, nullable=False),
    CheckConstraint("(reply_digest IS NULL) = (stop IS NULL)", name="reply_is_whole"),
    sqlite_with_rowid=False,
)

# What a model was asked, each request once a run; `calls.prompt` is its digest. A prompt that was
# asked before version 5 is not here, and its `calls.prompt` is the fingerprint of the request.
prompts = Table(
    "prompts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("salt", Text, nullable=False),
    Column("text", Text),
)

# Each attempt to ask a model, stored before it is sent: `dollars` is the most that it may cost
# until it is settled, and then what it did cost. Empty where no price is known.
reservations = Table(
    "reservations",
    metadata,
    Column("run", Text, ForeignKey("runs.run"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("session", Text, ForeignKey("sessions.session")),
    *_texts("purpose", "model"),
    Column("reserved", Double),
    Column("dollars", Double),
    Column("settled", Integer, nullable=False),
    Column("created", Text, nullable=False),
    CheckConstraint("(reserved IS NULL) = (dollars IS NULL)", name="price_is_known"),
    CheckConstraint("settled IN (0, 1)", name="settled_is_known"),
    sqlite_with_rowid=False,
)

# Each session whose texts were erased, with when and how many; they are empty while it is done.
erasures = Table(
    "erasures",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("created", Text, nullable=False),
    Column("texts", Integer),
    Column("prompts", Integer),
    sqlite_with_rowid=False,
)

# How a person arrived at a message or an action: seconds in which they did something and in which
# they did not, and with which version of the page and of the consent.
timings = Table(
    "timings",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, CheckConstraint("number >= 1", name="first_is_1"), primary_key=True),
    Column("active", Double, nullable=False),
    Column("idle", Double, nullable=False),
    Column("edits", Integer, nullable=False),
    Column("pastes", Integer, nullable=False),
    *_texts("page", "consent", "created"),
    sqlite_with_rowid=False,
)

# What was given out of a run as files, which no erasure reaches.
exports = Table(
    "exports",
    metadata,
    Column("run", Text, ForeignKey("runs.run"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_texts("kind", "name", "digest", "created"),
    sqlite_with_rowid=False,
)

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


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as it is exchanged: its columns, and which of them are numbers, reals or empty."""

    name: str
    columns: tuple[str, ...]
    whole: frozenset[str]
    real: frozenset[str]
    optional: frozenset[str]


def _shape(table: Table, without: tuple[str, ...] = ()) -> Shape:
    columns = [column for column in table.columns if column.name not in without]
    kinds = {column.name: column.type.python_type for column in columns}
    return Shape(
        table.name,
        tuple(kinds),
        frozenset(name for name, kind in kinds.items() if kind is int),
        frozenset(name for name, kind in kinds.items() if kind is float),
        frozenset(column.name for column in columns if column.nullable),
    )


SHAPES = {
    shape.name: shape
    for shape in (
        _shape(texts),
        _shape(prompts),
        _shape(runs, without=("ordinal",)),
        _shape(sessions),
        _shape(members),
        _shape(entries),
        _shape(actions),
        _shape(judgements),
        _shape(calls),
        _shape(reservations),
        _shape(erasures),
        _shape(timings),
    )
}
"""What is exchanged, in the order in which it comes in."""
