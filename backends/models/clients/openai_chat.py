"""A client for OpenAI's Chat Completions protocol: OpenAI, vLLM, llama.cpp, Ollama.

The library is an extra: `pip install 'pxp-fsm[openai]'`.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from backends.models.catalogue import ModelFacts, longest_reply
from backends.models.clients.anthropic_messages import STREAMED, body_of, merged, part
from backends.models.clients.http import PLAIN, http_options, longest, speaking
from backends.models.clients.keys import Key, redacted
from backends.models.failures import MOST_TOKENS, explained, malformed
from backends.models.settings import SILENCE
from pxp_fsm.errors import Halted, quoted, require_extra
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    ModelRequest,
    OnText,
    Reply,
    Served,
    Stop,
    Usage,
    missing_capabilities,
    needs,
)

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_STOPS = {"stop": Stop.END, "length": Stop.LENGTH, "content_filter": Stop.REFUSAL}


class OpenAIChat:
    """A model behind OpenAI's protocol; fills `pxp_fsm.prompting.model.LanguageModel`.

    `aclose` it in its loop.

    `timeout`, in seconds, bounds the silence of a server, `silence` that of a stream that goes on;
    `transport` replaces the network.
    """

    def __init__(
        self,
        facts: ModelFacts,
        key: Key | None,
        *,
        timeout: float = 600.0,
        silence: float = SILENCE,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._facts = facts
        self._key = key
        self._timeout = timeout
        self._silence = silence
        self._transport = transport
        self._made: AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        return str(self._facts.name)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._facts.server.can

    def _client(self) -> AsyncOpenAI:
        if self._made is None:
            require_extra("openai", self.name, {"openai": "the library openai"})
            import openai

            bounded = http_options(trusted=self._facts.name.is_trusted, transport=self._transport)
            self._made = openai.AsyncOpenAI(
                api_key=self._key.reveal() if self._key is not None else "none",
                base_url=self._facts.name.url,
                timeout=self._timeout,
                max_retries=0,
                default_headers=PLAIN,
                http_client=openai.DefaultAsyncHttpxClient(**bounded),
            )
        return self._made

    async def aclose(self) -> None:
        """Close every connection."""
        made, self._made = self._made, None
        if made is not None:
            await made.close()

    async def reply(self, request: ModelRequest) -> Reply:
        started = time.perf_counter()
        arguments = self._arguments(request)
        most = arguments[self._facts.server.limit]
        completions = self._client().chat.completions
        try:
            async with asyncio.timeout(longest(self._timeout, most)):
                if most > STREAMED or request.on_text is not None:
                    arguments |= {"stream": True, "stream_options": {"include_usage": True}}
                    async with await completions.create(**arguments) as stream:
                        request_id = stream.response.headers.get("x-request-id", "")
                        async with speaking(self.name, self._silence) as speaks:
                            completion = await _streamed(stream, request.on_text, speaks)
                else:
                    raw = await completions.with_raw_response.create(**arguments)
                    request_id = raw.headers.get("x-request-id", "")
                    completion = _whole(body_of(raw.http_response))
        except Exception as error:  # noqa: BLE001 - failures.py tells them apart; some quote keys
            raise (explained(error, self.name, self._key) or error) from None
        text, finish, refusal, usage = completion
        request_id = redacted(request_id, self._key)
        stop = Stop.REFUSAL if refusal else _STOPS.get(str(finish))
        if stop is None:
            raise malformed(f"it stopped for {finish!r}", request_id)
        served = Served(request_id, time.perf_counter() - started)
        return Reply(text or refusal, stop, _usage(usage, request_id), served)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        """`request` in the words of the API; raises `Halted` for what the model cannot do."""
        missing = missing_capabilities(self, needs(request))
        if missing:
            raise Halted(f"{self.name} does not support what was requested: {', '.join(missing)}")
        system = [{"role": "system", "content": request.system}] if request.system else []
        arguments: dict[str, Any] = {
            "model": self._facts.name.model,
            self._facts.server.limit: longest_reply(request, self._facts.server),
            "messages": [*system, *map(_message, request.turns)],
        }
        if request.schema is not None:
            schema = {"name": "answer", "schema": dict(request.schema), "strict": True}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.seed is not None:
            arguments["seed"] = request.seed
        if request.effort is not None:
            arguments["reasoning_effort"] = request.effort
        extra = merged(arguments, self._facts.server.extra)
        return {**arguments, "extra_body": extra} if extra else arguments


def _message(turn: ChatTurn) -> dict[str, object]:
    role = "user" if turn.role is ChatRole.USER else "assistant"
    if not turn.images:
        return {"role": role, "content": turn.text}
    parts: list[dict[str, object]] = [
        {
            "type": "image_url",
            "image_url": {
                "url": f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
            },
        }
        for image in turn.images
    ]
    text = [{"type": "text", "text": turn.text}] if turn.text else []
    return {"role": role, "content": [*parts, *text]}


_Said = tuple[str, str | None, str, object]
"""A text, why it ended, a refusal in words, and what it used."""


def _whole(completion: object) -> _Said:
    choices = part(completion, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = part(first, "message")
    if message is None:
        shown = f", but {quoted(completion)}" if isinstance(completion, str) else ""
        raise malformed(f"it is not a completion{shown}")
    text, refusal = part(message, "content"), part(message, "refusal")
    if not all(isinstance(part, str | None) for part in (text, refusal)):
        raise malformed("its text is none")
    return text or "", part(first, "finish_reason"), refusal or "", part(completion, "usage")


async def _streamed(stream: Any, on_text: OnText | None, speaks: Callable[[], None]) -> _Said:
    """A stream put together, and told as it comes; one that was cut has no reason to have ended."""
    texts: list[str] = []
    refusals: list[str] = []
    finish: str | None = None
    usage: object = None
    async for chunk in stream:
        usage = getattr(chunk, "usage", None) or usage
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            piece = getattr(choice.delta, "content", None) or ""
            if any(getattr(choice.delta, name, None) for name in _TOKENS):
                speaks()
            if piece and on_text is not None:
                on_text(piece, not any(texts))
            texts.append(piece)
            refusals.append(getattr(choice.delta, "refusal", None) or "")
            finish = choice.finish_reason or finish
    if finish is None:
        raise malformed("the stream was cut")
    return "".join(texts), finish, "".join(refusals), usage


_TOKENS = ("content", "refusal", "reasoning_content", "reasoning")
"""Where a piece of a stream has its tokens; servers do not agree about those of thought."""


def _usage(completion: object, request_id: str) -> Usage:
    """What was used; nothing at all where a server does not say."""
    if completion is None:
        return Usage()
    details = part(completion, "prompt_tokens_details")
    cached = part(details, "cached_tokens") or 0
    written = part(details, "cache_write_tokens") or 0
    numbers = (part(completion, "prompt_tokens"), part(completion, "completion_tokens"))
    sent, received = (number or 0 for number in numbers)
    used = (sent, received, cached, written)
    if not all(type(n) is int and 0 <= n <= MOST_TOKENS for n in used):
        raise malformed("its usage is none", request_id)
    return Usage(max(sent - cached - written, 0), received, cached, written)
