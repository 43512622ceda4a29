"""Tokens of links that are given to people: stored as digests, they expire and can be revoked.

A token is 256 random bits, so that its SHA-256 needs no salt. Whoever reads the database cannot
make a link from it.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from backends.databases.blackboard import SqlBlackboard
from backends.databases.schema import tokens
from pxp_fsm.errors import Refused

_t = tokens.c
_BYTES = 32
_LONGEST = 200
"""Characters of a token that are looked at: what is longer is none of ours."""
PAIRING_SECONDS = 600.0
"""For how long a second device may be paired."""


class Purpose(StrEnum):
    """What a token is for: the link of a person, a device of theirs, or to pair one, once.

    FOREIGN is one that somebody else has given out: stored once it was used, it opens nothing.
    """

    LINK = "link"
    PAIRING = "pairing"
    DEVICE = "device"
    FOREIGN = "foreign"


class Holder(NamedTuple):
    """Whose a valid token is: a subject of `scope`, a run or a study."""

    scope: str
    subject: str
    purpose: Purpose


def issue(
    board: SqlBlackboard,
    scope: str,
    subject: str,
    purpose: Purpose = Purpose.LINK,
    *,
    seconds: float,
    now: float | None = None,
) -> str:
    """A new token for `subject` of `scope`, valid for `seconds`; it is shown once, and not stored.

    `now` is the time in seconds since 1970, by default the clock's.
    """
    token, at = secrets.token_urlsafe(_BYTES), time.time() if now is None else now
    row = {
        "digest": _digest(token),
        "scope": scope,
        "subject": subject,
        "purpose": purpose.value,
        "created": at,
        "expires": at + seconds,
    }
    board.write(lambda connection: connection.execute(insert(tokens), row))
    return token


def holder(board: SqlBlackboard, token: str, now: float | None = None) -> Holder:
    """Whose `token` is; raises `Refused`, the same for every reason, where it is not valid."""
    at = time.time() if now is None else now
    device = board.read(lambda connection: _valid(connection, token, at))
    if device is None or device.purpose is Purpose.PAIRING:
        raise _refused()
    return device


def pair(
    board: SqlBlackboard, token: str, *, seconds: float, now: float | None = None
) -> tuple[str, Holder]:
    """Exchange a pairing token, once, for the token of a device; raises `Refused`."""
    at, new = time.time() if now is None else now, secrets.token_urlsafe(_BYTES)

    def store(connection: Connection) -> Holder | None:
        device = _valid(connection, token, at)
        if device is None or device.purpose is not Purpose.PAIRING:
            return None
        spent = update(tokens).where(_t.digest == _digest(token), _t.used.is_(None))
        if connection.execute(spent.values(used=at)).rowcount != 1:
            return None
        row = {
            "digest": _digest(new),
            "scope": device.scope,
            "subject": device.subject,
            "purpose": Purpose.DEVICE.value,
            "created": at,
            "expires": at + seconds,
        }
        connection.execute(insert(tokens), row)
        return device._replace(purpose=Purpose.DEVICE)

    device = board.write(store)
    if device is None:
        raise _refused()
    return new, device


def revoke(
    board: SqlBlackboard, scope: str, subject: str | None = None, now: float | None = None
) -> int:
    """Revoke every token of `scope` (of `subject` alone, where given); how many there were."""
    at = time.time() if now is None else now
    rows = update(tokens).where(_t.scope == scope, _t.revoked.is_(None))
    if subject is not None:
        rows = rows.where(_t.subject == subject)
    return board.write(lambda connection: connection.execute(rows.values(revoked=at)).rowcount)


def use(board: SqlBlackboard, scope: str, mark: str, *, now: float | None = None) -> None:
    """Note that the token with this mark, which somebody else gave out, was used in `scope`."""
    at = time.time() if now is None else now
    row = {
        "digest": _digest(f"{scope} {mark}"),
        "scope": scope,
        "subject": "",  # it stays when who came by it is forgotten
        "purpose": Purpose.FOREIGN.value,
        "created": at,
        "expires": at,
        "used": at,
    }

    def store(connection: Connection) -> None:
        if not _is_there(connection, row["digest"]):
            connection.execute(insert(tokens), row)

    board.write(store)


def is_used(board: SqlBlackboard, scope: str, mark: str) -> bool:
    """Whether `use` has noted this mark."""
    digest = _digest(f"{scope} {mark}")
    return board.read(lambda connection: _is_there(connection, digest))


def _is_there(connection: Connection, digest: object) -> bool:
    return connection.scalar(select(_t.digest).where(_t.digest == digest)) is not None


_VALID = select(_t.scope, _t.subject, _t.purpose).where(
    _t.digest == bindparam("digest"),
    _t.expires > bindparam("at"),
    _t.revoked.is_(None),
    _t.used.is_(None),
)
"""Built once: a server asks it with each request."""


def _valid(connection: Connection, token: str, at: float) -> Holder | None:
    if not isinstance(token, str) or not 0 < len(token) <= _LONGEST:
        return None
    valid = connection.execute(_VALID, {"digest": _digest(token), "at": at}).one_or_none()
    return None if valid is None else Holder(valid.scope, valid.subject, Purpose(valid.purpose))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _refused() -> Refused:
    return Refused("this link is not valid, or not any more; ask for a new one")
