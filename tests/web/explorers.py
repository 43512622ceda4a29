"""What tests of the explorer's server share: subjects, clients, and checks in this process."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Any

from starlette.testclient import TestClient, WebSocketTestSession

from pxp_fsm.web import checks, verdicts
from pxp_fsm.web.editing import Editor
from pxp_fsm.web.explorer import beside, explorer_pages
from pxp_fsm.web.guard import Access
from pxp_fsm.web.pages import application
from pxp_fsm.web.subjects import SystemSubject, subject_in

ACCESS = Access(8000, "secret")
BASE = "http://127.0.0.1:8000"
EVENTS = "ws://127.0.0.1:8000/api/events"
INTERACT = subject_in(("machine=interact", "human=interact"), None)
PXP = subject_in(("pxp",), "fifo:1")


class NoChecks:
    """In place of the process that checks: answers at once, in this process."""

    busy = False

    def __init__(self, subject: SystemSubject) -> None:
        self.subject = subject

    async def ask(self, asked: str, _seconds: float | None = None) -> Any:
        given = json.loads(asked)
        if given["assumptions"] is not None:
            results = checks.claim_results(self.subject, frozenset(given["assumptions"]))
        else:
            results = verdicts.standard_results(self.subject)
        if given["formula"]:
            return
        for result in await asyncio.to_thread(list, results):  # sessions are replayed in it
            yield json.loads(json.dumps(asdict(result)))

    def close(self) -> None:
        pass


def client_of(subject: SystemSubject = INTERACT, editor: Editor | None = None) -> TestClient:
    """A client with the token; as a context it also starts the server's checks."""
    headers = {"authorization": "Bearer secret"}
    app = application(ACCESS, explorer_pages(subject, editor=editor), *beside(subject))
    return TestClient(app, base_url=BASE, headers=headers)


def events_of(client: TestClient) -> WebSocketTestSession:
    return client.websocket_connect(EVENTS, headers={"origin": BASE})
