"""A network edited by hand at the terminal, by the operations of `pxp lan edit`.

Source: arXiv 2309.15943, section 4.2.2.
"""

from __future__ import annotations

import shlex

from backends.people.prompts import say
from backends.people.reviewing import Reviewer
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.lan.lan import Lan
from pxp_fsm.lan.operations import Operation
from pxp_fsm.workbench.network_edits import operation

_FORMS = (
    "create NAME TASK OUTPUT, delete NAME, connect NAME NAME, disconnect NAME NAME, "
    "set NAME FIELD VALUE..., undo; or an empty line"
)


async def edit_network(reviewer: Reviewer, lan: Lan) -> None:
    """One operation on `lan`, or none where the line is empty; texts of several words are quoted.

    What the network refuses is said, and the line stays to be mended.
    """
    _show(lan)
    say(f"   {_FORMS}")

    def accept(text: str) -> None:
        if text.strip() not in ("", "undo"):
            lan.would_be(_operation(text))

    text = (await reviewer.text("Operation: ", accept)).strip()
    try:
        if text == "undo":
            lan.undo()
        elif text:
            lan.edit(_operation(text), about=text)
    except PXPError as error:
        say("   ", str(error))


def _operation(text: str) -> Operation:
    try:
        return operation(tuple(shlex.split(text)))
    except ValueError as error:
        raise UsageError(f"{error}; close the quotes") from error


def _show(lan: Lan) -> None:
    network = lan.network
    for name in network.order:
        agent = network.agent(name)
        sends = ", ".join(network.successors(name)) or "nobody"
        say(f"   {name} → {sends}: {agent.task}")
        for piece in agent.control.knowledge:
            say(f"      control: {piece}")
        for piece in agent.knowledge:
            say(f"      knows: {piece}")
