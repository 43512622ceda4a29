"""An agent's control and execution modules: what they are asked, and how a reply is read.

Source: EasyLAN (Pan, Yu, Li, Shi), section 5.1 and Figure 7.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from pxp_fsm.errors import DataError
from pxp_fsm.framing import framed
from pxp_fsm.lan.asking import Asker, form, object_of, text
from pxp_fsm.lan.network import Agent, Network, Received
from pxp_fsm.messages import quoted, text_problem
from pxp_fsm.models import Reply, Request
from pxp_fsm.prompts import Prompt


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
class Said:
    """What a module said: the control module true or false, the execution module a text."""

    value: bool | str
    thoughts: str = ""


Known = tuple[str, str]
"""The version of a module and the digest of what the agent received."""


def known_as(agent: Agent, module: Module, received: Received) -> Known:
    """Under what a call is remembered: the module's version, and the input."""
    version = agent.control_version if module is Module.CONTROL else agent.execution_version
    said = json.dumps([agent.name, asdict(received)])
    return version, hashlib.sha256(said.encode()).hexdigest()


def question(
    asker: Asker, network: Network, agent: Agent, module: Module, received: Received
) -> Request:
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
        _known(prompt, agent, module),
        prompt.fill("think"),
    )


def read_reply(module: Module, reply: Reply) -> Said:
    """What the module said; raises `DataError` for a reply that is not of the form."""
    key = "active" if module is Module.CONTROL else "result"
    found = object_of(reply, {"thoughts", key})
    thoughts, value = found["thoughts"], found[key]
    if not isinstance(thoughts, str):
        raise DataError(f"thoughts is a text, not {quoted(thoughts)}")
    if module is Module.CONTROL:
        if not isinstance(value, bool):
            raise DataError(f"active is true or false, not {quoted(value)}")
    elif not isinstance(value, str):
        raise DataError(f"result is a text, not {quoted(value)}")
    wrong = text_problem(thoughts) or text_problem(str(value))
    if wrong is not None:
        raise DataError(wrong)
    return Said(value, thoughts)


def _known(prompt: Prompt, agent: Agent, module: Module) -> str:
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
