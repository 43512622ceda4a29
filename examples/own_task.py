"""A server of MCP tasks, without this package, that decides by itself what it sends.

pxp conform 'python examples/own_task.py' examples/agent_protocols/mcp_task_server.toml
"""

import json
import sys

EVENTS = {"NEEDS_INPUT": "INPUT_REQUIRED", "WORK_DONE": "COMPLETED", "WORK_BROKEN": "FAILED"}
OVER = ("COMPLETED", "FAILED", "CANCELLED")


class Server:
    def __init__(self, bug: bool = False) -> None:
        self.status = ""
        self.bug = bug

    def event(self, name: str) -> list[str]:
        if self.status == "WORKING":
            self.status = EVENTS[name]
        return []

    def receive(self, tag: str) -> list[str]:
        if tag == "CALL":
            self.status = "WORKING"
            return ["TASK"]
        if tag == "GET":
            return [self.status]
        if tag == "UPDATE" and self.status == "INPUT_REQUIRED":
            self.status = "WORKING"
        if tag == "CANCEL" and (self.bug or self.status not in OVER):
            self.status = "CANCELLED"  # the bug: also of a task that has ended
        return ["ACK"]


def main() -> None:
    bug = "--bug" in sys.argv[1:]
    server = Server(bug)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "reset":
            server, sent = Server(bug), list[str]()
        elif request["do"] == "event":
            sent = server.event(request["name"])
        else:
            sent = server.receive(request["tag"])
        print(json.dumps({"sent": [f"+{tag} to client" for tag in sent]}), flush=True)


if __name__ == "__main__":
    main()
