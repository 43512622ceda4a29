"""Version 2: a table of notes, and SQLite's table of texts made anew."""

from __future__ import annotations

from alembic import op

revision = "2"
down_revision = "1"

NOTES = """
CREATE TABLE notes (
    run TEXT NOT NULL, number INTEGER NOT NULL, note TEXT NOT NULL, PRIMARY KEY (run, number),
    FOREIGN KEY(run) REFERENCES runs (run))
"""
ANEW = (
    "CREATE TABLE texts_2 (digest TEXT NOT NULL, text TEXT, salt TEXT NOT NULL, "
    "PRIMARY KEY (digest))",
    "INSERT INTO texts_2 SELECT digest, text, salt FROM texts",
    "DROP TABLE texts",
    "ALTER TABLE texts_2 RENAME TO texts",
)


def upgrade() -> None:
    """Other tables refer to the one that is made anew."""
    connection = op.get_bind()
    connection.exec_driver_sql(NOTES)
    if connection.dialect.name == "sqlite":
        for statement in ANEW:
            connection.exec_driver_sql(statement)
