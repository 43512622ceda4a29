"""Version 4: every call to a model is recorded; what is there stays as it is."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

revision = "4"
down_revision = "3"

_CALLS = """
CREATE TABLE calls (
    run TEXT NOT NULL, number INTEGER NOT NULL, session TEXT, purpose TEXT NOT NULL,
    model TEXT NOT NULL, prompt TEXT NOT NULL, epoch INTEGER NOT NULL, reply_digest TEXT,
    stop TEXT, failure TEXT NOT NULL, sent INTEGER NOT NULL, received INTEGER NOT NULL,
    cache_read INTEGER NOT NULL, cache_written INTEGER NOT NULL, dollars {real},
    seconds {real} NOT NULL, retries INTEGER NOT NULL, request_id TEXT NOT NULL,
    batched INTEGER NOT NULL, cached INTEGER NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (run, number),
    CONSTRAINT reply_is_whole CHECK ((reply_digest IS NULL) = (stop IS NULL)),
    FOREIGN KEY(run) REFERENCES runs (run), FOREIGN KEY(session) REFERENCES sessions (session),
    FOREIGN KEY(reply_digest) REFERENCES texts (digest)) {keyed}
"""
_WORDS = {
    "sqlite": {"keyed": "WITHOUT ROWID", "real": "DOUBLE"},
    "postgresql": {"keyed": "", "real": "DOUBLE PRECISION"},
}


def upgrade() -> None:
    """Make the table of calls."""
    connection = op.get_bind()
    connection.execute(text(_CALLS.format(**_WORDS[connection.dialect.name])))
