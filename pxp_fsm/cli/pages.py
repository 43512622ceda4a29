"""What commands that serve pages have in common: their extra, and where their pages are."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from pathlib import Path

import click

from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import require_extra


def require_server(what: str) -> None:
    """Raise `UsageError`, naming the extra, where pages cannot be served; `what` is for it."""
    modules = {"fastapi": "fastapi", "uvicorn": "uvicorn", "websockets": "websockets"}
    require_extra("web", what, modules)


def require_mcp() -> None:
    """Raise `UsageError`, naming the extra, where assistants cannot be served."""
    require_extra("mcp", "the server of assistants", {"mcp": "mcp"})
    require_server("the server of assistants")


def with_folder(database: str) -> str:
    """The database, whose folder is there from now on if it is a file."""
    if "://" not in database:
        Path(database).parent.mkdir(parents=True, exist_ok=True)
    return database


def show_address(what: str, address: str, browser: bool) -> None:
    """Print where the page of one person is, and open it in their browser if that is wanted."""
    click.echo(f"{what} at {address} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(address)


def show_links(links: Mapping[str, str], last: str, browser: bool) -> None:
    """Print the links by pseudonym, and the `last` sentence; that of "" is the researcher's."""
    for subject, link in links.items():
        click.echo(printable(f"{subject or 'researcher'}: {link}"))
    click.echo(last)
    if browser:
        webbrowser.open(links[""])


def tokens_of(address: str, tokens: Mapping[str, str]) -> list[str]:
    """Where each assistant connects, with its token, as lines to be printed."""
    return [
        line
        for name, token in tokens.items()
        for line in (f"{name}: {address}", f"  Authorization: Bearer {token}")
    ]
