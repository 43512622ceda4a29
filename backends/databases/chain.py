"""The hash chain over everything that is stored, in the order of storage.

A run's opening covers its record; a session's opening the run's opening and all that is known when
it starts, the fingerprint of its automaton's table among it; each entry's link covers the link
before; the seal covers the last link, the ending and what led to it. So an entry's link stands for
the whole conversation up to it. SHA-256, hex.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[Any, Any]
"""The columns of a row by name."""

SALT = 16
"""Bytes of a salt."""

RUN = ("run", "task", "plan", "seed", "version", "data_fingerprint", "created")
SESSION = (
    "session",
    "run",
    "ordinal",
    "repetition",
    "position",
    "instance",
    "x_digest",
    "protocol",
    "n",
    "k",
    "automaton",
    "fingerprint",
    "memo",
    "assumptions",
    "initiator",
    "initiator_description",
    "responder",
    "responder_description",
    "created",
)
ENTRY = (
    "session",
    "number",
    "sender",
    "tag",
    "prediction_digest",
    "explanation_digest",
    "receiver",
    "addition",
    "created",
)
MEMBER = ("place", "name", "automaton", "fingerprint", "table_digest", "description")
ACTION = (
    "session",
    "number",
    "kind",
    "member",
    "partner",
    "label",
    "guard",
    "letter",
    "payload_digest",
    "memory_digest",
    "created",
)
JUDGEMENT = (
    "place",
    "relation",
    "left_digest",
    "right_digest",
    "outcome",
    "asked",
    "seconds",
    "detail",
)
CLOSING = ("ending", "cause", "length")


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
    return isinstance(salt, str) and re.fullmatch("(?:[0-9a-f]{2})*", salt) is not None


def of_run(run: Row) -> str:
    """A run's opening."""
    return _link("run", [*_fields(run, RUN), *_later(run, "subject")])


def of_session(run_opening: str, session: Row, members: Iterable[Row] = ()) -> str:
    """A session's opening; of a system's, with its channel and its `members`."""
    system = []
    if session.get("channel"):
        made = [_fields(member, MEMBER) for member in members]
        system = [[session["channel"], session["faults"], made]]
    return _link(run_opening, [*_fields(session, SESSION), *_later(session, "subject"), *system])


def of_entry(previous: str, entry: Row, judgements: Iterable[Row]) -> str:
    """An entry's link, after the `previous` one or the session's opening."""
    text = _later(entry, "addition_digest")
    return _link(previous, [*_fields(entry, ENTRY), *text, _judged(judgements)])


def of_action(previous: str, action: Row, judgements: Iterable[Row]) -> str:
    """An action's link, after the `previous` one or the session's opening."""
    return _link(previous, [*_fields(action, ACTION), _judged(judgements)])


def of_closing(previous: str, session: Row, judgements: Iterable[Row]) -> str:
    """A session's seal, after its last link."""
    text = _later(session, "cause_digest")
    return _link(previous, [*_fields(session, CLOSING), *text, _judged(judgements)])


def joined(head: str, opening: str) -> str:
    """A run's head when one more session has been opened."""
    return _link(head, [opening])


def _judged(judgements: Iterable[Row]) -> list[list[Any]]:
    return [[*_fields(one, JUDGEMENT), *_later(one, "detail_digest")] for one in judgements]


def _later(row: Row, name: str) -> list[Any]:
    """What a later version added, where it is there: what is older has the same link as ever."""
    return [row[name]] if row.get(name) else []


def _fields(row: Row, names: tuple[str, ...]) -> list[Any]:
    return [row[name] for name in names]


def _link(previous: str, parts: list[Any]) -> str:
    # what is no JSON was put in by somebody else: it has a link, and a wrong one
    written = json.dumps(
        [previous, *parts], ensure_ascii=False, separators=(",", ":"), default=repr
    )
    return hashlib.sha256(written.encode("utf-8", "surrogateescape")).hexdigest()
