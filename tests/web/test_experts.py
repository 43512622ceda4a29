"""The server of experts: what is asked, answered, kept and refused, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.databases import SqlBlackboard, tokens
from backends.databases.drafts import read_draft, timings_of
from backends.people.browser import Given, QuestionKind, SeatQuestion, accepted
from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.errors import PXPError
from pxp_fsm.experiments import outcomes
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.web.experts.views import CaseStanding, standing_of
from pxp_fsm.web.hosting import RunState
from tests.tasks.animals import PROBLEM
from tests.waiting import until
from tests.web.experts import BASE, MINE, THEIRS, Expert, Served, served


@pytest.fixture(autouse=True, scope="module")
def _quick() -> Iterator[None]:
    """Automata are laid out by Graphviz where browsers show them, and not here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))
        yield


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lab.sqlite"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two experts side by side, each with a session that waits."""
    with served(tmp_path_factory.mktemp("two") / "lab.sqlite", "ann", "bea") as found:
        for subject in ("ann", "bea"):
            found.expert(subject).waiting()
        yield found


def stored(path: Path, session: str) -> list[tuple[str, str, Answer]]:
    with SqlBlackboard(str(path), create=False) as board:
        return [(m.sender, m.tag, m.answer) for m in board.session(session).history]


def test_a_record_read_just_before_its_run_ended_is_of_no_paused_run(place: Path) -> None:
    with served(place, "ann") as found:
        found.expert("ann").waiting()
        (hosted,) = found.host.hosted.values()
        record = found.host.board.session("run-ann/1/1").record
        for state, standing in (
            (RunState.OVER, CaseStanding.PARTNER),
            (RunState.PAUSED, CaseStanding.PAUSED),
            (RunState.STOPPED, CaseStanding.PAUSED),
        ):
            assert standing_of(replace(hosted, state=state), record, None) is standing


def test_a_person_answers_names_the_tag_looks_and_sends(place: Path) -> None:
    with served(place, "ann") as found:
        ann = found.expert("ann")
        view = ann.waiting()
        asked = view["asked"]
        assert (asked["step"], asked["number"], list(asked["offers"])) == ("answer", 2, ["theirs"])
        assert view["notice"] == "For research only, not for diagnosis or treatment."
        assert (view["board"], view["messages"][0]["sender"]) == (None, "")  # of two there is none
        assert (view["state"], view["about"]) == (
            "DECIDE",
            "has been spoken to and must answer",
        )
        ann.ask("PUT", f"/api/sessions/{view['id']}/draft", json={"number": 2, **MINE})
        assert ann.view(view["id"])["draft"]["prediction"] == MINE["prediction"]
        view = ann.gives(view, "own", **MINE)
        choices = {one["guard"]: one for one in view["asked"]["choices"]}
        assert choices["REF"]["allowed"]
        assert not choices["REJ"]["allowed"]
        assert "only after message 3" in choices["REJ"]["about"]
        view = ann.gives(view, "REF")
        look = view["asked"]
        assert (look["step"], look["tag"], look["answer"]) == ("look", "REFUTE", MINE)
        view = ann.gives(view, "edit")
        assert (view["asked"]["step"], view["draft"]["prediction"]) == (
            "answer",
            MINE["prediction"],
        )
        view = ann.gives(ann.gives(view, "own", **MINE), "REF")
        spent = {"active": 12.5, "idle": 3.0, "edits": 4, "pastes": 1}
        view = ann.gives(view, "send", spent=spent)
        assert [one["tag"] for one in view["messages"]][:2] == ["INIT", "REFUTE"]
        assert view["draft"] is None
        while view["asked"]:
            view = ann.says(view, "RAT")
        assert (view["standing"], view["ending"]) == ("over", "You agree.")
        session = "run-ann/1/1"
        timing = timings_of(found.host.board, session)[2]
        assert (timing.active, timing.pastes, len(timing.page)) == (12.5, 1, 12)
        assert read_draft(found.host.board, session, 2) is None
    said = stored(place, session)
    assert said[0] == ("m", "INIT", THEIRS)
    assert said[1] == ("h", "REFUTE", Answer(**MINE))
    assert "RATIFY" in {tag for _, tag, _ in said}


