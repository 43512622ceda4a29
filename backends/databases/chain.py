"""The hash chains over everything that is stored, and the names of texts.

A link covers the link before it and a row, so that it stands for all that was before. A run's link
covers its record, and three chains go on from it: its sessions in the order of their start, what
its work took (`calls`, `reservations`, `settlements`, `timings`), and what was given out or erased
of it (`exports`, `erasures`). A session's link covers all that is known when it starts, its members
and the fingerprint of its table among it, and a chain of its own goes on from it: each event with
what was judged to arrive at it, and the ending. `heads` holds the latest link of each chain.
SHA-256, hex.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from backends.databases.schema import COVERED

Row = Mapping[Any, Any]
"""The columns of a row by name."""

_JSON = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=repr, check_circular=False
)
_COLUMNS: dict[str, Callable[[Row], tuple[Any, ...]]] = {
    kind: itemgetter(*names) for kind, names in COVERED.items()
}

SALT = 16
"""Bytes of a salt."""


def text_digest(text: str, salt: str = "") -> str:
    """The name under which a text is stored; with a salt, it says nothing once that is gone."""
    return salted(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(), salt)


def salted(digest: str, salt: str) -> str:
    """The name of the text whose SHA-256 is `digest`; that itself where there is no salt."""
    if not salt:
        return digest
    return hashlib.sha256(bytes.fromhex(salt) + digest.encode()).hexdigest()


def plain_digests(salt: str, texts: Iterable[str | None]) -> dict[str, str]:
    """The SHA-256 of texts by the names under which they are stored with `salt`."""
    plain = {text_digest(text) for text in texts if text is not None}
    return {salted(digest, salt): digest for digest in plain}


def is_text_digest(digest: object, salt: object, text: object) -> bool:
    """Whether `text` is stored under `digest` with `salt`, whatever they are."""
    return _is_salt(salt) and isinstance(text, str) and text_digest(text, str(salt)) == digest


def new_salt() -> str:
    """A salt for `text_digest` and `salted_digest`, hex."""
    return secrets.token_hex(SALT)


def salted_digest(salt: str, text: str) -> str:
    """A name for a text that says nothing of it once its salt is gone."""
    return hashlib.sha256(bytes.fromhex(salt) + text.encode("utf-8", "surrogateescape")).hexdigest()


def is_salted_digest(digest: object, salt: object, text: object) -> bool:
    """Whether `digest` is that of `text` with `salt`, whatever they are."""
    return _is_salt(salt) and isinstance(text, str) and salted_digest(str(salt), text) == digest


def _is_salt(salt: object) -> bool:
    try:
        return isinstance(salt, str) and bytes.fromhex(salt).hex() == salt
    except ValueError:
        return False


def link(previous: str, kind: str, row: Row, parts: Iterable[tuple[str, Row]] = ()) -> str:
    """The link of a `row` of `kind` after the `previous` one, with the rows that belong to it.

    Kinds are the names of tables, and `closing` for what its end adds to a session. Every column
    counts but those that `schema.COVERED` leaves out.
    """
    covered = [[part, *fields(part, fields_of_part)] for part, fields_of_part in parts]
    return link_of(previous, kind, fields(kind, row), covered)


def link_of(
    previous: str, kind: str, columns: Sequence[Any], covered: Sequence[Sequence[Any]] = ()
) -> str:
    """The same of the columns that `schema.COVERED` names, in its order.

    Each of the rows that belong to it begins with its kind.
    """
    # what is no JSON was put in by somebody else: it has a link, and a wrong one
    written = _JSON.encode([previous, kind, columns, covered])
    return hashlib.sha256(written.encode("utf-8", "surrogateescape")).hexdigest()


def of_run(run: Row) -> str:
    """A run's link, with which its chains begin."""
    return link("", "runs", run)


def of_session(previous: str, session: Row, members: Iterable[Row] = ()) -> str:
    """A session's link, after that of the session before it or of its run."""
    return link(previous, "sessions", session, (("members", member) for member in members))


def of_event(previous: str, event: Row, judgements: Iterable[Row]) -> str:
    """An event's link, after the `previous` one or the session's."""
    return link(previous, "events", event, (("judgements", judgement) for judgement in judgements))


def of_closing(previous: str, session: Row, judgements: Iterable[Row]) -> str:
    """The last link of a session that is over, after that of its last event."""
    return link(
        previous, "closing", session, (("judgements", judgement) for judgement in judgements)
    )


def joined(mark: str, other: str) -> str:
    """The mark of the chains before and of that whose latest link is `other`."""
    return hashlib.sha256(f"{mark} {other}".encode("utf-8", "surrogateescape")).hexdigest()


def fields(kind: str, row: Row) -> tuple[Any, ...]:
    """The columns of a `row` of `kind` that a link covers."""
    return _COLUMNS[kind](row)
