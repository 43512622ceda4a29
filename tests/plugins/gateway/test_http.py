"""A gateway over streamable HTTP, between the client and servers of the SDK."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.command_line import pxp
from tests.plugins.gateway.sides import EXAMPLES
from tests.plugins.gateway.test_stdio import ENVIRONMENT, GATEWAY
from tests.web.conformance import PASSED, node, printing, require_conformance

BANK = Path(__file__).with_name("bank_server.py")


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait(port: int) -> None:
    for _ in range(600):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


@contextmanager
def _bank(folder: Path) -> Iterator[str]:
    """The address of a server of the SDK."""
    port = _free()
    command = [sys.executable, str(BANK), str(folder / "log"), str(port)]
    with subprocess.Popen(command, env=ENVIRONMENT) as bank:
        try:
            _wait(port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            bank.kill()


@contextmanager
def _served(folder: Path, policy: str, upstream: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a gateway, and the headers of its client."""
    serving = [*GATEWAY, str(EXAMPLES / f"{policy}.toml"), "--port", "0", "--", upstream]
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
        yield address, {"authorization": f"Bearer {token}"}
        gateway.send_signal(signal.SIGINT)
        gateway.stderr.read()
        gateway.wait()


async def _accepts(context: Any, params: Any) -> types.ElicitResult:
    assert context is not None
    assert "once?" in params.message
    return types.ElicitResult(action="accept", content={"approve": True})


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_and_the_server_of_the_sdk_talk_through_it(tmp_path: Path, mode: str) -> None:
    async def talk(address: str, headers: dict[str, str]) -> None:
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, elicitation_callback=_accepts, mode=mode) as client:
                assert len((await client.list_tools()).tools) == 5
                result = await client.call_tool("balance", {})
                assert result.content[0].text == "balance"  # type: ignore[union-attr]
                for _ in range(2):
                    change = {"path": "a", "content": "ä"}
                    result = await client.call_tool("write_file", change)
                    assert result.content[0].text == "write a ä"  # type: ignore[union-attr]

    with _bank(tmp_path) as bank, _served(tmp_path, "confirm", bank) as (address, headers):
        asyncio.run(talk(address, headers))
    assert (tmp_path / "log").read_text().splitlines() == ["balance", "write a ä", "write a ä"]
    shown = pxp("show", "confirm/calls", "--database", "runs/blackboard.sqlite", cwd=tmp_path)
    assert shown.stdout.count("! APPROVAL") == 2


@pytest.mark.deep
def test_who_has_no_token_or_comes_from_elsewhere_is_not_let_in(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
    call = {**ping, "method": "tools/call", "params": {"name": "write_file", "arguments": {}}}
    nowhere = f"http://127.0.0.1:{_free()}/mcp"
    with (
        _served(tmp_path, "confirm", nowhere) as (address, headers),
        httpx2.Client(timeout=60) as http,
    ):
        wrong = {"authorization": "Bearer x"}
        evil = {**headers, "origin": "http://evil.example"}
        rebound = {**headers, "host": "evil.example"}
        for others in ({}, wrong, evil, rebound):
            assert http.post(address, json=ping, headers=others).status_code == 403
        for other in ({"mcp-method": "ping"}, {"mcp-name": "balance"}):
            refused = http.post(address, json=call, headers={**headers, **other})
            assert refused.status_code == 400
            assert "is not what the message says" in refused.json()["error"]["message"]
        assert http.post(address, content=b"[]", headers=headers).status_code == 400
        refused = http.post(address, json=call, headers=headers)
        assert refused.json()["result"]["isError"] is True


@pytest.mark.deep
def test_a_call_whose_answer_does_not_come_is_in_doubt(tmp_path: Path) -> None:
    call = {"name": "balance", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    nowhere = f"http://127.0.0.1:{_free()}/mcp"
    with (
        _served(tmp_path, "confirm", nowhere) as (address, headers),
        httpx2.Client(timeout=60, headers=headers) as http,
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
