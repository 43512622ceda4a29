"""Recordings opened as blackboards: a database as it is, files of other tools read into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from backends.databases import RunRecord, SqlBlackboard
from backends.databases.own_sessions import own_run
from backends.databases.session_documents import check_document, store_document
from pxp_fsm import __version__
from pxp_fsm.analysis.recordings.conversations import read_mapping
from pxp_fsm.analysis.recordings.forms import Form, form_of
from pxp_fsm.analysis.recordings.inspect_logs import inspect_sessions
from pxp_fsm.analysis.recordings.spans import span_sessions
from pxp_fsm.errors import DataError, UsageError

_READERS = {Form.INSPECT: inspect_sessions, Form.SPANS: span_sessions}


@dataclass(frozen=True)
class Recordings:
    """Recorded sessions on a blackboard; `unread` counts those that are not on it, by reason."""

    board: SqlBlackboard
    unread: Counter[str] = field(default_factory=Counter)


@contextmanager
def open_recordings(name: str, mapping: Path | None = None) -> Iterator[Recordings]:
    """The recordings in a database (a file or a URL), a log of Inspect, or a file of spans.

    A file of another tool is read into a database that lasts as long as it is open. `mapping` says
    how other programs' messages are those of a protocol. Raises `UsageError` where it has no
    effect, `NotThere` where there is no database, and `DataError` or `FileError` for a file that
    cannot be read.
    """
    form = form_of(name)
    if form not in _READERS:
        if mapping is not None:
            raise UsageError("--mapping applies to a log of Inspect and to OpenTelemetry spans")
        with SqlBlackboard(name, create=False) as board:
            yield Recordings(board)
        return
    convention = None if mapping is None else read_mapping(mapping)
    with (
        TemporaryDirectory(prefix="pxp-") as folder,
        SqlBlackboard(str(Path(folder, "recordings.sqlite"))) as board,
    ):
        recordings = Recordings(board)
        runs = set[str]()
        for where, found in _READERS[form](Path(name), convention):
            if isinstance(found, DataError):
                recordings.unread[str(found)] += 1
                continue
            try:
                run = own_run(check_document(found, where)["session"]["name"])
                if run not in runs:
                    board.start_run(RunRecord(run, form.name.lower(), "{}", 0, __version__, ""))
                    runs.add(run)
                store_document(board, found, run, where)
            except DataError as error:
                recordings.unread[str(error).removeprefix(f"{where}: ")] += 1
        if not runs:
            reasons = "; ".join(list(recordings.unread)[:3]) or "it has no session"
            raise DataError(f"{name} has no session that can be read: {reasons}")
        board.shown = name
        yield recordings
