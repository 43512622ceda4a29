"""Experiments as files: everything that the outcome depends on, repeatable and told apart.

The structure is what `experiment.schema.json` says, and this loader uses that very schema. An
experiment is known by a fingerprint of what its file means, the rows that it is about, the
automaton and the version of the package: running it again goes on where it was, and a changed one
is a new experiment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard
from backends.models.serving import Settings
from pxp_fsm import __version__, forms
from pxp_fsm.errors import Fault, FileError, UsageError
from pxp_fsm.workbench import defaults, plans, runs
from pxp_fsm.workbench.plans import Plan
from pxp_fsm.workbench.prompts import written
from pxp_fsm.workbench.tasks import DataSet, Task


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
        meaning = asdict(self.plan) | {
            "n": rules.n,
            "k": rules.k,
            "instances": None,
            "data": plans.data_fingerprint(self.plan, self.data),
            "automaton": rules.automaton.fingerprint,
            "version": __version__,
        }
        return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()

    @property
    def run(self) -> str:
        """The name of its run on a blackboard."""
        return f"{self.plan.task}@{self.fingerprint[:12]}"


def schema() -> dict[str, Any]:
    """The JSON Schema of experiment files, as published with the package."""
    resource = resources.files("pxp_fsm.workbench").joinpath("experiment.schema.json")
    loaded: dict[str, Any] = json.loads(resource.read_text("utf-8"))
    return loaded


def load(path: Path) -> Experiment:
    """The experiment in the file `path` (TOML, or JSON by its name).

    Raises `FileError` with every fault of the file, each with its line, and `DataError` where
    its data cannot be used; nothing is stored.
    """
    text = forms.text_of(path, "an experiment")
    raw = forms.read(text, path.name)
    found = forms.faults(raw, schema()) or _faults(raw)
    if found:
        raise FileError(forms.located(found, text, str(path)))
    plan = _plan(raw, path.absolute().parent)
    try:
        task, data = plans.read_plan(plan)
    except UsageError as error:
        at = next((key for key in _ABOUT if _about(key, str(error))), None)
        fault = Fault((at,) if at else (), str(error))
        raise FileError(forms.located([fault], text, str(path))) from error
    return Experiment(path, raw.get("title", path.stem), plan, task, data)


def open_run(
    experiment: Experiment, blackboard: SqlBlackboard, settings: Settings | None = None
) -> runs.Run:
    """The run of `experiment` on `blackboard`: what is there of it, or a new one.

    `settings` are how its models are asked.
    """
    if experiment.run in {record.run for record in blackboard.runs()}:
        return runs.resume(experiment.run, blackboard, settings)
    found = (experiment.task, experiment.data)
    return runs.start(experiment.plan, blackboard, found, settings, experiment.run)


def run_named(name: str) -> str:
    """The run that `name` means: that of an experiment's file, or one of that name."""
    path = Path(name)
    return load(path).run if path.suffix in (".toml", ".json") else name


_ABOUT = ("instances", "repetitions", "learning", "task", "data", "timeout", "seed")


def _about(key: str, said: str) -> bool:
    """Whether an error speaks of what stands at `key`."""
    return ("validation set" if key == "learning" else key.rstrip("s")) in said


def _faults(raw: Mapping[str, Any]) -> list[Fault]:
    """What a schema cannot say: which bound is of which protocol."""
    pxp = raw.get("protocol") == "pxp"
    found: list[Fault] = []
    if pxp and "n" in raw:
        found.append(Fault(("n",), "n is INTERACT's bound; PXP is bounded by k"))
    if not pxp and raw.get("k") == "unbounded":
        found.append(Fault(("k",), "only PXP is unbounded; give INTERACT a number"))
    return found


def _plan(raw: Mapping[str, Any], folder: Path) -> Plan:
    pxp = raw.get("protocol") == "pxp"
    instances = raw.get("instances")
    if isinstance(instances, list):
        instances = ",".join(instances)
    learning, agents = raw.get("learning", {}), dict(raw.get("agents", {}))
    if "prompts" in agents:
        agents["prompts"] = written(folder / agents["prompts"])
    k = raw.get("k", defaults.K)
    same = ("protocol", "repetitions", "seed", "order", "memo", "timeout")
    return Plan(
        raw["task"],
        n=None if pxp else raw.get("n", defaults.N),
        k=None if k == "unbounded" else k,
        instances=None if instances is None else str(instances),
        data=str(folder / raw["data"]) if "data" in raw else None,
        **{key: raw[key] for key in same if key in raw},
        **agents,
        **{
            field: learning[key]
            for field, key in (("learn", "keep"), ("gate", "gate"), ("carry", "carry"))
            if key in learning
        },
    )
