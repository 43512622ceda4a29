"""The servers of `pxp mcp`: assistants over HTTP and stdio, of a system's run or of tasks' runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from mcp.server import Server
from mcp.server.stdio import stdio_server
from starlette.types import ASGIApp, Receive, Scope, Send

from backends.databases import SqlBlackboard
from pxp_fsm.experiments.execution import Run
from pxp_fsm.experiments.faults import log
from pxp_fsm.experiments.system_runs import SystemRun
from pxp_fsm.web.assistants.server import PATH, application, guarded, server
from pxp_fsm.web.assistants.systems import SystemHost
from pxp_fsm.web.assistants.tasks import TaskHost, member_of
from pxp_fsm.web.assistants.tools import Desk
from pxp_fsm.web.experts import server as experts
from pxp_fsm.web.experts.admission import Links
from pxp_fsm.web.experts.news import News
from pxp_fsm.web.experts.runner import Runner
from pxp_fsm.web.serving import listen, server_of

ASSISTANTS = "assistant"
"""The scope of the tokens; that of a system's run is its name behind it."""


REMEMBERED = 1.0
"""Seconds for which a valid token is not looked up again: an assistant asks several times each."""

Ready = Callable[[str, Mapping[str, str], Mapping[str, str]], None]
"""Is told where assistants connect, the token of each, and the links of people on pages."""


def serve_assistants(
    run: SystemRun,
    port: int,
    ready: Ready,
    *,
    stdio: str | None = None,
    url: str | None = None,
    days: float = 14.0,
    pages: Mapping[str, Path],
) -> None:
    """Carry `run` on, and serve its assistants until Ctrl-C, or until the client of stdio leaves.

    The assistant `stdio` is served over stdin and stdout, the others over HTTP; `ready` is told who
    may come. Raises `UsageError` where the port is taken, and what `SystemRun.carry` raises.
    """
    desk = Desk(host := SystemHost(run), pages)
    others = [name for name in host.assistants if name != stdio]
    try:
        with listen(port) as listening:
            scope = f"{ASSISTANTS} {run.name}"
            at = listening.getsockname()[1]
            links = Links(run.board, at, url, days, scope=scope, remembers=REMEMBERED)
            tokens = {name: links.token(scope, name) for name in others}
            http = server_of(guarded(application(desk), links)) if others or not stdio else None
            ready(f"{links.address}{PATH}", tokens, {})

            async def serve() -> None:
                async with AsyncExitStack() as stack:
                    carrying = asyncio.create_task(_carry(host))
                    stack.push_async_callback(_ended, carrying)
                    serving = [] if http is None else [http.serve(sockets=[listening])]
                    if stdio is not None:
                        serving.append(_over_stdio(server(desk, lambda _context: stdio)))
                    await _first([*map(asyncio.ensure_future, serving)], carrying)

            asyncio.run(serve())
    finally:
        desk.close()


def serve_tasks(
    board: SqlBlackboard,
    runs: Sequence[Run],
    port: int,
    ready: Ready,
    *,
    stdio: str | None = None,
    url: str | None = None,
    days: float = 14.0,
    pages: Mapping[str, Path],
) -> None:
    """Carry runs of tasks on, and serve their assistants, and their people on pages beside them.

    `stdio` is the role in which whoever started the process is the assistant of the only run; else
    as `serve_assistants`. The link of "" is the researcher's.
    """
    with listen(port) as listening:
        at = listening.getsockname()[1]
        links = Links(board, at, url, days, scope=ASSISTANTS, remembers=REMEMBERED)
        people = Links(board, at, url, days)
        runner, news = Runner(board, runs, shows_writing=True), News()
        desk = Desk(TaskHost(runner, news), pages)
        members = [member_of(run.name, role) for run in runs for role in run.plan.assistants]
        mine = None if stdio is None else member_of(runs[0].name, stdio)
        tokens = {one: links.token(ASSISTANTS, one) for one in members if one != mine}
        http = server_of(beside(desk, links, runner, people, news))
        ready(f"{links.address}{PATH}", tokens, experts.links_of(runner, people))

        async def serve() -> None:
            serving = [asyncio.ensure_future(http.serve(sockets=[listening]))]
            if mine is not None:
                over = _over_stdio(server(desk, lambda _context: mine))
                serving.append(asyncio.ensure_future(over))
            await _first(serving)

        try:
            asyncio.run(serve())
        finally:
            desk.close()
            runner.stop()


def beside(desk: Desk, links: Links, runner: Runner, people: Links, news: News) -> ASGIApp:
    """The server of assistants at its path, and everywhere else the pages of people."""
    pages, mine = experts.application(runner, people, news), application(desk)
    _also(pages, mine.router.lifespan_context(mine))
    assistants, others = guarded(mine, links), experts.guarded(pages, people)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        meant = scope["type"] == "http" and scope["path"] == PATH
        await (assistants if meant else others)(scope, receive, send)

    return app


def _also(app: FastAPI, other: Any) -> None:
    """Let `app` begin and end together with another context."""
    own = app.router.lifespan_context

    @asynccontextmanager
    async def both(app: FastAPI) -> AsyncIterator[None]:
        async with own(app), other:
            yield

    app.router.lifespan_context = both


async def _over_stdio(served: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await served.run(reading, writing, served.create_initialization_options())


async def _carry(host: SystemHost) -> None:
    await host.carry()
    log(f"run {host.run.name} is over; what was said can still be read")


async def _first(
    serving: Sequence[asyncio.Future[None]], carrying: asyncio.Task[None] | None = None
) -> None:
    """Until one of those that serve ends, or the run fails; a run that is over is still served."""
    waited: set[asyncio.Future[None]] = {*serving, *([] if carrying is None else [carrying])}
    while True:
        done, waited = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
        if done != {carrying}:
            break
    for one in waited - {carrying}:
        one.cancel()
        with suppress(asyncio.CancelledError):
            await one


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
