"""The data of a plan: the rows that it selects, what is held back, and their fingerprint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.orders import Order, check_order
from pxp_fsm.experiments.plans import Plan, check_plan
from pxp_fsm.sessions.learning import Gate, Gated, Keep
from pxp_fsm.tasks.registry import find_task
from pxp_fsm.tasks.task import DataSet, Row, Task


def read_plan(plan: Plan, task: Task | None = None) -> tuple[Task, DataSet]:
    """The task of `plan` (or the `task` given) and its data, as chosen; nothing is stored.

    Raises `UsageError` or `DataError` for whatever in the plan or its data cannot be used.
    """
    task = task or find_task(plan.task)
    check_plan(plan)
    if plan.precedents is not None and not (task.has_precedents and plan.goes_without_model):
        raise UsageError("precedents requires drug's own machine", "precedents")
    task, loaded = load(plan, task)
    if task.check_machine is not None and plan.goes_without_model:
        task.check_machine(loaded)
    data = replace(choose(plan, loaded), same_product=plan.precedents == "all")
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
    return task, loaded


def gate_of(plan: Plan, data: DataSet) -> Gate | None:
    """What keeps the machine from learning as it is told; None where it learns everything."""
    if plan.learn == Keep.ALWAYS:
        return None
    rows = [(row.instance, row.answer.prediction) for row in validation(data)]
    return Gate(Keep(plan.learn), Gated(plan.gate), rows)


def validation(data: DataSet) -> tuple[Row, ...]:
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
        found = len(getattr(held, field))
        if wanted is not None and found < wanted:
            raise UsageError(f"the data hold {found} rows back for {field}, not {wanted}", field)
    return held


def _chosen(instances: str, rows: tuple[Row, ...]) -> Iterator[Row]:
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
            raise UsageError(
                f"there is no instance {quoted(key)}; there are: {', '.join(list(by_key)[:20])}"
                + (", …" if len(by_key) > 20 else ""),
                field,
            )
        yield by_key[key]
