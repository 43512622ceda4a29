"""Programs in any language as agents: one JSON message per line, or per HTTP request."""

from backends.programs.process import Program, ProgramFailed, command_of
from backends.programs.service import SCHEMES, Service

__all__ = ["SCHEMES", "Program", "ProgramFailed", "Service", "command_of"]
