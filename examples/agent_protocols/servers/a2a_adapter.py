"""An A2A server as what `pxp conform` tests: it speaks A2A 1.0 over JSON-RPC and HTTP.

pxp conform 'python a2a_adapter.py OPENING node a2a_javascript.mjs' ../a2a/task_server.toml

The command is started with a free port and the words of OPENING (see a2a_python.py) at its end.
With the word `context` messages to a task name its context, too. One test is one task. What is not
answered within `QUIET` seconds is taken to be not answered at all.
"""

import json
import sys
from typing import Any
from uuid import uuid4

from scripted import Server, serve

ERRORS = {-32001: "NOT_FOUND", -32002: "NOT_CANCELABLE", -32004: "UNSUPPORTED"}


class A2A:
    """One task of a server."""

    def __init__(self, server: Server, names_context: bool) -> None:
        self.server = server
        self.names_context = names_context
        self.task = self.context = ""

    def reset(self) -> list[str]:
        self.task = self.context = ""
        return []

    def event(self, name: str) -> list[str]:
        self.server.client.post(f"/control/{self.task}/{name}")
        return []

    def receive(self, tag: str) -> list[str]:
        if tag == "GET":
            return self._call("GetTask", {"id": self.task})
        if tag == "CANCEL":
            return self._call("CancelTask", {"id": self.task})
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": tag}]}
        if tag == "MESSAGE":
            message["taskId"] = self.task
            if self.names_context:
                message["contextId"] = self.context
        configuration = {"returnImmediately": True}
        return self._call("SendMessage", {"message": message, "configuration": configuration})

    def _call(self, method: str, params: dict[str, Any]) -> list[str]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = self.server.post("/", request, {"A2A-Version": "1.0"})
        if reply is None:
            return []
        reply_body = json.loads(reply.text)
        if "error" in reply_body:
            code = reply_body["error"]["code"]
            return [f"+{ERRORS.get(code, f'ERROR {code}')} to client"]
        result = reply_body["result"]
        if "message" in result:
            return ["+ANSWER to client"]
        task = result.get("task", result)
        self.task, self.context = task["id"], task["contextId"]
        return [f"+{task['status']['state'].removeprefix('TASK_STATE_')} to client"]


if __name__ == "__main__":
    words = sys.argv[1].split()
    opening = [word for word in words if word != "context"]
    with Server([*sys.argv[2:], "PORT", *opening]) as started:
        serve(A2A(started, "context" in words))
