"""The interface of text models: requests, replies, and capabilities of a server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from pxp_fsm.lazy_dataclasses import dataclass


class ChatRole(StrEnum):
    """Who speaks in a conversation with a model."""

    USER = "user"
    ASSISTANT = "assistant"


class Capability(StrEnum):
    """What a server may or may not be able to do; asked before a run, never found out in it."""

    TEMPERATURE = "temperature"
    SEED = "seed"
    SCHEMA = "schema"
    IMAGES = "images"
    BATCHES = "batches"
    CACHING = "caching"


class Stop(StrEnum):
    """Why a reply ended; only `END` is a whole one.

    `LENGTH` is the bound of the request, `CONTEXT` the model's context window.
    """

    END = "end"
    LENGTH = "length"
    CONTEXT = "context"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Image:
    """An image as bytes of a declared media type (`image/png`, `image/jpeg`)."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn of a conversation: a text, and for a user's turn the images that go with it.

    `stable` counts the characters at the beginning that later requests will begin with too: they
    are worth a prompt cache, and change nothing of what is said.
    """

    role: ChatRole
    text: str
    images: tuple[Image, ...] = ()
    stable: int = field(default=0, compare=False)


OnText = Callable[[str, bool], None]
"""Told of each further piece of a reply; the flag says that the reply begins, again perhaps."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked: instructions, the conversation so far, and the form of its answer.

    `schema` is a JSON Schema that the reply must follow; None asks for plain text. `max_tokens`
    bounds the reply, without what a model may think before it. `effort` is how hard it thinks;
    `effort`, `temperature` and `seed` of None are the server's own. `purpose` says what the
    call is for (`answer`, `judge`, `validation`, `test`) and `session` in which session, so that
    costs can be told apart; neither is sent. `epoch` tells calls apart that are asked again on
    purpose. `on_text` asks for the reply piece by piece, where the server can.
    """

    system: str
    turns: tuple[ChatTurn, ...]
    schema: Mapping[str, object] | None = None
    max_tokens: int = 1024
    temperature: float | None = None
    seed: int | None = None
    effort: str | None = None
    purpose: str = "answer"
    session: str = ""
    epoch: int = 0
    on_text: OnText | None = field(default=None, compare=False, repr=False)
    _rendered: str | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were billed: sent (without those of a prompt cache), written, and cached ones."""

    sent: int = 0
    received: int = 0
    cache_read: int = 0
    cache_written: int = 0


NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True)
class Served:
    """How a reply came: for the record of calls, and nothing that a session may depend on.

    `seconds` is what the last attempt took, `retries` how many attempts failed before it; `cost` is
    what all of them were counted for, in dollars, where a price is known. `batched` replies came in
    a batch, `cached` ones from the call cache and cost nothing.
    """

    request_id: str = ""
    seconds: float = 0.0
    retries: int = 0
    cost: float = 0.0
    batched: bool = False
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said: its text (JSON where a schema was asked for), and why it ended."""

    text: str
    stop: Stop = Stop.END
    usage: Usage = NOTHING_USED
    served: Served = Served()


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it is recorded: what was asked of which model, and what it replied.

    `dollars`, with what failed attempts may have cost, is None where the price is not known;
    `seconds` are from asking to answer, waiting included. `reply` is None for a call that failed;
    `failure` says why then.
    """

    model: str
    request: ModelRequest
    reply: Reply | None
    seconds: float
    dollars: float | None = None
    failure: str = ""


class CallLog(Protocol):
    """Where every call is recorded."""

    def keep(self, call: Call) -> None:
        """Record `call`; raises `BlackboardError` where it cannot."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a run has spent: `calls` that were sent (attempts too), and `dollars`.

    `unpriced` are calls whose price is not known; `exceeded` says whether one cost more than the
    most that had been reserved for it.
    """

    calls: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    exceeded: bool = False


NOTHING_SPENT = Spending()
Reservation = tuple[str, int]
"""A stored reservation: its run and its number."""


