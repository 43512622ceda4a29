"""`pxp serve policy.toml -- COMMAND...`: a gateway before an MCP server."""

from __future__ import annotations

import asyncio

import click

from backends.databases import SqlBlackboard
from pxp_fsm.cli.pages import with_folder
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.gateway.cli import options
from pxp_fsm.plugins.gateway.gateway import Gateway
from pxp_fsm.plugins.gateway.policy import load_policy
from pxp_fsm.plugins.gateway.stdio import Proxy


def serve(request: options.ServePolicy) -> int:
    """Pass messages between the client and the server until one of them is gone."""
    policy = load_policy(request.policy)
    if not request.command:
        raise UsageError(
            f"say how the server is started: pxp serve {request.policy} -- COMMAND...", "command"
        )
    with SqlBlackboard(with_folder(request.database)) as board:
        gateway = Gateway(policy, board, request.run or "")
        for call in gateway.doubt.values():
            _note(f"in doubt: call {call.number} of {call.tool}, which is not sent again")
        try:
            return asyncio.run(Proxy(gateway, request.command, _note).run())
        finally:
            gateway.stop()


def _note(text: str) -> None:
    click.echo(printable(f"gateway: {text}"), err=True)
