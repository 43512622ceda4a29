"""A server of assistants for the protocol's own conformance suite.

`python -m tests.web.conformance_server FOLDER` serves the machine of a session, built as `pxp serve
--mcp` builds it, and prints its address. The suite sends no token, so that each request is given
one, in front of what admits requests; and it calls tools by names of its own, which stand beside
ours.
"""

from __future__ import annotations

import asyncio
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image as Pillow
from starlette.types import ASGIApp, Receive, Scope, Send

from pxp_fsm.errors import DataError
from pxp_fsm.prompting.model import Image
from pxp_fsm.web.assistants.server import PATH, assistant_pages
from pxp_fsm.web.assistants.tools import (
    ASSISTANT,
    Assistants,
    OfNothing,
    Resource,
    Shown,
    Tool,
    Toolbox,
)
from pxp_fsm.web.experts.views import pixels
from pxp_fsm.web.links import Links
from pxp_fsm.web.pages import application
from pxp_fsm.web.serving import listen, server_of
from tests.web.assistants import PEX, hosted


async def _text(_member: str, _given: OfNothing) -> Any:
    return "This is a simple text response for testing."


async def _image(_member: str, _given: OfNothing) -> Any:
    return Shown("A dot.", (Image("image/png", _dot()),))


async def _refused(_member: str, _given: OfNothing) -> Any:
    raise DataError("This tool intentionally returns an error for testing")


def _dot() -> bytes:
    written = BytesIO()
    Pillow.new("L", (1, 1)).save(written, "PNG")
    return pixels(written.getvalue())


class OfSchema(OfNothing):
    """The arguments of a tool whose schema has the keywords that must reach a client unchanged."""

    @classmethod
    def model_json_schema(cls, *_given: Any, **_more: Any) -> dict[str, Any]:
        address = {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
        texts = {name: {"type": "string"} for name in ("name", "phone", "email")}
        way = {"type": "string", "enum": ["phone", "email"]}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": address},
            "properties": {**texts, "contactMethod": way, "address": {"$ref": "#/$defs/address"}},
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        }


class Fixtures(Toolbox):
    """The tools and resources of a host, and those that the suite calls and reads."""

    def __init__(self, assistants: Assistants) -> None:
        super().__init__(assistants, {})
        self.tools |= TOOLS

    async def resources(self, member: str) -> list[Resource]:
        """One's own, and a text."""

        async def text() -> str:
            return "This is the content of the static text resource."

        static = Resource("test://static-text", "A text.", "text/plain", text)
        return [*await super().resources(member), static]


TOOLS = {
    "json_schema_2020_12_tool": Tool("Have a schema.", OfSchema, _text),
    "test_simple_text": Tool("Return a text.", OfNothing, _text),
    "test_image_content": Tool("Return a picture.", OfNothing, _image),
    "test_error_handling": Tool("Be refused.", OfNothing, _refused),
}


def with_token(app: ASGIApp, token: str) -> ASGIApp:
    """`app`, each of whose requests has `token`."""

    async def tokened(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = (b"authorization", f"Bearer {token}".encode())
            scope = {**scope, "headers": [*scope["headers"], given]}
        await app(scope, receive, send)

    return tokened


async def serve(folder: Path) -> None:
    """Serve until Ctrl-C."""
    async with hosted(PEX, folder / "conformance.sqlite") as found:
        toolbox = Fixtures(found.assistants)
        with listen() as listening:
            port = listening.getsockname()[1]
            links = Links(found.board, port, scopes=(ASSISTANT,))
            app = application(links, assistant_pages(toolbox, ASSISTANT))
            server = server_of(with_token(app, links.token(ASSISTANT, "machine")))
            print(f"http://127.0.0.1:{port}{PATH}", flush=True)
            await server.serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
