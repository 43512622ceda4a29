"""Requests of a network and its update to models: prompts as data, validated replies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import cache, partial
from importlib import resources
from itertools import count
from pathlib import Path
from typing import TypeVar

from pxp_fsm.documents import text_of
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.running.events import CallBegun, CallEnded, CallEvent, TextWritten
from pxp_fsm.prompting.attempts import ATTEMPTS, ask_until_usable, check_attempts
from pxp_fsm.prompting.framing import encoded
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    LanguageModel,
    ModelRequest,
    Reply,
)
from pxp_fsm.prompting.prompts import Prompt, Slots, read_each
from pxp_fsm.prompting.replies import strict_object, unfenced, whole_text

T = TypeVar("T")
Schema = Mapping[str, object]

_MODULE: Slots = {
    "system": (set(), {"form"}),
    "question": (set(), {"agent", "inputs"}),
    "knowledge": (set(), {"knowledge"}),
    "examples": (set(), {"examples"}),
    "think": (set(), set()),
}
_STEP: Slots = {
    "system": (set(), {"form"}),
    "question": (set(), {"network"}),
    "developer": (set(), {"edited"}),
}
SLOTS: Mapping[str, Slots] = {
    "control": _MODULE,
    "execution": _MODULE,
    "malformed": {"again": (set(), {"reply", "reason"})},
    "gap": _STEP,
    "reason": _STEP,
    "weakness": _STEP,
    "parameters": _STEP,
    "part": {"system": (set(), {"form"}), "question": (set(), {"network"})},
}
"""Each prompt's texts, with the slots that they may have and must have."""


def read_prompts(source: str, where: str) -> Mapping[str, Prompt]:
    """The prompts that are written in `source`; raises `DataError`, which names `where`."""
    return read_each(source, where, SLOTS)


@cache
def bundled() -> Mapping[str, Prompt]:
    """The prompts that come with the package."""
    text = (
        resources.files("pxp_fsm.plugins.easylan.running")
        .joinpath("prompts/lan.toml")
        .read_text("utf-8")
    )
    return read_prompts(text, "the prompts of networks")


def load_prompts(path: Path | None) -> Mapping[str, Prompt]:
    """The prompts in the file `path`; those that it leaves out, and without it all, are bundled.

    Raises `FileError` for a file that cannot be read, and `DataError`.
    """
    if path is None:
        return bundled()
    return read_each(text_of(path, "prompts"), str(path), SLOTS, bundled())


@dataclass(frozen=True)
class Requester:
    """Asks `model` in the words of `prompts`, each question at most `attempts` times.

    `on_event` is told of each call, and with `stream` of its text as it comes.
    """

    model: LanguageModel
    prompts: Mapping[str, Prompt]
    attempts: int = ATTEMPTS
    on_event: Callable[[CallEvent], None] = lambda _event: None
    stream: bool = False
    _numbers: Iterator[int] = field(default_factory=partial(count, 1), init=False, repr=False)

    def __post_init__(self) -> None:
        check_attempts(self.attempts)

    def request(
        self, name: str, schema: Schema, *texts: str, session: str = "", stable: str = ""
    ) -> ModelRequest:
        """The request of the prompt `name` for a reply of the form `schema`, asked in `session`.

        What is `stable` stands first: requests that follow begin with it too.
        """
        prompt = self.prompts[name]
        structured = Capability.SCHEMA in self.model.capabilities
        asks = "\n\n".join(filter(None, (stable, *texts)))
        return ModelRequest(
            system=prompt.fill("system", form=encoded(schema)),
            turns=(ChatTurn(ChatRole.USER, asks, stable=len(stable)),),
            schema=schema if structured else None,
            max_tokens=prompt.max_tokens,
            temperature=prompt.temperature,
            effort=prompt.effort,
            purpose=name,
            session=session,
        )

    async def reply(self, request: ModelRequest, agent: str = "") -> Reply:
        """The model's reply to `request`, which `agent` asks. Raises `NoAnswer`."""
        call, started = next(self._numbers), time.perf_counter()
        self.on_event(CallBegun(call, request.purpose, agent))

        def ended(reply: Reply | None, failure: str = "") -> CallEnded:
            seconds = time.perf_counter() - started
            if reply is None:
                return CallEnded(call, request.purpose, agent, seconds, failure=failure)
            cost = reply.served.cost
            return CallEnded(call, request.purpose, agent, seconds, reply.usage, cost)

        written = False

        def on_text(piece: str, begins: bool) -> None:
            nonlocal written
            written = True
            self.on_event(TextWritten(call, piece, begins))

        asked = replace(request, on_text=on_text) if self.stream else request
        try:
            reply = await self.model.reply(asked)
        except BaseException as error:
            self.on_event(ended(None, str(error) or "it was stopped"))
            raise
        if not written:
            self.on_event(TextWritten(call, reply.text, begins=True))
        self.on_event(ended(reply))
        return reply

    async def ask(self, asked: ModelRequest, read: Callable[[Reply], T]) -> T:
        """What `read` makes of the reply; `NoAnswer` where no reply is of the form."""
        malformed = self.prompts["malformed"]
        usable = await ask_until_usable(self.reply, asked, read, malformed, attempts=self.attempts)
        return usable.value


def object_of(reply: Reply, keys: set[str]) -> dict[str, object]:
    """The JSON object that `reply` is, with exactly `keys`; raises `DataError`."""
    return strict_object(unfenced(whole_text(reply)), keys)


def form(**properties: object) -> dict[str, object]:
    """The JSON Schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(about: str) -> dict[str, object]:
    """The JSON Schema of a text."""
    return {"type": "string", "description": about}
