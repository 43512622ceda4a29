"""Version 1: every message with its texts, nothing guarded. Databases are no longer made so."""

from __future__ import annotations

revision = "1"
down_revision = None


def upgrade() -> None:
    """Nothing to do: a database of version 1 was made by the program of its time."""
