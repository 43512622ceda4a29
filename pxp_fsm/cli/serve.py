"""`pxp serve` of experiments and runs: people in browsers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard
from pxp_fsm import web
from pxp_fsm.cli.help import findings
from pxp_fsm.cli.options import serve as options
from pxp_fsm.cli.pages import require_mcp, require_server, show_links, with_folder
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments import files, runs
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.runs import Run

EXPERT = "expert"
"""The pseudonym of a person whom neither the file nor --subject names."""


def serve(request: options.ServeRuns) -> None:
    """Serve the pages of experiments and runs until Ctrl-C."""
    require_server("the server of pages")
    with SqlBlackboard(with_folder(request.database)) as board:
        served = [run for target in request.targets for run in _opened(target, request, board)]
        names = [run.name for run in served]
        if len(set(names)) < len(names):
            raise UsageError("the same run is given twice; leave one of them out")

        given: Any = {"url": request.url, "days": request.days}
        if any(run.opening.plan.assistants for run in served):
            require_mcp()
            site = web.assistant_site(board, served, pages=findings(), **given)
        else:
            site = web.expert_site(board, served, **given)
        web.serve(site, request.port, partial(show_links, request.browser))


def _opened(
    target: str, request: options.ServeRuns, board: SqlBlackboard
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
