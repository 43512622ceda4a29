"""The server of a study: who comes in, what is offered and refused, who sees what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from starlette.testclient import TestClient

from backends.databases import SqlBlackboard, disclosure, tokens
from backends.databases.drafts import timings_of
from backends.databases.locks import RunLocked
from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.plugins.studies.files import load_study
from pxp_fsm.plugins.studies.pages.participants import Arrivals, study_site
from pxp_fsm.web.links import EXPERTS, checked_url
from tests.plugins.studies.studies import (
    Person,
    StudyServer,
    comes,
    identifiers,
    study_server,
)
from tests.web.experts import BASE

NETWORKS = Path("examples/studies/easylan.toml")
ACCEPTED = load_study(NETWORKS).payment.accepted["STUDY_ID"][0]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyServer]:
    """An open study of networks: its tasks need no run."""
    path = tmp_path_factory.mktemp("study") / "people.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))
        with study_server(load_study(NETWORKS), path) as found:
            early = found.arrives("early")
            assert early.look()["status"] == "INVITED"
            assert found.lab("POST", "/events/open").json()["state"] == "OPEN"
            assert early.look()["status"] == "CONSENTING"
            yield found


def test_who_comes_by_the_panel_is_one_person_on_every_device(there: StudyServer) -> None:
    one, other = there.arrives("same"), there.arrives("same")
    assert one.look()["subject"] == other.look()["subject"]
    assert one.token != other.token
    one.act("CONSENT", {"version": "1"})
    assert other.look()["status"] == "READING"
    known = disclosure.identifiers_of(there.host.conduct.board, "easylan")
    assert identifiers(there.host.conduct.study, "same") in known.values()
    assert b"same" not in other.ask("GET", "/api/participant").content


@pytest.mark.parametrize(
    "query",
    [
        *("", "?PROLIFIC_PID=", "?OTHER=x", "?token=", "?pair=x", "?PROLIFIC_PID=x"),
        "?PROLIFIC_PID=x&STUDY_ID=another",
        f"?PROLIFIC_PID={'x' * 300}&STUDY_ID={ACCEPTED}",
    ],
)
def test_nobody_else_comes_in(there: StudyServer, query: str) -> None:
    before = there.host.conduct.subjects
    for method in ("GET", "POST"):
        answer = there.client.request(method, f"/{query}", headers={"origin": BASE})
        assert answer.status_code == 403
    assert there.host.conduct.subjects == before


def test_an_address_of_the_panel_takes_no_place(there: StudyServer) -> None:
    before = there.host.conduct.subjects
    query = identifiers(there.host.conduct.study, "image")
    for _ in range(3):
        shown = there.client.get("/", params=query)
        assert (shown.status_code, "set-cookie" in shown.headers) == (200, False)
    for how in ({"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"}, {"origin": "http://a"}):
        elsewhere = {"sec-fetch-site": "cross-site", **how}
        assert there.client.get("/", params=query, headers=elsewhere).status_code == 403
    for seal in ("", "9.x", "99999999999999.0", "\u0661.a", "-1.", "inf."):
        params = {**query, "pxp-seen": seal}
        answer = there.client.post("/", params=params, headers={"origin": BASE})
        assert (answer.status_code, "this page is too old" in answer.text.lower()) == (403, True)
    assert there.host.conduct.subjects == before


def test_the_button_is_for_whom_the_page_was_shown(there: StudyServer) -> None:
    study = there.host.conduct.study
    now = [1000.0]
    arrivals = Arrivals(there.host.conduct, lambda: now[0])
    shown = arrivals.page(identifiers(study, "button"), BASE)
    assert shown is not None
    before = there.host.conduct.subjects
    address = re.search(r'action="/\?([^"]*)"', bytes(shown.body).decode())
    assert address is not None
    given = dict(parse_qsl(unescape(address[1])))
    with pytest.raises(Refused, match="too old"):
        arrivals.take({**given, "PROLIFIC_PID": "another"})
    with pytest.raises(Refused, match="too old"):
        Arrivals(there.host.conduct, lambda: now[0]).take(given)  # another server's
    now[0] += 3601
    with pytest.raises(Refused, match="too old"):
        arrivals.take(given)
    assert there.host.conduct.subjects == before
    now[0] -= 2
    assert arrivals.take(given)
    assert len(there.host.conduct.subjects) == len(before) + 1


def test_whoever_conducts_stays_who_they_are(there: StudyServer) -> None:
    client = TestClient(there.client.app, base_url=BASE)
    assert client.get("/", params={"token": there.tokens[""]}).status_code == 200
    before = there.host.conduct.subjects
    answer = comes(client, "conductor", there.host.conduct.study)
    assert (answer.status_code, "open the address in a private window" in answer.text) == (
        403,
        True,
    )
    assert there.host.conduct.subjects == before
    subject = before[0]
    link = there.lab("POST", f"/participants/{subject}/link").json()["link"]
    assert client.get(link).status_code == 200  # it opens, and takes nothing from the conductor
    assert client.get("/api/me").json()["role"] == "conductor"


def test_whoever_opens_a_link_after_withdrawing_reads_a_sentence_for_them(
    there: StudyServer,
) -> None:
    person = there.arrives("leaver")
    client = TestClient(there.client.app, base_url=BASE)
    assert person.act("WITHDRAW")["status"] == "ERASED"
    answer = client.get("/", params={"token": person.token})
    assert (answer.status_code, answer.headers["content-type"][:9]) == (403, "text/html")
    assert "If you have withdrawn from the study, what you said is erased" in answer.text
    assert "command" not in answer.text


def test_a_link_of_another_study_or_of_an_experiment_opens_nothing(there: StudyServer) -> None:
    for scope in (EXPERTS, "drug-experts"):
        token = tokens.issue(there.host.conduct.board, scope, "p001", seconds=60)
        person = Person(there.client, token, there.host.conduct.study)
        assert person.ask("GET", "/api/participant").status_code == 403


def test_what_is_not_offered_is_refused(there: StudyServer) -> None:
    person = there.arrives("refused")
    wrong: list[tuple[str, Any]] = [
        ("READ", None),
        ("ANSWER", None),
        ("ANONYMISE", None),
        ("CONSENT", {"version": "another"}),
        ("CONSENT", [[[]]]),
        ("x" * 21, None),
    ]
    for label, payload in wrong:
        answer = person.ask(
            "POST", "/api/participant/act", json={"label": label, "payload": payload}
        )
        assert answer.status_code == 422, (label, answer.text)
    for path, body in (("reply", {"key": "x", "choice": "send"}), ("draft", {"number": 1})):
        method = "POST" if path == "reply" else "PUT"
        assert person.ask(method, f"/api/participant/{path}", json=body).status_code == 409
    assert person.ask("POST", "/api/participant/finish").status_code == 422
    assert person.ask("GET", "/api/participant/pictures/0").status_code == 404
    assert person.look()["status"] == "CONSENTING"


def test_the_researchers_routes_are_not_there_for_participants(there: StudyServer) -> None:
    person = there.arrives("curious")
    subject = there.host.conduct.subjects[0]
    described = person.ask("GET", "/openapi.json").json()["paths"]
    asked = 0
    for path, methods in described.items():
        if path.startswith("/api/study"):
            real = path.format(event="close", subject=subject, session="1-1")
            for method in methods:
                asked += 1
                assert person.ask(method.upper(), real).status_code == 404, real
    assert asked >= 9
    assert there.host.conduct.state == "OPEN"


def test_the_researcher_is_no_participant(there: StudyServer) -> None:
    headers = {"authorization": f"Bearer {there.tokens['']}"}
    assert there.client.get("/api/participant", headers=headers).status_code == 404
    assert there.lab("GET", "/participants/p999/sessions").status_code == 404
    assert there.lab("POST", "/events/open").status_code == 422
    assert there.lab("POST", "/events/explode").status_code == 422


def test_arms_are_told_to_who_asks_for_them_alone(there: StudyServer) -> None:
    there.arrives("armed")
    about = [arm.about.encode() for arm in there.host.conduct.study.arms]
    listed = there.lab("GET").content
    assert not any(one in listed for one in (*about, b"manual", b"condition"))
    subject = there.host.conduct.subjects[-1]
    told = there.lab("GET", f"/participants/{subject}/arms").json()
    assert len(told) == 4
    assert any(one.endswith("manual") for one in told)


def test_what_is_typed_in_answer_to_questions_is_kept(there: StudyServer) -> None:
    person = there.arrives("typing")
    person.carried("BEFORE")
    path = "/api/participant/answers"
    assert person.ask("PUT", path, json={"answers": {"programming": "4"}}).status_code == 204
    assert there.arrives("typing").look()["draft"] == {"programming": "4"}
    wrong = '{"answers": {"programming": NaN}}'
    headers = {"content-type": "application/json"}
    assert person.client.put(path, content=wrong, headers=headers).status_code == 403
    person.act("ANSWERED", {"programming": 4})
    assert person.ask("PUT", path, json={"answers": {"programming": "5"}}).status_code == 409
    conduct, subject = there.host.conduct, person.look()["subject"]
    timings = timings_of(conduct.board, f"easylan/{subject}")
    assert {one.consent for one in timings.values()} == {"1"}
    assert {one.active for one in timings.values()} == {1.5}


def test_tasks_about_networks_are_done_one_by_one(there: StudyServer) -> None:
    person = there.arrives("networker")
    done = []
    page = person.carried("ANSWERING")
    while page["status"] == "ANSWERING":
        done.append((page["task"]["network"], page["task"]["condition"]))
        assert person.note(person.ask("POST", "/api/participant/finish"))["status"] == "BREAK"
        page = person.carried("ANSWERING")
    assert len(set(done)) == 4
    assert page["status"] == "DONE"
    assert page["leave"].endswith("CDONE")


def test_who_was_invited_by_a_link_is_sent_to_no_panel(there: StudyServer) -> None:
    link = there.lab("POST", "/participants").json()["link"]
    person = Person(there.client, link.partition("token=")[2], there.host.conduct.study)
    page = person.carried("ANSWERING")
    while page["status"] == "ANSWERING":
        person.ask("POST", "/api/participant/finish")
        page = person.carried("ANSWERING")
    assert (page["status"], page["leave"]) == ("DONE", "")


def test_who_withdraws_is_forgotten_and_their_place_is_given_again(there: StudyServer) -> None:
    person = there.arrives("gone")
    conduct = there.host.conduct
    subject, left = person.look()["subject"], conduct.places_left
    place = conduct.participation(subject).place
    page = person.act("WITHDRAW")
    assert (page["status"], page["leave"][-10:]) == ("ERASED", "CWITHDRAWN")
    assert person.ask("GET", "/api/participant").status_code == 403
    assert conduct.places_left == left + 1
    new = there.arrives("instead").look()["subject"]
    assert new != subject
    assert conduct.participation(new).place == place


def test_a_place_is_given_to_somebody_else_on_the_researchers_word(there: StudyServer) -> None:
    person = there.arrives("slow")
    person.carried("READING")
    subject, left = person.look()["subject"], there.host.conduct.places_left
    assert there.lab("POST", f"/participants/{subject}/reassign").json()["places"] == left + 1
    assert person.look()["status"] == "LAPSED"
    assert there.lab("POST", f"/participants/{subject}/reassign").status_code == 422
    assert person.carried()["status"] == "DONE"
    assert there.host.conduct.places_left == left + 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://[::1", "no address of a server"),
        ("https://h:99999", "no address of a server"),
        ("https://h:0", "no address of a server"),
        ("http://lab.example", "has no TLS"),
    ],
)
def test_a_wrong_address_is_refused(tmp_path: Path, url: str, said: str) -> None:
    with (
        SqlBlackboard(str(tmp_path / "people.sqlite")) as board,
        study_site(load_study(NETWORKS), board, url=url, invite=1) as site,
        pytest.raises(UsageError, match=said),
    ):
        site(8000)
    assert checked_url("http://localhost:9000/") == "http://localhost:9000"


def test_nobody_is_invited_where_too_many_are(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "people.sqlite")) as board:
        with (
            study_site(load_study(NETWORKS), board, invite=13) as site,
            pytest.raises(UsageError, match="the study has 12 places left"),
        ):
            site(8000)
        with study_server(load_study(NETWORKS), tmp_path / "people.sqlite") as found:
            assert found.host.conduct.subjects == ()


def test_a_second_server_of_a_study_is_refused(there: StudyServer) -> None:
    path = there.host.conduct.board.engine.url.database
    with (
        SqlBlackboard(str(path)) as board,
        pytest.raises(RunLocked, match="another process conducts study easylan"),
        study_site(load_study(NETWORKS), board),
    ):
        pass
