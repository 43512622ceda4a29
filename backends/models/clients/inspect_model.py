"""A model that Inspect (the evaluation framework of the UK AI Security Institute) provides.

The library is an extra: `pip install 'pxp-fsm[inspect]'`. Retries, caching, limits and the settings
of generation are Inspect's.
"""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any

from pxp_fsm.errors import Halted
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    ModelRequest,
    Reply,
    Served,
    Stop,
    Usage,
    missing_capabilities,
    needs,
)

if TYPE_CHECKING:
    from inspect_ai.model import Model as Provided
    from inspect_ai.model import ModelOutput

PREFIX = "inspect:"
"""What the names of such models begin with, in the record of a session."""

_STOPS = {
    "max_tokens": Stop.LENGTH,
    "model_length": Stop.CONTEXT,
    "content_filter": Stop.REFUSAL,
}


class InspectModel:
    """Asks `provided`, a model of Inspect; fills `pxp_fsm.prompting.model.LanguageModel`.

    The bound on the length of a reply is not sent: it is that of `inspect eval --max-tokens`. No
    JSON Schema is sent either, because not every provider takes one; replies are validated.
    """

    capabilities = frozenset({Capability.TEMPERATURE, Capability.SEED, Capability.IMAGES})

    def __init__(self, provided: Provided) -> None:
        self._provided = provided

    @property
    def name(self) -> str:
        return f"{PREFIX}{self._provided}"

    async def reply(self, request: ModelRequest) -> Reply:
        from inspect_ai.model import ChatMessageSystem, GenerateConfig

        missing = missing_capabilities(self, needs(request))
        if missing:
            raise Halted(f"{self.name} does not support what was requested: {', '.join(missing)}")
        system = [ChatMessageSystem(content=request.system)] if request.system else []
        config = GenerateConfig(
            temperature=request.temperature, seed=request.seed, reasoning_effort=request.effort
        )
        started = time.perf_counter()
        output = await self._provided.generate(
            [*system, *map(_message, request.turns)], config=config
        )
        served = Served(seconds=time.perf_counter() - started)
        stop = _STOPS.get(str(output.stop_reason), Stop.END)
        return Reply(output.completion, stop, _usage(output), served)


def _message(turn: ChatTurn) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ContentImage, ContentText

    if turn.role is ChatRole.ASSISTANT:
        return ChatMessageAssistant(content=turn.text)
    if not turn.images:
        return ChatMessageUser(content=turn.text)
    images = [
        ContentImage(
            image=f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
        )
        for image in turn.images
    ]
    return ChatMessageUser(content=[*images, ContentText(text=turn.text)])


def _usage(output: ModelOutput) -> Usage:
    """What was billed; nothing where the provider does not say."""
    used = output.usage
    if used is None:
        return Usage()
    read, written = used.input_tokens_cache_read or 0, used.input_tokens_cache_write or 0
    return Usage(used.input_tokens, used.output_tokens, read, written)
