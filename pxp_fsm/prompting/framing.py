"""Framing of untrusted texts inside a prompt, in a frame that no text can close or open.

A frame is one line: `<data>`, a JSON object, `</data>`. In the JSON every `<`, `>` and `&`, and
every character that is not printable or shows nothing (line ends, invisible and directional ones,
fillers, variation selectors), is written by its code point. So a frame cannot be left from inside,
a chat template's own marks (`<|...|>`) are not in it, no line of a prompt begins in a text of
somebody else, and each text can be read back exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

OPENING, CLOSING = "<data>", "</data>"

_FRAME = re.compile(f"{OPENING}(.*?){CLOSING}")
_UNSEEN = re.compile(
    "[<>&\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""What could steer, and what counts as printable but shows nothing."""


def encoded(value: object) -> str:
    """`value` as JSON on one line, without any character that could steer who reads it."""
    written = json.dumps(value, ensure_ascii=False)
    if written.isprintable() and not _UNSEEN.search(written):
        return written
    return "".join(
        character
        if character.isprintable() and not _UNSEEN.match(character)
        else _escape(character)
        for character in written
    )


def framed(parts: Mapping[str, object]) -> str:
    """`parts` in a frame."""
    return f"{OPENING}{encoded(dict(parts))}{CLOSING}"


def unframed(prompt: str) -> tuple[dict[str, object], ...]:
    """What is in each frame of `prompt`, in their order; the inverse of `framed`."""
    return tuple(json.loads(frame) for frame in _FRAME.findall(prompt))


def _escape(character: str) -> str:
    """A character by its UTF-16 code units, as JSON writes them."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
