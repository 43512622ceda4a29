"""Both protocols through the vendors' own libraries: what goes out and what comes back."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
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
from pxp_fsm.errors import Halted
from pxp_fsm.prompting.model import Capability, ChatRole, ChatTurn, ModelRequest, Reply, Stop, Usage
from tests.backends.model_servers import (
    ANTHROPIC,
    BOTH,
    KEY,
    OPENAI,
    PNG,
    SCHEMA,
    Pauses,
    Server,
    ask,
    completion,
    events,
    good,
    message,
    run,
    said,
    served,
)

pytestmark = pytest.mark.usefixtures("model_keys")


@pytest.mark.parametrize("name", BOTH)
def test_a_plain_reply_has_text_usage_and_request_id(name: str) -> None:
    server = Server(good(name))
    reply = served(name, server, ask())
    assert (reply.text, reply.stop, reply.usage) == ("fine", Stop.END, Usage(20, 5))
    assert (reply.served.request_id, reply.served.retries) == ("req_1", 0)
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_conversation_in_anthropics_words() -> None:
    server = Server(good(ANTHROPIC))
    turns = (
        ChatTurn(ChatRole.USER, "look", (PNG,)),
        ChatTurn(ChatRole.ASSISTANT, "a"),
        ChatTurn(ChatRole.USER, "b"),
    )
    served(ANTHROPIC, server, ModelRequest("Be brief.", turns, SCHEMA, 300))
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
    turns = (
        ChatTurn(ChatRole.USER, "look", (PNG,)),
        ChatTurn(ChatRole.ASSISTANT, "a"),
        ChatTurn(ChatRole.USER, "b"),
    )
    served(OPENAI, server, ModelRequest("Be brief.", turns, SCHEMA, 300, 0.5, 7))
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


def test_what_later_requests_begin_with_is_cached_and_nothing_else_is_said_for_it() -> None:
    turn = ChatTurn(ChatRole.USER, "know this\n\nnow that", stable=len("know this"))
    for purpose in ("execution", "answer"):
        server = Server(good(ANTHROPIC))
        served(ANTHROPIC, server, ModelRequest("", (turn,), purpose=purpose))
        first, rest = server.body()["messages"][0]["content"]
        assert (first["text"] + rest["text"], "cache_control" in rest) == (turn.text, False)
        assert first["cache_control"] == {"type": "ephemeral"}
        assert ("cache_control" in server.body()) is (purpose == "answer")
    server = Server(good(OPENAI))
    served(OPENAI, server, ModelRequest("", (turn,)))
    assert server.body()["messages"][0]["content"] == turn.text


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
def test_whoever_listens_is_told_a_reply_piece_by_piece(name: str) -> None:
    """After a cut stream the reply begins again, and says so."""
    cut = httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, content=events(name, "ab", cut=True)
    )
    server, told = Server(lambda _request: cut, good(name, "fine")), list[tuple[str, bool]]()
    request = replace(ask(), on_text=lambda piece, begins: told.append((piece, begins)))
    reply = served(name, server, request)
    assert server.body()["stream"] is True
    assert told == [("a", True), ("b", False), ("f", True), *((one, False) for one in "ine")]
    assert (reply.text, reply.usage) == ("fine", Usage(20, 5))


@pytest.mark.parametrize("name", BOTH)
def test_empty_content_is_a_reply_without_text(name: str) -> None:
    reply = served(name, lambda _r: httpx2.Response(200, json=said(name, None)), ask())
    assert (reply.text, reply.stop) == ("", Stop.END)


@pytest.mark.parametrize(
    ("name", "reason", "stop"),
    [
        (ANTHROPIC, "max_tokens", Stop.LENGTH),
        (ANTHROPIC, "model_context_window_exceeded", Stop.CONTEXT),
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
