"""Options of the gateway's commands."""

from __future__ import annotations

from pathlib import Path

from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class ServePolicy:
    """Stand between an MCP client and the MCP server that COMMAND starts, and enforce a policy.

    pxp serve policy.toml -- COMMAND...
    pxp serve policy.toml -- https://SERVER/mcp
    pxp serve policy.toml -- https://A2A-AGENT

    The client starts this command in place of the server's, and speaks over standard input and
    output. What happened is stored in the run --run, which goes on where it is stored. Where the
    policy names people who approve, each is given a link to a page of their own. Before a server
    over HTTP the client is given an address and a token. With --release no COMMAND is needed.
    """

    policy: Path = option(argument=True, metavar="POLICY.toml")
    command: tuple[str, ...] = option("", (), argument=True, metavar="-- COMMAND...")
    run: str | None = option(
        "The run that is begun, or goes on.", None, default="the policy's name", metavar="NAME"
    )
    release: tuple[int, ...] = option(
        "Let call NUMBER, which is in doubt, be made again; repeatable.",
        (),
        metavar="NUMBER",
    )
    port: int | None = common.port()
    url: str | None = common.server_url()
    days: float = common.days(14.0)
    database: str = common.database("The database, which is made where there is none.")


@dataclass(frozen=True, kw_only=True)
class CheckPolicy:
    """Say what is proved of a policy: of its lines, of its tables, and what its file claims."""

    policy: Path = option(argument=True, metavar="POLICY.toml")
    names: tuple[str, ...] = option(
        "Check only the property or claim NAME; repeatable.",
        (),
        name="property",
        metavar="NAME",
        listed="claims",
    )
    formulas: tuple[str, ...] = option(
        "Check only this formula of temporal logic (pxp help logic); repeatable.",
        (),
        name="formula",
        metavar="FORMULA",
    )
    certificate: Path | None = option(
        "Write the certificate of what is proved for all parameters into this file, and the table "
        "that it is of beside it.",
        None,
        metavar="FILE",
    )
    as_json: bool = common.as_json()
