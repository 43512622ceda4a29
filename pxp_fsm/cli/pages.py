"""What commands that serve pages have in common: their extra, and where their pages are."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from pxp_fsm import web
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import require_extra


def require_server(pages: str) -> None:
    """Raise `UsageError`, naming the extra, where pages cannot be served; `pages` is for it."""
    modules = {"fastapi": "fastapi", "uvicorn": "uvicorn", "websockets": "websockets"}
    require_extra("web", pages, modules)


def require_mcp() -> None:
    """Raise `UsageError`, naming the extra, where assistants cannot be served."""
    require_extra("mcp", "the server of assistants", {"mcp": "mcp"})
    require_server("the server of assistants")


def port_of(port: int | None) -> int:
    """Where people and assistants find the server: 8765, if no other port is given."""
    return 8765 if port is None else port


def with_folder(database: str) -> str:
    """The database, whose folder is there from now on if it is a file."""
    if "://" not in database:
        Path(database).parent.mkdir(parents=True, exist_ok=True)
    return database


def show_address(pages: str, browser: bool, opening: web.OpenSite) -> None:
    """Print where the page of one person is, and open it in their browser if that is wanted."""
    address = opening.links[""]
    click.echo(f"{pages} at {address} (Ctrl-C ends it)")
    if browser:
        webbrowser.open(address)


LAST = "Each link and token is one member's own. Ctrl-C ends the server; nothing is lost."


def show_links(browser: bool, opening: web.OpenSite, err: bool = False) -> None:
    """Print the token of each assistant, and the links by pseudonym; that of "" is the
    researcher's, and opened in their browser if that is wanted."""
    lines = [
        line
        for name, token in opening.tokens.items()
        for line in (f"{name}: {opening.tools}", f"  Authorization: Bearer {token}")
    ]
    lines += [f"{subject or 'researcher'}: {link}" for subject, link in opening.links.items()]
    for line in [*lines, LAST] if lines else lines:
        click.echo(printable(line), err=err)
    if browser and opening.links:
        webbrowser.open(opening.links[""])
