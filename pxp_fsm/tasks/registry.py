"""The registry of tasks: the built-in ones, and those of plug-ins.

Plug-ins add tasks as installed entry points of the group `pxp_fsm.tasks`; nothing is ever imported
by a name from a file. A task is loaded only when it is asked for: its agents need much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pxp_fsm.errors import unknown_name
from pxp_fsm.tasks.task import Task

GROUP = "pxp_fsm.tasks"

_BUILTIN = (
    EntryPoint("drug", "pxp_fsm.tasks.drug.task:DRUG", GROUP),
    EntryPoint("rad", "pxp_fsm.tasks.rad.task:RAD", GROUP),
)


def task_names() -> tuple[str, ...]:
    """The names of every task there is, sorted."""
    return tuple(sorted({entry.name for entry in _entries()}))


def task_meanings() -> dict[str, str]:
    """What each task is about, by name; of a plug-in, which is not loaded, where it is from."""
    found = dict[str, str]()
    for entry in _entries():
        if entry in _BUILTIN:
            found[entry.name] = entry.load().about
        else:
            source = entry.dist.name if entry.dist is not None else "a plug-in"
            found.setdefault(entry.name, f"from {source}")
    return dict(sorted(found.items()))


def find_task(name: str) -> Task:
    """The task of that name; `UsageError` where there is none."""
    for entry in _entries():
        if entry.name == name:
            task: Task = entry.load()
            return task
    raise unknown_name("task", name, task_meanings(), "task")


def _entries() -> Iterator[EntryPoint]:
    """The package's own tasks come first: no plug-in takes the name of one."""
    yield from _BUILTIN
    yield from _plugins(tuple(sys.path))


@cache
def _plugins(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Those that were installed there when this process first asked: looking takes long."""
    return tuple(entry_points(group=GROUP))
