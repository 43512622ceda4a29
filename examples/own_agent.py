"""An agent of INTERACT in plain Python, without this package: one JSON message per line.

pxp conform 'python examples/own_agent.py'
pxp conform 'python examples/own_agent.py --bug'
"""

import json
import sys
from typing import Any

TAGS = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}


class Agent:
    def __init__(self, bug: bool = False) -> None:
        self.state = "idle"
        self.bug = bug

    def receive(self, tag: str) -> str | None:
        opening = self.state == "idle" and tag == "INIT"
        answer = self.state == "waiting" and tag in TAGS.values()
        if self.bug and self.state == "deciding" and tag == "REJECT":
            self.state = "over"  # the bug: it hangs up on a REJECT that comes out of turn
        if opening or answer:
            self.state = "deciding"
            return f"-{tag}"
        return None

    def send(self, tag: str) -> str | None:
        if self.state == "idle" and tag == "INIT":
            self.state = "waiting"
            return "+INIT"
        return None

    def decide(self, guards: dict[str, Any]) -> str | None:
        known = set(guards) == set(TAGS) and all(
            type(holds_value) is bool for holds_value in guards.values()
        )
        true = [name for name, holds in guards.items() if holds]
        if self.state == "deciding" and known and len(true) == 1:
            self.state = "waiting"
            return f"+{TAGS[true[0]]}"
        return None

    def event(self, name: str) -> str | None:
        if self.state in ("waiting", "deciding") and name == "CLOSE":
            self.state = "over"
            return "!CLOSE"
        return None


def answer(agent: Agent, request: dict[str, Any]) -> str | None:
    match request:
        case {"do": "receive", "tag": tag}:
            return agent.receive(tag)
        case {"do": "send", "tag": tag}:
            return agent.send(tag)
        case {"do": "decide", "guards": guards}:
            return agent.decide(guards)
        case {"do": "event", "name": name}:
            return agent.event(name)
    return None


def main() -> None:
    bug = "--bug" in sys.argv[1:]
    agent = Agent(bug)
    for line in sys.stdin:
        request = json.loads(line)
        if request == {"do": "reset"}:
            agent = Agent(bug)
            answered: str | None = "reset"
        else:
            answered = answer(agent, request)
        told = {"did": answered} if answered else {"refused": f"not when {agent.state}"}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
