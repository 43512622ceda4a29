"""People as participants of sessions."""

from backends.people.input import has_terminal
from backends.people.terminal import (
    PersonMember,
    PersonsRelation,
    TerminalPerson,
    WhyNot,
)

__all__ = ["PersonMember", "PersonsRelation", "TerminalPerson", "WhyNot", "has_terminal"]
