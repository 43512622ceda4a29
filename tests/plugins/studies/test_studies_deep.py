"""A whole study over HTTP: withdrawals, drop-outs, second devices, lost partners, kills."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from backends.databases import SqlBlackboard
from backends.databases.verify import verify_engine
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.members import seated
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.plugins.studies import slots, tasks
from pxp_fsm.plugins.studies.export import export_study
from pxp_fsm.plugins.studies.files import SlotLengths
from pxp_fsm.plugins.studies.pages import host
from pxp_fsm.plugins.studies.views import page_bytes
from pxp_fsm.protocol.messages import Answer, Question
from tests.plugins.studies.experts import SHORT, drug
from tests.plugins.studies.studies import Person, StudyProcess, study_server
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.deep

FATES = [
    "", "declines", "fails", "withdraws", "leaves", "second", "", "withdraws", "leaves", "second",
    "", "",
]  # fmt: skip


def takes_part(server: StudyProcess, number: int, fate: str) -> Person:
    """Carry somebody on until their fate stops them."""
    one = server.arrives(f"panel-{number}", fate)
    if fate in ("withdraws", "leaves", "second"):
        page = one.carried("ANSWERING")
        if fate == "withdraws":
            one.act("WITHDRAW")
        if fate == "second":
            one.goes_on(page)
            one.carried("BREAK")
            other = server.arrives(f"panel-{number}", fate)
            assert other.token != one.token
            other.seen.update(one.seen)
            one = other
        if fate != "second":
            return one
    one.carried()
    return one


def test_twelve_experts_take_part_over_http(tmp_path: Path) -> None:
    study = drug(tmp_path, **SHORT)
    with StudyProcess(study.path) as server:
        early = server.arrives("panel-1")
        assert early.look()["status"] == "INVITED"
        server.lab("events/open")
        with ThreadPoolExecutor(4) as crowd:
            numbers = range(1, len(FATES) + 1)
            came = list(crowd.map(lambda one: takes_part(server, one, FATES[one - 1]), numbers))
        server.end()
        server.start()
        left = [one for one in came if one.fate == "leaves"]
        assert {one.look()["status"] for one in left} <= {"WAITING", "ANSWERING"}
        view = server.lab("events/close")
        assert view["statuses"] == {"DECLINED": 1, "ERASED": 2, "DEBRIEF": 2, "DONE": 7}
        for one in left:
            assert one.carried()["status"] == "DONE"
        assert server.lab("events/anonymise")["statuses"]["ANONYMISED"] == 9
    seen = sum((one.seen for one in came), Counter(early.seen))
    assert {"READING", "TRAINING", "BEFORE", "BREAK", "AFTER", "DEBRIEF", "DONE"} <= set(seen)
    with SqlBlackboard(str(server.database), create=False) as board:
        assert verify_engine(board.engine).problems == ()
        said = Counter(
            one.subject
            for one in board.sessions()
            for event in board.events(one.session)
            if event.message is not None and event.message.sender == "h" and one.subject
        )
        for one in came:
            if one.fate == "":
                assert said[one.subject] == one.sent > 0
        names = export_study(study, board, tmp_path / "export")
    text = "".join(path.read_text("utf-8") for path in names)
    assert "panel-" not in text


def test_what_is_served_tells_nothing_of_a_blinded_partner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two partners that say the same, one quick and one slow: the same bytes, in the same order.

    So are the pages at each piece of news; and there is none that brings nothing new. Where the
    machine is so slow that an answer misses its slot, which can be seen, slots last longer.
    """
    start, said = runs.start, Answer("CC(=O)O.Nc1ccccc1", "An amide. See US08440830B2. Use DCC.")

    late, released = list[slots.AnswerRelease](), slots.released

    def noted(*given: float) -> slots.AnswerRelease:
        release = released(*given)
        late.extend([release] * (release.slots > 1))
        return release

    monkeypatch.setattr(slots, "released", noted)
    monkeypatch.setattr(tasks, "released", noted)

    def pages(partner: str, seconds: float, least: float) -> tuple[list[bytes], list[bytes]]:
        folder = f"{partner}-{least}"

        def machine(_question: Question) -> Answer:
            time.sleep(seconds)
            return said

        def begin(plan: Plan, board: SqlBlackboard, name: str) -> Run[TaskOpening]:
            task, data = read_plan(plan)
            machine.__qualname__ = machine.__name__ = partner
            return start(TaskOpening(plan, seated(task, plan, machine), data), board, name=name)

        monkeypatch.setattr(runs, "start", begin)
        (tmp_path / folder).mkdir()
        study = replace(drug(tmp_path / folder, **SHORT), slots=SlotLengths(least, least + 1))
        with study_server(study, tmp_path / folder / "people.sqlite") as found:
            heard, tell = list[bytes](), found.host.pages.tell

            def told(name: str) -> None:
                if name == one.subject:
                    heard.append(page_bytes(found.host.page(name)))
                tell(name)

            found.lab("POST", "/events/open")
            one = found.arrives("somebody")
            one.draw = random.Random(3)
            monkeypatch.setattr(found.host.pages, "tell", told)
            page, seen = one.carried("WAITING"), [one.content]
            while page["status"] in ("WAITING", "ANSWERING"):
                page = one.until(
                    lambda x: x["status"] == "BREAK" or (x.get("session") or {}).get("asked")
                )
                seen.append(one.content)
                if page["status"] == "ANSWERING":
                    page = one.reply(page)
                    seen.append(one.content)
        assert len(seen) > 8
        assert not any(b"US08440830B2" in one or partner.encode() in one for one in seen)
        assert all(before != after for before, after in pairwise(heard))
        return seen, heard

    for least in (2.0, 6.0, 18.0):
        late.clear()
        quick, slow = pages("zebra", 0.0, least), pages("walrus", 0.4, least)
        if not late:
            break
    assert not late
    assert quick == slow


