"""Version 7: texts that can be erased, of new sessions: kept under digests with a salt.

Sessions that are there keep the texts and digests that they have, and cannot be erased. Every link
of the chain stays as it is.
"""

from __future__ import annotations

from alembic import op

revision = "7"
down_revision = "6"

_STEPS = (
    "ALTER TABLE sessions ADD COLUMN cause_digest TEXT REFERENCES texts (digest)",
    "ALTER TABLE entries ADD COLUMN addition_digest TEXT REFERENCES texts (digest)",
    "ALTER TABLE judgements ADD COLUMN detail_digest TEXT REFERENCES texts (digest)",
    """
CREATE TABLE erasures (
    session TEXT NOT NULL, created TEXT NOT NULL, texts INTEGER, prompts INTEGER,
    PRIMARY KEY (session), FOREIGN KEY(session) REFERENCES sessions (session))
    {keyed}
""",
)
_TEXTS = {
    "sqlite": (
        "CREATE TABLE new_texts (digest TEXT NOT NULL, text TEXT, salt TEXT DEFAULT '' NOT NULL, "
        "PRIMARY KEY (digest))",
        "INSERT INTO new_texts SELECT digest, text, '' FROM texts ORDER BY digest",
        "DROP TABLE texts",
        "ALTER TABLE new_texts RENAME TO texts",
        "CREATE TABLE new_prompts (digest TEXT NOT NULL, salt TEXT NOT NULL, text TEXT, "
        "PRIMARY KEY (digest))",
        "INSERT INTO new_prompts SELECT digest, salt, text FROM prompts ORDER BY digest",
        "DROP TABLE prompts",
        "ALTER TABLE new_prompts RENAME TO prompts",
    ),
    "postgresql": (
        "ALTER TABLE texts ALTER COLUMN text DROP NOT NULL",
        "ALTER TABLE texts ADD COLUMN salt TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE prompts ALTER COLUMN text DROP NOT NULL",
    ),
}
_KEYED = {"sqlite": "WITHOUT ROWID", "postgresql": ""}


def upgrade() -> None:
    """Let texts be empty, and add the columns and the table; foreign keys are off meanwhile."""
    connection = op.get_bind()
    dialect = connection.dialect.name
    for statement in (*_TEXTS[dialect], *_STEPS):
        connection.exec_driver_sql(statement.format(keyed=_KEYED[dialect]))
