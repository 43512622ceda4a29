"""The pages of the people who approve: one link each, what waits for them, and two buttons.

A page holds no script. What it shows of a call is what the server would be sent, but for secrets.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.requests import Request

from backends.databases import SqlBlackboard
from pxp_fsm.artifacts import policy_digest
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.gateway.gateway import Gateway, Traffic, Wanted
from pxp_fsm.web.bundles import static
from pxp_fsm.web.guard import POLICY, Who
from pxp_fsm.web.links import Links, door_of_people
from pxp_fsm.web.pages import PageSet, application, note
from pxp_fsm.web.serving import OpenSite, listen, server_of

ENDED = "It is not valid, or not any more. Ask whoever runs the gateway for a new one."
"""What somebody reads whose link lets nobody in."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10">
<title>Approvals</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main class="note">
<h1>Approvals by {person}</h1>
{calls}
</main>
</body>
</html>
"""

_CALL = """<section>
<h2>{tool}</h2>
<pre>{arguments}</pre>
<form method="post" action="/decide"><input type="hidden" name="call" value="{action}">
<button class="main" name="verdict" value="approve">Approve, once</button>
<button name="verdict" value="refuse">Refuse</button></form>
</section>
"""


def scope_of(gateway: Gateway) -> str:
    """The scope of the links of people who approve in a run."""
    return f"gateway {gateway.run}"


@dataclass(frozen=True)
class Approvals:
    """What people are given to come in, and what serves them until it is cancelled."""

    opening: OpenSite
    served: Callable[[], Coroutine[Any, Any, None]]


@contextmanager
def approvals(
    gateway: Gateway,
    board: SqlBlackboard,
    port: int,
    passes: Callable[[Traffic], None],
    url: str | None = None,
    days: float = 14.0,
) -> Iterator[Approvals]:
    """The pages of everybody whom the policy names, at `port` of this machine.

    `passes` is given what follows for the client. Raises `UsageError` where the port is taken.
    """
    scope = scope_of(gateway)
    with listen(port) as listening:
        links = Links(board, int(listening.getsockname()[1]), url, days, scopes=(scope,))
        opening = OpenSite(
            access=links,
            sets=(approval_pages(gateway, scope, passes),),
            links={person: links.link(scope, person) for person in gateway.policy.file.people},
        )
        server = server_of(application(links, *opening.sets))
        server.capture_signals = nullcontext  # type: ignore[assignment, method-assign] # the gateway has them

        async def served() -> None:
            serving = asyncio.ensure_future(server.serve(sockets=[listening]))
            try:
                await asyncio.shield(serving)
            except asyncio.CancelledError:
                server.should_exit = True
                await serving
                raise

        yield Approvals(opening, served)


def approval_pages(gateway: Gateway, scope: str, passes: Callable[[Traffic], None]) -> PageSet:
    """The pages of those who have links of `scope`."""
    routes = APIRouter()
    style = static("base.css")

    @routes.get("/")
    async def waiting(request: Request) -> Response:
        """What waits for an approval of who asks."""
        person = _asking(request)
        shown = [
            _CALL.format(
                tool=escape(wanted.call.tool),
                arguments=escape(_arguments(gateway, wanted)),
                action=escape(action),
            )
            for action, wanted in gateway.wanted_by(person).items()
        ]
        text = _PAGE.format(
            style=style,
            person=escape(person),
            calls="".join(shown) or "<p>Nothing waits for you.</p>",
        )
        policy = POLICY.replace("style-src 'self'", f"style-src {policy_digest(style)}")
        headers = {
            "content-security-policy": policy.replace("form-action 'none'", "form-action 'self'"),
            "referrer-policy": "same-origin",  # by "no-referrer" the button's origin is "null"
        }
        return HTMLResponse(text, headers=headers)

    @routes.post("/decide")
    async def decide(request: Request) -> Response:
        """Approve or refuse a call; the page is shown again."""
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        action, verdict = (form.get(key, [""])[0] for key in ("call", "verdict"))
        if verdict not in ("approve", "refuse"):
            return note("Nothing was decided", "The verdict is approve or refuse.", status=422)
        try:
            passes(gateway.approve(_asking(request), action, verdict == "approve"))
        except UsageError as error:
            return note("Nothing was decided", f"{error}.", status=409)
        return RedirectResponse("/", 303)

    return PageSet(title="Approvals", routes=routes, door=door_of_people(scope, ENDED))


def _asking(request: Request) -> str:
    who = request.state.who
    assert isinstance(who, Who)  # noqa: S101 - the guard lets nobody else through
    return who.subject


def _arguments(gateway: Gateway, wanted: Wanted) -> str:
    shown = gateway.state.without_secrets(wanted.call.arguments)
    return json.dumps(shown, ensure_ascii=False, indent=1)
