"""Recordings opened as blackboards: a database as it is, files of other tools read into one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory

from backends.databases import RunRecord, SqlBlackboard
from backends.databases.records import own_run
from backends.databases.session_documents import read_document, store_document
from pxp_fsm import __version__
from pxp_fsm.analysis.recordings.conversations import read_mapping
from pxp_fsm.analysis.recordings.forms import form_of
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class Recordings:
    """Recorded sessions on a blackboard; `unread` names those that are not on it, with why."""

    board: SqlBlackboard
    unread: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def open_recordings(name: str, mapping: Path | None = None) -> Iterator[Recordings]:
    """The recordings in a database (a file or a URL), a log of Inspect, or a file of spans.

    A file of another tool is read into a database that lasts as long as it is open. `mapping` says
    how other programs' messages are those of a protocol. Raises `UsageError` where it has no
    effect, `NotThere` where there is no database, and `DataError` or `FileError` for a file that
    cannot be read.
    """
    form = form_of(name)
    if form.read is None:
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
        for where, recorded in form.read(Path(name), convention):
            if isinstance(recorded, DataError):
                recordings.unread.append((where, str(recorded)))
                continue
            try:
                document = read_document(recorded, where)
                run = own_run(document.session.name)
                if run not in runs:
                    board.start_run(RunRecord(run, form.name, "{}", 0, __version__, ""))
                    runs.add(run)
                store_document(board, document, run, where)
            except DataError as error:
                recordings.unread.append((where, str(error).removeprefix(f"{where}: ")))
        if not runs:
            reasons = (
                "; ".join(list(dict.fromkeys(why for _, why in recordings.unread))[:3])
                or "it has no session"
            )
            raise DataError(f"{name} has no session that can be read: {reasons}")
        board.shown = name
        yield recordings
