"""Completion of values on the command line, from what `pxp list` shows."""

from __future__ import annotations

from click.shell_completion import CompletionItem

from pxp_fsm.cli.list import rows_of
from pxp_fsm.errors import PXPError


def completed(kind: str, text: str, database: str | None) -> list[CompletionItem]:
    """The names of `kind` that begin with `text`, with their meanings, then files.

    Where they cannot be listed, as without a database, there are only files.
    """
    try:
        _headings, rows = rows_of(kind, database)
    except (PXPError, OSError):
        rows = []
    named = [CompletionItem(row[0], help=row[-1]) for row in rows if row[0].startswith(text)]
    return [*named, CompletionItem(text, type="file")]
