"""Version 1: the tables as `schema.py` makes them."""

from __future__ import annotations

revision = "1"
down_revision = None


def upgrade() -> None:
    """Nothing to do: it is the first."""