def test_match_and_agree_are_asked_where_the_plan_says_so(place: Path) -> None:
    with served(place, "ann", human="browser:relations") as found:
        ann = found.expert("ann")
        view = ann.gives(ann.waiting(), "own", **MINE)
        assert view["asked"]["step"] == "match"
        assert sorted(view["asked"]["texts"]) == sorted([THEIRS.prediction, MINE["prediction"]])
        view = ann.gives(view, "yes")
        assert view["asked"]["step"] == "agree"
        view = ann.gives(view, "yes")
        assert (view["asked"]["step"], view["asked"]["tag"]) == ("look", "RATIFY")
        ann.gives(view, "send")
        entry = found.host.board.events("run-ann/1/1")[1]
        assert [one.relation for one in entry.judgements] == ["MATCH", "AGREE"]


def test_an_answer_counts_once_however_often_it_is_sent(place: Path) -> None:
    with served(place, "ann") as found:
        ann = found.expert("ann")
        look = ann.gives(ann.gives(ann.waiting(), "own", **MINE), "REF")
        codes = sorted(ann.reply(look, "send").status_code for _ in range(3))
        assert codes == [200, 409, 409]
        ann.waiting()
        said = [entry.carried.tag for entry in found.host.board.events("run-ann/1/1")]
        assert said.count("REFUTE") == 2  # ann's, and the machine's own after it


def test_a_restart_and_another_device_find_question_and_draft(place: Path) -> None:
    with served(place, "ann") as found:
        before = found.expert("ann").waiting()
        typed = {"number": 2, **MINE}
        path = f"/api/sessions/{before['id']}/draft"
        assert found.expert("ann").ask("PUT", path, json=typed).status_code == 204
        token = found.tokens["ann"]
    with served(place, "ann") as found:
        ann = Expert(found.client, token)  # the link of before the restart
        after = ann.waiting()
        assert after["asked"] == before["asked"]
        link = ann.ask("POST", "/api/pairing", json={}).json()["link"]
        path = link.removeprefix(BASE)
        opened = found.client.get(path)
        assert opened.status_code == 200
        cookie = opened.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert found.client.get("/api/me").json()["subject"] == "ann"  # by its cookie
        view = found.client.get(f"/api/sessions/{after['id']}").json()
        assert view["draft"] | {"spent": None} == MINE | {"spent": None}
        found.client.cookies.clear()
        assert found.client.get(path).status_code == 403  # once
        stale = ann.reply({**after, "asked": {"key": "0" * 16}}, "own", **MINE)
        assert stale.status_code == 409


def test_a_session_that_waits_blocks_no_other(place: Path) -> None:
    with served(place, "ann", instances="sparrow,trout,dog") as found:
        ann = found.expert("ann")
        until(lambda: sum(one["standing"] == "you" for one in ann.sessions()) == 3)
        last = ann.sessions()[-1]["id"]
        assert ann.says(ann.view(last), "RAT")["standing"] == "over"
        assert [one["title"] for one in ann.sessions()] == ["Case 1", "Case 2", "Case 3"]


def _routes(found: Served) -> list[tuple[str, str, dict[str, Any]]]:
    schema = found.expert("").ask("GET", "/openapi.json").json()
    return [
        (method.upper(), path, about)
        for path, methods in schema["paths"].items()
        for method, about in methods.items()
    ]


