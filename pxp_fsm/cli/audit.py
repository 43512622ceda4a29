"""`pxp audit`: what no correct agent, or no sound judge, could have done in recorded sessions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from proofs.languages.published_code import ROUNDS
from pxp_fsm.analysis.audits import page
from pxp_fsm.analysis.audits.records import AuditReport, audit_database, audit_published
from pxp_fsm.analysis.recordings.files import open_recordings
from pxp_fsm.analysis.recordings.forms import TAGS, form_of
from pxp_fsm.cli.options import results as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.cli.stored import database_and_runs
from pxp_fsm.cli.verify import CHANGED
from pxp_fsm.errors import UsageError


def audit(request: options.AuditOptions) -> int:
    """Print what the audit found, and write it where a file is named."""
    report = _audited(request)
    if request.as_json:
        click.echo(page.as_json(report))
    else:
        for line in page.lines(report, request.limit):
            click.echo(printable(line))
    if request.output is not None:
        click.echo(printable(f"Written: {request.output}"), err=request.as_json)
    return CHANGED if report.faults else 0


def _audited(request: options.AuditOptions) -> AuditReport:
    """What came of the audit, its page written where one is wanted: texts come from the database.

    Raises `UsageError` for what does not go with a recording of this kind.
    """
    database, runs = database_and_runs(request.what, request.database)
    rounds, html = request.rounds, request.output
    if form_of(database) is TAGS:
        if request.mapping is not None:
            raise UsageError(f"--mapping has no effect on {database}, a file of tags")
        if runs:
            raise UsageError(f"{database} is a file of tags, which has no runs")
        report = audit_published(Path(database), ROUNDS if rounds is None else rounds)
        if html is not None:
            page.write(report, None, html)
        return report
    if rounds is not None:
        raise UsageError(
            f"--rounds applies to a tags.txt; the bounds of sessions in {database} are recorded"
        )
    with open_recordings(database, request.mapping) as recordings:
        unread = Counter(reason for _, reason in recordings.unread)
        report = audit_database(recordings.board, runs, unread)
        if html is not None:
            page.write(report, recordings.board, html)
    return report
