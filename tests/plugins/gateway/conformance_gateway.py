"""A gateway that passes everything, for the protocol's own conformance suite.

`python -m tests.plugins.gateway.conformance_gateway FOLDER SERVER` serves a gateway before the
server at that address, built as `pxp serve policy.toml -- SERVER` builds it, and prints its
address. The suite sends no token, so that each request is given one, in front of the guard.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.gateway import Gateway
from pxp_fsm.plugins.gateway.http_proxy import CLIENT, gateway_site
from pxp_fsm.web.pages import application
from pxp_fsm.web.serving import listen, server_of
from tests.plugins.gateway.sides import written
from tests.web.conformance_server import with_token

POLICY = """
format = 1
name = "everything"
otherwise = { tools = "pass", methods = "pass" }

[[lines]]
tool = "test_simple_text"
event = "TEXT"

[[tables]]
name = "texts"
rows = [{ from = "ANY", to = "ANY", event = "TEXT" }]
"""


def serve(folder: Path, server: str) -> None:
    """Serve until Ctrl-C."""
    with SqlBlackboard(str(folder / "gateway.sqlite")) as board, listen() as listening:
        gateway = Gateway(written(POLICY), board)
        make = gateway_site(gateway, board, server, lambda text: print(text, file=sys.stderr))
        site = make(listening.getsockname()[1])
        app = with_token(application(site.access, *site.sets), site.tokens[CLIENT])
        print(site.tools, flush=True)
        asyncio.run(server_of(app).serve(sockets=[listening]))


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
