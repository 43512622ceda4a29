"""A whole study over HTTP: withdrawals, drop-outs, second devices, lost partners, kills."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from backends.databases import SqlBlackboard
from backends.databases.verify import verify_engine
from pxp_fsm.studies.export import export_study
from tests.studies.experts import drug
from tests.web.studies import Person, StudyProcess, study_server

pytestmark = pytest.mark.deep

SHORT = {
    'instances = ["paracetamol", "lidocaine"]': 'instances = ["paracetamol"]',
    'instances = ["sotalol", "propranolol"]': 'instances = ["propranolol"]',
    "up to ten messages": "up to three messages",
    "n = 10": "n = 3",
}
FATES = [
    "", "declines", "fails", "withdraws", "leaves", "second", "", "withdraws", "leaves", "second",
    "", "",
]  # fmt: skip


def person(server: StudyProcess, who: str, fate: str = "") -> Person:
    """Somebody who comes by the panel's address, on a device of theirs."""
    client = httpx2.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120)
    answer = client.get(server.address(who))
    assert answer.status_code == 200, answer.text
    token = next(cookie.value for cookie in client.cookies.jar if cookie.value)
    client.cookies.clear()
    return Person(client, str(token), server.study, fate)


def takes_part(server: StudyProcess, number: int, fate: str) -> Person:
    """Carry somebody on until their fate stops them."""
    one = person(server, f"panel-{number}", fate)
    if fate in ("withdraws", "leaves", "second"):
        page = one.carried("ANSWERING")
        if fate == "withdraws":
            one.act("WITHDRAW")
        if fate == "second":
            one.reply(page)
            one.carried("BREAK")
            other = person(server, f"panel-{number}", fate)
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
        early = person(server, "panel-1")
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
            for entry in board.entries(one.session)
            if entry.message.sender == "h" and one.subject
        )
        for one in came:
            if one.fate == "":
                assert said[one.subject] == one.sent > 0
        names = export_study(study, board, tmp_path / "export")
    text = "".join(path.read_text("utf-8") for path in names)
    assert "panel-" not in text


def test_no_request_of_a_participant_is_a_fault_of_the_server(tmp_path: Path) -> None:
    """Requests over all routes, made from the server's own description, right and wrong."""
    schemathesis = pytest.importorskip("schemathesis", reason="pip install schemathesis")
    wrong = schemathesis.GenerationMode.NEGATIVE
    study = replace(drug(tmp_path, **SHORT), experts=10_000)
    with study_server(study, tmp_path / "people.sqlite") as found:
        found.lab("POST", "/events/open")
        one = found.arrives("one")
        one.carried("ANSWERING")
        described = one.ask("GET", "/openapi.json").json()
        routes = [
            each.ok() for each in schemathesis.openapi.from_dict(described).get_all_operations()
        ]
        for route in routes:
            cases = route.as_strategy() | route.as_strategy(generation_mode=wrong)

            @settings(
                max_examples=-(-2_000 // (2 * len(routes))),
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(cases, st.sampled_from([one.token, found.tokens[""]]))
            def ask(case: object, token: str) -> None:
                request(found.client, case, token)

            ask()


def request(client: object, case: object, token: str) -> None:
    """Send what was generated; whatever it is, the server does not fail."""
    sent = case.as_transport_kwargs()  # type: ignore[attr-defined]
    path = str(sent["url"]).partition("127.0.0.1")[2]
    content = sent.get("data")
    body = {"json": sent.get("json"), "params": sent.get("params")}
    if isinstance(content, str | bytes):
        body["content"] = content
    headers = {
        name: value
        for name, value in dict(sent.get("headers") or {}).items()
        if name.lower() in ("content-type", "accept")
    }
    headers["authorization"] = f"Bearer {token}"
    try:
        answer = client.request(sent["method"], path, headers=headers, **body)  # type: ignore[attr-defined]
    except (httpx2.InvalidURL, UnicodeError, TypeError):
        return  # no client can send it
    assert answer.status_code < 500, (path, body, answer.text)
