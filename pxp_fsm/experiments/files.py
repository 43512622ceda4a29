"""Experiment files: everything that the outcome depends on, with a fingerprint.

The structure is that of a `Plan`, from which the published schema is made. An
experiment is known by a fingerprint of what its file means, the rows that it is about, the
automaton and the version of the package: running it again goes on where it was, and a changed one
is a new experiment.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm import __version__, options
from pxp_fsm.errors import Fault, UsageError
from pxp_fsm.experiments import openings, plan_data, plans, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import given, option
from pxp_fsm.schemas import FileKind
from pxp_fsm.tasks.task import DataSet, Task


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that can be run: its plan, its task, and its data as chosen."""

    path: Path
    title: str
    plan: Plan
    task: Task
    data: DataSet

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what the experiment depends on.

        Titles, notes, spelled-out defaults, the order of keys and where the data are kept change
        nothing.
        """
        rules = self.plan.rules()
        chosen = self.plan.meaning()
        chosen.pop("materials", None)  # what they are is in the data's fingerprint
        meaning = chosen | {
            "n": rules.n,
            "k": rules.k,
            "instances": None,
            "data": plan_data.data_fingerprint(self.plan, self.data),
            "automaton": rules.automaton.fingerprint,
            "version": __version__,
        }
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    @property
    def run(self) -> str:
        """The name of its run on a blackboard."""
        return f"{self.plan.task}@{self.fingerprint[:12]}"


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """What an experiment's file says: what people call it, and what of a `Plan` it sets."""

    title: str = option("What people call it; it changes nothing.", "", least=0)
    note: str = option("What people should know; it changes nothing.", "", least=0)
    plan: Mapping[str, Any] = given(Plan)


EXPERIMENT = FileKind(
    ExperimentFile,
    "an experiment",
    "An experiment of pxp-fsm",
    "Everything that the outcome of an experiment depends on. Written as TOML; the same structure "
    "as JSON is accepted too. Paths are read from the folder of the file. Whether a task, its data "
    "and agents are there is checked by the loader.",
    name="experiment",
)


_PATHS = ("data", "materials", "prompts")
"""Fields of a plan that are paths."""


def load(path: Path, changes: Mapping[str, Any] = MappingProxyType({})) -> Experiment:
    """The experiment in the file `path` (TOML, or JSON by its name).

    `changes` are fields of its plan in place of what the file sets; their paths are read from here.
    Raises `FileError` with every fault of the file, each with its line, and `DataError` where its
    data cannot be used; nothing is stored.
    """
    file = EXPERIMENT.load(path)
    here = {name: str(Path(changes[name]).absolute()) for name in _PATHS if name in changes}
    try:
        values = {**file.value.plan, **changes, **here}
        plan = plans.build_plan(values, path.absolute().parent)
        task, data = plan_data.read_plan(plan)
    except UsageError as error:
        raise file.refusal(Fault(_place(error.field), str(error))) from error
    return Experiment(path, file.value.title or path.stem, plan, task, data)


def save(path: Path, changes: Mapping[str, Any]) -> None:
    """Write the experiment's file `path` (TOML, or JSON by its name) whose plan has these fields.

    They are as for `plans.build_plan`, with paths that are read from here. What `load` reads of the
    file is the plan that `build_plan` makes of them. Raises `UsageError` where a file is there.
    """
    values = dict(changes)
    for name in _PATHS:
        if name in values:
            values[name] = os.path.relpath(values[name], path.absolute().parent)
    instances = values.get("instances")
    if isinstance(instances, str) and instances != "all":
        names = [name.strip() for name in instances.split(",")]
        is_number = names[0].isascii() and names[0].isdigit() and len(names) == 1
        values["instances"] = int(names[0]) if is_number else names
    written = EXPERIMENT.write(ExperimentFile(plan=values))
    if path.suffix == ".json":
        text = json.dumps(written, indent=1, ensure_ascii=False) + "\n"
    else:
        import tomlkit

        text = tomlkit.dumps(written)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already; give a new name", "save_plan") from None


def open_run(
    experiment: Experiment,
    blackboard: SqlBlackboard,
    settings: Settings | None = None,
    *,
    may_be_over: bool = False,
) -> runs.Run[openings.TaskOpening]:
    """The run of `experiment` on `blackboard`: what is there of it, or a new one.

    `settings` are how its models are asked; `may_be_over` as for `runs.resume`.
    """
    if experiment.run in {record.run for record in blackboard.runs()}:
        return runs.resume(experiment.run, blackboard, settings, may_be_over=may_be_over)
    opening = openings.TaskOpening(experiment.plan, experiment.task, experiment.data, settings)
    return runs.start(opening, blackboard, name=experiment.run)


def run_name(name: str) -> str:
    """The run that `name` means: that of an experiment's file, or one of that name."""
    path = Path(name)
    return load(path).run if path.suffix in (".toml", ".json") else name


def _place(field: str | None) -> tuple[str, ...]:
    """Where a file sets a field of its plan: the key, or the table that the key stands in."""
    keys = (setting.key for setting in options.settings(Plan) if setting.field == field)
    return tuple(key.partition(".")[0] for key in keys)