def test_no_expert_reads_or_answers_a_session_of_another(two: Served) -> None:
    ann, bea = two.expert("ann"), two.expert("bea")
    view = bea.waiting()
    with_session = 0
    bodies: dict[str, Any] = {
        "draft": {"number": 2, **MINE},
        "reply": {"key": view["asked"]["key"], "choice": "own", **MINE},
    }
    for method, path, _ in _routes(two):
        there = path.replace("{session}", view["id"]).replace("{number}", "0")
        there = there.replace("{subject}", "bea")
        body = bodies.get(path.rpartition("/")[2], {})
        sent = {} if method == "GET" else {"json": body}
        answer = ann.ask(method, there, **sent)
        if "{session}" in path:
            with_session += 1
            assert answer.status_code == 404, path
            nowhere = ann.ask(
                method, path.replace("{session}", "f" * 20).replace("{number}", "0"), **sent
            )
            assert (nowhere.status_code, nowhere.text) == (404, answer.text), path
        if "/research/" in path:
            assert answer.status_code == 404, path
        for secret in (view["id"], "bea", "run-bea"):
            assert secret not in answer.text, path
        assert two.client.request(method, there, **sent).status_code == 403, path
    assert with_session >= 4
    assert bea.view(view["id"]) == view
    researcher = two.expert("")
    assert researcher.view(view["id"])["id"] == view["id"]
    for method, name in (("PUT", "draft"), ("POST", "reply")):
        path = f"/api/sessions/{view['id']}/{name}"
        assert researcher.ask(method, path, json=bodies[name]).status_code == 404


def test_an_expert_hears_of_their_own_sessions_alone(two: Served) -> None:
    def headers(subject: str) -> dict[str, str]:
        return {"origin": BASE, "authorization": f"Bearer {two.tokens[subject]}"}

    address = "ws://127.0.0.1:8000/api/events"
    with (
        two.client.websocket_connect(address, headers=headers("ann")) as heard,
        two.client.websocket_connect(address, headers=headers("bea")) as other,
    ):
        assert heard.receive_json() == other.receive_json() == {"type": "begin"}
        two.host.on_change("run-bea/1/1")
        two.host.on_change("run-ann/1/1")
        assert heard.receive_json() == {"type": "changed"}
        assert other.receive_json() == {"type": "changed"}
        two.host.on_change("run-bea/1/1")
        assert other.receive_json() == {"type": "changed"}


def test_links_expire_and_are_revoked(place: Path) -> None:
    with served(place, "ann") as found:
        ann, researcher = found.expert("ann"), found.expert("")
        short = tokens.issue(found.host.board, "expert", "ann", seconds=-1)
        assert Expert(found.client, short).ask("GET", "/api/me").status_code == 403
        other = tokens.issue(found.host.board, "a study", "ann", seconds=99)
        assert Expert(found.client, other).ask("GET", "/api/me").status_code == 403
        again = researcher.ask("POST", "/api/research/experts/ann/link", json={}).json()
        assert again["link"].startswith(f"{BASE}/?token=")
        told = researcher.ask("POST", "/api/research/experts/ann/revoke", json={}).json()
        assert told["revoked"] >= 2
        assert ann.ask("GET", "/api/me").status_code == 403
        token = again["link"].partition("token=")[2]
        assert Expert(found.client, token).ask("GET", "/api/me").status_code == 403
        assert researcher.ask("POST", "/api/research/experts/eve/link").status_code == 404
        raw = place.read_bytes() + place.with_name(f"{place.name}-wal").read_bytes()
        for one in (*found.tokens.values(), token):
            assert one.encode() not in raw


def test_a_run_is_paused_and_goes_on(place: Path) -> None:
    with served(place, "ann") as found:
        ann, researcher = found.expert("ann"), found.expert("")
        view = ann.waiting()
        paused = researcher.ask("POST", "/api/research/runs/0/pause", json={}).json()
        assert (paused["state"], paused["waits"]) == ("paused", {"paused": 1})
        assert ann.reply(view, "own", **MINE).status_code == 409
        assert ann.view(view["id"])["standing"] == "paused"
        gone_on = researcher.ask("POST", "/api/research/runs/0/resume", json={}).json()
        assert gone_on["state"] == "running"
        assert ann.waiting()["asked"] == view["asked"]
        ann.says(ann.waiting(), "RAT")
        (told,) = researcher.ask("GET", "/api/research/runs").json()
        assert (told["over"], told["state"], told["endings"]) == (1, "over", {"You agree.": 1})
        assert (told["results"]["total"], told["results"]["table"][0]) == (1, ["in all", "1"])
        assert researcher.ask("POST", "/api/research/runs/7/pause", json={}).status_code == 404


