"""A network edited by hand at the terminal: the manual operations, each saved or refused at once.

Source: arXiv 2309.15943, section 4.2.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from backends.people.prompts import say
from backends.people.reviewing import Reviewer
from pxp_fsm.errors import PXPError
from pxp_fsm.lan.lan import Lan
from pxp_fsm.lan.network import Agent
from pxp_fsm.lan.operations import Connect, Create, Delete, Disconnect, Edit, Field, Operation

_WORDS = ("create", "delete", "connect", "disconnect", "change", "undo", "show", "done")
_FIELDS = {
    "name": Field.NAME,
    "task": Field.TASK,
    "output": Field.OUTPUT,
    "knowledge": Field.KNOWLEDGE,
    "control knowledge": Field.CONTROL_KNOWLEDGE,
    "enabled": Field.ENABLED,
}
_YES_NO = ("yes", "no")


async def edit_network(reviewer: Reviewer, lan: Lan) -> None:
    """Edit `lan` until they are done; what the network refuses is said, and changes nothing."""
    _show(lan)
    while (word := await reviewer.ask(f"{', '.join(_WORDS)}? ", _WORDS)) != "done":
        if word == "show":
            _show(lan)
        elif word == "undo":
            _tried(lan.undo)
        elif word == "create":
            await _create(reviewer, lan)
        elif word == "change":
            await _change(reviewer, lan)
        elif word == "delete":
            name = await _agent(reviewer, lan, "Which agent? ")
            _tried(partial(lan.edit, Delete(name)))
        else:
            source = await _agent(reviewer, lan, "From which agent? ")
            target = await _agent(reviewer, lan, "To which agent? ")
            ends = Connect(source, target) if word == "connect" else Disconnect(source, target)
            _tried(partial(lan.edit, ends))


async def _create(reviewer: Reviewer, lan: Lan) -> None:
    given = {"name": "", "task": "", "output": ""}

    def would(key: str, text: str) -> None:
        filled = {one: known or f"its {one}" for one, known in given.items()}
        lan.would_be(Create(_agent_of({**filled, key: text.strip()})))

    for key in given:
        given[key] = (await reviewer.text(f"Its {key}: ", partial(would, key))).strip()
    _tried(partial(lan.edit, Create(_agent_of(given))))


def _agent_of(given: Mapping[str, str]) -> Agent:
    return Agent(given["name"], given["task"], given["output"])


async def _change(reviewer: Reviewer, lan: Lan) -> None:
    agent = lan.network.agent(await _agent(reviewer, lan, "Which agent? "))
    what = await reviewer.ask(f"{', '.join(_FIELDS)}? ", tuple(_FIELDS))
    field = _FIELDS[what]
    if field is Field.ENABLED:
        on = await reviewer.ask("Is its control module to decide? yes or no: ", _YES_NO) == "yes"
        _tried(partial(lan.edit, Edit(agent.name, field, on)))
        return
    pieces = {Field.KNOWLEDGE: agent.knowledge, Field.CONTROL_KNOWLEDGE: agent.control.knowledge}

    def operation(text: str) -> Operation:
        value = tuple(_pieces(text)) if field in pieces else text.strip()
        return Edit(agent.name, field, value)

    if field in pieces:
        said = f"Its {what}, one piece a line (an empty line ends it):\n"
        now = "\n".join(map(_line, pieces[field]))
    else:
        said = f"Its {what}: "
        now = {Field.NAME: agent.name, Field.TASK: agent.task, Field.OUTPUT: agent.output}[field]

    def would(text: str) -> None:
        lan.would_be(operation(text))

    text = await reviewer.text(said, would, now, lines=field in pieces)
    _tried(partial(lan.edit, operation(text)))


async def _agent(reviewer: Reviewer, lan: Lan, question: str) -> str:
    names: Sequence[str] = lan.network.names
    if len(names) == 1:
        return names[0]
    return await reviewer.ask(f"{question}({', '.join(names)}) ", names)


def _tried(change: Callable[[], object]) -> None:
    try:
        change()
    except PXPError as error:
        say("   refused: ", str(error))
    else:
        say("   saved")


def _show(lan: Lan) -> None:
    network = lan.network
    for name in network.order:
        agent = network.agent(name)
        sends = ", ".join(network.successors(name)) or "nobody"
        say(f"   {name} → {sends}: {agent.task}")
        for piece in agent.control.knowledge:
            say(f"      control: {_line(piece)}")
        for piece in agent.knowledge:
            say(f"      knows: {_line(piece)}")


def _line(piece: str) -> str:
    """A piece of knowledge on one line."""
    return piece.replace("\\", "\\\\").replace("\n", "\\n")


def _pieces(text: str) -> list[str]:
    """The pieces of knowledge that lines say; the inverse of `_line`."""
    said = {"\\\\": "\\", "\\n": "\n"}
    return [
        re.sub(r"\\[\\n]", lambda found: said[found[0]], line.strip())
        for line in text.splitlines()
        if line.strip()
    ]
