"""Texts of models, people and databases on a terminal: never as commands to it."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal shown by its code point."""
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text.replace("\n", " ")
    )
