"""People as participants of sessions."""

from backends.people.terminal import PersonsRelation, TerminalPerson, terminal_there

__all__ = ["PersonsRelation", "TerminalPerson", "terminal_there"]