def test_two_runs_are_compared_as_pxp_compare_does(place: Path) -> None:
    with served(place, "ann", "bea") as found:
        researcher, path = found.expert(""), "/api/research/differences?first=0&second=1"
        before = researcher.ask("GET", path).json()
        assert "no finished session about the same instance" in before["trouble"]
        ann, bea = found.expert("ann"), found.expert("bea")
        assert ann.says(ann.waiting(), "RAT")["standing"] == "over"
        view = bea.waiting()
        while view["standing"] != "over":
            view = bea.says(view, "REF", **MINE)
        told = researcher.ask("GET", path).json()
        left, right = (outcomes.outcomes_of(found.host.board, f"run-{x}") for x in ("ann", "bea"))
        rows = outcomes.compare(left, right)
        assert told["headings"][1:3] == [
            "run-ann (uncontrolled, ann)",
            "run-bea (uncontrolled, bea)",
        ]
        assert [one[0] for one in told["table"]] == [one.row for one in rows]
        assert told["table"][2][1:4] == ["1.00", "0.00", "-1.00"]
        assert told["notes"][0] == "Sessions are paired by repetition and instance: 1 pair."
        wrong = "/api/research/differences?first=0&second=9"
        assert researcher.ask("GET", wrong).status_code == 404
        assert ann.ask("GET", path).status_code == 404


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        ({"choice": "own", "prediction": "7!", "explanation": "x"}, 422, "one word"),
        ({"choice": "own", "prediction": "C\x00", "explanation": "x"}, 422, "NUL"),
        ({"choice": "own", "prediction": "C", "explanation": "x" * 20_001}, 422, "20000"),
        ({"choice": "mine"}, 422, "one of: own, theirs"),
        ({"choice": "REJ"}, 422, "one of: own, theirs"),
        ({"choice": "own", "tag": "RATIFY"}, 422, "Extra inputs"),
        ({"choice": "own", "spent": {"active": -1}}, 422, "greater than or equal to 0"),
        ({"choice": "own", "spent": {"active": 1e400}}, 422, ""),
        ({"choice": "own", "prediction": "C" * 300_000}, 413, "262,144 bytes"),
    ],
)
def test_what_cannot_be_an_answer_is_refused(
    two: Served, sent: dict[str, Any], code: int, said: str
) -> None:
    ann = two.expert("ann")
    view = ann.waiting()
    body = json.dumps({"key": view["asked"]["key"], **sent})
    headers = {"authorization": f"Bearer {two.tokens['ann']}", "content-type": "application/json"}
    path = f"/api/sessions/{view['id']}/reply"
    answer = two.client.post(path, content=body, headers=headers)
    assert (answer.status_code, said in answer.text) == (code, True), answer.text
    assert ann.view(view["id"])["asked"] == view["asked"]
    half = two.client.post(path, content=body.replace('"own"', '"\\ud800"'), headers=headers)
    assert half.status_code in (413, 422)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(list(QuestionKind)),
    st.text(max_size=5) | st.sampled_from(["own", "theirs", "mine", "send", "yes"]),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_what_is_accepted_can_be_sent(
    step: QuestionKind, choice: str, left: str, right: str
) -> None:
    asked = SeatQuestion("s/1/1", step, {"theirs": THEIRS}, answer=THEIRS)
    try:
        found = accepted(asked, PROBLEM, Given(choice, left, right))
    except PXPError:
        return
    assert found.choice == choice
    if step is QuestionKind.ANSWER:
        assert found.prediction == PROBLEM.from_text(found.prediction)
        assert choice in ("own", "theirs")
    else:
        assert (found.prediction, found.explanation) == ("", "")
