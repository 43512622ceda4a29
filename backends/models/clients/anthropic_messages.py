"""A client for Anthropic's API: Messages, Message Batches, token counting.

Retries, limits and caps are not here: each is a small file of its own around any model.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from backends.models.catalogue import ModelFacts, longest_reply
from backends.models.clients.http import PLAIN, http_options, longest, speaking
from backends.models.clients.keys import Key, redacted
from backends.models.failures import MOST_TOKENS, CallFailed, explained, malformed
from backends.models.settings import SILENCE
from pxp_fsm.errors import Halted
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
    from anthropic import AsyncAnthropic

STREAMED = 8192
"""Replies that may be longer than so many tokens are streamed: a long silence would be cut."""
MOST_IN_A_BATCH = 1000
GROWS = "answer"
"""The purpose of requests whose conversation goes on: its beginning is worth caching."""

_STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.CONTEXT,
    "refusal": Stop.REFUSAL,
}


class AnthropicMessages:
    """A model of Anthropic's; fills `pxp_fsm.prompting.model.LanguageModel`.

    `aclose` it in the loop that used it.

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
        self._made: AsyncAnthropic | None = None

    @property
    def name(self) -> str:
        return str(self._facts.name)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._facts.server.can

    def _client(self) -> AsyncAnthropic:
        """The vendor's client, made when first needed: its import takes about a second."""
        if self._made is None:
            import anthropic

            bounded = http_options(trusted=self._facts.name.is_trusted, transport=self._transport)
            self._made = anthropic.AsyncAnthropic(
                api_key=self._key.reveal() if self._key is not None else "none",
                base_url=self._facts.name.url,
                timeout=self._timeout,
                max_retries=0,
                open_telemetry=False,
                default_headers=PLAIN,
                http_client=anthropic.DefaultAsyncHttpxClient(**bounded),
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
        messages = self._client().messages
        try:
            async with asyncio.timeout(longest(self._timeout, arguments["max_tokens"])):
                if arguments["max_tokens"] > STREAMED or request.on_text is not None:
                    async with messages.stream(**arguments) as stream:
                        request_id = stream.request_id or ""
                        async with speaking(self.name, self._silence) as speaks:
                            await _told(stream, request.on_text, speaks)
                            message: object = await stream.get_final_message()
                else:
                    raw = await messages.with_raw_response.create(**arguments)
                    request_id = raw.headers.get("request-id", "")
                    message = body_of(raw.http_response)
        except AssertionError as error:  # how the library says that a stream was empty
            raise malformed("the stream was cut") from error
        except Exception as error:  # noqa: BLE001 - failures.py tells them apart; some quote keys
            raise self._explained(error) from None
        served = Served(redacted(request_id, self._key), time.perf_counter() - started)
        return _reply(message, served)

    async def count_tokens(self, request: ModelRequest) -> int:
        """How many tokens the server says that `request` is."""
        arguments = self._arguments(request)
        for name in ("max_tokens", "extra_body"):
            arguments.pop(name, None)
        try:
            counted = await self._client().messages.count_tokens(**arguments)
        except Exception as error:  # noqa: BLE001 - failures.py tells them apart; some quote keys
            raise self._explained(error) from None
        tokens = getattr(counted, "input_tokens", None)
        if type(tokens) is not int or tokens < 0:
            raise malformed("it counts no tokens")
        return tokens

    async def batch(
        self,
        requests: Sequence[ModelRequest],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        every: float = 15.0,
    ) -> list[Reply | CallFailed]:
        """The replies to `requests`, in their order, through one Message Batch (or a few).

        The server is asked `every` so many seconds whether it is done. Raises what a request that
        fails does where the batch as a whole does.
        """
        answers: list[Reply | CallFailed] = []
        for start in range(0, len(requests), MOST_IN_A_BATCH):
            part = requests[start : start + MOST_IN_A_BATCH]
            answers += await self._batch(part, sleep, every)
        return answers

    async def _batch(
        self,
        requests: Sequence[ModelRequest],
        sleep: Callable[[float], Awaitable[None]],
        every: float,
    ) -> list[Reply | CallFailed]:
        started = time.perf_counter()
        asked: Any = [
            {"custom_id": f"r{number}", "params": _flat(self._arguments(request))}
            for number, request in enumerate(requests)
        ]
        # What is paid must not be lost to a poll that fails: the library's own retries serve here.
        patient = self._client().with_options(max_retries=8).messages.batches
        outcomes: dict[str, Reply | CallFailed] = {}
        try:
            batch = await self._client().messages.batches.create(requests=asked)
            while batch.processing_status != "ended":
                await sleep(every)
                batch = await patient.retrieve(batch.id)
            async for line in await patient.results(batch.id):
                served = Served(batch.id, time.perf_counter() - started, batched=True)
                outcomes[line.custom_id] = _batched(line.result, served)
        except Exception as error:  # noqa: BLE001 - failures.py tells them apart; some quote keys
            raise self._explained(error) from None
        missing = CallFailed("the batch has no result for it", again=True, billed=False)
        return [outcomes.get(request["custom_id"], missing) for request in asked]

    def _explained(self, error: Exception) -> Exception:
        return explained(error, self.name, self._key) or error

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        """`request` in the words of the API; raises `Halted` for what the model cannot do."""
        missing = missing_capabilities(self, needs(request))
        if missing:
            raise Halted(f"{self.name} does not support what was requested: {', '.join(missing)}")
        caches = Capability.CACHING in self.capabilities
        arguments: dict[str, Any] = {
            "model": self._facts.name.model,
            "max_tokens": longest_reply(request, self._facts.server),
            "messages": [_message(turn, caches) for turn in request.turns],
        }
        if request.system:
            arguments["system"] = request.system
        output: dict[str, object] = {}
        if request.schema is not None:
            from anthropic import transform_schema

            schema = transform_schema(dict(request.schema))
            output["format"] = {"type": "json_schema", "schema": schema}
        if request.effort is not None:
            output["effort"] = request.effort
        if output:
            arguments["output_config"] = output
        if caches and request.purpose == GROWS:
            arguments["cache_control"] = _CACHED
        extra = merged(arguments, self._facts.server.extra)
        if request.temperature is not None:  # only a server of one's own can have declared it
            extra["temperature"] = request.temperature
        return {**arguments, "extra_body": extra} if extra else arguments


def merged(arguments: dict[str, Any], extra: Mapping[str, object]) -> dict[str, object]:
    """What of `extra` is sent beside `arguments`: an object in both is merged into the argument."""
    beside = dict(extra)
    for name, value in extra.items():
        if isinstance(value, Mapping) and isinstance(arguments.get(name), dict):
            arguments[name] = _deep(arguments[name], value)
            del beside[name]
    return beside


def _deep(asked_for: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both objects in one; where they differ, what was asked (`asked_for`) counts."""
    both = {**other, **asked_for}
    for name in asked_for.keys() & other.keys():
        if isinstance(asked_for[name], Mapping) and isinstance(other[name], Mapping):
            both[name] = _deep(asked_for[name], other[name])
    return both


def _flat(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as they stand in a batch, where nothing is extra."""
    extra = arguments.pop("extra_body", {})
    return {**arguments, **extra}


_CACHED = {"type": "ephemeral"}


def _message(turn: ChatTurn, caches: bool) -> dict[str, object]:
    """A turn; its stable beginning is a block of its own, up to which the prompt is cached."""
    images: list[dict[str, object]] = [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": image.media_type,
                "data": base64.b64encode(image.data).decode(),
            },
        }
        for image in turn.images
    ]
    stable = turn.stable if caches else 0
    text: list[dict[str, object]] = []
    if stable:
        text.append({"type": "text", "text": turn.text[:stable], "cache_control": _CACHED})
    if turn.text[stable:] or not (images or text):
        text.append({"type": "text", "text": turn.text[stable:]})
    return {
        "role": "user" if turn.role is ChatRole.USER else "assistant",
        "content": [*images, *text],
    }


