"""A model's answer is on the expert's page while it is written, and never on a participant's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from pxp_fsm.diagrams.graphviz import Placement
from pxp_fsm.web.experts.views import legible
from tests.backends.model_servers import completion, events
from tests.waiting import PATIENCE
from tests.web.browsers import expect, opened
from tests.web.experts import BASE, THEIRS, Served, Server, served

PREDICTION = THEIRS.prediction
REPLY = json.dumps({"prediction": PREDICTION, "explanation": "Slowly 😀 and surely."})
EVENTS = "ws://127.0.0.1:8000/api/events"
HALF = REPLY[: REPLY.index("surely") - 1]


class SlowModel:
    """A model's server that writes half of each reply, and the rest once `goes_on` is set."""

    def __init__(self, server: HTTPServer) -> None:
        self.goes_on = threading.Event()
        self.reply = REPLY
        self.asked: list[dict[str, Any]] = []
        self.name = f"openai:slow@{server.url_for('/v1')}"
        server.expect_request("/v1/chat/completions").respond_with_handler(self._reply)

    def _reply(self, request: Request) -> Response:
        self.asked.append(request.get_json())
        if not self.asked[-1].get("stream"):
            self.goes_on.wait(PATIENCE)
            return Response(json.dumps(completion(self.reply)), content_type="application/json")
        return Response(self._pieces(), content_type="text/event-stream", direct_passthrough=True)

    def _pieces(self) -> Iterator[bytes]:
        yield events("openai", HALF, cut=True)
        self.goes_on.wait(PATIENCE)
        yield events("openai", REPLY[len(HALF) :])


@pytest.fixture
def model() -> Iterator[SlowModel]:
    with HTTPServer(threaded=True) as server:
        found = SlowModel(server)
        yield found
        found.goes_on.set()


def headers(found: Served, subject: str) -> dict[str, str]:
    return {"origin": BASE, "authorization": f"Bearer {found.tokens[subject]}"}


def written(found: Served, subject: str) -> str:
    """The id of an expert's session, as soon as they hear half of what is written in it."""
    with found.client.websocket_connect(EVENTS, headers=headers(found, subject)) as heard:
        found.host.on_write(found.expert(subject).sessions()[0]["id"])
        while True:
            event = heard.receive_json()
            if event.get("explanation") == "Slowly 😀 and":
                return str(event["id"])


def case(page: Any, number: int) -> Any:
    """A session in the queue."""
    return page.locator(".queue a", has_text=f"Case {number}")


def test_what_a_model_writes_is_seen_by_its_expert_alone_until_it_is_sent(
    tmp_path: Path, model: SlowModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pxp_fsm.web.views.place", lambda _: Placement(0, 0, 0, 0, (), ()))
    with served(tmp_path / "lab.sqlite", "ann", "bea", machine=model.name) as found:
        ann = found.expert("ann")
        session = written(found, "ann")
        view = ann.view(session)
        assert view["standing"] == "partner"
        assert view["messages"] == []
        assert view["writing"] == {
            "number": 1,
            "prediction": PREDICTION,
            "explanation": "Slowly 😀 and",
        }
        other = written(found, "bea")
        with found.client.websocket_connect(EVENTS, headers=headers(found, "bea")) as heard:
            assert heard.receive_json() == {"type": "begin"}
            found.host.on_write(session)
            found.host.on_write(other)
            assert heard.receive_json()["id"] == other
        model.goes_on.set()
        view = ann.waiting()
        assert view["writing"] is None
        assert [one["explanation"] for one in view["messages"]] == ["Slowly 😀 and surely."]
        assert all(one["stream"] for one in model.asked)


@pytest.mark.deep
def test_what_is_written_elsewhere_wipes_nothing_that_is_typed(
    browser: Any, tmp_path: Path, model: SlowModel
) -> None:
    (tmp_path / "animals.toml").write_text(
        'format = 1\ntask = "animals"\ninstances = ["sparrow", "trout"]\n'
        f'[agents]\nhuman = "browser"\nmachine = "{model.name}"\n',
        "utf-8",
    )
    model.goes_on.set()
    with (
        Server(tmp_path, "animals.toml", "--subject", "ann") as server,
        opened(browser, server.links["ann"], wait=False) as page,
        opened(browser, server.links["ann"], wait=False) as other,
    ):
        for number in (1, 2):
            expect(page.locator(".queue a.standing-you")).to_have_count(2)
            case(page, number).click()
            expect(page.get_by_role("heading", name=f"Case {number}")).to_be_visible()
            if number == 1:
                page.get_by_label("Your explanation").fill("typed by ann")
        case(page, 1).click()
        expect(page.get_by_label("Your explanation")).to_have_value("typed by ann")
        model.goes_on.clear()
        case(other, 2).click()
        other.get_by_label("Your prediction").fill("mammal")
        other.get_by_label("Your explanation").fill("Otherwise.")
        other.get_by_role("button", name="Continue").click()
        other.get_by_label("REFUTE").check()
        other.get_by_role("button", name="Continue").click()
        other.get_by_role("button", name="Send").click()
        expect(other.locator(".writing .explanation")).to_have_text("Slowly 😀 and")
        expect(other.locator(".writing")).to_contain_text("Nothing is sent yet.")
        other.reload()
        expect(other.locator(".writing .explanation")).to_have_text("Slowly 😀 and")
        page.get_by_label("Your explanation").press("End")
        page.keyboard.type(", and more")
        model.goes_on.set()
        expect(other.locator(".messages li")).to_have_count(3)
        expect(other.locator(".writing")).to_have_count(0)
        expect(page.locator(".queue a.standing-you")).to_have_count(2)
        expect(page.get_by_label("Your explanation")).to_have_value("typed by ann, and more")


@given(
    st.text(max_size=9),
    st.one_of(st.text(max_size=9), st.lists(st.text(min_size=1, max_size=3), max_size=3)),
    st.booleans(),
    st.booleans(),
)
def test_a_reply_is_legible_as_far_as_it_has_come(
    explanation: str, prediction: str | list[str], fenced: bool, ascii_only: bool
) -> None:
    reply = {"prediction": prediction, "explanation": explanation}
    text = json.dumps(reply, ensure_ascii=ascii_only)
    text = f"```json\n{text}\n```" if fenced else text
    whole = prediction if isinstance(prediction, str) else ", ".join(prediction)
    shown = [legible(text[:length]) for length in range(1, len(text) + 1)]
    assert shown[-1] == (whole, explanation)
    for first, second in shown:
        assert whole.startswith(first)
        assert explanation.startswith(second)


@pytest.mark.parametrize(
    "text", ["{", "`", '{"prediction": 7}', '{"explanation": {}}', "{]", '{"a":' + "[" * 9999, "{{"]
)
def test_what_is_no_reply_shows_nothing(text: str) -> None:
    assert legible(text) == ("", "")


def test_plain_text_is_shown_as_it_is() -> None:
    assert legible("Prediction: CCO\ud83d") == ("", "Prediction: CCO?")
