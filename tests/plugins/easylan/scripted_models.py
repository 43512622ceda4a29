"""Models for tests of networks: scripts, and one that honours the examples it is shown."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply

Frames = dict[str, Any]
Say = Callable[[str, Frames], Any]
"""What is replied to a purpose (`control`, `gap`, …) and to all frames of the prompt, merged."""


class Speaking:
    """A model that replies what `say` says, as JSON; a text as it is."""

    capabilities = frozenset(Capability)
    name = "speaking"

    def __init__(self, say: Say, seconds: float = 0.0) -> None:
        self._say = say
        self._seconds = seconds
        self.asked: Counter[str] = Counter()
        self.requests: list[ModelRequest] = []

    async def reply(self, request: ModelRequest) -> Reply:
        self.asked[request.purpose] += 1
        self.requests.append(request)
        if self._seconds:
            await asyncio.sleep(self._seconds)
        frames: Frames = {}
        for frame in unframed(request.turns[0].text):
            frames |= frame
        said = self._say(request.purpose, frames)
        return Reply(said if isinstance(said, str) else json.dumps(said))


def honours(frames: Frames, key: str) -> Any:
    """What an example says of the present input, or of a part of it; None where none does."""
    here = {(one["from"], one["output"]) for one in frames["received"]}
    for example in reversed(frames.get("examples", [])):
        part = {(one["from"], one["output"]) for one in example["received"]}
        if example["input"] == frames["input"] and part <= here:
            return example[key]
    return None


def module(purpose: str, frames: Frames, active: bool = True) -> Any:
    """An agent that honours its examples, and else puts its name around what it received."""
    if purpose == "control":
        found = honours(frames, "active")
        return {"thoughts": "", "active": active if found is None else found}
    found = honours(frames, "result")
    said = "+".join(one["output"] for one in frames["received"]) or frames["input"]
    return {"thoughts": "so", "result": f"{frames['name']}({said})" if found is None else found}
