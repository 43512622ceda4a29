"""The format: a table as lines that a person can learn by heart."""

from __future__ import annotations

from pxp_fsm import Automaton


def to_phrasebook(table: Automaton) -> str:
    """A line for each row of the table."""
    lines = [f"in {row.source}: {row.action}, then {row.target}" for row in table.transitions]
    return "\n".join([f"How to speak {table.name}", *lines, ""])
