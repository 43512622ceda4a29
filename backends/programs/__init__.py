"""Programs in any language as agents: one JSON message per line, on their input and output."""

from backends.programs.process import Broke, Program, command_of

__all__ = ["Broke", "Program", "command_of"]
