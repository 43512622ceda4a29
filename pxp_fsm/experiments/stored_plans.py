"""Plans as they are stored with their runs, read again."""

from __future__ import annotations

import json
import math
from typing import Protocol

from backends.databases.origins import ORIGIN
from backends.models.settings import Settings
from pxp_fsm import defaults
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.plans import CAPS, DEVIATIONS, Plan, check_plan

_BESIDE = (DEVIATIONS, CAPS, ORIGIN)
"""What is stored beside the fields of a plan."""


class StoredRun(Protocol):
    """A run as it is stored: its name, its task, and its plan as JSON."""

    @property
    def run(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def plan(self) -> str: ...


def stored_deviations(record: StoredRun) -> tuple[str, ...]:
    """What of a stored run was not as in its paper, as was known when it began."""
    found = json.loads(record.plan).get(DEVIATIONS, [])
    return tuple(map(str, found)) if isinstance(found, list) else ()


WITHOUT_PLAN = {
    defaults.OWN: "has sessions of a program of your own, and no plan; they can be listed, drawn "
    "and audited",
    defaults.NETWORKS: "trained a network, with no plan of sessions; those can be listed",
    defaults.SYSTEMS: "is of a system, whose messages carry no predictions to count; its sessions "
    "can be listed, drawn, audited and monitored",
}
"""What is said of a run that followed no plan, by its task."""


def with_stored_caps(settings: Settings | None, record: StoredRun) -> Settings:
    """`settings`, with the caps that a stored run began with where they set none.

    Raises `UsageError` where what is stored is no cap.
    """
    raw = json.loads(record.plan)
    found = raw.get(CAPS, {}) if isinstance(raw, dict) else {}
    if not isinstance(found, dict) or not all(
        name in ("dollars", "calls") and type(value) in _CAP[name] and 0 <= value < math.inf
        for name, value in found.items()
    ):
        raise UsageError(
            f"the caps of run {quoted(record.run)} cannot be read ({quoted(found)}); the plan was "
            f"changed, or another program wrote it: start a new run"
        )
    return (settings or Settings()).with_caps(found)


_CAP = {"dollars": (int, float), "calls": (int,)}


def stored_plan(record: StoredRun) -> Plan:
    """The plan that is stored with a run; `UsageError` where it is none."""
    run = record.run
    if record.task in WITHOUT_PLAN:
        raise UsageError(f"run {quoted(run)} {WITHOUT_PLAN[record.task]}")
    try:
        raw = json.loads(record.plan)
        wrong = _no_plan(raw)
        if wrong is None:
            plan = Plan(**{name: value for name, value in raw.items() if name not in _BESIDE})
            check_plan(plan)
            return plan
    except (UsageError, ValueError, RecursionError) as error:
        wrong = str(error)
    raise UsageError(
        f"the plan of run {quoted(run)} cannot be read ({wrong}); it was changed, or another "
        f"program wrote it: start a new run"
    )


def _no_plan(raw: object) -> str | None:
    if not isinstance(raw, dict) or "task" not in raw:
        return "it names no task"
    unknown = sorted(set(raw) - {*Plan.__dataclass_fields__, *_BESIDE})
    return f"it has {quoted(', '.join(unknown))}, which is unknown" if unknown else None
