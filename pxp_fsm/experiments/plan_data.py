"""What plans mean: the rows that they select, and plans as they are stored with their runs."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Protocol

from backends.databases.records import ORIGIN, RunRecord
from backends.models.settings import Settings
from pxp_fsm import defaults
from pxp_fsm.errors import DataError, UsageError, did_you_mean, quoted
from pxp_fsm.experiments.plans import CAPS, DEVIATIONS, Order, Plan, check_order, check_plan
from pxp_fsm.sessions.learning import Gate, Gated, Keep
from pxp_fsm.tasks.task import DataRow, DataSet, Task, find_task


def read_plan(plan: Plan, task: Task | None = None) -> tuple[Task, DataSet]:
    """The task of `plan` (or the `task` given) and its data, as chosen; nothing is stored.

    Raises `UsageError` or `DataError` for whatever in the plan or its data cannot be used.
    """
    task = task or find_task(plan.task)
    check_plan(plan)
    if plan.precedents is not None and not (task.precedents and plan.goes_without_model):
        raise UsageError("precedents requires a task's own machine that has some", "precedents")
    task, loaded = load(plan, task)
    data = replace(choose(plan, loaded), precedents=plan.precedents or "")
    if task.check_machine is not None and plan.goes_without_model:
        task.check_machine(data)
    gate_of(plan, data)
    check_order(Order(plan.order), len(data.sessions), plan.repetitions)
    return task, data


def load(plan: Plan, task: Task) -> tuple[Task, DataSet]:
    """All data of `plan`, read as its predictions are to be, and the task that asks for these.

    Raises `UsageError` or `DataError` for data that cannot be used.
    """
    loaded = task.load(Path(plan.data) if plan.data is not None else None)
    if plan.label is not None:
        if task.one_label is None:
            raise UsageError(f"task {task.name} has no labels", "label")
        loaded = task.one_label(loaded, plan.label)
    if plan.materials is not None:
        if task.pathways is None:
            raise UsageError(f"task {task.name} has no pathways", "materials")
        loaded = task.pathways(loaded, Path(plan.materials), plan.match)
    elif plan.match is not None:
        raise UsageError("match requires materials: it compares pathways", "match")
    if task.problem_of is not None:
        task = replace(task, problem=task.problem_of(loaded))
    if loaded.examples and task.problem is not None:
        shown = tuple((row.instance, row.answer) for row in loaded.examples)
        task = replace(task, problem=replace(task.problem, examples=shown))
    return task, loaded


def draw_of(plan: Plan, repetition: int) -> str:
    """What decides whatever is drawn for a repetition, counted from 1 (`DataSet.draw`)."""
    return f"{plan.seed}/{repetition}"


def run_title(record: RunRecord) -> str:
    """What a run is called beside others: its setting, and the pseudonym of who took part."""
    told = [stored_plan(record).setting, *([record.subject] if record.subject else [])]
    return f"{record.run} ({', '.join(told)})"


def gate_of(plan: Plan, data: DataSet) -> Gate | None:
    """What keeps the machine from learning as it is told; None where it learns everything."""
    if plan.learn == Keep.ALWAYS:
        return None
    rows = [(row.instance, row.answer.prediction) for row in validation(data)]
    return Gate(Keep(plan.learn), Gated(plan.gate), rows)


def validation(data: DataSet) -> tuple[DataRow, ...]:
    """The rows that lessons are weighed on: the set held back, or what no session and test has."""
    taken = {*data.sessions, *data.test}
    return data.validation or tuple(row for row in data.whole if row not in taken)


def data_fingerprint(plan: Plan, data: DataSet) -> str:
    """SHA-256 (hex) of the rows that the plan depends on: the sessions', and those held back."""
    parts = [data.fingerprint]
    if plan.learn not in (Keep.ALWAYS, Keep.NEVER):
        parts.append(replace(data, sessions=validation(data)).fingerprint)
    if plan.test is not None:
        parts.append(replace(data, sessions=data.test).fingerprint)
    if data.examples:
        parts.append(replace(data, sessions=data.examples).fingerprint)
    if data.terms:
        parts.append(hashlib.sha256(repr(data.terms).encode()).hexdigest())
    if data.materials:
        parts.append(hashlib.sha256("\n".join(sorted(data.materials)).encode()).hexdigest())
    return parts[0] if len(parts) == 1 else hashlib.sha256("/".join(parts).encode()).hexdigest()


