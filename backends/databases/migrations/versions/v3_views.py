"""Version 3: Table 1 by the agents' roles, and SQLite's texts where a search passes them by.

Views and triggers are made anew at each upgrade, from today's text. SQLite's texts get row ids (see
`schema.texts`); every row stays as it is.
"""

from __future__ import annotations

from alembic import op

revision = "3"
down_revision = "2"

_STEPS = (
    "CREATE TABLE new_texts (digest TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (digest))",
    "INSERT INTO new_texts SELECT digest, text FROM texts ORDER BY digest",
    "DROP TABLE texts",
    "ALTER TABLE new_texts RENAME TO texts",
)


def upgrade() -> None:
    """Make the table anew where rows were kept with their keys; foreign keys are off meanwhile."""
    if op.get_bind().dialect.name == "sqlite":
        for statement in _STEPS:
            op.get_bind().exec_driver_sql(statement)
