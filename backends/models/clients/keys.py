"""API keys from the environment or from a `.env` file in this folder; never displayed."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from urllib.parse import unquote

from pxp_fsm.documents import text_of
from pxp_fsm.errors import FileError, UsageError

ENV_FILE = ".env"


class Key:
    """A secret that only `reveal` gives away; it cannot be printed, compared, copied or stored."""

    __slots__ = ("_secret", "_variable")

    def __init__(self, secret: str, variable: str) -> None:
        self._secret = secret
        self._variable = variable

    def reveal(self) -> str:
        """The secret itself: for the vendor's client, and nothing else."""
        return self._secret

    def __repr__(self) -> str:
        return f"<the key in {self._variable}>"

    def __reduce__(self) -> str:
        raise TypeError("a key cannot be stored")


_PIECE = 8
"""So many characters of a key in a row are as good as the key."""
_LONGEST = 2000


def redacted(text: str, key: Key | None) -> str:
    """`text` of a server without the key: whole, in part, percent-encoded, or shortened.

    What is longer than 2,000 characters is cut.
    """
    text = text[:_LONGEST]
    if key is None:
        return text
    secret = key.reveal()
    text = _without_pieces(text, secret, repr(key))
    decoded = unquote(text)
    if decoded != text:
        without_key = _without_pieces(decoded, secret, repr(key))
        text = text if without_key == decoded else without_key
    start = re.escape(secret[:3])
    return re.sub(rf"{start}[^\s\"'<]*(?:…|[*•.]{{2,}})[^\s\"'<]*", repr(key), text)


def _without_pieces(text: str, secret: str, instead: str) -> str:
    size = min(_PIECE, len(secret))
    pieces = {secret[start : start + size] for start in range(len(secret) - size + 1)}
    kept, place = list[str](), 0
    while place < len(text):
        end = place
        while text[end : end + size] in pieces:
            end += 1
        if end == place:
            kept.append(text[place])
            place += 1
        else:
            kept.append(instead)
            place = end + size - 1
    return "".join(kept)


def find_key(variable: str, folder: Path | None = None) -> Key | None:
    """The key that `variable` holds: of the environment, else of `.env` in `folder`; or None.

    Raises `UsageError`, which never shows it, where it is no key at all.
    """
    value = os.environ.get(variable) or _from_file((folder or Path()) / ENV_FILE, variable)
    if not value:
        return None
    secret = value.strip()
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise UsageError(
            f"the value of {variable} is not a key: it has blanks or other invalid characters; "
            f"copy it again"
        )
    return Key(secret, variable)


def _from_file(path: Path, variable: str) -> str | None:
    if not path.is_file():
        return None
    from dotenv import dotenv_values

    try:
        text = text_of(path, "a file of keys")
    except FileError as error:
        raise UsageError(f"{error}; it is lines of NAME=VALUE, in UTF-8") from error
    return dotenv_values(stream=io.StringIO(text), interpolate=False).get(variable)
