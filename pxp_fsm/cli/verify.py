"""`pxp verify`, `pxp upgrade`, `pxp erase`: a database's integrity, schema, and erasures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from backends.databases import SqlBlackboard, anchors, erasure
from backends.databases.disclosure import exports_of
from backends.databases.engine import open_engine
from backends.databases.faults import translated_errors
from backends.databases.verify import NOT_COVERED, IntegrityProblem, Report
from backends.databases.verify import verify as verified
from backends.databases.versions import plan_upgrade
from backends.databases.versions import upgrade as upgraded
from backends.models.middleware import cache
from backends.people.input import Drafts
from pxp_fsm.cli.options import storage as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError, counted
from pxp_fsm.experiments.sheets import contents

_NAMED = 5
"""How many sessions are named before they are erased."""
CHANGED = 1
"""Exit code where something was changed after the fact."""


def verify(request: options.VerifyDatabase) -> int:
    """Print the mark of each run, and what was changed."""
    _check_keys(request)
    wanted = dict(_pair(text) for text in request.expected)
    database = request.file or request.database
    report = verified(database)
    problems = list(report.problems)
    if request.anchor is not None and request.key is not None:
        problems += anchors.differences(request.anchor, request.key, report.marks)
    marks = {mark.run: mark.mark for mark in report.marks}
    for run, wants in wanted.items():
        if marks.get(run) != wants:
            told = "it has not the mark that was expected"
            if run not in marks:
                told = "there is no such run: it was removed, or its name is another"
            problems.append(IntegrityProblem(f"run {run}", told))
    if request.as_json:
        document = {
            "runs": [asdict(mark) for mark in report.marks],
            "erased": [erased_session._asdict() for erased_session in report.erased],
            "changed": [asdict(problem) for problem in problems],
            "not compared": [asdict(problem) for problem in report.unknown],
            "remains": report.remains,
        }
        click.echo(json.dumps(document, indent=1, default=str))
    else:
        _show(report, problems)
    if problems:
        return CHANGED
    if request.sign is not None and request.anchor is not None:
        private = anchors.private_key(request.sign)
        with SqlBlackboard(database, create=False) as board:
            for mark in report.marks:
                anchors.sign_run(board, mark.run, request.anchor, private)
        many = counted(len(report.marks), "mark")
        click.echo(printable(f"Signed: {many}, in {request.anchor}"), err=request.as_json)
    return 0


def _show(report: Report, problems: Sequence[IntegrityProblem]) -> None:
    """Print what a verification found, and what it does not cover."""
    for mark in report.marks:
        click.echo(f"{printable(mark.run)}: {contents(mark)}, mark {mark.mark}")
    for entry in report.erased:
        erased = f"{counted(entry.texts, 'text')}, {counted(entry.prompts, 'prompt')}"
        click.echo(
            f"Erased: session {printable(entry.session)}: {erased}, {printable(entry.created)}"
        )
    for label, listed in (("Changed", problems), ("Not compared", report.unknown)):
        for problem in listed:
            click.echo(f"{label}: {printable(problem.where)}: {printable(problem.what)}")
    if report.remains:
        click.echo(
            "Not done: the files of the database may still hold what was erased; close what else "
            "has it open, then `pxp erase` it again"
        )
    click.echo(f"Not covered: {', '.join(NOT_COVERED.values())}.")
    if not problems:
        click.echo(f"Nothing{' that was compared' if report.unknown else ''} was changed.")


def _check_keys(request: options.VerifyDatabase) -> None:
    """Raise `UsageError`, before anything is read, where an anchor lacks a key, or a key it."""
    keys = {"--key": request.key, "--sign": request.sign}
    keys_set = [name for name, key in keys.items() if key is not None]
    if request.anchor is not None and not keys_set:
        raise UsageError("--anchor requires --key, the public key that signed it, or --sign")
    if request.anchor is None and keys_set:
        raise UsageError(f"{keys_set[0]} has no effect without --anchor")
    if request.sign is not None:
        anchors.private_key(request.sign)


def _replies(number: int) -> str:
    return f"{number:,} {'reply' if number == 1 else 'replies'}"


def _pair(text: str) -> tuple[str, str]:
    run, sign, mark = text.rpartition("=")
    if not sign or not run:
        raise UsageError(f"--mark must be RUN=MARK, as pxp verify prints it, not {text!r}")
    return run, mark.strip().lower()


def upgrade(request: options.UpgradeOptions) -> None:
    """Upgrade a database, or say what that would do."""
    engine = open_engine(request.database, create=False, current=False, reading=True)
    shown = engine.url.render_as_string(hide_password=True)
    try:
        with translated_errors(shown):
            plan = plan_upgrade(engine, shown)
    finally:
        engine.dispose()
    done = plan.before != plan.after and not request.dry_run
    if done:
        engine = open_engine(request.database, create=False, current=False)
        try:
            with translated_errors(shown):
                upgraded(engine, shown)
        finally:
            engine.dispose()
    if request.as_json:
        click.echo(json.dumps({"database": shown, **asdict(plan), "upgraded": done}, indent=1))
    elif plan.before == plan.after:
        click.echo(f"{shown}: schema version {plan.after}, is up to date")
    elif done:
        click.echo(f"{shown}: schema version {plan.after}, upgraded from version {plan.before}")
    else:
        click.echo(f"{shown}: schema version {plan.before}; an upgrade to {plan.after} would do")
        for step in plan.steps:
            click.echo(f"  {step}")


def erase(request: options.EraseOptions) -> None:
    """Erase the texts of sessions, and say what an erasure leaves."""
    if not request.what and request.subject is None:
        raise UsageError("name what to erase: a RUN, a SESSION or --subject NAME")
    with SqlBlackboard(request.database, create=False) as board:
        chosen = erasure.sessions_of(board, request.what, request.subject)
        shown = ", ".join(printable(session.session) for session in chosen[:_NAMED])
        more = f" and {len(chosen) - _NAMED} more" if len(chosen) > _NAMED else ""
        question = f"Erase what was said in {shown}{more}? It cannot be undone"
        if not request.yes and not click.confirm(question, default=False):
            click.echo("Nothing was erased.")
            return
        asked = erasure.requests_of(board, chosen)
        for entry in erasure.erase(board, chosen):
            erased = f"{counted(entry.texts, 'text')}, {counted(entry.prompts, 'prompt')}"
            click.echo(f"Erased: {printable(entry.session)}: {erased}")
        drafts = Drafts(request.output / "drafts")
        for record in board.sessions():
            if record.session in {session.session for session in chosen}:
                for number in range(1, record.messages + 2):
                    drafts.drop(record.session, number)
        for path in request.caches:
            click.echo(f"Erased: {path}: {_replies(cache.forget(path, asked))}")
        exported = exports_of(board, sorted({session.run for session in chosen}))
        erasure.clean(board)
    for export in exported:
        made = f"{export.kind} {printable(export.name)}, {printable(export.created)}"
        click.echo(
            f"Given out before: {printable(export.run)}: {made}, SHA-256 {export.digest[:12]}"
        )
    click.echo(f"Not erased: {erasure.NOT_ERASED}.")