class Ledger(Protocol):
    """Where each attempt is stored before it is sent, so that no cap is passed by stopping."""

    def reserve(self, model: str, request: ModelRequest, dollars: float | None) -> Reservation:
        """Store that `model` is about to be asked, for `dollars` at most (None: not known)."""

    def settle(self, reservation: Reservation, dollars: float | None) -> None:
        """Store what it did cost."""


class LanguageModel(Protocol):
    """A model behind some server, recording or script."""

    @property
    def name(self) -> str:
        """What it is, as a session records it (`anthropic:NAME`); never holds a key."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can do."""

    async def reply(self, request: ModelRequest) -> Reply:
        """Its reply; raises `NoAnswer` where, after all retries, there is none."""


Ask = Callable[[ModelRequest], Coroutine[Any, Any, Reply]]
"""How a model is asked: what its `reply` is."""
Layer = Callable[[Ask, ModelRequest], Coroutine[Any, Any, Reply]]
"""Middleware around a model: given how the model within is asked, and the request."""


@dataclass(frozen=True)
class LayeredModel:
    """A model by its name, its capabilities and how it is asked; fills `LanguageModel`."""

    name: str
    capabilities: frozenset[Capability]
    reply: Ask


def layered(model: LanguageModel, *layers: Layer) -> LanguageModel:
    """`model` asked through `layers`, the first of which is next to it."""
    ask = model.reply
    for layer in layers:
        ask = partial(layer, ask)
    return LayeredModel(model.name, model.capabilities, ask)


def rendered(request: ModelRequest) -> str:
    """Whatever of a request reaches the model, as JSON: `[system, turns, settings]`.

    Images stand there by their own digests (SHA-256, hex).
    """
    known = request._rendered
    if known is None:  # a call asks for it three times: for the cache, the record and the prompt
        known = _written(request)
        object.__setattr__(request, "_rendered", known)
    return known


def _written(request: ModelRequest) -> str:
    turns = [
        [
            turn.role,
            turn.text,
            [[image.media_type, hashlib.sha256(image.data).hexdigest()] for image in turn.images],
        ]
        for turn in request.turns
    ]
    settings: list[object] = [request.schema, request.max_tokens, request.temperature, request.seed]
    if request.effort is not None:  # requests without it keep the digests that they had
        settings.append(request.effort)
    return json.dumps([request.system, turns, settings], sort_keys=True, default=dict)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What reached a model, as `rendered` wrote it: the system text and the last turn.

    `images` is the number of images in that turn, `before` the number of turns before it. The turn
    is what was said anew; everything before it had been said in earlier requests.
    """

    system: str
    asked: str
    images: int
    before: int


def read_rendered(text: str) -> Rendered:
    """The inverse of `rendered`, as far as people read it; raises `ValueError` where it is none."""
    try:
        system, turns, _settings = json.loads(text)
        _role, asked, images = turns[-1]
        request = Rendered(system, asked, len(images), len(turns) - 1)
    except (TypeError, IndexError, RecursionError) as error:
        raise ValueError("this is not a request to a model") from error
    if not isinstance(request.system, str) or not isinstance(request.asked, str):
        raise ValueError("this is not a request to a model")
    return request


def fingerprint(request: ModelRequest) -> str:
    """SHA-256 (hex) of whatever of a request reaches the model."""
    return hashlib.sha256(rendered(request).encode()).hexdigest()


def needs(request: ModelRequest) -> frozenset[Capability]:
    """What a model must be able to do to answer `request` as it is asked."""
    asked = {
        Capability.TEMPERATURE: request.temperature is not None,
        Capability.SEED: request.seed is not None,
        Capability.SCHEMA: request.schema is not None,
        Capability.IMAGES: any(turn.images for turn in request.turns),
    }
    return frozenset(capability for capability, needed in asked.items() if needed)


def missing_capabilities(model: LanguageModel, needed: Iterable[Capability]) -> tuple[str, ...]:
    """Which of the `needed` capabilities `model` has not, sorted."""
    return tuple(sorted(str(capability) for capability in set(needed) - model.capabilities))