def test_a_partner_that_answers_within_a_slot_is_no_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, answers = runs.start, threading.Event()

    async def machine(_question: Question) -> Answer:
        assert await asyncio.to_thread(answers.wait, PATIENCE)
        return Answer("CC(=O)O.Nc1ccccc1", "An amide.")

    def begin(plan: Plan, board: SqlBlackboard, name: str) -> Run[TaskOpening]:
        task, data = read_plan(plan)
        return start(TaskOpening(plan, seated(task, plan, machine), data), board, name=name)

    monkeypatch.setattr(runs, "start", begin)
    study = replace(drug(tmp_path, **SHORT), slots=SlotLengths(1_000.0, 1_000.0))
    with study_server(study, tmp_path / "people.sqlite") as found:
        heard, board = list[str](), found.host.conduct.board
        found.lab("POST", "/events/open")
        one = found.arrives("one")
        one.carried("WAITING")
        monkeypatch.setattr(found.host.pages, "tell", heard.append)
        try:
            waits = one.until(lambda page: page.get("session"))
            found.host.look(one.subject)
            known = list(heard)
        finally:
            answers.set()
        assert waits["session"]["messages"] == []  # the molecule is there, and nobody has answered
        until(lambda: board.events(f"drug-experts-{one.subject}-1/1/1"))
        found.host.look(one.subject)
        assert heard == known
        assert one.look() == waits


def test_a_question_is_asked_again_at_the_end_of_a_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart, however soon the partner is ready again; what is sent meanwhile waits."""
    study, path = drug(tmp_path, **SHORT), tmp_path / "people.sqlite"
    with study_server(study, path) as found:
        found.lab("POST", "/events/open")
        one = found.arrives("one")
        one.carried("ANSWERING")
        asked = one.until(lambda page: page["session"]["asked"])["session"]["asked"]
    now = [4e9]
    monkeypatch.setattr(host, "time", SimpleNamespace(time=lambda: now[0]))
    with study_server(replace(study, slots=SlotLengths(1.0, 1.0)), path) as found:
        one, questions = found.arrives("one"), found.host.runner.questions
        session = next(
            record.session for record in found.host.conduct.board.sessions("drug-experts-p001-1")
        )
        one.until(lambda page: page["status"] == "ANSWERING" and questions.waiting(session))
        for at, shown in ((4e9 + 0.9, False), (4e9 + 1.1, True)):
            now[0] = at
            assert bool(one.look()["session"]["asked"]) is shown
            draft = one.ask("PUT", "/api/participant/draft", json={"number": 2})
            assert draft.status_code == (204 if shown else 409)
            assert found.host.will_ask(one.subject) is not shown
        assert one.look()["session"]["asked"] == asked
