"""A gateway over streamable HTTP, between the client and servers of the SDK."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.gateway import Gateway
from pxp_fsm.plugins.gateway.http_proxy import CLIENT, gateway_site
from pxp_fsm.web.pages import application
from tests.command_line import pxp
from tests.plugins.gateway.sides import EXAMPLES, example
from tests.plugins.gateway.test_gateway import ATTACKS
from tests.plugins.gateway.test_stdio import ENVIRONMENT, GATEWAY
from tests.waiting import PATIENCE, free_port, until
from tests.web.conformance import PASSED, node, printing, require_conformance

BANK = Path(__file__).with_name("bank_server.py")


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens."""

    def listens() -> bool:
        assert server.poll() is None, "the server has ended"
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    until(listens)


@contextmanager
def _bank(folder: Path) -> Iterator[str]:
    """The address of a server of the SDK."""
    port = free_port()
    command = [sys.executable, str(BANK), str(folder / "log"), str(port)]
    with subprocess.Popen(command, env=ENVIRONMENT) as bank:
        try:
            wait_for(port, bank)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            bank.kill()


@contextmanager
def served(folder: Path, policy: str | Path, upstream: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a gateway, and the headers of its client."""
    file = policy if isinstance(policy, Path) else EXAMPLES / f"{policy}.toml"
    serving = [*GATEWAY, str(file), "--port", "0", "--", upstream]
    with subprocess.Popen(
        [sys.executable, *serving],
        cwd=folder,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    ) as gateway:
        assert gateway.stderr is not None
        address = gateway.stderr.readline().split()[1]
        token = gateway.stderr.readline().split()[-1]
        gateway.stderr.readline()
        try:
            yield address, {"authorization": f"Bearer {token}"}
        finally:
            gateway.send_signal(signal.SIGINT)
            gateway.stderr.read()
        gateway.wait()


async def _accepts(context: Any, params: Any) -> types.ElicitResult:
    assert context is not None
    assert "once?" in params.message
    return types.ElicitResult(action="accept", content={"approve": True})


class _Answers(BaseHTTPRequestHandler):
    """A server that answers each call with its path, and ends sessions."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        self.server.received.append(body)  # type: ignore[attr-defined]
        gone = self.headers.get("mcp-session-id") == "over"
        schema = {"type": "object", "properties": {"path": {"x-mcp-header": "Path"}}}
        tools = [{"name": "read_text_file", "inputSchema": schema}]
        result = {"tools": tools} if message["method"] == "tools/list" else {"content": []}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        text = b"" if gone else json.dumps(answer).encode()
        self.send_response(404 if gone else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def _answering() -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server in this process, and what it receives."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.received = []  # type: ignore[attr-defined]
        serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp", server.received  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            serving.join()


def test_who_has_the_token_and_comes_from_here_calls_what_is_allowed(tmp_path: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "read_text_file", "arguments": {"path": "ä"}},
    }
    change = {**call, "params": {"name": "write_file", "arguments": {"path": "ä"}}}
    sent, notes = json.dumps(call).encode(), list[str]()
    with _answering() as (server, received), SqlBlackboard(str(tmp_path / "g.db")) as board:
        site = gateway_site(Gateway(example("confirm"), board), board, server, notes.append)(80)
        own = {"authorization": f"Bearer {site.tokens[CLIENT]}", "host": "127.0.0.1:80"}
        app = application(site.access, *site.sets)
        with TestClient(app, base_url="http://127.0.0.1") as client:
            for others in (
                {"authorization": ""},
                {"authorization": "Bearer x"},
                {"host": "evil.example"},
                {"origin": "http://evil.example"},
            ):
                assert client.post("/mcp", content=sent, headers=own | others).status_code == 403
            for other in ({"mcp-method": "ping"}, {"mcp-name": "=?base64?w6Q=?="}):
                refused = client.post("/mcp", content=sent, headers=own | other)
                assert refused.status_code == 400
                assert refused.json()["error"]["code"] == -32020
                assert refused.json()["id"] == 1
            batch = client.post("/mcp", content=b"[%b]" % sent, headers=own)
            assert batch.status_code == 400
            assert "not in batches" in batch.json()["error"]["message"]
            for name in ("a key twice", "a line within", "no id", "another version", "no JSON"):
                odd = client.post("/mcp", content=ATTACKS[name], headers=own)
                assert (odd.status_code, odd.json()["id"]) == (400, None)
            unnamed = sent.replace(b'"tools/call"', b"[]")
            assert client.post("/mcp", content=unnamed, headers=own).status_code == 400
            refused = client.post("/mcp", json=change, headers=own)
            assert refused.json()["result"]["isError"] is True
            assert received == []
            named = {"mcp-name": "=?base64?cmVhZF90ZXh0X2ZpbGU=?="}
            passed = client.post("/mcp", content=sent, headers=own | named)
            assert passed.json()["result"] == {"content": []}
            assert received == [sent]
            over = client.post("/mcp", content=sent, headers=own | {"mcp-session-id": "over"})
            assert over.status_code == 404  # the client begins anew
            assert "refused it: status 404" in over.json()["error"]["message"]
            again = client.post("/mcp", content=sent, headers=own)
            assert again.json() == passed.json()
            listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            assert client.post("/mcp", json=listed, headers=own).status_code == 200
            for path, status in (("=?base64?w6Q=?=", 200), ("b", 400)):
                repeated = client.post("/mcp", content=sent, headers=own | {"mcp-param-path": path})
                assert repeated.status_code == status
    assert site.tools == "http://127.0.0.1:80/mcp"


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_and_the_server_of_the_sdk_talk_through_it(tmp_path: Path, mode: str) -> None:
    async def talk(address: str, headers: dict[str, str]) -> None:
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, elicitation_callback=_accepts, mode=mode) as client:
                assert len((await client.list_tools()).tools) == 5
                result = await client.call_tool("balance", {})
                assert result.content[0].text == "balance"  # type: ignore[union-attr]
                result = await client.call_tool("search", {"words": "é"})  # a header has it too
                assert result.content[0].text == "é"  # type: ignore[union-attr]
                for _ in range(2):
                    change = {"path": "a", "content": "ä"}
                    result = await client.call_tool("write_file", change)
                    assert result.content[0].text == "write a ä"  # type: ignore[union-attr]

    with _bank(tmp_path) as bank, served(tmp_path, "confirm", bank) as (address, headers):
        asyncio.run(talk(address, headers))
    calls = ["balance", "search é", "write a ä", "write a ä"]
    assert (tmp_path / "log").read_text().splitlines() == calls
    shown = pxp("show", "confirm/calls", "-v", "--database", "runs/blackboard.sqlite", cwd=tmp_path)
    assert shown.stdout.count("! APPROVAL") == 2


@pytest.mark.deep
def test_a_call_whose_answer_does_not_come_is_in_doubt(tmp_path: Path) -> None:
    call = {"name": "balance", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    nowhere = f"http://127.0.0.1:{free_port()}/mcp"
    with (
        served(tmp_path, "confirm", nowhere) as (address, headers),
        httpx2.Client(timeout=PATIENCE, headers=headers) as http,
    ):
        lost = http.post(address, json=message).json()
        assert "the server cannot be reached" in lost["error"]["message"]
        again = http.post(address, json={**message, "id": 2}).json()
        assert "nobody knows" in json.dumps(again)


@pytest.mark.deep
def test_the_protocol_s_own_suite_finds_the_same_through_it(tmp_path: Path) -> None:
    node()
    server, gateway, folder = (
        "tests.web.conformance_server",
        "tests.plugins.gateway.conformance_gateway",
        str(tmp_path),
    )
    with printing(server, folder) as behind, printing(gateway, folder, behind) as address:
        for revision in PASSED:
            require_conformance(address, revision, tmp_path / revision)
