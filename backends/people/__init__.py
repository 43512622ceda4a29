"""People as participants of sessions."""

from backends.people.member import PersonMember
from backends.people.terminal import PersonsRelation, TerminalPerson, WhyNot, has_terminal

__all__ = ["PersonMember", "PersonsRelation", "TerminalPerson", "WhyNot", "has_terminal"]
