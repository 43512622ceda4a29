"""The prompts that come with tasks, and their replacement by your own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pxp_fsm import registry
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.prompting.prompts import Prompts, read_prompts

PATHWAYS = "-pathways"
"""What the names of the files end in by which a task's models are asked for pathways."""


def bundled_prompts(task: str, of_papers: bool = False, variant: str = "") -> str:
    """The text of the prompts that come with `task`, or of those that say in our words what the
    papers' do.

    They are files in the folder `prompts` beside the task's module: NAME.toml, papers-NAME.toml,
    and NAME with a `variant`. Raises `UsageError` where there is no such file.
    """
    name = f"papers-{task}" if of_papers else f"{task}{variant}"
    where = registry.contribution("tasks", task)
    if where is not None:
        package = where.partition(":")[0].rpartition(".")[0]
        entry = files(package).joinpath("prompts", f"{name}.toml")
        if entry.is_file():
            return entry.read_text("utf-8")
    raise UsageError(
        f"task {quoted(task)} has no prompts of its own; give a file of prompts", "prompts"
    )


def prompts_text(path: Path, task: str) -> str:
    """The text of the file `path`; raises `DataError` where it has no usable prompts of `task`."""
    text = text_of(path, "a file of prompts", error=DataError).replace("\r\n", "\n")
    read_prompts(text, str(path), task)
    return text


def prompts_of(task: str, source: str | None = None, *, of_papers: bool = False) -> Prompts:
    """The prompts that a plan means: `source`, or those that come with `task`."""
    if source is None:
        return read_prompts(bundled_prompts(task, of_papers), f"the prompts of {task}")
    return read_prompts(source, "the plan's prompts", task)