def _batched(result: Any, served: Served) -> Reply | CallFailed:
    kind = getattr(result, "type", None)
    try:
        if kind == "succeeded":
            return _reply(result.message, served)
    except CallFailed as error:
        return error
    told = getattr(getattr(result, "error", None), "error", None)
    problem = f"in its batch it was {kind or 'without result'}"
    again = kind == "expired" or getattr(told, "type", "") in ("api_error", "overloaded_error")
    return CallFailed(problem, again=again, billed=False, request_id=served.request_id)


async def _told(stream: Any, on_text: OnText | None, speaks: Callable[[], None]) -> None:
    """Tell of each piece of a stream as it comes, and that it has brought a token at all."""
    first = True
    async for event in stream:
        if event.type != "content_block_delta":
            continue
        delta = event.delta
        if any(getattr(delta, name, "") for name in _TOKENS):
            speaks()
        if delta.type == "text_delta" and on_text is not None:
            on_text(delta.text, first)
            first = False


_TOKENS = ("text", "thinking", "partial_json")
"""Where a piece of a stream has its tokens."""


def body_of(response: httpx2.Response) -> object:
    """What a response says: a value where it is JSON, else its text; raises `ValueError`."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return json.loads(response.content) if kind.endswith("json") else response.text


def part(reply_part: object, name: str) -> Any:
    """What `name` is of a reply: of JSON as it was sent, or of an object of the vendor's library.

    Building such an object is a fifth of what a call costs the client.
    """
    return (
        reply_part.get(name) if isinstance(reply_part, Mapping) else getattr(reply_part, name, None)
    )


def _reply(reply_part: object, served: Served) -> Reply:
    """A message as a reply; raises `CallFailed` for whatever is none, or was cut."""
    content = part(reply_part, "content")
    if part(reply_part, "type") not in ("message", None) or not isinstance(content, list):
        raise malformed("it is not a message", served.request_id)
    reason = part(reply_part, "stop_reason")
    stop = _STOPS.get(str(reason))
    if stop is None:
        raise malformed(f"it stopped for {reason!r}", served.request_id)
    texts = [part(block, "text") for block in content if part(block, "type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise malformed("its text is none", served.request_id)
    return Reply("".join(texts), stop, _usage(part(reply_part, "usage"), served), served)


def _usage(reply_part: object, served: Served) -> Usage:
    names = (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    numbers = [part(reply_part, name) or 0 for name in names]
    if reply_part is None or not all(type(n) is int and 0 <= n <= MOST_TOKENS for n in numbers):
        raise malformed("its usage is none", served.request_id)
    return Usage(*numbers)
