"""People as participants of sessions."""

from backends.people.terminal import PersonsRelation, TerminalPerson, has_terminal

__all__ = ["PersonsRelation", "TerminalPerson", "has_terminal"]
