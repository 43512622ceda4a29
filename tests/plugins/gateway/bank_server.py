"""An MCP server of the Python SDK whose tools write each call to a file.

bank_server.py FILE [PORT]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import Field

server = MCPServer("bank", log_level="ERROR")
LOG = Path(sys.argv[1])


def _log(text: str) -> str:
    with LOG.open("a") as file:
        file.write(text + "\n")
    return text


@server.tool()
def transfer(amount: int, to: str, pin: str = "") -> str:
    """Transfer money."""
    return _log(f"transfer {amount} {to}")


@server.tool()
def balance() -> str:
    """What there is."""
    return _log("balance")


@server.tool()
def search(words: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Words"})]) -> str:
    """Search; what has a question mark fails."""
    _log(f"search {words}")
    if "?" in words:
        raise ValueError("nothing was found")
    return words


@server.tool()
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return _log(f"write {path} {content}")


@server.tool()
def read_text_file(path: str) -> str:
    """Read a file."""
    return _log(f"read {path}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
