"""What filling in and changing the form of an agent costs, in UED (arXiv 2309.15943, Figure 5)."""

from __future__ import annotations

from collections.abc import Callable

from pxp_fsm.lan.costs import cost
from pxp_fsm.lan.keystrokes import text_cost
from pxp_fsm.lan.network import Agent

FIELDS: dict[str, Callable[[Agent], str]] = {
    "name": lambda agent: agent.name,
    "task": lambda agent: agent.task,
    "output": lambda agent: agent.output,
    "control knowledge": lambda agent: "\x00".join(agent.control.knowledge),
    "knowledge": lambda agent: "\x00".join(agent.knowledge),
}
"""What the form of an agent shows; a key begins a further piece of knowledge.

The pieces are told apart by a character that stands in none of them.
"""

EMPTY = Agent("", "", "")
"""What the form of a new agent shows."""

TextCost = Callable[[str, str], int]


def form_cost(before: Agent, after: Agent, text: TextCost = text_cost) -> int:
    """The least UED within an open form, saving included; 0 where nothing in it changes."""
    spent = sum(text(shown(before), shown(after)) for shown in FIELDS.values())
    spent += cost("switch") * (before.control.enabled != after.control.enabled)
    return spent + cost("save") if spent else 0


def made_cost(agent: Agent) -> int:
    """The least UED of a new agent like this, without its edges."""
    return cost("create") + form_cost(EMPTY, agent)


def edited_cost(before: Agent, after: Agent, text: TextCost = text_cost) -> int:
    """The least UED of making an agent into another, without edges: its form is opened first."""
    spent = form_cost(before, after, text)
    return cost("open") + spent if spent else 0
