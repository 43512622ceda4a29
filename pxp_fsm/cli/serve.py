"""`pxp serve`: runs with people in browsers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from backends.databases import SqlBlackboard
from pxp_fsm import defaults, web
from pxp_fsm.cli.help import findings
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.pages import require_mcp, require_server, show_links, tokens_of, with_folder
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments import files, runs
from pxp_fsm.experiments.runs import Run, TaskOpening

EXPERT = "expert"
"""The pseudonym of a person whom neither the file nor --subject names."""


def serve(request: options.ServeOptions) -> None:
    """Serve the pages of experiments and runs until Ctrl-C."""
    require_server("the server of pages")
    with SqlBlackboard(with_folder(request.database or defaults.STORED)) as board:
        served = [run for target in request.targets for run in _opened(target, request, board)]
        names = [run.name for run in served]
        if len(set(names)) < len(names):
            raise UsageError("the same run is given twice; leave one of them out")

        def ready(links: Mapping[str, str]) -> None:
            last = "Each link is one person's own. Ctrl-C ends the server; nothing is lost."
            show_links(links, last, request.browser)

        def both(address: str, tokens: Mapping[str, str], links: Mapping[str, str]) -> None:
            for line in tokens_of(address, tokens):
                click.echo(printable(line))
            ready(links)

        given: Any = {"url": request.url, "days": request.days}
        if any(run.opening.plan.assistants for run in served):
            require_mcp()
            web.serve_assistants(board, served, request.port, both, pages=findings(), **given)
        else:
            web.serve_experts(board, served, request.port, ready, **given)


def _opened(
    target: str, request: options.ServeOptions, board: SqlBlackboard
) -> Iterator[Run[TaskOpening]]:
    """The runs that a target means: one for each expert of a file, or the run of that name."""
    if Path(target).suffix not in (".toml", ".json"):
        if request.subjects:
            raise UsageError(f"run {quoted(target)} keeps its own expert", "subjects")
        yield _with_page(runs.resume(target, board, may_be_over=True), target)
        return
    for subject in request.subjects or (None,):
        found = files.load(Path(target), subject)
        if found.plan.subject is None:
            found = replace(found, plan=replace(found.plan, subject=EXPERT))
        if not found.plan.in_browser:
            raise UsageError(
                f'{target}: nobody takes part in a browser; write human = "browser" below [agents]'
            )
        yield files.open_run(found, board, may_be_over=True)


def _with_page(run: Run[TaskOpening], target: str) -> Run[TaskOpening]:
    if not run.opening.plan.in_browser:
        raise UsageError(f"in run {quoted(target)} nobody takes part in a browser")
    return run
