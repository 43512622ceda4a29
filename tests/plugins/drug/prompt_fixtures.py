"""A task that models are asked about, and models that answer, for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from backends.models.scripts import EVERYTHING
from pxp_fsm.plugins.drug.task import PROBLEM
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply
from pxp_fsm.prompting.prompts import Prompts, read_prompts
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question
from pxp_fsm.tasks.prompts import bundled_prompts

T = TypeVar("T")

PROMPTS: Prompts = read_prompts(bundled_prompts("drug"), "drug")
ASPIRIN = Instance("aspirin", "CC(=O)Oc1ccccc1C(=O)O")


def now(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def said(reactants: list[str], explanation: str, **more: object) -> str:
    """An answer as a model gives it."""
    return json.dumps({"prediction": reactants, "explanation": explanation, **more})


GOOD = said(["CC(=O)OC(C)=O", "O=C(O)c1ccccc1O"], "Acetylation of the phenol.")


def message(number: int, sender: str, tag: str, prediction: str, explanation: str) -> Message:
    receiver = {"m": "h", "h": "m"}[sender]
    return Message("s", number, sender, tag, Answer(prediction, explanation), receiver)


def question(*history: Message, instance: Instance = ASPIRIN) -> Question:
    return Question(PROBLEM.query, instance, history=history)


@dataclass
class Talking:
    """A model by a function of what it is asked."""

    say: Callable[[ModelRequest], str | Reply]
    name: str = "talking"
    capabilities: frozenset[Capability] = EVERYTHING
    requests: list[ModelRequest] = field(default_factory=list)

    async def reply(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        reply = self.say(request)
        return reply if isinstance(reply, Reply) else Reply(reply)
