"""Boards to report, made by hand, and a reader of pages that sees what a browser would act on."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from pxp_fsm.automata.tables import builtin
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import LEARN, Judgement, Outcome, digest
from pxp_fsm.sessions.events import Event


def judged(match: str = "no", agree: str = "no", *more: str) -> list[Judgement]:
    """MATCH and AGREE, then those of the new answer."""
    names = ("MATCH", "AGREE", *("MATCH", "AGREE")[: len(more)])
    outcomes = (match, agree, *more)
    return [
        Judgement(name, digest("a"), digest("b"), Outcome(outcome), True, 0.1)
        for name, outcome in zip(names, outcomes, strict=True)
    ]


@dataclass
class Made:
    """A board with a run of animals whose sessions are added by hand."""

    board: SqlBlackboard
    run: str = "animals-1"
    plan: Plan = field(default_factory=lambda: Plan("animals", instances="3"))

    def __post_init__(self) -> None:
        _, data = read_plan(self.plan)
        row = (self.run, self.plan.task, self.plan.as_json(), 0, "0", data.fingerprint)
        self.board.start_run(RunRecord(*row))

    def add(
        self,
        position: int,
        tags: str,
        ending: str | None = "ratified",
        *,
        instance: Instance | None = None,
        answer: Answer | None = None,
        cause: str = "",
        about: str = "made by hand",
        learned: str | None = None,
    ) -> str:
        """Store a session of these tags, every message with the same answer.

        `learned` is what a decision to LEARN before each message rests on; None: there is none.
        """
        name, table = f"{self.run}/1/{position}", builtin(self.plan.rules().automaton.name)
        known = read_plan(self.plan)[1].sessions
        what = instance or known[(position - 1) % len(known)].instance
        place = (name, self.run, 1, position, what, self.plan.protocol, self.plan.n, self.plan.k)
        agents = (("m", about), ("h", about))
        record = SessionRecord(*place, table.name, table.fingerprint, True, (), agents)
        self.board.start_session(record)
        for number, tag in enumerate(tags.split(), start=1):
            sender, receiver = ("m", "h") if number % 2 else ("h", "m")
            message = Message(name, number, sender, tag, answer or Answer("bird", "so"), receiver)
            why = [] if number == 1 else judged("yes", "yes") if tag == "RATIFY" else judged()
            if learned is not None and number > 1:
                asked = Judgement(LEARN, digest("y"), digest("z"), Outcome.YES, True, 0.1, learned)
                why = [asked, *why]
            self.board.append(name, Event.of_message(message, "{}", why))
        if ending is not None:
            self.board.end(name, ending, cause, [])
        return name


@dataclass
class Page(HTMLParser):
    """What is in a page: elements, attributes that could act, where it points, its text."""

    elements: set[str] = field(default_factory=set)
    acting: list[str] = field(default_factory=list)
    pointing: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    policy: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        given = dict(attrs)
        for name, value in attrs:
            if name.startswith("on") or name in ("srcdoc", "action", "formaction", "ping"):
                self.acting.append(name)
            elif name in ("href", "src", "xlink:href", "srcset", "poster", "data"):
                self.pointing.add(value or "")
            elif name == "id":
                self.ids.append(value or "")
            elif name == "style" and "url(" in (value or "").replace("url(#", ""):
                self.acting.append("style")
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given.get("content") or ""

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


_SCRIPTS = re.compile(
    '<script type="application/octet-stream" id="packed">([A-Za-z0-9+/=]*)</script>\n'
    "<script>(.*?)</script>\n",
    re.DOTALL,
)


def unfolded(path: Path) -> str:
    """The HTML in the file `path`, with its sessions in place of the scripts that unfold them.

    There are no other scripts, and the page's policy names the one that runs.
    """
    text = path.read_text("utf-8")
    [(packed, script)] = _SCRIPTS.findall(text)
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{hashed}&#39;;" in text
    sessions = zlib.decompress(base64.b64decode(packed)).decode()
    return _SCRIPTS.sub(lambda _: sessions, text)


def page_of(path: Path) -> Page:
    """The page in the file `path`, unfolded, as it was parsed."""
    page = Page()
    page.feed(unfolded(path))
    page.close()
    return page


def outside(pointing: Sequence[str] | set[str]) -> list[str]:
    """What points out of the page."""
    return [where for where in pointing if not where.startswith(("#", "data:"))]
