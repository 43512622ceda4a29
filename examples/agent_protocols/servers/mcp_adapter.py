"""An MCP server as what `pxp conform` tests, over HTTP: its sessions, or its multi round-trips.

pxp conform 'python mcp_adapter.py session python mcp_python.py' mcp_session_server.toml
pxp conform 'python mcp_adapter.py rounds python mcp_python.py' mcp_rounds_server.toml

The command is started with a free port at its end, and with what follows `session` or `rounds`. One
test is one session, or one call.
"""

import json
import sys
from typing import Any

import httpx2
from scripted import Server, serve

OLD, NEW = "2025-11-25", "2026-07-28"
ACCEPT = {"accept": "application/json, text/event-stream"}
ME = {"name": "conformance", "version": "1"}


def reply_of(response: httpx2.Response) -> dict[str, Any]:
    """The JSON-RPC response, also where it is the last event of a stream."""
    text = response.text
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data: {")][-1][6:]
    response_body: dict[str, Any] = json.loads(text)
    return response_body


class Session:
    """One session of revision 2025-11-25."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def reset(self) -> list[str]:
        self.session = ""
        return []

    def event(self, name: str) -> list[str]:
        raise NotImplementedError(name)

    def receive(self, tag: str) -> list[str]:
        if tag == "DELETE":
            response = self.server.client.delete("/mcp", headers=self._headers())
            if response.is_success:
                return ["+DELETED to client"]
            return [f"+HTTP_{response.status_code} to client"]
        if tag in ("INITIALIZE", "INITIALIZE_OTHER"):
            version = OLD if tag == "INITIALIZE" else "1.0.0"
            params = {"protocolVersion": version, "capabilities": {}, "clientInfo": ME}
            return self._post("initialize", params, {}, version)
        if tag == "INITIALIZED":
            return self._post("notifications/initialized", {}, self._headers(), identified=False)
        if tag == "PING":
            return self._post("ping", {}, self._headers())
        headers = self._headers()
        if tag == "LIST_WITHOUT_SESSION":
            del headers["mcp-session-id"]
        if tag == "LIST_BAD_VERSION":
            headers["mcp-protocol-version"] = "1.0.0"
        return self._post("tools/list", {}, headers)

    def _headers(self) -> dict[str, str]:
        return {"mcp-session-id": self.session, "mcp-protocol-version": OLD}

    def _post(
        self,
        method: str,
        params: dict[str, Any],
        headers: dict[str, str],
        version: str = "",
        identified: bool = True,
    ) -> list[str]:
        request: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if identified:
            request["id"] = 1
        response = self.server.post("/mcp", request, ACCEPT | headers)
        if response is None:
            return []
        if not response.is_success:
            return [f"+HTTP_{response.status_code} to client"]
        if not identified:
            return ["+ACCEPTED to client"]
        self.session = response.headers.get("mcp-session-id", self.session)
        body = reply_of(response)
        if "error" in body:
            return ["+ERROR to client"]
        if version:
            same = body["result"]["protocolVersion"] == version
            return ["+SAME_VERSION to client" if same else "+OTHER_VERSION to client"]
        return ["+RESULT to client"]


class Rounds:
    """One call of revision 2026-07-28, and the retries that the client may make of it."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def reset(self) -> list[str]:
        self.state: str | None = None
        self.asked: list[str] = []
        return []

    def event(self, name: str) -> list[str]:
        raise NotImplementedError(name)

    def receive(self, tag: str) -> list[str]:
        arguments = {"what": "a table" if tag != "RETRY_OTHER" else "a chair"}
        able: dict[str, Any] = {} if tag == "CALL_UNABLE" else {"elicitation": {}}
        params: dict[str, Any] = {"name": "book", "arguments": arguments}
        if tag.startswith("RETRY"):
            params |= self._retry(tag)
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientInfo": ME,
            "io.modelcontextprotocol/clientCapabilities": able,
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "book"}
        response = self.server.post("/mcp", request, ACCEPT | headers)
        if response is None:
            return []
        body = reply_of(response)
        if "error" in body:
            return ["+ERROR to client"]
        result = body["result"]
        if result.get("resultType") != "input_required":
            return ["+TOOL_ERROR to client" if result.get("isError") else "+RESULT to client"]
        if tag == "CALL":
            self.state = result.get("requestState")
            self.asked = list(result.get("inputRequests", ()))
        asked = "INPUT_REQUIRED" if result.get("inputRequests") else "STATE_ONLY"
        return [f"+{asked} to client"]

    def _retry(self, tag: str) -> dict[str, Any]:
        content = {"place": "here", "day": "today"}
        answers: dict[str, Any] = {
            key: {"action": "accept", "content": content} for key in self.asked
        }
        if tag == "RETRY_PARTIAL":
            answers.popitem()
        if tag == "RETRY_MORE":
            answers["nobody-asked"] = {"action": "accept", "content": {}}
        if tag == "RETRY_DECLINED":
            answers = {key: {"action": "decline"} for key in self.asked}
        told: dict[str, Any] = {"inputResponses": answers}
        if self.state is not None:
            told["requestState"] = forged(self.state) if tag == "RETRY_FORGED" else self.state
        return told


def forged(state: str) -> str:
    """`state` with another letter in its middle; its last one may hold bits that mean nothing."""
    place = len(state) // 2
    return state[:place] + ("A" if state[place] != "A" else "B") + state[place + 1 :]


if __name__ == "__main__":
    what, *more = sys.argv[1].split()
    with Server([*sys.argv[2:], "PORT", *more]) as started:
        serve(Session(started) if what == "session" else Rounds(started))
