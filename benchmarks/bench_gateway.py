"""CPU seconds of a forwarded call: the gateway beside a proxy of the MCP SDK that forwards alone.

`python -m benchmarks.bench_gateway [CALLS]` sends CALLS calls of a tool, one after the other, over
pipes to a server of the SDK: straight, through a proxy that is the SDK's server and client, and
through the gateway without a table, with one, and with a formula or a sum beside it. It prints the
CPU of the process between them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CALLS, ROUNDS = 500, 3

_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"content": [{"type": "text", "text": "x" * 200}], "isError": False}
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "s", "version": "1"}}
        if message["method"] == "tools/list":
            result = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""

_PROXY = """
import asyncio, sys
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def main():
    params = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(params) as streams, ClientSession(*streams) as session:
        await session.initialize()
        async def listed(_, __): return await session.list_tools()
        async def called(_, params): return await session.call_tool(params.name, params.arguments)
        server = Server("proxy", on_list_tools=listed, on_call_tool=called)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

asyncio.run(main())
"""

_TABLE = """
format = 1
name = "counts"
otherwise = { tools = "refuse", methods = "pass" }
[[lines]]
tool = "read"
event = "READ"
[[lines]]
result_of = "read"
event = "DONE"
[fields]
many = { at = "many", type = "int" }
[[tables]]
name = "reads"
rows = [
  { from = "IDLE", to = "BUSY", event = "READ" },
  { from = "BUSY", to = "IDLE", event = "DONE" },
]
"""

_POLICIES = {
    "gateway, passes": """
format = 1
name = "passes"
otherwise = { tools = "pass", methods = "pass" }
[[lines]]
tool = "write"
then = "refuse"
""",
    "gateway, a table": _TABLE,
    "gateway, and a formula": f"""{_TABLE}
[[formulas]]
name = "answered"
formula = "G (event.READ -> Z (!event.READ S event.DONE) | Y H !event.READ)"
""",
    "gateway, and a sum": f"""{_TABLE}
[[sums]]
name = "budget"
event = "READ"
of = "many"
most = 1000000
""",
}


def _own_seconds(process: int) -> float:
    """The CPU seconds of a process, without its children's."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(command: list[str], calls: int, folder: Path) -> tuple[float, float]:
    """Milliseconds of CPU, and by the clock, of a call."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=environment
    ) as process:
        written, heard = process.stdin, process.stdout
        if written is None or heard is None:
            raise AssertionError("they are pipes")

        def send(message: dict[str, Any]) -> None:
            written.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            written.flush()

        def ask(number: int, method: str, params: dict[str, Any]) -> None:
            send({"id": number, "method": method, "params": params})
            while json.loads(heard.readline()).get("id") != number:
                pass

        info = {"clientInfo": {"name": "c", "version": "1"}, "capabilities": {}}
        ask(0, "initialize", {**info, "protocolVersion": "2025-06-18"})
        send({"method": "notifications/initialized"})
        for number in range(1, 21):
            ask(
                number,
                "tools/call",
                {"name": "read", "arguments": {"path": f"{number}", "many": 1}},
            )
        before, started = _own_seconds(process.pid), time.perf_counter()
        for number in range(21, calls + 21):
            ask(
                number,
                "tools/call",
                {"name": "read", "arguments": {"path": f"{number}", "many": 1}},
            )
        cpu, clock = _own_seconds(process.pid) - before, time.perf_counter() - started
        written.close()
        heard.read()
    return 1000 * cpu / calls, 1000 * clock / calls


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    server = [sys.executable, "-c", _SERVER]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ways = {
            "the server alone": server,
            "a proxy of the SDK": [sys.executable, "-c", _PROXY, *server],
        }
        for way, text in _POLICIES.items():
            policy = folder / f"{way.rpartition(' ')[2]}.toml"
            policy.write_text(text)
            command = [sys.executable, "-m", "pxp_fsm.cli", "serve", str(policy)]
            ways[way] = [*command, "--database", f"{policy.stem}.db", "--", *server]
        for way, command in ways.items():
            rounds = [measure(command, calls, folder) for _ in range(ROUNDS)]
            cpu, clock = (min(measured_round[at] for measured_round in rounds) for at in (0, 1))
            print(f"{way:20} {cpu:7.3f} ms of CPU a call {clock:7.3f} ms by the clock")


if __name__ == "__main__":
    main()
