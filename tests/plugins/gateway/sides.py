"""A client and a server of a gateway in this process: frames, as they would come over pipes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.gateway import Gateway, GatewayPolicy, Traffic, load_policy
from pxp_fsm.plugins.gateway.policy import POLICY, read_policy

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "gateway"
NAMES = ("confirm", "read_first", "budget", "two_people", "spending")


def example(name: str) -> GatewayPolicy:
    """A policy of the examples."""
    return load_policy(EXAMPLES / f"{name}.toml")


def written(text: str) -> GatewayPolicy:
    """A policy of a text."""
    return read_policy(POLICY.parse(text, "policy.toml"))


def frame(message: Any) -> bytes:
    """A message as a client writes it."""
    return json.dumps(message).encode() + b"\n"


@dataclass
class Sides:
    """The two sides of a gateway: what each was sent, and what the client was told."""

    gateway: Gateway
    to_server: list[bytes] = field(default_factory=list)
    to_client: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    number: int = 0

    @classmethod
    def of(
        cls,
        policy: GatewayPolicy | str,
        board: SqlBlackboard | None = None,
        *,
        elicits: bool = True,
        run: str = "",
    ) -> Sides:
        """A client that has begun; `elicits` is whether it asks its person."""
        found = example(policy) if isinstance(policy, str) else policy
        sides = cls(Gateway(found, board, run))
        able: dict[str, Any] = {"elicitation": {}} if elicits else {}
        sides.request("initialize", {"capabilities": able})
        sides.reply({"capabilities": {"tools": {}}})
        sides.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        sides.to_server.clear()
        sides.to_client.clear()
        return sides

    def _pass(self, traffic: Traffic) -> Traffic:
        self.to_server += traffic.to_server
        self.to_client += map(json.loads, traffic.to_client)
        self.notes += traffic.notes
        self.gateway.delivered(traffic)
        return traffic

    def send(self, message: Any) -> Traffic:
        """The client sends a message, or a frame as it is."""
        data = message if isinstance(message, bytes) else frame(message)
        return self._pass(self.gateway.from_client(data))

    def request(self, method: str, params: Any) -> Traffic:
        """The client sends a request."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return self.send(message)

    def call(self, tool: str, **arguments: Any) -> Traffic:
        """The client calls a tool."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def passes(self, tool: str, **arguments: Any) -> bool:
        """Whether a call passes to the server."""
        return bool(self.call(tool, **arguments).to_server)

    def told(self) -> str:
        """The text of the last result that the client got for a call that was refused."""
        result = self.to_client[-1]["result"]
        assert result["isError"] is True
        return str(result["content"][0]["text"])

    def serve(self, message: Any) -> Traffic:
        """The server sends a message, or a frame as it is."""
        data = message if isinstance(message, bytes) else frame(message)
        return self._pass(self.gateway.from_server(data))

    def reply(self, result: Any = None, number: int = 0) -> Traffic:
        """The server answers the last request, or that one."""
        result = {"content": []} if result is None else result
        return self.serve({"jsonrpc": "2.0", "id": number or self.number, "result": result})

    def fails(self, number: int = 0) -> Traffic:
        """The server answers with the result of a failure."""
        return self.reply({"content": [], "isError": True}, number)

    def decides(self, *, accepts: bool = True) -> Traffic:
        """The client's person answers the last question of the gateway."""
        ask = self.to_client[-1]
        assert ask["method"] == "elicitation/create"
        result: dict[str, Any] = {"action": "decline"}
        if accepts:
            result = {"action": "accept", "content": {"approve": True}}
        return self.send({"jsonrpc": "2.0", "id": ask["id"], "result": result})
