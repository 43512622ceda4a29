"""Anchors: the marks of runs at their ends, signed (Ed25519), in a file apart from the database.

Who owns a database can rewrite it, chain and all, but cannot sign the mark of what came of that
without the private key. A line covers the line before it, so that none is taken out of the middle.
What is given out or erased after a run was signed goes on from what the line covers.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backends.databases.blackboard import SqlBlackboard
from backends.databases.rows import now
from backends.databases.verify import IntegrityProblem, Mark, mark_of
from pxp_fsm.artifacts import locked
from pxp_fsm.documents import LONGEST_LINE, open_to_read
from pxp_fsm.errors import DataError, UsageError, require_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

FORMAT = "pxp-fsm anchor 1"
_MOST = 100_000
"""Bytes of a key's file or of a line: more are none of ours."""

Line = dict[str, Any]

_NEEDED = {"cryptography": "cryptography"}


def sign_run(board: SqlBlackboard, run: str, anchor: Path, key: Ed25519PrivateKey) -> Mark:
    """Append the mark that `run` has now to the file `anchor`, signed with `key`.

    Raises `BlackboardError` where the run was changed, `DataError` where the file is no anchor, and
    `OSError` where it cannot be written.
    """
    mark = board.read(lambda connection: mark_of(connection, run))
    with locked(anchor):
        raw = _bytes(anchor) if anchor.exists() else b""
        lines = list(_lines(anchor, raw))
        line: Line = {
            "format": FORMAT,
            "run": mark.run,
            "sessions": mark.sessions,
            "messages": mark.messages,
            "mark": mark.mark,
            "custody": [len(mark.custody), *mark.custody[-1:]],
            "created": now(),
            "previous": _digest(lines[-1]) if lines else "",
        }
        line["signature"] = key.sign(_signed(line)).hex()
        # The line before may lack its end, where the machine was stopped while it was written.
        start = "\n" if raw and not raw.endswith(b"\n") else ""
        with anchor.open("ab") as file:
            file.write(f"{start}{json.dumps(line, ensure_ascii=True)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    return mark


def differences(anchor: Path, key: Path, marks: Iterable[Mark]) -> list[IntegrityProblem]:
    """What the `marks` of a database are not as signed in the file `anchor`.

    The last line of a run counts: a run may have been stopped, signed, and resumed. Raises
    `UsageError` for a key that is none, and `DataError` for a file that is no anchor.
    """
    public, there = public_key(key), {mark.run: mark for mark in marks}
    from cryptography.exceptions import InvalidSignature

    signed: dict[str, Line] = {}
    problems: list[IntegrityProblem] = []
    previous = ""
    for number, line in enumerate(_lines(anchor, _bytes(anchor)), start=1):
        where = f"anchor {anchor}, line {number}"
        try:
            public.verify(bytes.fromhex(line["signature"]), _signed(line))
        except (InvalidSignature, ValueError):
            problems.append(
                IntegrityProblem(where, "it was not signed with this key, or was changed")
            )
            continue
        if line["previous"] != previous:
            problems.append(
                IntegrityProblem(where, "the line before it is not the one that was signed")
            )
        previous = _digest(line)
        signed[line["run"]] = line
    for run, line in signed.items():
        mark = there.get(run)
        if mark is None:
            problems.append(IntegrityProblem(f"run {run}", "it was signed, and is not there"))
        elif mark.mark != line["mark"]:
            counted = f"{line['sessions']} sessions and {line['messages']} events"
            problems.append(
                IntegrityProblem(
                    f"run {run}", f"it is not what was signed at its end, with {counted}"
                )
            )
        elif not _goes_on(line["custody"], mark.custody):
            remark = "what was given out or erased of it until it was signed is not what is there"
            problems.append(IntegrityProblem(f"run {run}", remark))
    return problems


def _goes_on(signed: list[Any], custody: Sequence[str]) -> bool:
    """Whether the links `custody` begin with those that were signed: how many, and the latest."""
    number = signed[0]
    return list(custody[number - 1 : number] if number else ()) == signed[1:]


def private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a PEM file without a password; raises `UsageError`."""
    require_extra("sign", "signing an anchor", _NEEDED)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key_object = load_pem_private_key(_key_bytes(path), password=None)
    except (ValueError, TypeError) as error:
        raise _no_key(path, "private") from error
    if not isinstance(key_object, Ed25519PrivateKey):
        raise _no_key(path, "private")
    return key_object


def public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file; raises `UsageError`."""
    require_extra("sign", "reading an anchor", _NEEDED)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key_object = load_pem_public_key(_key_bytes(path))
    except (ValueError, TypeError) as error:
        raise _no_key(path, "public") from error
    if not isinstance(key_object, Ed25519PublicKey):
        raise _no_key(path, "public")
    return key_object


def _no_key(path: Path, kind: str) -> UsageError:
    made = "openssl genpkey -algorithm ed25519 -out KEY"
    if kind == "public":
        made = "openssl pkey -in KEY -pubout -out PUBLIC"
    return UsageError(f"{path} is not a {kind} key (Ed25519, PEM, no password); make one: {made}")


def _key_bytes(path: Path) -> bytes:
    try:
        with open_to_read(path) as file:
            return file.read(_MOST)
    except OSError as error:
        raise UsageError(f"the key {path} cannot be read: {str(error.strerror).lower()}") from error


def _bytes(anchor: Path) -> bytes:
    try:
        with open_to_read(anchor) as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            raw = file.read(LONGEST_LINE) if is_regular else b""
    except OSError as error:
        raise DataError(
            f"the anchor {anchor} cannot be read: {str(error.strerror).lower()}"
        ) from error
    if not is_regular:
        raise DataError(f"the anchor {anchor} is a pipe or a device; give a file")
    if len(raw) == LONGEST_LINE:
        raise DataError(f"{anchor}: an anchor has fewer than {LONGEST_LINE:,} bytes; begin another")
    return raw


_TEXTS = ("format", "run", "mark", "created", "previous", "signature")


def _lines(anchor: Path, raw: bytes) -> Iterator[Line]:
    for number, written in enumerate(raw.splitlines(keepends=True), start=1):
        try:
            line = json.loads(written[:_MOST])
        except (ValueError, RecursionError) as error:
            remark = "this is not JSON; is it an anchor?"
            if written.startswith(b"{") and not written.endswith(b"\n"):
                remark = "this line was cut while it was written; remove it, and sign its run again"
            raise DataError.at(anchor, number, remark) from error
        known = isinstance(line, dict) and line.get("format") == FORMAT
        texts = known and all(isinstance(line.get(name), str) for name in _TEXTS)
        if not texts or not _is_custody(line.get("custody")):
            raise DataError.at(anchor, number, "this is not a line of an anchor")
        yield line


def _is_custody(value: object) -> bool:
    match value:
        case [0]:
            return True
        case [int(number), str()]:
            return number > 0
    return False


def _signed(line: Line) -> bytes:
    """What is signed of a line: all of it but the signature."""
    rest = {name: value for name, value in line.items() if name != "signature"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _digest(line: Line) -> str:
    return hashlib.sha256(_signed(line)).hexdigest()
