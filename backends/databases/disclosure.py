"""Who subjects are outside, and which files of a run were given out.

Identifiers are in no export of a run, and are removed with what a subject said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from backends.databases.blackboard import SqlBlackboard
from backends.databases.rows import check_values, now
from backends.databases.schema import exports, identifiers, tokens

_i, _x, _t = identifiers.c, exports.c, tokens.c


class Export(NamedTuple):
    """A file that was given out: its kind, its name, the SHA-256 of its bytes, and when."""

    run: str
    kind: str
    name: str
    digest: str
    created: str


def identify(board: SqlBlackboard, run: str, subject: str, values: Mapping[str, str]) -> None:
    """Note who `subject` of `run` is outside; what is known already stays."""
    rows = [
        {"run": run, "subject": subject, "name": name, "value": value}
        for name, value in values.items()
    ]
    for row in rows:
        check_values("the identifier", row, set())

    def store(connection: Connection) -> None:
        there = select(_i.name).where(_i.run == run, _i.subject == subject)
        known = set(connection.scalars(there))
        new = [row for row in rows if row["name"] not in known]
        if new:
            connection.execute(insert(identifiers), new)

    board.write(store)


def identifiers_of(board: SqlBlackboard, run: str) -> dict[str, dict[str, str]]:
    """Who the subjects of `run` are, by their pseudonyms."""
    query = select(_i.subject, _i.name, _i.value).where(_i.run == run).order_by(_i.subject, _i.name)
    identities: dict[str, dict[str, str]] = {}
    for subject, name, value in board.read(lambda connection: connection.execute(query).all()):
        identities.setdefault(subject, {})[name] = value
    return identities


def forget_subject(connection: Connection, run: str, subject: str | None = None) -> int:
    """Remove who a subject of `run` is outside, and their links; how many identifiers there were.

    None is every subject. See `erasure.forget` for a transaction of its own.
    """
    known, links = delete(identifiers).where(_i.run == run), delete(tokens).where(_t.scope == run)
    if subject is not None:
        known, links = known.where(_i.subject == subject), links.where(_t.subject == subject)
    connection.execute(links)
    return connection.execute(known).rowcount


def note_export(board: SqlBlackboard, runs: Sequence[str], kind: str, path: Path) -> None:
    """Note that the file or the folder `path` was given out of `runs`, with its SHA-256.

    A folder's is that of its files, in the order of their names. Raises `BlackboardError` where the
    database may not be written.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            while part := opened.read(2**20):  # a run may be larger than memory
                digest.update(part)
    row = {"kind": kind, "name": path.name, "digest": digest.hexdigest(), "created": now()}
    check_values("the export", row, set())
    for run in runs:
        board.record("exports", run, row)


def exports_of(board: SqlBlackboard, runs: Iterable[str]) -> tuple[Export, ...]:
    """The files that were given out of `runs`, oldest first."""
    columns = (_x.run, _x.kind, _x.name, _x.digest, _x.created)
    query = select(*columns).where(_x.run.in_(list(runs))).order_by(_x.run, _x.number)
    return tuple(Export(*row) for row in board.read(lambda c: c.execute(query).all()))
