"""The control and execution modules of an agent: their requests, and parsing of replies.

Source: EasyLAN (Pan, Yu, Li, Shi), section 5.1 and Figure 7.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.plugins.easylan.model.network import AgentInput, LanAgent, Network, Piece
from pxp_fsm.plugins.easylan.running.requests import Requester, form, object_of, text
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import ModelRequest, Reply
from pxp_fsm.prompting.prompts import Prompt
from pxp_fsm.protocol.messages import text_problem


class Module(StrEnum):
    """The two modules of an agent that ask a model."""

    CONTROL = "control"
    EXECUTION = "execution"


CONTROL_FORM = form(
    thoughts=text("the reasoning, step by step"),
    active={"type": "boolean", "description": "whether the agent is to be active"},
)
EXECUTION_FORM = form(
    thoughts=text("the reasoning, step by step"), result=text("the result of the subtask")
)


@dataclass(frozen=True, slots=True)
class ModuleOutput:
    """What a module said: the control module true or false, the execution module a text."""

    value: bool | str
    thoughts: str = ""


Known = tuple[str, str]
"""The version of a module and the digest of what the agent received."""


def known_as(agent: LanAgent, module: Module, received: AgentInput) -> Known:
    """Under what a call is remembered: the module's version, and the input."""
    version = agent.control_version if module is Module.CONTROL else agent.execution_version
    said = json.dumps([agent.name, asdict(received)])
    return version, hashlib.sha256(said.encode()).hexdigest()


def question(
    asker: Requester, network: Network, agent: LanAgent, module: Module, received: AgentInput
) -> ModelRequest:
    """What the module of `agent` is asked about what it `received`."""
    prompt = asker.prompts[module]
    about = {"name": agent.name, "subtask": agent.task}
    if module is Module.EXECUTION:
        about["output"] = agent.output
    tasks = {one.author: network.agent(one.author).task for one in received.pieces}
    inputs = received.shown(tasks)
    return asker.request(
        module,
        CONTROL_FORM if module is Module.CONTROL else EXECUTION_FORM,
        prompt.fill("question", agent=framed(about), inputs=framed(inputs)),
        prompt.fill("think"),
        stable=_known(prompt, agent, module),
    )


def read_reply(module: Module, reply: Reply) -> ModuleOutput:
    """What the module said; raises `DataError` for a reply that is not of the form."""
    key = "active" if module is Module.CONTROL else "result"
    found = object_of(reply, {"thoughts", key})
    thoughts, value = found["thoughts"], found[key]
    if not isinstance(thoughts, str):
        raise DataError(f"thoughts must be a text, not {quoted(thoughts)}")
    if module is Module.CONTROL:
        if not isinstance(value, bool):
            raise DataError(f"active must be true or false, not {quoted(value)}")
    elif not isinstance(value, str):
        raise DataError(f"result must be a text, not {quoted(value)}")
    wrong = text_problem(thoughts) or text_problem(str(value))
    if wrong is not None:
        raise DataError(wrong)
    return ModuleOutput(value, thoughts)


def _known(prompt: Prompt, agent: LanAgent, module: Module) -> str:
    """Knowledge and examples, where there are any."""
    if module is Module.CONTROL:
        knowledge, examples = agent.control.knowledge, agent.shown_decisions
    else:
        knowledge, examples = agent.knowledge, agent.shown_results
    parts = []
    if knowledge:
        parts.append(prompt.fill("knowledge", knowledge=framed({"knowledge": knowledge})))
    if examples:
        parts.append(prompt.fill("examples", examples=examples))
    return "\n\n".join(parts)


class Flow:
    """The texts of one run on the input `external`.

    Agents put out their results in an order that keeps to the edges. An inactive agent (None) puts
    out what it received, each piece still under its author's name (EasyLAN, section 3.1).
    """

    def __init__(self, network: Network, external: str) -> None:
        self.external = external
        self.results: dict[str, str | None] = {}
        self._network = network
        self._sent: dict[str, frozenset[str]] = {}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self._network.order)}

    def received(self, name: str) -> AgentInput:
        """What agent `name` receives, once its predecessors have put out theirs."""
        authors = sorted(self._reaching(name), key=self._places.__getitem__)
        pieces = tuple(Piece(author, self.results[author] or "") for author in authors)
        return AgentInput(self.external, pieces)

    def put(self, name: str, result: str | None) -> None:
        """Agent `name` puts out its `result`, or as inactive what it received."""
        self.results[name] = result
        self._sent[name] = self._reaching(name) if result is None else frozenset({name})

    def output(self) -> str | None:
        """The result of the last active agent in the network's order; None where none is."""
        found = (self.results[name] for name in reversed(self._network.order))
        return next((result for result in found if result is not None), None)

    def _reaching(self, name: str) -> frozenset[str]:
        """Whose results reach `name`."""
        return frozenset[str]().union(
            *(self._sent[before] for before in self._network.predecessors(name))
        )


def flowed(network: Network, external: str, results: Mapping[str, str | None]) -> Flow:
    """The flow of a run that is over; an agent that `results` does not name was inactive."""
    flow = Flow(network, external)
    for name in network.order:
        flow.put(name, results.get(name))
    return flow
