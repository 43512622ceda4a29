"""The blackboard's tables: Δ = {D, M, C} and what a run records beside them.

The schema is meant to be read and queried with plain SQL; `docs/blackboard.md` describes it.
Everything reported is computed from these tables alone.
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = "1"

metadata = MetaData()

about = Table(
    "about",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("run", Text, primary_key=True),
    Column("task", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("data_fingerprint", Text, nullable=False),
    Column("created", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("session", Text, primary_key=True),
    Column("run", Text, ForeignKey("runs.run"), nullable=False),
    Column("repetition", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("n", Integer),
    Column("k", Integer),
    Column("automaton", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("memo", Integer, nullable=False),
    Column("assumptions", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("ending", Text),
    Column("cause", Text),
    UniqueConstraint("run", "repetition", "position"),
    CheckConstraint("(ending IS NULL) = (cause IS NULL)", name="ending_has_cause"),
)

agents = Table(
    "agents",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("role", Text, CheckConstraint("role IN ('initiator', 'responder')"), nullable=False),
    Column("description", Text, nullable=False),
    UniqueConstraint("session", "role"),
)

data = Table(
    "data",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("instance", Text, nullable=False),
    Column("x", Text, nullable=False),
)

tags = Table("tags", metadata, Column("tag", Text, primary_key=True))

messages = Table(
    "messages",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, CheckConstraint("number >= 1"), primary_key=True),
    Column("sender", Text, nullable=False),
    Column("tag", Text, ForeignKey("tags.tag"), nullable=False),
    Column("prediction", Text, nullable=False),
    Column("explanation", Text, nullable=False),
    Column("receiver", Text, nullable=False),
    Column("created", Text, nullable=False),
    CheckConstraint("sender <> receiver", name="sender_is_not_receiver"),
    ForeignKeyConstraint(["session", "sender"], ["agents.session", "agents.name"]),
    ForeignKeyConstraint(["session", "receiver"], ["agents.session", "agents.name"]),
)

contexts = Table(
    "contexts",
    metadata,
    Column("session", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("addition", Text, nullable=False),
    ForeignKeyConstraint(["session", "number"], ["messages.session", "messages.number"]),
)

judgements = Table(
    "judgements",
    metadata,
    Column("session", Text, ForeignKey("sessions.session"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("relation", Text, nullable=False),
    Column("left_digest", Text, nullable=False),
    Column("right_digest", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("detail", Text, nullable=False),
    CheckConstraint(
        "outcome IN ('yes', 'no', 'unsure', 'late', 'broken')", name="outcome_is_known"
    ),
)

VIEWS = (
    # The tags that each agent sent; INIT and TERM are left out.
    """
    CREATE VIEW sent AS
    SELECT agents.session, agents.name AS agent,
           SUM(CASE WHEN messages.tag = 'RATIFY' THEN 1 ELSE 0 END) AS ratify,
           SUM(CASE WHEN messages.tag = 'REFUTE' THEN 1 ELSE 0 END) AS refute,
           SUM(CASE WHEN messages.tag = 'REVISE' THEN 1 ELSE 0 END) AS revise,
           SUM(CASE WHEN messages.tag = 'REJECT' THEN 1 ELSE 0 END) AS reject
    FROM agents
    LEFT JOIN messages
           ON messages.session = agents.session AND messages.sender = agents.name
    GROUP BY agents.session, agents.name
    """,
    # Definitions 1 and 2, and the variant of section 4.2, for each agent of each session.
    """
    CREATE VIEW intelligibility AS
    SELECT session, agent,
           CASE WHEN ratify + revise > 0 AND reject = 0 THEN 1 ELSE 0 END AS one_way,
           CASE WHEN ratify + revise > 0 THEN 1 ELSE 0 END AS one_way_any,
           CASE WHEN ratify + revise > 0 AND refute + reject = 0 THEN 1 ELSE 0 END AS strong,
           CASE WHEN revise > 0 AND refute + reject = 0 THEN 1 ELSE 0 END AS ultra_strong
    FROM sent
    """,
    """
    CREATE VIEW two_way_intelligibility AS
    SELECT session, MIN(one_way) AS two_way FROM intelligibility GROUP BY session
    """,
)
"""The intelligibility of every session as SQL views."""
