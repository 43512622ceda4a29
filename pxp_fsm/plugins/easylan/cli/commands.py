"""`pxp lan`: the commands of networks."""

from __future__ import annotations

import click

from pxp_fsm.cli.command import CommandGroup
from pxp_fsm.registry import Entry

_HERE = __name__.rpartition(".")[0]

_COMMANDS = {
    "new": Entry(
        "create a network of one agent", f"{_HERE}.network:new", f"{_HERE}.options:LanNewOptions"
    ),
    "train": Entry(
        "train a network on examples",
        f"{_HERE}.network:train",
        f"{_HERE}.options:LanTrainOptions",
    ),
    "edit": Entry(
        "apply one operation to a network",
        f"{_HERE}.network:edit",
        f"{_HERE}.options:LanEditOptions",
    ),
    "history": Entry(
        "print the changes of a network, undo, redo, go back",
        f"{_HERE}.network:history",
        f"{_HERE}.options:LanHistoryOptions",
    ),
    "test": Entry(
        "score a network on a task", f"{_HERE}.tasks:test", f"{_HERE}.options:LanTestOptions"
    ),
}


_INSTEAD = {
    "run": "run NETWORK INPUT",
    "serve": "serve NETWORK",
    "show": "show NETWORK",
    "draw": "draw NETWORK",
    "distance": "compare NETWORK NETWORK",
    "compare": "run TASK, or pxp compare NETWORK NETWORK",
    "tasks": "list networks, or pxp show TASK",
    **dict.fromkeys(("log", "actions"), "lan history NETWORK"),
    **dict.fromkeys(("undo", "redo"), "lan history NETWORK undo (or redo)"),
    "restore": "lan history NETWORK N",
}


@click.group(cls=CommandGroup, sections={"Commands": _COMMANDS}, instead=_INSTEAD)
def lan() -> None:
    """Train and edit networks of LLM agents, kept in files such as my.lan.json."""
