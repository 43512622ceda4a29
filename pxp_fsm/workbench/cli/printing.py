"""Texts of models, people and databases on a terminal: never as commands to it, never cut up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_UNBROKEN = 100_000
"""Columns where nobody looks: a row in a file or a pipe stays one row."""


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal shown by its code point."""
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text.replace("\n", " ")
    )


def console(*, stderr: bool = False) -> Console:
    """Standard output (or error): as wide as the terminal, and endless where it is none.

    A pipe that nobody reads any more raises `BrokenPipeError`.
    """
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:  # else rich ends the process itself
            raise BrokenPipeError

    made = Pipe(stderr=stderr)
    if not made.is_terminal:
        made.width = _UNBROKEN
    return made
