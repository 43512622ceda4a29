"""An MCP server of the Python SDK (`mcp`), with a tool that asks two questions.

python mcp_python.py PORT
"""

import sys
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("scripted", log_level="ERROR")


class Place(BaseModel):
    place: str


class Day(BaseModel):
    day: str


def where() -> Elicit[Place]:
    return Elicit("Where?", Place)


def when() -> Elicit[Day]:
    return Elicit("When?", Day)


@server.tool()
def book(
    what: str, place: Annotated[Place, Resolve(where)], day: Annotated[Day, Resolve(when)]
) -> str:
    """Book something; the place and the day are asked for."""
    return f"{what}, {place.place}, {day.day}"


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
