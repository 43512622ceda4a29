"""What fails between a client and its server: asked again, or the end of a session or of a run."""

from __future__ import annotations

import httpx2
import pytest

from backends.models.failures import CallFailed
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import Halted, NoAnswer
from pxp_fsm.prompting.model import Stop
from tests.backends.model_servers import (
    ANTHROPIC,
    BOTH,
    OPENAI,
    Log,
    Pauses,
    Server,
    ask,
    events,
    failing,
    good,
    message,
    run,
    said,
    served,
)

pytestmark = pytest.mark.usefixtures("model_keys")


@pytest.mark.parametrize("name", BOTH)
def test_a_cut_stream_is_asked_for_again(name: str) -> None:
    def cut(_request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, content=events(name, cut=True), headers=headers)

    def gone(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"")

    def torn(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.RemoteProtocolError("peer closed connection", request=request)

    server = Server(cut, gone, torn, good(name))
    reply = served(name, server, ask(max_tokens=9000))
    assert (reply.text, reply.served.retries) == ("fine", 3)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_passing_failure_is_asked_again_no_sooner_than_the_server_says(
    name: str, status: int
) -> None:
    pauses = Pauses()
    server = Server(failing(status, {"retry-after": "7"}), failing(status), good(name))
    reply = served(name, server, ask(), pauses=pauses)
    assert (reply.text, reply.served.retries) == ("fine", 2)
    assert pauses.slept[0] == 7.0
    assert 1.0 <= pauses.slept[1] <= 2.0


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("status", "billed"), [(500, False), (502, True), (503, False), (504, True)]
)
def test_what_a_gateway_gave_up_may_have_been_billed(name: str, status: int, billed: bool) -> None:
    with pytest.raises(CallFailed) as failed:
        served(name, failing(status), ask(), Settings(attempts=1))
    assert failed.value.billed is billed


TOO_LONG = {
    "Anthropic": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8 maximum"},
    "OpenAI": {"code": "context_length_exceeded", "message": "This model's maximum context length"},
    "llama.cpp": {"type": "exceed_context_size_error", "message": "the request exceeds"},
}


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("words", TOO_LONG)
def test_a_request_that_is_longer_than_the_context_window_is_sent_once(
    name: str, words: str
) -> None:
    """It is no fault of the run, costs nothing, and whoever asked is told why."""
    body = {"error": TOO_LONG[words]}
    log, server = Log(), Server(lambda _request: httpx2.Response(400, json=body), good(name))
    reply = served(name, server, ask(), log=log)
    assert (reply.text, reply.stop, reply.served.cost) == ("", Stop.CONTEXT, 0.0)
    assert (len(server.seen), [call.dollars for call in log.calls]) == (1, [0.0])


@pytest.mark.parametrize("name", BOTH)
def test_a_reply_is_not_asked_for_at_a_length_for_which_the_window_has_no_room(name: str) -> None:
    reason = "max_tokens" if name == ANTHROPIC else "length"
    cut = httpx2.Response(200, json=said(name, "so", reason))
    body = {"error": TOO_LONG["OpenAI"]}
    server = Server(lambda _request: cut, lambda _request: httpx2.Response(400, json=body))
    reply = served(name, server, ask())
    assert (reply.text, reply.stop, len(server.seen)) == ("so", Stop.LENGTH, 2)
    if name == ANTHROPIC:
        full = said(name, "so", "model_context_window_exceeded")
        server = Server(lambda _request: httpx2.Response(200, json=full))
        assert served(name, server, ask()).stop is Stop.CONTEXT
        assert len(server.seen) == 1


@pytest.mark.parametrize("name", BOTH)
def test_a_server_that_never_gets_better_ends_the_session_only(name: str) -> None:
    server, log = Server(failing(529)), Log()
    with pytest.raises(NoAnswer, match=r"HTTP 529.*tried 3 times"):
        served(name, server, ask(), Settings(attempts=3), log=log)
    assert len(server.seen) == 3
    assert [(call.reply, call.failure[-13:]) for call in log.calls] == [(None, "tried 3 times")]


@pytest.mark.parametrize("name", BOTH)
def test_a_timeout_is_asked_again(name: str) -> None:
    def late(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("late", request=request)

    assert served(name, Server(late, good(name)), ask()).served.retries == 1


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("{", "application/json"),
        ("<html>busy</html>", "text/html"),
        ("", "application/json"),
        ('{"id": 1}', "application/json"),
        ("[]", "application/json"),
        ("null", "application/json"),
        ('{"content": "x", "choices": "x"}', "application/json"),
        ('{"content": [{"type": "text", "text": 5}], "choices": [5]}', "application/json"),
        (b'{"content": "\xff"}', "application/json"),
    ],
)
def test_a_body_that_is_no_reply_is_asked_again(name: str, body: str | bytes, kind: str) -> None:
    def broken(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=body, headers={"content-type": kind})

    assert served(name, Server(broken, good(name)), ask()).served.retries == 1
    with pytest.raises(CallFailed, match="malformed"):
        served(name, broken, ask(), Settings(attempts=2))


def test_a_server_that_never_replies_as_a_model_is_given_up_with_what_it_said() -> None:
    """A wrong address does not become right: three tries, and the run stops."""
    asked = []

    def page(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, content="<html>It works", headers={"content-type": "text/html"})

    with pytest.raises(Halted, match="'<html>It works'; tried 3 times: check the server"):
        served(OPENAI, page, ask())
    assert len(asked) == 3


@pytest.mark.parametrize("number", [-1, "many", 1.5, True])
def test_usage_that_is_none_is_no_reply(number: object) -> None:
    body = message()
    body["usage"]["output_tokens"] = number
    with pytest.raises(CallFailed, match="usage"):
        served(ANTHROPIC, lambda _r: httpx2.Response(200, json=body), ask(), Settings(attempts=1))


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_is_wrong_for_every_session_stops_the_run(name: str, status: int) -> None:
    server = Server(failing(status))
    with pytest.raises(Halted, match=f"HTTP {status}"):
        served(name, server, ask())
    assert len(server.seen) == 1


@pytest.mark.parametrize("name", BOTH)
def test_a_server_that_cannot_be_reached_stops_the_run(name: str) -> None:
    def away(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(Halted, match="tried 2 times: check the server"):
        served(name, away, ask(), Settings(attempts=2))
    told: list[str] = []
    with pytest.raises(Halted, match="tried 3 times: check the server"):
        served(name, away, ask(), on_wait=told.append)
    assert [said[said.index("(attempt") :] for said in told] == [
        "(attempt 1 of 3)",
        "(attempt 2 of 3)",
    ]


@pytest.mark.parametrize("name", BOTH)
def test_a_request_that_is_refused_ends_its_session_or_as_the_first_the_run(name: str) -> None:
    refusing = failing(400, kind="invalid_request_error")
    server = Server(refusing)
    with pytest.raises(Halted, match="HTTP 400, 'not now': mend that, then resume the run"):
        served(name, server, ask())
    assert len(server.seen) == 1
    server = Server(good(name), refusing)

    async def twice() -> None:
        async with Serving(Settings(), transport=httpx2.MockTransport(server)) as serving:
            model = serving.model(name)
            await model.reply(ask("one"))
            await model.reply(ask("two"))

    with pytest.raises(NoAnswer, match="HTTP 400, 'not now'"):
        run(twice())
