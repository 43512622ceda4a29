"""Sets of pages, and the one application that they are mounted in.

A set has a bundle (its script and style), the routes that the bundle uses, and what lives while it
is served. The core has the explorer, the pages of experts and the tools of assistants; plug-ins
have others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import field
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.requests import Request
from starlette.types import ASGIApp

from pxp_fsm.artifacts import policy_digest
from pxp_fsm.errors import PXPError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.web.bundles import static
from pxp_fsm.web.guard import POLICY, Admission, Door, RequestGuard


@dataclass(frozen=True, kw_only=True)
class PageSet:
    """Pages of one thing: `routes`, and the page of the `bundle` of that name, if it has one.

    They stand below the path `at`, and the guard's `door` is for these. `during` is entered while
    they are served, in the loop that serves them. The exceptions `moved_on` are answered by 409:
    the page is behind, and asks again. `around` wraps the application behind the guard.
    """

    title: str
    routes: APIRouter = field(default_factory=APIRouter)
    bundle: str = ""
    at: str = ""
    door: Door = field(default_factory=Door)
    during: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext
    moved_on: tuple[type[Exception], ...] = ()
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/base.css">
<link rel="stylesheet" href="/{name}.css">
<script src="/{name}.js" defer></script>
</head>
<body>
<div id="app"></div>
</body>
</html>
"""

_NOTE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main class="note">
<h1>{title}</h1>
{text}
{form}</main>
</body>
</html>
"""

_KINDS = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def note(
    title: str, *texts: str, status: int = 403, button: str = "", action: str = ""
) -> Response:
    """A page for somebody without a token: it holds all that it shows.

    Its `button` posts to the address `action`, which is told that the request comes from here.
    """
    style = static("base.css")
    form = f'<form method="post" action="{escape(action)}"><button class="main">{escape(button)}'
    text = _NOTE.format(
        title=escape(title),
        style=style,
        text="\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in texts),
        form=f"{form}</button></form>\n" if button else "",
    )
    policy = POLICY.replace("style-src 'self'", f"style-src {policy_digest(style)}")
    headers = {"content-security-policy": policy}
    if button:
        headers["content-security-policy"] = policy.replace(
            "form-action 'none'", "form-action 'self'"
        )
        headers["referrer-policy"] = "same-origin"  # by "no-referrer" the button's origin is "null"
    return HTMLResponse(text, status, headers)


def application(access: Admission, *sets: PageSet) -> ASGIApp:
    """The application that serves `sets` of pages to those whom `access` lets in."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for pages in sets:
                await stack.enter_async_context(pages.during())
            yield

    title = next((pages.title for pages in sets if pages.bundle), sets[0].title)
    app = FastAPI(title=title, docs_url=None, redoc_url=None, lifespan=lifespan, debug=False)
    app.add_exception_handler(PXPError, _answered(422))
    app.add_exception_handler(RequestValidationError, _unreadable)
    for pages in sets:
        for error in pages.moved_on:
            app.add_exception_handler(error, _answered(409))
        if pages.bundle:
            _add_page(app, pages.bundle, pages.title)
        app.include_router(pages.routes, prefix=pages.at)
    behind: ASGIApp = app
    for pages in sets:
        behind = pages.around(behind)
    return RequestGuard(behind, access, [pages.door for pages in sets])


def _add_page(app: FastAPI, name: str, title: str) -> None:
    """Serve the page of the bundle `name` at `/`, and the files that it is made of."""

    def send(path: str, text: str, kind: str) -> None:
        app.get(path, include_in_schema=False)(lambda: Response(text, media_type=kind))

    send("/", _PAGE.format(title=title, name=name), "text/html; charset=utf-8")
    files = (f"{name}.js", f"{name}.css", "base.css", "icon.svg", "licenses.txt", "molecules.js")
    for file in files:
        send(f"/{file}", static(file), _KINDS[file.rpartition(".")[2]])


def _answered(status: int) -> Callable[[Request, Exception], JSONResponse]:
    """Answer what the library refuses with a sentence."""
    return lambda _request, error: JSONResponse({"detail": str(error)}, status)


def _unreadable(_: Request, error: Exception) -> JSONResponse:
    """Answer what cannot be read with a sentence for each fault."""
    faults = error.errors() if isinstance(error, RequestValidationError) else ()
    told = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
    return JSONResponse({"detail": "; ".join(told)}, 422)
