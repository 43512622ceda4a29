"""Experts and a server for tests: runs with a quick machine, and a client that plays a person."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx2
from starlette.testclient import TestClient

from backends.databases import SqlBlackboard
from pxp_fsm.experiments import members, openings, plan_data, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.sessions.functions import AnswerFunction
from pxp_fsm.web.experts.pages import expert_pages
from pxp_fsm.web.guard import RESEARCHERS, RequestBudget
from pxp_fsm.web.hosting import Host
from pxp_fsm.web.links import EXPERTS, Links
from pxp_fsm.web.news import News
from pxp_fsm.web.pages import application
from tests.command_line import PLACES, processor_seconds
from tests.waiting import PATIENCE, free_port, until

PORT = 8000
BASE = f"http://127.0.0.1:{PORT}"
THEIRS = Answer("bird", "It has wings.")
MINE = {"prediction": "mammal", "explanation": "It has a snout."}


def quick(_question: Question) -> Answer:
    """A machine that always gives the same answer, at once."""
    return THEIRS


def hosted_run(
    board: SqlBlackboard,
    subject: str,
    *,
    task: str = "animals",
    answers: AnswerFunction = quick,
    human: str = "browser",
    **plan: Any,
) -> Run[Any]:
    """A new run of `task` with `subject` in a browser, or the one there is.

    Its machine is `answers`, unless `plan` names a model.
    """
    given: dict[str, Any] = {"instances": "sparrow", "carry": False, "order": "fixed"}
    chosen = Plan(task, human=human, subject=subject, **{**given, **plan})
    found, data = plan_data.read_plan(chosen)
    seated = found if chosen.machine else members.seated(found, chosen, answers)
    name = f"run-{subject}"
    if name in {record.run for record in board.runs()}:
        return runs.resume(name, board, subject=seated, may_be_over=True)
    return runs.start(openings.TaskOpening(chosen, seated, data), board, name=name)


@dataclass
class Served:
    """A server in this process, with the links of its experts; "" is the researcher's."""

    client: TestClient
    host: Host
    links: Links
    tokens: Mapping[str, str]

    def expert(self, subject: str) -> Expert:
        """The browser of an expert."""
        return Expert(self.client, self.tokens[subject])


@contextmanager
def served(
    path: Path, *subjects: str, budget: RequestBudget | None = None, **plan: Any
) -> Iterator[Served]:
    """A server on the database at `path`, with a run for each subject."""
    with SqlBlackboard(str(path)) as board:
        found = [hosted_run(board, subject, **plan) for subject in subjects]
        host, links = Host(board, found, shows_writing=True), Links(board, PORT)
        app = application(links, expert_pages(host, links, News(), budget))
        addresses = {"": links.link(RESEARCHERS, "")}
        addresses |= {subject: links.link(EXPERTS, subject) for subject in subjects}
        tokens = {name: link.partition("token=")[2] for name, link in addresses.items()}
        with TestClient(app, base_url=BASE, raise_server_exceptions=True) as client:
            yield Served(client, host, links, tokens)


class Expert:
    """A person, as their browser talks to the server."""

    def __init__(self, client: TestClient | httpx2.Client, token: str) -> None:
        self._client: Any = client
        self._headers = {"authorization": f"Bearer {token}"}

    def ask(self, method: str, path: str, **sent: Any) -> Any:
        """The response to a request."""
        return self._client.request(method, path, headers=self._headers, **sent)

    def sessions(self) -> list[dict[str, Any]]:
        """The queue."""
        return list(self.ask("GET", "/api/sessions").json())

    def waiting(self) -> dict[str, Any]:
        """The first session that waits for them, as soon as one does."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            for line in self.sessions():
                if line["standing"] == "you":
                    view = dict(self.view(line["id"]))
                    if view["asked"]:
                        return view
            time.sleep(0.02)
        raise AssertionError(f"nothing waits for this expert: {self.sessions()}")

    def view(self, session: str) -> dict[str, Any]:
        """A session."""
        return dict(self.ask("GET", f"/api/sessions/{session}").json())

    def reply(self, view: Mapping[str, Any], choice: str, **typed: Any) -> Any:
        """The response to an answer to what a session asks."""
        body = {"key": view["asked"]["key"], "choice": choice, **typed}
        return self.ask("POST", f"/api/sessions/{view['id']}/reply", json=body)

    def gives(self, view: Mapping[str, Any], choice: str, **typed: Any) -> dict[str, Any]:
        """The session once it asks something else, or is over."""
        response = self.reply(view, choice, **typed)
        assert response.status_code == 200, response.text
        found, asked = dict(response.json()), view["asked"]["key"]
        ends = time.monotonic() + PATIENCE
        while found["standing"] == "partner" or (found["asked"] or {}).get("key") == asked:
            assert time.monotonic() < ends, found
            time.sleep(0.02)
            found = self.view(view["id"])
        return found

    def says(self, view: Mapping[str, Any], tag: str, **answer: str) -> dict[str, Any]:
        """A whole message: the answer (theirs where none is given), the guard, the last look."""
        choice = "own" if answer else "theirs"
        found = self.gives(view, choice, **answer)
        assert found["asked"]["step"] == "tag"
        found = self.gives(found, tag)
        assert found["asked"]["step"] == "look"
        return self.gives(found, "send")


class Server:
    """`pxp serve` as a process that can be killed, and started again at the same port.

    Use it as a context manager; `links` are those that it printed first.
    """

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._folder = folder
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None
        self.port = free_port()
        self.links: dict[str, str] = {}
        self._clients: list[httpx2.Client] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        for client in self._clients:
            client.close()
        self.end(signal.SIGINT)

    def client(self) -> httpx2.Client:
        """A device of somebody; it is closed with the server."""
        found = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE)
        self._clients.append(found)
        return found

    def start(self) -> None:
        """Start it, and wait until it has printed its links and answers."""
        command = [sys.executable, "-m", *self._command()]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": PLACES, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        told: dict[str, str] = {}
        for line in self._process.stdout:
            name, _, link = line.strip().partition(": http")
            if not link:
                break
            told[name] = f"http{link}"
        self.links = self.links or told
        process = self._process

        def answers() -> bool:
            assert process.poll() is None, "the server has ended"
            try:
                httpx2.get(f"http://127.0.0.1:{self.port}/", timeout=PATIENCE)
            except httpx2.HTTPError:
                return False
            return True

        until(answers)

    def _command(self) -> list[str]:
        options = ("--no-browser", "--port", str(self.port))
        return ["pxp_fsm.cli", "serve", *self._arguments, *options]

    def end(self, how: int = signal.SIGKILL) -> None:
        """End it: at once, unless `how` is another signal."""
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(PATIENCE)
            finally:
                self._process.kill()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def processor_seconds(self) -> float:
        """What the process has used of the processor so far (Linux)."""
        assert self._process is not None
        return processor_seconds(self._process.pid)

    def expert(self, subject: str) -> Expert:
        """A person who uses the interface without a browser."""
        return Expert(self.client(), self.links[subject].partition("token=")[2])


class QuickServer(Server):
    """The same with `experts` experts e1, e2, ..., `cases` sessions each, and the quick machine."""

    def __init__(self, folder: Path, experts: int, cases: int = 4) -> None:
        super().__init__(folder)
        self._sizes = str(experts), str(cases)
        self.database = folder / "lab.sqlite"

    def _command(self) -> list[str]:
        sizes = (str(self.port), *self._sizes)
        return ["tests.web.expert_server", str(self.database), *sizes]
