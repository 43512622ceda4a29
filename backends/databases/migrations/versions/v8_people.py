"""Version 8: people who take part: drafts, times, tokens, identifiers, and files given out.

Every row and every link of the chain stays as it is.
"""

from __future__ import annotations

from alembic import op

revision = "8"
down_revision = "7"

_STEPS = (
    """
CREATE TABLE timings (
    session TEXT NOT NULL, number INTEGER NOT NULL, active {double} NOT NULL,
    idle {double} NOT NULL, edits INTEGER NOT NULL, pastes INTEGER NOT NULL, page TEXT NOT NULL,
    consent TEXT NOT NULL, created TEXT NOT NULL, PRIMARY KEY (session, number),
    CONSTRAINT first_is_1 CHECK (number >= 1),
    FOREIGN KEY(session) REFERENCES sessions (session))
    {keyed}
""",
    """
CREATE TABLE exports (
    run TEXT NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    digest TEXT NOT NULL, created TEXT NOT NULL, PRIMARY KEY (run, number),
    FOREIGN KEY(run) REFERENCES runs (run))
    {keyed}
""",
    """
CREATE TABLE drafts (
    session TEXT NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, saved TEXT NOT NULL,
    PRIMARY KEY (session), FOREIGN KEY(session) REFERENCES sessions (session))
""",
    """
CREATE TABLE tokens (
    digest TEXT NOT NULL, scope TEXT NOT NULL, subject TEXT NOT NULL, purpose TEXT NOT NULL,
    created {double} NOT NULL, expires {double} NOT NULL, used {double}, revoked {double},
    PRIMARY KEY (digest))
""",
    """
CREATE TABLE identifiers (
    run TEXT NOT NULL, subject TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (run, subject, name), FOREIGN KEY(run) REFERENCES runs (run))
""",
)
_WORDS = {
    "sqlite": {"keyed": "WITHOUT ROWID", "double": "DOUBLE"},
    "postgresql": {"keyed": "", "double": "DOUBLE PRECISION"},
}


def upgrade() -> None:
    """Add the tables."""
    connection = op.get_bind()
    for statement in _STEPS:
        connection.exec_driver_sql(statement.format(**_WORDS[connection.dialect.name]))
