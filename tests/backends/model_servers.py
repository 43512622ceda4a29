"""Servers in the process that speak both protocols, and what is asked of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.prompting.model import (
    Call,
    Capability,
    ChatRole,
    ChatTurn,
    Image,
    LanguageModel,
    ModelRequest,
    Reply,
)

ANTHROPIC = "anthropic:claude-haiku-4-5"
OPENAI = "openai:gpt-4o-mini"
BOTH = (ANTHROPIC, OPENAI)
UNTHINKING = Path(__file__).with_name("unthinking.toml")
"""A catalogue in which models named x answer at once: asked for little, in no stream."""
KEY = "sk-never-to-be-seen-4711"
SCHEMA = {
    "type": "object",
    "properties": {"consistent": {"type": "boolean"}},
    "required": ["consistent"],
    "additionalProperties": False,
}
PNG = Image("image/png", b"\x89PNG\r\n\x1a\n")

T = TypeVar("T")
Handler = Callable[[httpx2.Request], httpx2.Response]


def ask(text: str = "hello", **changed: Any) -> ModelRequest:
    return ModelRequest(
        "Be brief.", (ChatTurn(ChatRole.USER, text),), **{"max_tokens": 100, **changed}
    )


def message(text: str | None = "fine", stop: str = "end_turn", **usage: int) -> dict[str, Any]:
    """A reply in Anthropic's words."""
    content = [] if text is None else [{"type": "text", "text": text}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 5, **usage},
    }


def completion(text: str | None = "fine", stop: str = "stop", **more: Any) -> dict[str, Any]:
    """A reply in OpenAI's words."""
    said = {"role": "assistant", "content": text, "refusal": None, **more}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": said, "finish_reason": stop}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }


def said(name: str, text: str | None = "fine", stop: str = "") -> dict[str, Any]:
    """A reply in the words of the protocol that `name` is spoken to with."""
    if name.startswith("anthropic"):
        return message(text, stop or "end_turn")
    return completion(text, stop or "stop")


def events(name: str, text: str = "fine", *, cut: bool = False) -> bytes:
    """A streamed reply; `cut` before its end, as a server does that goes away politely."""
    return b"".join(
        _anthropic_events(text, cut) if name.startswith("anthropic") else _openai_events(text, cut)
    )


def _anthropic_events(text: str, cut: bool) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()

    start = {**message(None), "stop_reason": None}
    yield event("message_start", message=start)
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for part in text:
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": part})
    if cut:
        return
    yield event("content_block_stop", index=0)
    yield event(
        "message_delta",
        delta={"stop_reason": "end_turn", "stop_sequence": None},
        usage={"output_tokens": 5},
    )
    yield event("message_stop")


def _openai_events(text: str, cut: bool) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-mini"}
        return f"data: {json.dumps({**body, 'choices': [choice], **more})}\n\n".encode()

    for part in text:
        yield chunk({"content": part})
    if cut:
        return
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    yield chunk({}, "stop", usage=usage)
    yield b"data: [DONE]\n\n"


def reply_to(request: httpx2.Request, name: str, text: str = "fine") -> httpx2.Response:
    """What a good server answers, streamed where that is asked for."""
    headers = {"request-id": "req_1", "x-request-id": "req_1"}
    if json.loads(request.content).get("stream"):
        headers["content-type"] = "text/event-stream"
        return httpx2.Response(200, content=events(name, text), headers=headers)
    return httpx2.Response(200, json=said(name, text), headers=headers)


class Server:
    """Answers each request by the next of `handlers`, the last of them for ever."""

    def __init__(self, *handlers: Handler) -> None:
        self.handlers = handlers
        self.seen: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        return self.handlers[min(len(self.seen), len(self.handlers)) - 1](request)

    def body(self, number: int = 0) -> Any:
        return json.loads(self.seen[number].content)


class Pauses:
    """A clock that `sleep` moves on, at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Log:
    """A list of calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def keep(self, call: Call) -> None:
        self.calls.append(call)


class Scripted:
    """A model that says what it is told to, after giving others a chance."""

    def __init__(self, answer: Callable[[ModelRequest], Reply], name: str = ANTHROPIC) -> None:
        self.name = name
        self.capabilities: frozenset[Capability] = frozenset()
        self.asked: list[ModelRequest] = []
        self._answer = answer

    async def reply(self, request: ModelRequest) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(0)
        return self._answer(request)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def served(
    name: str,
    server: Handler,
    request: ModelRequest,
    settings: Settings | None = None,
    **options: Any,
) -> Reply:
    """The reply of `name` to `request` through everything that a run puts around a model."""

    pauses = options.pop("pauses", None) or Pauses()

    async def once() -> Reply:
        transport = httpx2.MockTransport(server)
        async with Serving(
            settings or Settings(),
            transport=transport,
            clock=pauses,
            sleep=pauses.sleep,
            **options,
        ) as serving:
            model: LanguageModel = serving.model(name)
            return await model.reply(request)

    return run(once())


def good(name: str, text: str = "fine") -> Handler:
    """A server that replies `text`."""
    return lambda request: reply_to(request, name, text)


def failing(status: int, headers: dict[str, str] | None = None, kind: str = "api_error") -> Handler:
    """A server that fails with `status`."""
    body = {"type": "error", "error": {"type": kind, "message": "not now"}}
    return lambda _request: httpx2.Response(status, json=body, headers=headers)
