"""A study on a server, for tests: its participants as their browsers talk to it."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
from starlette.testclient import TestClient

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.studies.files import Study, load_study
from pxp_fsm.plugins.studies.pages.host import StudyHost
from pxp_fsm.plugins.studies.pages.participants import Arrivals, study_pages
from pxp_fsm.web.guard import RESEARCHERS, RequestBudget
from pxp_fsm.web.links import Links
from pxp_fsm.web.pages import application
from tests.plugins.studies.experts import answers
from tests.waiting import PATIENCE
from tests.web.experts import BASE, PORT, Server

WRITES = ("OCC", "CC(=O)O.Nc1ccccc1")


@dataclass
class StudyServer:
    """A server in this process; `tokens` are those of links, "" that of the researcher."""

    client: TestClient
    host: StudyHost
    links: Links
    tokens: dict[str, str]

    def arrives(self, who: str) -> Person:
        """Somebody who comes by the panel's address; raises `AssertionError` where refused."""
        answer = comes(self.client, who, self.host.conduct.study)
        assert answer.status_code == 200, answer.text
        token = answer.cookies[self.links.cookie]
        self.client.cookies.clear()
        return Person(self.client, token, self.host.conduct.study)

    def lab(self, method: str, path: str = "", **sent: Any) -> Any:
        """The response to the researcher."""
        headers = {"authorization": f"Bearer {self.tokens['']}"}
        return self.client.request(method, f"/api/study{path}", headers=headers, **sent)


def identifiers(study: Study, who: str) -> dict[str, str]:
    """The parameters with which a panel sends somebody."""
    payment = study.payment
    return {name: payment.accepted.get(name, (who,))[0] for name in payment.parameters}


def comes(client: Any, who: str, study: Study) -> Any:
    """The answer to somebody who opens the panel's address, and presses the button of its page."""
    shown = client.get("/", params=identifiers(study, who))
    button = re.search(r'action="([^"]*)"', shown.text)
    if shown.status_code != 200 or button is None:
        return shown
    origin = str(client.base_url).rstrip("/")
    return client.post(unescape(button[1]), headers={"origin": origin})


@contextmanager
def study_server(study: Study, path: Path) -> Iterator[StudyServer]:
    """The server of `study` on the database at `path`."""
    with SqlBlackboard(str(path)) as board, StudyHost(study, board) as host:
        links = Links(board, PORT, scopes=(study.run,), arrival=Arrivals(host.conduct))
        app = application(links, study_pages(host, links, RequestBudget(1e9, 1e9)))
        tokens = {"": links.link(RESEARCHERS, "").partition("token=")[2]}
        with TestClient(app, base_url=BASE) as client:
            yield StudyServer(client, host, links, tokens)


