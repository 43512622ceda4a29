"""`pxp study`: studies with people, checked, opened and closed, shown, exported."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from backends.databases import SqlBlackboard
from pxp_fsm import web
from pxp_fsm.cli.pages import port_of, require_server, show_links, with_folder
from pxp_fsm.cli.presentation.results import as_json
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.studies.assignment import block_size
from pxp_fsm.plugins.studies.cli import options
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.erasures import given_out
from pxp_fsm.plugins.studies.export import export_identifiers, export_study, participations
from pxp_fsm.plugins.studies.files import load_study
from pxp_fsm.plugins.studies.lifecycles import IN_TIME, prove, system_file
from pxp_fsm.plugins.studies.pages.participants import study_site
from pxp_fsm.plugins.studies.participations import NOBODY, read
from pxp_fsm.plugins.studies.status import as_document, summary

NOT_PROVED = 1
"""Exit code where a lifecycle is not what it must be."""


def check(request: options.CheckStudy) -> int:
    """Check the file, then prove the lifecycles."""
    study, results = load_study(request.file), list(prove())
    wrong = [result for result in results if not result.as_expected]
    if request.as_json:
        click.echo(as_json(results))
        return NOT_PROVED if wrong else 0
    size, tasks = block_size(study), f"{len(study.tasks)} tasks, {len(study.arms)} arms"
    click.echo(printable(f"Study {study.name}: {study.title}"))
    click.echo(f"{study.experts} experts, {tasks}, {study.design} participants; in balance after")
    click.echo(f"each {size}: {study.experts // size} whole blocks, {study.experts % size} more")
    about = {stated.formula: stated.about for stated in system_file().properties}
    about |= {formula: description for description, formula, _fairness in IN_TIME}
    for result in results:
        description = about.get(result.name)
        if description is not None or not result.as_expected:
            click.echo(f"{result.status.value:6} {description or result.name}")
    click.echo(f"Lifecycles: {len(results)} verdicts, {len(wrong)} not as expected")
    return NOT_PROVED if wrong else 0


def serve(request: options.ServeStudy) -> None:
    """Serve the pages of a study until Ctrl-C."""
    require_server("the server of pages")
    study = load_study(request.file)
    addressing: Any = {"url": request.url, "days": request.days, "invite": request.invite}
    with (
        SqlBlackboard(with_folder(request.database)) as board,
        study_site(study, board, **addressing) as site,
    ):
        web.serve(site, port_of(request.port), partial(show_links, request.browser))


def show(request: options.ShowStudy) -> None:
    """Print the state of a study; nothing is changed, also while it is served."""
    study = load_study(request.file)
    with SqlBlackboard(request.database, create=False) as board:
        board.run(study.run)
        state, people = read(board, study.run, NOBODY), participations(study, board)
        if request.as_json:
            click.echo(json.dumps(as_document(study, state, people), indent=1))
            return
        for line in (*summary(study, state, people), *given_out(study, board, people)):
            click.echo(printable(line))


def change(request: options.StudyChangeOptions) -> None:
    """Let an event happen to a study, or withdraw a participant."""
    study = load_study(request.file)
    withdraws = request.event == "withdraw"
    if withdraws is not (request.participant is not None):
        raise UsageError("withdraw, and no other event, is followed by a PSEUDONYM")
    final = request.event in ("close", "anonymise", "withdraw")
    if final and not request.yes and not click.confirm("It cannot be undone. Go on?"):
        click.echo("Nothing was changed.")
        return
    with SqlBlackboard(request.database) as board, Conduct(study, board) as conduct:
        if request.participant is not None:
            after = conduct.act(request.participant, "WITHDRAW")
            click.echo(f"{request.participant}: {after}")
            for line in given_out(study, board, [conduct.participation(request.participant)]):
                click.echo(printable(line))
        else:
            conduct.raise_event(request.event.upper())
            click.echo(f"Study {study.name}: {conduct.state}")
        if conduct.unclean:
            click.echo("The database's files may still hold what was erased; see pxp erase.")


def export(request: options.ExportStudy) -> None:
    """Write a study without names."""
    study = load_study(request.file)
    with SqlBlackboard(request.database, create=False) as board:
        output = request.output or Path(f"{study.name}-export")
        export_study(study, board, output)
        click.echo(f"Exported: {output}")
        if request.identifiers is not None:
            count = export_identifiers(study, board, request.identifiers)
            click.echo(f"Exported: {request.identifiers}, who {count} participants are")
