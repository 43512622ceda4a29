"""Stored runs and sessions: which of them a name means, and that they were given out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from backends.databases import Origin, SqlBlackboard, disclosure
from pxp_fsm.automata.tables import built_in_names
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import BlackboardError, NotThere, UsageError, did_you_mean, quoted
from pxp_fsm.experiments.plan_data import WITHOUT_PLAN
from pxp_fsm.tasks.task import task_meanings


def find_session(name: str, database: str) -> bool:
    """Whether `name` means a session of the database, and not a run; `NotThere` for neither."""
    try:
        with SqlBlackboard(database, create=False) as board:
            known = {record.run for record in board.runs()}
            if name in known or "/" not in name:
                board.run(name)
                sessions = board.listing(name, limit=2)
                return [line.session for line in sessions] == [name]
            board.session(name)
            return True
    except NotThere as error:
        meanings = task_meanings()
        tasks = ", ".join(f"{task} ({about})" for task, about in meanings.items())
        near = did_you_mean(name, [*meanings, *built_in_names()])
        shown = f"no name that pxp list shows{near or '; tasks are: ' + (tasks or 'none')}"
        reason = f"{quoted(name)} is no file and {shown}{' And' if near else '; and'} {error}"
        raise NotThere(reason) from error


def database_and_runs(words: Sequence[str], database: str) -> tuple[str, Sequence[str]]:
    """What `[DATABASE] [RUN...]` mean: where the first word is a run, they are of `database`.

    What is written as a file or a URL is a database, whether it is there or not. Raises `NotThere`
    where the first word is neither that nor a run of `database`.
    """
    if not words:
        return database, ()
    path = Path(words[0])
    if "://" in words[0] or path.exists() or path.suffix[1:].isalpha():
        return words[0], words[1:]
    find_session(words[0], database)
    return database, words


def task_of(origin: Origin, database: str) -> str:
    """The task of the run whose session is carried on.

    Raises `UsageError` where the run is of no task, and `NotThere`.
    """
    with SqlBlackboard(database, create=False) as board:
        record = board.run(board.session(origin.session).record.run)
    if record.task in WITHOUT_PLAN:
        told = f"run {record.run} {WITHOUT_PLAN[record.task]}; it is of no task"
        raise UsageError(f"{told}; write the file of its system before {origin}")
    return record.task


def is_session(board: SqlBlackboard, name: str) -> bool:
    """Whether a session is meant, and not a run: one without a `/` is alone in the run it names."""
    if "/" in name:
        return True
    sessions = board.listing(name, limit=2)
    return len(sessions) == 1 and sessions[0].session == name


def note_given_out(board: SqlBlackboard, runs: Sequence[str], kind: str, path: Path) -> None:
    """Note that `path` was given out, for who erases later; say so where that cannot be noted."""
    try:
        disclosure.note_export(board, runs, kind, path)
    except BlackboardError as error:
        click.echo(printable(f"Not noted, so that pxp erase will not list it: {error}"), err=True)
