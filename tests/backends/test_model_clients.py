"""Both protocols through the vendors' own libraries: what goes out, what comes back, what fails."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backends.models.catalogue import ModelFacts, catalogue, parse_model_name
from backends.models.catalogue import Server as Declared
from backends.models.clients.anthropic_messages import AnthropicMessages
from backends.models.failures import CallFailed
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import Halted, NoAnswer
from pxp_fsm.prompting.model import Capability, Reply, Request, Role, Stop, Turn, Usage
from tests.backends.model_servers import (
    ANTHROPIC,
    BOTH,
    KEY,
    OPENAI,
    PNG,
    SCHEMA,
    Handler,
    Log,
    Pauses,
    Server,
    ask,
    completion,
    events,
    message,
    reply_to,
    run,
    said,
    served,
)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def good(name: str, text: str = "fine") -> Handler:
    return lambda request: reply_to(request, name, text)


def failing(status: int, headers: dict[str, str] | None = None, kind: str = "api_error") -> Handler:
    body = {"type": "error", "error": {"type": kind, "message": "not now"}}
    return lambda _request: httpx2.Response(status, json=body, headers=headers)


@pytest.mark.parametrize("name", BOTH)
def test_a_plain_reply_has_text_usage_and_request_id(name: str) -> None:
    server = Server(good(name))
    reply = served(name, server, ask())
    assert (reply.text, reply.stop, reply.usage) == ("fine", Stop.END, Usage(20, 5))
    assert (reply.served.request_id, reply.served.retries) == ("req_1", 0)
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_conversation_in_anthropics_words() -> None:
    server = Server(good(ANTHROPIC))
    turns = (Turn(Role.USER, "look", (PNG,)), Turn(Role.ASSISTANT, "a"), Turn(Role.USER, "b"))
    served(ANTHROPIC, server, Request("Be brief.", turns, SCHEMA, 300))
    body = server.body()
    assert body["system"] == "Be brief."
    assert body["max_tokens"] == 300
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    image, text = body["messages"][0]["content"]
    assert base64.b64decode(image["source"]["data"]) == PNG.data
    assert (image["source"]["media_type"], text["text"]) == ("image/png", "look")
    assert body["output_config"]["format"]["schema"] == SCHEMA
    assert body["cache_control"] == {"type": "ephemeral"}
    assert "temperature" not in body


def test_a_conversation_in_openais_words() -> None:
    server = Server(good(OPENAI))
    turns = (Turn(Role.USER, "look", (PNG,)), Turn(Role.ASSISTANT, "a"), Turn(Role.USER, "b"))
    served(OPENAI, server, Request("Be brief.", turns, SCHEMA, 300, 0.5, 7))
    body = server.body()
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant", "user"]
    image, text = body["messages"][1]["content"]
    assert base64.b64decode(image["image_url"]["url"].partition(",")[2]) == PNG.data
    assert text == {"type": "text", "text": "look"}
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (body["temperature"], body["seed"], body["max_completion_tokens"]) == (0.5, 7, 300)


def test_effort_and_schema_stand_in_one_object_and_thought_has_its_own_room() -> None:
    server = Server(good("anthropic:claude-opus-5-5", "fine"))
    served("anthropic:claude-opus-5-5", server, ask(schema=SCHEMA, effort="low", max_tokens=300))
    body = server.body()
    assert body["output_config"] == {
        "format": {"type": "json_schema", "schema": SCHEMA},
        "effort": "low",
    }
    assert (body["max_tokens"], body["stream"]) == (16_300, True)
    assert "tool_choice" not in body and "thinking" not in body
    server = Server(good("openai:gpt-6-luna", "fine"))
    served("openai:gpt-6-luna", server, ask(effort="high", max_tokens=300))
    body = server.body()
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("high", 16_300)


@pytest.mark.parametrize("name", BOTH)
def test_what_else_is_sent_never_drops_the_schema(name: str, tmp_path: Path) -> None:
    key = "output_config" if name == ANTHROPIC else "response_format"
    own = tmp_path / "mine.toml"
    own.write_text(
        f'[[server]]\nmodels = "{name}"\ncan = ["schema"]\nkey = "ANTHROPIC_API_KEY"\n'
        f'extra = {{ {key} = {{ effort = "low" }}, other = {{ one = 1 }} }}\n'
    )
    plain, server = Server(good(name)), Server(good(name))
    served(name, plain, ask(schema=SCHEMA))
    served(name, server, ask(schema=SCHEMA), Settings(catalogue=own))
    assert server.body()[key] == {**plain.body()[key], "effort": "low"}
    assert server.body()["other"] == {"one": 1}


def test_a_judge_leaves_nothing_in_the_prompt_cache() -> None:
    server = Server(good(ANTHROPIC))
    served(ANTHROPIC, server, ask(purpose="judge"))
    assert "cache_control" not in server.body()


def test_cached_tokens_are_told_apart() -> None:
    body = message(cache_read_input_tokens=7, cache_creation_input_tokens=3)
    reply = served(ANTHROPIC, lambda _request: httpx2.Response(200, json=body), ask())
    assert reply.usage == Usage(20, 5, 7, 3)
    body = said(OPENAI)
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 15}
    reply = served(OPENAI, lambda _request: httpx2.Response(200, json=body), ask())
    assert reply.usage == Usage(5, 5, 15)


@pytest.mark.parametrize("name", BOTH)
def test_a_long_reply_is_streamed_and_put_together(name: str) -> None:
    server = Server(good(name, "streamed"))
    reply = served(name, server, ask(max_tokens=9000))
    assert server.body()["stream"] is True
    assert (reply.text, reply.stop, reply.usage) == ("streamed", Stop.END, Usage(20, 5))


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
def test_empty_content_is_a_reply_without_text(name: str) -> None:
    reply = served(name, lambda _r: httpx2.Response(200, json=said(name, None)), ask())
    assert (reply.text, reply.stop) == ("", Stop.END)


@pytest.mark.parametrize(
    ("name", "reason", "stop"),
    [
        (ANTHROPIC, "max_tokens", Stop.LENGTH),
        (ANTHROPIC, "model_context_window_exceeded", Stop.LENGTH),
        (ANTHROPIC, "refusal", Stop.REFUSAL),
        (ANTHROPIC, "stop_sequence", Stop.END),
        (OPENAI, "length", Stop.LENGTH),
        (OPENAI, "content_filter", Stop.REFUSAL),
    ],
)
def test_why_a_reply_ended(name: str, reason: str, stop: Stop) -> None:
    body = said(name, "so", reason)
    assert served(name, lambda _request: httpx2.Response(200, json=body), ask()).stop is stop


def test_a_refusal_in_words() -> None:
    body = said(OPENAI, None)
    body["choices"][0]["message"]["refusal"] = "no"
    reply = served(OPENAI, lambda _request: httpx2.Response(200, json=body), ask())
    assert (reply.text, reply.stop) == ("no", Stop.REFUSAL)


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


@pytest.mark.parametrize("name", BOTH)
def test_a_reply_that_its_bound_cut_is_asked_for_with_a_larger_one(name: str) -> None:
    def cut(_request: httpx2.Request) -> httpx2.Response:
        stop = "max_tokens" if name == ANTHROPIC else "length"
        body = message("fi", stop) if name == ANTHROPIC else completion("fi", stop)
        return httpx2.Response(200, json=body)

    server = Server(cut, good(name))
    reply = served(name, server, ask(max_tokens=100))
    assert (reply.text, reply.stop) == ("fine", Stop.END)
    assert (reply.usage, reply.served.retries) == (Usage(40, 10), 1)
    limit = "max_tokens" if name == ANTHROPIC else "max_completion_tokens"
    assert [server.body(number)[limit] for number in range(2)] == [100, 400]
    server = Server(cut)
    reply = served(name, server, ask(max_tokens=100))
    assert (reply.stop, len(server.seen)) == (Stop.LENGTH, 3)
    server = Server(cut)
    with pytest.raises(Halted, match="cap of 2 calls"):
        served(name, server, ask(max_tokens=100), Settings(calls=2))
    assert len(server.seen) == 2


def test_what_a_model_cannot_do_is_not_left_out_in_silence() -> None:
    with pytest.raises(Halted, match="temperature"):
        served(ANTHROPIC, Server(good(ANTHROPIC)), ask(temperature=0.0))


def test_a_server_of_ones_own_may_take_a_temperature() -> None:
    server = Server(good(ANTHROPIC))
    declared = Declared("anthropic:*", frozenset({Capability.TEMPERATURE}), extra={"top_k": 3})
    model = AnthropicMessages(
        ModelFacts(parse_model_name("anthropic:x@http://localhost:1"), declared),
        None,
        transport=httpx2.MockTransport(server),
    )

    async def once() -> Reply:
        try:
            return await model.reply(ask(temperature=0.0))
        finally:
            await model.aclose()

    run(once())
    assert (server.body()["temperature"], server.body()["top_k"]) == (0.0, 3)
    assert KEY not in str(server.seen[0].headers)


def test_tokens_are_counted_by_the_server() -> None:
    server = Server(lambda _request: httpx2.Response(200, json={"input_tokens": 42}))
    transport = httpx2.MockTransport(server)
    model = AnthropicMessages(catalogue().facts(ANTHROPIC), None, transport=transport)

    async def once() -> int:
        try:
            return await model.count_tokens(ask())
        finally:
            await model.aclose()

    assert run(once()) == 42
    assert server.seen[0].url.path == "/v1/messages/count_tokens"
    assert "max_tokens" not in server.body()


def test_a_batch_is_made_polled_and_read_in_any_order() -> None:
    polls = 0

    def batches(request: httpx2.Request) -> httpx2.Response:
        nonlocal polls
        batch: dict[str, Any] = {
            "id": "b1",
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": {},
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
        }
        if request.method == "POST":
            return httpx2.Response(200, json=batch)
        if request.url.path.endswith("/results"):
            results = [
                {"custom_id": "r1", "result": {"type": "succeeded", "message": message("two")}},
                {"custom_id": "r0", "result": {"type": "succeeded", "message": message("one")}},
                {"custom_id": "r2", "result": {"type": "expired"}},
                {"custom_id": "r3", "result": {"type": "succeeded", "message": {"id": 1}}},
            ]
            return httpx2.Response(200, content="\n".join(map(json.dumps, results)))
        polls += 1
        if polls > 2:
            batch |= {
                "processing_status": "ended",
                "results_url": "https://api.anthropic.com/v1/messages/batches/b1/results",
            }
        return httpx2.Response(200, json=batch)

    pauses = Pauses()

    async def once() -> list[Reply | CallFailed]:
        transport = httpx2.MockTransport(batches)
        model = AnthropicMessages(catalogue().facts(ANTHROPIC), None, transport=transport)
        try:
            return await model.batch([ask(str(n)) for n in range(5)], sleep=pauses.sleep)
        finally:
            await model.aclose()

    one, two, expired, broken, missing = run(once())
    assert isinstance(one, Reply) and isinstance(two, Reply)
    assert (one.text, two.text, one.served.batched) == ("one", "two", True)
    assert isinstance(expired, CallFailed) and expired.again
    assert isinstance(broken, CallFailed) and "malformed" in str(broken)
    assert isinstance(missing, CallFailed) and "no result" in str(missing)
    assert len(pauses.slept) == 3


def test_models_of_one_name_are_one() -> None:
    async def same() -> bool:
        async with Serving() as serving:
            return serving.model(ANTHROPIC) is serving.model(ANTHROPIC)

    assert run(same())
