"""`pxp serve policy.toml -- COMMAND...`: a gateway before a server of MCP or A2A."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from functools import partial

import click

from backends.databases import SqlBlackboard
from pxp_fsm import web
from pxp_fsm.cli.pages import port_of, require_server, show_links, with_folder
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.gateway.cli import options
from pxp_fsm.plugins.gateway.gateway import Gateway
from pxp_fsm.plugins.gateway.policy import load_policy
from pxp_fsm.plugins.gateway.stdio import StdioProxy
from pxp_fsm.registry import load

_NAMED = 20
"""So many calls in doubt are named at a start: a client need not read what is said of them, and a
pipe that is full would stop the gateway."""


def serve(request: options.ServePolicy) -> int:
    """Pass messages between the client and the server until one of them is gone."""
    policy = load_policy(request.policy)
    if not request.command and not request.release:
        raise UsageError(
            f"say how the server is started: pxp serve {request.policy} -- COMMAND...", "command"
        )
    is_http = len(request.command) == 1 and "://" in request.command[0]
    if request.command and not is_http and (policy.file.headers or policy.file.protocol == "a2a"):
        subject = "headers are" if policy.file.headers else "A2A is"
        raise UsageError(
            f"{subject} for a server over HTTP: pxp serve {request.policy} -- https://SERVER",
            "command",
        )
    if policy.file.people and request.command:
        require_server("the pages of the people who approve")
    with SqlBlackboard(with_folder(request.database)) as board, ExitStack() as stack:
        gateway = Gateway(policy, board, request.run or "")
        stack.callback(gateway.stop)
        for number in dict.fromkeys(request.release):
            gateway.release(number)
            _note(f"call {number} may be made again, as far as the policy allows it")
        for doubt in [*gateway.doubt.values()][:_NAMED]:
            call = doubt.call
            _note(
                f"in doubt: call {call.number} of {call.tool}: {doubt}; it is not sent again "
                f"before it is released (--release {call.number})"
            )
        if len(gateway.doubt) > _NAMED:
            more = len(gateway.doubt) - _NAMED
            _note(f"in doubt: {more} calls more; they are IN_DOUBT in {gateway.run}/calls")
        if not request.command:
            return 0
        if is_http:
            require_server("a gateway over HTTP")
            make = load("pxp_fsm.plugins.gateway.http_proxy:gateway_site")  # it needs the extra web
            site = make(gateway, board, request.command[0], _note, request.url, request.days)
            web.serve(site, port_of(request.port), partial(show_links, False, err=True))
            return 0
        proxy = StdioProxy(gateway, request.command, _note)
        if policy.file.people:
            approvals = load("pxp_fsm.plugins.gateway.people:approvals")  # it needs the extra web
            pages = stack.enter_context(
                approvals(
                    gateway, board, port_of(request.port), proxy.tell, request.url, request.days
                )
            )
            show_links(False, pages.opening, err=True)
            proxy.beside = pages.served
        return asyncio.run(proxy.run())


def _note(text: str) -> None:
    click.echo(printable(f"gateway: {text}"), err=True)
