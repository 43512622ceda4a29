"""A gateway over pipes, between clients and servers that people use."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from backends.databases import SqlBlackboard
from tests.command_line import pxp
from tests.plugins.gateway.sides import EXAMPLES, ROOT, frame
from tests.sampling import swept
from tests.waiting import PATIENCE

BANK = [sys.executable, str(Path(__file__).with_name("bank_server.py"))]
GATEWAY = ["-m", "pxp_fsm.cli", "serve"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


async def _accepts(context: Any, params: Any) -> types.ElicitResult:
    assert context is not None
    assert "once?" in params.message
    return types.ElicitResult(action="accept", content={"approve": True})


@asynccontextmanager
async def _client(policy: str, folder: Path, *server: str, mode: str) -> AsyncIterator[Client]:
    arguments = [*GATEWAY, str(EXAMPLES / f"{policy}.toml"), "--database", str(folder / "g.db")]
    started = StdioServerParameters(
        command=sys.executable, args=[*arguments, "--", *server], env=ENVIRONMENT, cwd=folder
    )
    async with Client(stdio_client(started), elicitation_callback=_accepts, mode=mode) as client:
        yield client


def _text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_and_the_server_of_the_sdk_talk_through_it(tmp_path: Path, mode: str) -> None:
    """In the protocol without sessions, and in the one before it."""
    log = tmp_path / "log"

    async def talk() -> None:
        async with _client("confirm", tmp_path, *BANK, str(log), mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert tools == ["transfer", "balance", "search", "write_file", "read_text_file"]
            assert _text(await client.call_tool("balance", {})) == "balance"
            for _ in range(2):  # each call is asked about
                result = await client.call_tool("write_file", {"path": "a", "content": "ä"})
                assert _text(result) == "write a ä"

    asyncio.run(talk())
    assert log.read_text().splitlines() == ["balance", "write a ä", "write a ä"]
    shown = pxp("show", "confirm/calls", "-v", "--database", "g.db", cwd=tmp_path)
    assert shown.stdout.count("! APPROVAL") == 2
    assert pxp("verify", "g.db", cwd=tmp_path).returncode == 0
    assert pxp("audit", "g.db", cwd=tmp_path).returncode == 0


class Piped:
    """A client that writes frames to a gateway itself."""

    def __init__(
        self, policy: Path, folder: Path, *server: str, options: tuple[str, ...] = ()
    ) -> None:
        arguments = [*GATEWAY, str(policy), *options, "--database", "g.db", "--", *server]
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=ENVIRONMENT,
        )
        self.number = 0
        meta = {"capabilities": {}, "protocolVersion": "2025-06-18"}
        self.request("initialize", {**meta, "clientInfo": {"name": "t", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else frame(message))
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def begin(self, method: str, params: Any) -> int:
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def request(self, method: str, params: Any) -> Any:
        number = self.begin(method, params)
        while (heard := self.hear()).get("id") != number:
            pass
        return heard

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.request("tools/call", {"name": tool, "arguments": arguments})["result"]

    def close(self) -> tuple[int, str]:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stderr is not None
        told = self.process.stderr.read().decode()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.wait(), told

    def kill(self) -> list[Any]:
        """Kill the gateway; what it had passed on by then is returned."""
        self.process.send_signal(signal.SIGKILL)
        assert self.process.stdout is not None
        left = [json.loads(line) for line in self.process.stdout if line.endswith(b"\n")]
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.wait()
        return left


_SMALL = """
import json, sys
log = open(sys.argv[1], "a", buffering=1)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "tools/call":
        log.write(message["params"]["arguments"]["words"] + chr(10))
    if "id" in message:
        result = {"content": [], "capabilities": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def _server(log: Path) -> tuple[str, ...]:
    return sys.executable, "-c", _SMALL, str(log)


_KILLS = """
format = 1
name = "kills"
otherwise = { tools = "refuse", methods = "pass" }

[[lines]]
tool = "pay"
then = "pass"
"""


def _payments(folder: Path, kills: int) -> None:
    """Payments are made at once, and the gateway is killed somewhere on their way; then those that
    were not answered are made again.

    Each was carried out once, or is in doubt: then it was so at most once, and is refused. What was
    not stored was not sent.
    """
    log = folder / "log"
    (folder / "kills.toml").write_text(_KILLS)
    server, made, answered = _server(log), 0, set[str]()

    def pay(client: Piped, number: int) -> int:
        return client.begin("tools/call", {"name": "pay", "arguments": {"words": f"c{number}"}})

    for kill in range(kills):
        client = Piped(folder / "kills.toml", folder, *server)
        asked = {pay(client, made + at): f"c{made + at}" for at in range(6)}
        made += 6
        for _ in range(kill % 6):
            answered.add(asked[client.hear()["id"]])
        answered |= {asked[message["id"]] for message in client.kill()}
    before = log.read_text().split()
    assert len(before) == len(set(before))
    client = Piped(folder / "kills.toml", folder, *server)
    doubted = set[str]()
    for number in range(made):
        if f"c{number}" not in answered:
            result = client.call("pay", words=f"c{number}")
            if "isError" in result:
                assert "nobody knows" in result["content"][0]["text"]
                doubted.add(f"c{number}")
    code, told = client.close()
    assert code == 0
    more = sum(map(int, re.findall(r"in doubt: (\d+) calls more", told)))
    assert told.count("in doubt: call") + more >= len(doubted)  # some have been answered
    assert told.count("in doubt:") <= 21  # all of it is in the pipe before anybody reads
    received = log.read_text().split()
    assert len(received) == len(set(received))
    assert {f"c{number}" for number in range(made)} == set(received) | doubted
    with SqlBlackboard(str(folder / "g.db")) as board:
        stored = {
            json.loads(judgement.detail)["arguments"]["words"]
            for event in board.events("kills/calls")
            for judgement in event.judgements
            if event.label == "CALL"
        }
    assert set(received) <= stored


@pytest.mark.deep
def test_many_kills_send_nothing_twice(tmp_path: Path) -> None:
    _payments(tmp_path, swept(500))


@pytest.mark.deep
def test_two_people_approve_on_pages_of_their_own(tmp_path: Path) -> None:
    client = Piped(
        EXAMPLES / "two_people.toml", tmp_path, *_server(tmp_path / "log"), options=("--port", "0")
    )
    assert client.process.stderr is not None
    lines = [client.process.stderr.readline().decode().split() for _ in range(3)]
    links = {words[0].rstrip(":"): words[1] for words in lines[:2]}
    assert [*links] == ["ada", "grace"]
    large = {"amount": 5000, "to": "<b>", "pin": "4711", "words": "w"}
    assert client.call("transfer", **large)["isError"]
    for person, link in links.items():
        address = link.partition("/?")[0]
        with httpx2.Client(base_url=address) as browser:
            assert browser.get("/").status_code == 403
            browser.get(link)
            page = browser.get("/").text
            assert f"Approvals by {person}" in page
            assert "&lt;b&gt;" in page
            assert "4711" not in page
            (action,) = re.findall(r'name="call" value="([0-9a-f]{64})"', page)
            given = {"call": action, "verdict": "approve"}
            elsewhere = browser.post(
                "/decide", data=given, headers={"origin": "http://evil.example"}
            )
            assert elsewhere.status_code == 403
            assert browser.post("/decide", data=given).status_code == 403  # no origin
            here = {"origin": address}
            assert browser.post("/decide", data=given, headers=here).status_code == 303
            assert "Nothing waits for you" in browser.get("/").text
            assert browser.post("/decide", data=given, headers=here).status_code == 409
        again = client.call("transfer", **large)
        assert ("isError" in again) is (person == "ada")
    for other in (large, {**large, "to": "eve"}):
        assert client.call("transfer", **other)["isError"]
    assert client.close()[0] == 0


def test_the_server_is_gone_when_the_gateway_is(tmp_path: Path) -> None:
    client = Piped(EXAMPLES / "budget.toml", tmp_path, *_server(tmp_path / "log"))
    assert "isError" in client.call("delete")
    client.process.send_signal(signal.SIGTERM)
    code, told = client.close()
    assert (code, told) == (0, "")
    with SqlBlackboard(str(tmp_path / "g.db")) as board:
        labels = [event.label for event in board.events("budget/calls")]
        assert labels == ["START", "REFUSAL", "STOP"]


@pytest.mark.deep
def test_a_server_that_ends_ends_the_gateway_with_its_code(tmp_path: Path) -> None:
    text = "import sys; sys.stdin.readline(); print('hello', flush=True); sys.exit(7)"
    command = [sys.executable, *GATEWAY, str(EXAMPLES / "budget.toml"), "--database", "g.db", "--"]
    with subprocess.Popen(
        [*command, sys.executable, "-c", text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(frame({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        process.stdin.flush()
        assert process.wait() == 7
        assert b"gateway: the server sent what is no message" in process.stderr.read()


def _gateway(
    folder: Path, *server: str, given: bytes, out: Path
) -> subprocess.CompletedProcess[str]:
    """A gateway whose standard input and output are files."""
    command = [sys.executable, *GATEWAY, str(EXAMPLES / "confirm.toml"), "--database", "g.db", "--"]
    (folder / "in").write_bytes(given)
    with (folder / "in").open("rb") as source, out.open("wb") as sink:
        return subprocess.run(
            [*command, *server],
            check=False,
            stdin=source if given else subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=ENVIRONMENT,
            timeout=PATIENCE,
        )


def test_standard_input_and_output_may_be_files(tmp_path: Path) -> None:
    ping, out = frame({"jsonrpc": "2.0", "id": 1, "method": "ping"}), tmp_path / "out"
    ended = _gateway(tmp_path, "false", given=ping, out=out)
    said = "the server's command 'false' ended with code 1 before it answered"
    assert (ended.returncode, ended.stderr) == (1, f"gateway: {said}\n")
    assert json.loads(out.read_text())["error"]["message"] == said


@pytest.mark.deep
def test_a_client_that_says_nothing_ends_the_gateway_in_order(tmp_path: Path) -> None:
    ended = _gateway(tmp_path, "cat", given=b"", out=tmp_path / "out")
    assert (ended.returncode, ended.stderr) == (0, "")


SERVERS = {
    "filesystem": ["mcp-server-filesystem", "."],
    "everything": ["mcp-server-everything"],
    "git": ["mcp-server-git", "--repository", "."],
    "time": ["mcp-server-time"],
}
"""Public servers; a test of one that is not installed is skipped."""


def _installed(name: str) -> list[str]:
    command = SERVERS[name]
    found = shutil.which(command[0], path=f"{ROOT / 'node_modules' / '.bin'}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{command[0]} is not installed")
    return [found, *command[1:]]


@pytest.mark.deep
def test_the_public_server_of_files_is_made_safe(tmp_path: Path) -> None:
    server = _installed("filesystem")
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "b.txt").write_text("old")

    async def talk() -> None:
        async with _client("read_first", tmp_path, *server, mode="legacy") as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"read_text_file", "list_directory"} <= tools
            assert "move_file" not in tools
            write = {"path": str(tmp_path / "a.txt"), "content": "new"}
            refused = await client.call_tool("write_file", write)
            assert refused.is_error
            assert "Read the file first." in _text(refused)
            read = await client.call_tool("read_text_file", {"path": write["path"]})
            assert "old" in _text(read)
            assert not (await client.call_tool("write_file", write)).is_error
            other = {**write, "path": str(tmp_path / "b.txt")}
            assert (await client.call_tool("write_file", other)).is_error

    asyncio.run(talk())
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "b.txt").read_text() == "old"


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in SERVERS if name != "filesystem"])
def test_public_servers_answer_through_it_as_without_it(tmp_path: Path, name: str) -> None:
    server = _installed(name)
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    server = [str(repository) if word == "." else word for word in server]
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "everything": ("echo", {"message": "hello"}),
        "git": ("git_status", {"repo_path": str(repository)}),
        "time": (
            "convert_time",
            {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Delhi"},
        ),
    }

    async def talk(client: Client) -> tuple[list[str], str]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        return tools, _text(await client.call_tool(*calls[name]))

    async def both() -> None:
        plain = StdioServerParameters(command=server[0], args=server[1:], cwd=tmp_path)
        async with Client(
            stdio_client(plain), elicitation_callback=_accepts, mode="legacy"
        ) as client:
            expected = await talk(client)
        async with _client("confirm", tmp_path, *server, mode="legacy") as client:
            assert await talk(client) == expected

    asyncio.run(both())