class StudyProcess(Server):
    """`pxp serve` as a process that can be killed, and started again at the same port."""

    def __init__(self, study: Path, *arguments: str) -> None:
        super().__init__(study.parent, *arguments)
        self.study = load_study(study)
        self.database = study.parent / "people.sqlite"

    def _command(self) -> list[str]:
        where = ("--database", str(self.database), "--port", str(self.port), "--no-browser")
        return ["pxp_fsm.cli", "serve", str(self.study.path), *where, *self._arguments]

    def address(self, who: str) -> str:
        """The address by which a panel sends somebody."""
        return f"http://127.0.0.1:{self.port}/?{urlencode(identifiers(self.study, who))}"

    def arrives(self, who: str, fate: str = "") -> Person:
        """Somebody who comes by the panel's address, on a device of theirs."""
        client = self.client()
        answer = comes(client, who, self.study)
        assert answer.status_code == 200, answer.text
        token = next(cookie.value for cookie in client.cookies.jar if cookie.value)
        client.cookies.clear()
        return Person(client, str(token), self.study, fate)

    def lab(self, path: str) -> dict[str, Any]:
        """Do something on the researcher's page."""
        token = self.links["researcher"].partition("token=")[2]
        base = f"http://127.0.0.1:{self.port}/api/study"
        headers = {"authorization": f"Bearer {token}"}
        answer = httpx2.post(f"{base}/{path}", headers=headers, json={}, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@dataclass
class Person:
    """A participant at a device of theirs; `seen` counts the statuses that their page showed."""

    client: Any
    token: str
    study: Study
    fate: str = ""
    seen: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    subject: str = ""
    content: bytes = b""

    def __post_init__(self) -> None:
        self.draw = random.Random(self.token)

    def ask(self, method: str, path: str, **sent: Any) -> Any:
        """The response to a request."""
        headers = {"authorization": f"Bearer {self.token}"}
        return self.client.request(method, path, headers=headers, **sent)

    def note(self, response: Any) -> dict[str, Any]:
        assert response.status_code == 200, response.text
        assert len(response.content) % 4096 == 0
        found = dict(response.json())
        self.seen[found["status"]] += 1
        self.subject, self.content = found["subject"], response.content
        return found

    def look(self) -> dict[str, Any]:
        """What the page shows now."""
        return self.note(self.ask("GET", "/api/participant"))

    def act(self, label: str, payload: Any = None) -> dict[str, Any]:
        """Do what the page offers."""
        spent = {"active": 1.5, "idle": 0.5, "edits": 3, "pastes": 0}
        body = {"label": label, "payload": payload, "spent": spent}
        return self.note(self.ask("POST", "/api/participant/act", json=body))

    def until(self, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The page, as soon as it is as wanted."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            page = self.look()
            if wanted(page):
                return page
            time.sleep(0.02)
        raise AssertionError(page)

    def reply(self, page: dict[str, Any]) -> dict[str, Any]:
        """Answer what is asked, as drawn."""
        asked = page["session"]["asked"]
        body: dict[str, Any] = {"key": asked["key"], "choice": "send"}
        if asked["step"] == "answer":
            body |= {"choice": "own", "prediction": self.draw.choice(WRITES)}
            body["explanation"] = "It is easily made."
            if asked["offers"] and self.draw.random() < 0.7:
                body["choice"] = self.draw.choice([*asked["offers"]])
        elif asked["step"] == "tag":
            body["choice"] = self.draw.choice(
                [x["guard"] for x in asked["choices"] if x["allowed"]]
            )
        elif asked["step"] != "look":
            body["choice"] = self.draw.choice(["yes", "no"])
        else:
            self.sent += 1
        return self.note(self.ask("POST", "/api/participant/reply", json=body))

    def goes_on(self, page: dict[str, Any]) -> dict[str, Any]:
        """One more step of what a participant does, and the page as it is then."""
        study, status = self.study, page["status"]
        if status in ("WAITING", "ANSWERING"):
            if not (page.get("session") or {}).get("asked"):
                return self.until(lambda one: one != page)
            return self.reply(page)
        right = self.fate != "fails"
        doing: dict[str, tuple[str, Any]] = {
            "CONSENTING": ("CONSENT", {"version": study.consent.version}),
            "READING": ("READ", None),
            "TRAINING": ("TRAINED", answers(study.training, self.draw, right=right)),
            "BEFORE": ("ANSWERED", answers(study.before, self.draw)),
            "AFTER": ("ANSWERED", answers(study.after, self.draw)),
            "BREAK": ("CONTINUE", None),
            "ABANDONED": ("CONTINUE", None),
            "DEBRIEF": ("SEEN", None),
            "LAPSED": ("RETURN", None),
        }
        if status == "CONSENTING" and self.fate == "declines":
            return self.act("DECLINE")
        return self.act(*doing[status])

    def carried(self, *stops: str) -> dict[str, Any]:
        """The page at the first status of `stops`, or at the end."""
        page = self.look()
        while page["status"] not in (*stops, "DONE", "DECLINED", "ERASED", "ANONYMISED"):
            page = self.goes_on(page)
        return page
