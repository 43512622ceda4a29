"""A studio for tests: its application with a client, and what its pages are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient, WebSocketTestSession

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.studio.pages import studio_pages
from pxp_fsm.plugins.easylan.studio.state import Studio
from pxp_fsm.plugins.easylan.studio.work import StudioPlan
from pxp_fsm.web.guard import Access
from pxp_fsm.web.pages import application
from tests.plugins.easylan.trainings import POET

BASE = "http://127.0.0.1:8000"
EVENTS = "ws://127.0.0.1:8000/api/events"
Message = dict[str, Any]

RENAME = {"do": "edit", "name": "Poet", "field": "name", "value": "Polisher"}
ECHO = {"purpose": "execution", "where": {}, "reply": {"thoughts": "so", "result": "an output"}}
GAP = {"purpose": "gap", "reply": {"rationale": "see", "gap": "no rhyme"}}
REASON = {
    "purpose": "reason",
    "reply": {
        "rationale": "nobody rhymes",
        "reason_type": "lack_of_agent",
        "agent_name": "",
        "reason_content": "nobody",
    },
}
PARAMETERS: dict[str, Any] = {"purpose": "parameters", "reply": POET}
SOLVER = {
    "purpose": "execution",
    "where": {"name": "Solver"},
    "reply": {"thoughts": "", "result": "prose"},
}
RHYMER = {**SOLVER, "where": {"name": "Poet"}, "reply": {"thoughts": "", "result": "verse"}}
UPDATE = (SOLVER, RHYMER, GAP, REASON, PARAMETERS)


def two_agents() -> Network:
    """One agent that sends to another."""
    agents = (
        LanAgent("Translator", "translate", "text"),
        LanAgent("Poet", "make it rhyme", "text"),
    )
    return Network("translate poems", agents, frozenset({("Translator", "Poet")}))


def network_file(folder: Path, network: Network | None = None) -> Path:
    """The file of a network in `folder`."""
    path = folder / "my.lan.json"
    Lan(network or two_agents()).save(path)
    return path


def script_file(folder: Path, *lines: dict[str, Any]) -> str:
    """The name of a model that is a script of `lines`."""
    path = folder / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return f"script:{path}"


class Page:
    """A page of a studio: what it was told last, by the kind of message."""

    def __init__(self, client: TestClient, socket: WebSocketTestSession) -> None:
        self.client = client
        self._socket = socket
        self.parts: dict[str, Message] = {}
        self.until(lambda: "begin" in self.parts)

    def until(self, holds: Callable[[], bool]) -> Page:
        """Take what it is told until something holds."""
        while not holds():
            self.next()
        return self

    def next(self) -> None:
        """Take what it is told next."""
        message = self._socket.receive_json()
        self.parts[message["type"]] = message

    @property
    def network(self) -> Message:
        found: Message = self.parts["network"]["network"]
        return found

    @property
    def question(self) -> Message:
        found: Message = self.parts["training"]["question"] or {}
        return found

    def asked(self, kind: str) -> Message:
        """The question of that kind, once it is asked."""
        self.until(lambda: self.question.get("view", {}).get("kind") == kind)
        return self.question

    def version(self, number: int) -> Page:
        """Take what it is told until the network has a version."""
        return self.until(lambda: bool(self.network["version"] == number))

    def post(self, path: str, **body: Any) -> Any:
        """An answer's status and what it says."""
        headers = {"content-type": "application/json"}  # surrogates are sent as escapes
        answer = self.client.post(f"/api/{path}", content=json.dumps(body), headers=headers)
        return answer.status_code, answer.json() if answer.content else None

    def edit(self, *operations: dict[str, Any], version: int | None = None) -> Any:
        """Edit the network as it is shown, or another version of it."""
        shown = self.network["version"] if version is None else version
        return self.post("edit", version=shown, operations=list(operations))

    def answer(self, question: Message, **answer: Any) -> Any:
        """Answer a question."""
        return self.post("answer", question=question["id"], answer=answer)


@contextmanager
def studio(path: Path, model: str | None = None, **plan: Any) -> Iterator[TestClient]:
    """A client of a studio that runs meanwhile."""
    access = Access(8000, "secret")
    app = application(access, studio_pages(Studio(path), StudioPlan(model=model, **plan)))
    headers = {"authorization": f"Bearer {access.token}", "origin": BASE}
    with TestClient(app, base_url=BASE, headers=headers) as client:
        yield client


@contextmanager
def page(client: TestClient) -> Iterator[Page]:
    """A page that is opened."""
    with client.websocket_connect(EVENTS) as socket:
        yield Page(client, socket)
