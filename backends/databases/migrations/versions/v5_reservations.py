"""Version 5: attempts to ask a model reserved before they are sent, prompts, and subjects.

Of an earlier call, each attempt counts as settled, with the dollars that were recorded; what was
asked then was not kept. Every row and every link of the chain stays as it is.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from backends.databases.reservations import RESERVATION, earlier_reservations

revision = "5"
down_revision = "4"

_STEPS = (
    "ALTER TABLE runs ADD COLUMN subject TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sessions ADD COLUMN subject TEXT NOT NULL DEFAULT ''",
    """
CREATE TABLE prompts (
    digest TEXT NOT NULL, salt TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (digest))
""",
    """
CREATE TABLE reservations (
    run TEXT NOT NULL, number INTEGER NOT NULL, session TEXT, purpose TEXT NOT NULL,
    model TEXT NOT NULL, reserved {real}, dollars {real}, settled INTEGER NOT NULL,
    created TEXT NOT NULL, PRIMARY KEY (run, number),
    CONSTRAINT price_is_known CHECK ((reserved IS NULL) = (dollars IS NULL)),
    CONSTRAINT settled_is_known CHECK (settled IN (0, 1)),
    FOREIGN KEY(run) REFERENCES runs (run), FOREIGN KEY(session) REFERENCES sessions (session))
    {keyed}
""",
)
_WORDS = {
    "sqlite": {"keyed": "WITHOUT ROWID", "real": "DOUBLE"},
    "postgresql": {"keyed": "", "real": "DOUBLE PRECISION"},
}


def upgrade() -> None:
    """Add the columns and tables, and count what was called before."""
    connection = op.get_bind()
    for statement in _STEPS:
        connection.execute(text(statement.format(**_WORDS[connection.dialect.name])))
    calls = connection.execute(text("SELECT * FROM calls ORDER BY run, number")).mappings()
    rows = list(earlier_reservations(dict(call) for call in calls))
    if rows:
        values = ", ".join(f":{name}" for name in RESERVATION)
        statement = f"INSERT INTO reservations ({', '.join(RESERVATION)}) VALUES ({values})"  # noqa: S608 - our own names
        connection.execute(text(statement), rows)
