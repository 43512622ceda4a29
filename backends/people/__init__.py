"""People as participants of sessions."""

from backends.people.input import has_terminal
from backends.people.terminal import PersonMember, PersonsRelation, TerminalPerson

__all__ = ["PersonMember", "PersonsRelation", "TerminalPerson", "has_terminal"]
