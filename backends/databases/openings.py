"""Runs and sessions that are opened, each in one transaction.

The answer to a commit may be lost, and not the commit: what is stored already as it was to be is
not stored again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from backends.databases import chain, records
from backends.databases import statements as sql
from backends.databases.action_rows import member_rows
from backends.databases.records import Row, RunRecord, SessionRecord
from pxp_fsm.errors import BlackboardError, quoted

_NUMBER = re.compile(r"-([0-9]{1,18})$")


def open_run(connection: Connection, row: Row, *, shared: bool = False) -> None:
    """Store the `row` of a run, unless it is there; a `shared` one may be another's of its name."""
    found = connection.scalar(sql.RUN_OPENING, {"named": row["run"]})
    if found is None and shared:
        sql.lock_runs(connection)
        found = connection.scalar(sql.RUN_OPENING, {"named": row["run"]})
    if found is None or (found != row["opening"] and not shared):
        connection.execute(sql.ADD_RUN, row)


def open_numbered(connection: Connection, record: RunRecord, tried: list[RunRecord]) -> RunRecord:
    """Store a run under the first free number; `tried` are those of attempts before this one."""
    for earlier in tried:
        opening = connection.scalar(sql.RUN_OPENING, {"named": earlier.run})
        if opening == records.run_row(earlier)["opening"]:
            return earlier
    sql.lock_runs(connection)
    taken = map(_NUMBER.search, connection.scalars(sql.RUN_NAMES))
    number = max((int(match[1]) for match in taken if match), default=0) + 1
    created = record.created or records.now()
    made = replace(record, run=f"{record.run}-{number}", created=created)
    tried.append(made)
    connection.execute(sql.ADD_RUN, records.run_row(made))
    return made


@dataclass
class Opening:
    """A session that is to be opened in the database that is shown as `shown`.

    What is said in it is named with its own `salt`; the tables of members are nobody's words.
    """

    shown: str
    record: SessionRecord
    salt: str = field(default_factory=chain.new_salt, repr=False)
    _row: Row = field(init=False, repr=False)
    _members: list[Row] = field(init=False, repr=False)
    _tried: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._row = records.session_row(self.record, self.salt)
        self._members = member_rows(self.record.session, self.record.members)

    def store(self, connection: Connection) -> str:
        """Store it as the next session of its run; the first link of its chain."""
        record, row = self.record, self._row
        run = connection.execute(sql.RUN_HEAD, {"named": record.run}).one_or_none()
        if run is None:
            raise BlackboardError(
                f"{self.shown}: session {quoted(record.session)} was refused: there is no run "
                f"{quoted(record.run)}"
            )
        if self._tried and (opening := self._stored(connection)) is not None:
            return opening
        self._tried = True
        new = {**row, "ordinal": run.opened + 1, "position": record.position or run.opened + 1}
        new["opening"] = chain.of_session(run.opening, new, self._members)
        tables = [one.table for one in record.members]
        said = records.text_rows([record.instance.x], self.salt) + records.text_rows(tables)
        connection.execute(sql.KEEP_TEXT, said)
        connection.execute(sql.ADD_SESSION, new)
        if self._members:
            connection.execute(sql.ADD_MEMBER, self._members)
        head = chain.joined(run.head, new["opening"])
        counted = {"named": record.run, "opened": run.opened + 1, "head": head}
        connection.execute(sql.COUNT_SESSION, counted)
        return str(new["opening"])

    def _stored(self, connection: Connection) -> str | None:
        """The first link of its chain, where it is stored."""
        found = connection.execute(sql.SESSION, {"named": self.record.session})
        stored = found.mappings().one_or_none()
        kept = {name for name in self._row if name != "position" or self.record.position}
        same = stored is not None and all(stored[name] == self._row[name] for name in kept)
        return stored["opening"] if stored is not None and same else None
