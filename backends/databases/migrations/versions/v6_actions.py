"""Version 6: sessions of systems, with their members and their actions.

Every row and every link of the chain stays as it is.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

revision = "6"
down_revision = "5"

_STEPS = (
    "ALTER TABLE sessions ADD COLUMN channel TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sessions ADD COLUMN faults TEXT NOT NULL DEFAULT ''",
    """
CREATE TABLE members (
    session TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, automaton TEXT NOT NULL,
    fingerprint TEXT NOT NULL, table_digest TEXT NOT NULL, description TEXT NOT NULL,
    PRIMARY KEY (session, place), UNIQUE (session, name),
    FOREIGN KEY(session) REFERENCES sessions (session),
    FOREIGN KEY(table_digest) REFERENCES texts (digest))
    {keyed}
""",
    """
CREATE TABLE actions (
    session TEXT NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, member TEXT NOT NULL,
    partner TEXT NOT NULL, label TEXT NOT NULL, guard TEXT NOT NULL, letter INTEGER,
    payload_digest TEXT, memory_digest TEXT, created TEXT NOT NULL, chain TEXT NOT NULL,
    PRIMARY KEY (session, number),
    CONSTRAINT kind_is_known CHECK (kind IN ('exchange', 'send', 'lose', 'deliver', 'duplicate',
    'choose', 'decide', 'external')),
    FOREIGN KEY(session) REFERENCES sessions (session),
    FOREIGN KEY(payload_digest) REFERENCES texts (digest),
    FOREIGN KEY(memory_digest) REFERENCES texts (digest))
    {keyed}
""",
)
_KEYED = {"sqlite": "WITHOUT ROWID", "postgresql": ""}


def upgrade() -> None:
    """Add the columns and tables."""
    connection = op.get_bind()
    for statement in _STEPS:
        connection.execute(text(statement.format(keyed=_KEYED[connection.dialect.name])))
