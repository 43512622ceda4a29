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
    "run": Entry(
        "run a network on an input", f"{_HERE}.network:run", f"{_HERE}.options:LanRunOptions"
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
    "log": Entry(
        "print the change log of a network",
        f"{_HERE}.network:log",
        f"{_HERE}.options:LanLogOptions",
    ),
    "undo": Entry(
        "undo the latest change", f"{_HERE}.network:undo", f"{_HERE}.options:LanUndoOptions"
    ),
    "redo": Entry(
        "do again what was undone last",
        f"{_HERE}.network:redo",
        f"{_HERE}.options:LanRedoOptions",
    ),
    "restore": Entry(
        "go to an earlier version",
        f"{_HERE}.network:restore",
        f"{_HERE}.options:LanRestoreOptions",
    ),
    "show": Entry(
        "print a network, with its last run",
        f"{_HERE}.network:show",
        f"{_HERE}.options:LanShowOptions",
    ),
    "draw": Entry("draw a network", f"{_HERE}.network:draw", f"{_HERE}.options:LanDrawOptions"),
    "serve": Entry(
        "edit, run and train a network in a browser",
        f"{_HERE}.serve:serve",
        f"{_HERE}.options:LanServeOptions",
    ),
    "tasks": Entry(
        "list tasks and their criteria",
        f"{_HERE}.tasks:tasks",
        f"{_HERE}.options:LanTasksOptions",
    ),
    "test": Entry(
        "score a network on a task", f"{_HERE}.tasks:test", f"{_HERE}.options:LanTestOptions"
    ),
    "compare": Entry(
        "compare three ways of training on a task",
        f"{_HERE}.tasks:compare",
        f"{_HERE}.options:LanCompareOptions",
    ),
    "distance": Entry(
        "compute the least editing between two networks",
        f"{_HERE}.tasks:distance",
        f"{_HERE}.options:LanDistanceOptions",
    ),
    "actions": Entry(
        "list the manual changes of a network",
        f"{_HERE}.tasks:actions",
        f"{_HERE}.options:LanActionsOptions",
    ),
}


@click.group(cls=CommandGroup, sections={"Commands": _COMMANDS})
def lan() -> None:
    """Run and train networks of LLM agents, kept in files such as my.lan.json."""