def choose(plan: Plan, data: DataSet) -> DataSet:
    """`data` with the session rows that the plan asks for, or `UsageError`."""
    rows = data.sessions
    if plan.instances is None:
        chosen = rows[: defaults.INSTANCES]
    else:
        chosen = tuple(_chosen(plan.instances.strip(), rows))
    among = set(chosen)
    free = [row for row in rows if row not in among]
    held = replace(data, sessions=chosen, whole=rows)
    if plan.test is not None:
        test = data.test[: plan.test] or (*data.validation, *free)[-plan.test :]
        free = [row for row in free if row not in test]
        left = tuple(row for row in data.validation if row not in test)
        held = replace(held, test=test, validation=left or tuple(free))
    if plan.validation is not None:
        held = replace(held, validation=(held.validation or tuple(free))[: plan.validation])
    for field, wanted in (("test", plan.test), ("validation", plan.validation)):
        held_back = len(getattr(held, field))
        if wanted is not None and held_back < wanted:
            raise UsageError(
                f"the data hold {held_back} rows back for {field}, not {wanted}", field
            )
    return held


def _chosen(instances: str, rows: tuple[DataRow, ...]) -> Iterator[DataRow]:
    field = "instances"
    if instances == "all":
        yield from rows
        return
    if re.fullmatch(r"[+-]?[0-9]+", instances):
        number = int(instances) if len(instances) < 12 else 0
        if not 1 <= number <= len(rows):
            raise UsageError(
                f"there are {len(rows)} instances; give 1 to {len(rows)}, or all", field
            )
        yield from rows[:number]
        return
    by_key = {row.instance.key: row for row in rows}
    for key in dict.fromkeys(part.strip() for part in instances.split(",")):
        if key not in by_key:
            some = ", ".join(list(by_key)[:20]) + (", …" if len(by_key) > 20 else "")
            near = did_you_mean(key, by_key) or f"; there are: {some}"
            raise UsageError(f"there is no instance {quoted(key)}{near}", field)
        yield by_key[key]


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
    deviations = json.loads(record.plan).get(DEVIATIONS, [])
    return tuple(map(str, deviations)) if isinstance(deviations, list) else ()


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
    caps = raw.get(CAPS, {}) if isinstance(raw, dict) else {}
    if not isinstance(caps, dict) or not all(
        name in ("dollars", "calls") and type(value) in _CAP[name] and 0 <= value < math.inf
        for name, value in caps.items()
    ):
        raise UsageError(
            f"the caps of run {quoted(record.run)} cannot be read ({quoted(caps)}); the plan was "
            f"changed, or another program wrote it: start a new run"
        )
    return (settings or Settings()).with_caps(caps)


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


def recorded_data(record: RunRecord, task: Task | None = None) -> tuple[Plan, Task, DataSet]:
    """The plan of a stored run, its task (or the `task` given) and its data, as they were then.

    Raises `UsageError` or `DataError` where they cannot be had, or are not what they were.
    """
    plan = stored_plan(record)
    task, data = read_plan(plan, task)
    if data_fingerprint(plan, data) != record.data_fingerprint:
        raise DataError(
            f"the data of run {record.run} have changed since it began; start a new run"
        )
    return plan, task, data


def _no_plan(raw: object) -> str | None:
    if not isinstance(raw, dict) or "task" not in raw:
        return "it names no task"
    unknown = sorted(set(raw) - {*(field.name for field in fields(Plan)), *_BESIDE})
    return f"it has {quoted(', '.join(unknown))}, which is unknown" if unknown else None


def placed(plan: Plan) -> Plan:
    """The plan with the whole paths of its data, as it is stored."""
    data, materials = (
        None if path is None else str(Path(path).absolute()) for path in (plan.data, plan.materials)
    )
    return replace(plan, data=data, materials=materials)
