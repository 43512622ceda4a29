"""Programs in any language as agents: one JSON message per line, on their input and output."""

from backends.programs.process import Program, ProgramFailed, command_of

__all__ = ["Program", "ProgramFailed", "command_of"]
