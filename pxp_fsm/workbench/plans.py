"""What a run depends on: its plan, checked before anything is stored, and the rows it asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_type_hints

from pxp_fsm.decisions import check_bound
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted
from pxp_fsm.rules import Interact, Pxp, Rules
from pxp_fsm.workbench import defaults
from pxp_fsm.workbench.tasks import DataSet, Row, Task, find_task

MOST = 10**9
"""The greatest bound, number of repetitions and timeout: more than any run gets to."""

_SEEDS = 2**63


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run depends on, as it is stored with the run.

    `instances` is a number (the first so many rows), `all`, or keys joined by commas; None is 20,
    or all where there are fewer. `data` is the folder of the authors' data, or None for the bundled
    set. For PXP `n` is None and `k` bounds the self-loops; None leaves them unbounded. `timeout`,
    in seconds, bounds each question to an agent or its relations; a session whose question stays
    without an answer ends as late.
    """

    task: str
    protocol: str = "interact"
    n: int | None = defaults.N
    k: int | None = defaults.K
    repetitions: int = 1
    seed: int = 0
    instances: str | None = None
    data: str | None = None
    memo: bool = True
    timeout: float | int | None = None

    def rules(self) -> Rules:
        """The protocol's rules; `UsageError` where a bound is out of range."""
        if self.protocol == "interact":
            return Interact(
                defaults.N if self.n is None else self.n, defaults.K if self.k is None else self.k
            )
        if self.protocol == "pxp":
            return Pxp(self.k)
        raise UsageError(f"there is no protocol {self.protocol!r}; there are: interact, pxp")

    def as_json(self) -> str:
        """The plan as it is stored."""
        return json.dumps(asdict(self))


def stored_plan(run: str, text: str) -> Plan:
    """The plan that is stored with `run`; `UsageError` where it is none."""
    try:
        raw = json.loads(text)
        wrong = _no_plan(raw)
        if wrong is None:
            plan = Plan(**raw)
            check(plan)
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
    unknown = sorted(set(raw) - set(get_type_hints(Plan)))
    return f"it has {quoted(', '.join(unknown))}, which is unknown here" if unknown else None


def check(plan: Plan) -> None:
    """Raise `UsageError` where a value of the plan is none, or a number out of its range."""
    for name, kind in get_type_hints(Plan).items():
        value = getattr(plan, name)
        if not isinstance(value, kind):
            raise UsageError(f"{name} cannot be {quoted(value)}")
    plan.rules()
    check_bound(plan.repetitions, "repetitions are")
    for name in ("n", "k", "repetitions"):
        if (getattr(plan, name) or 0) > MOST:
            raise UsageError(f"{name} is at most {MOST}; give a smaller one")
    if type(plan.seed) is not int or abs(plan.seed) >= _SEEDS:
        raise UsageError(f"a seed is a whole number between -{_SEEDS} and {_SEEDS}")
    if plan.timeout is not None and not 0 < plan.timeout <= MOST:
        raise UsageError(f"a timeout is more than 0 and at most {MOST} seconds")


def read(plan: Plan) -> tuple[Task, DataSet]:
    """The task of `plan` and its data, as chosen; nothing is stored.

    Raises `UsageError` or `DataError` for whatever in the plan or its data cannot be used.
    """
    task = find_task(plan.task)
    check(plan)
    return task, choose(plan, task.load(Path(plan.data) if plan.data is not None else None))


def choose(plan: Plan, data: DataSet) -> DataSet:
    """`data` with the session rows that the plan asks for, or `UsageError`."""
    rows = data.sessions
    if plan.instances is None:
        chosen = rows[: defaults.INSTANCES]
    else:
        chosen = tuple(_chosen(plan.instances.strip(), rows))
    return replace(data, sessions=chosen, whole=rows)


def _chosen(instances: str, rows: tuple[Row, ...]) -> Iterator[Row]:
    if instances == "all":
        yield from rows
        return
    if re.fullmatch(r"[+-]?[0-9]+", instances):
        number = int(instances) if len(instances) < 12 else 0
        if not 1 <= number <= len(rows):
            raise UsageError(f"there are {len(rows)} instances; give 1 to {len(rows)}, or all")
        yield from rows[:number]
        return
    by_key = {row.instance.key: row for row in rows}
    for key in dict.fromkeys(part.strip() for part in instances.split(",")):
        if key not in by_key:
            raise UsageError(
                f"there is no instance {quoted(key)}; there are: {', '.join(list(by_key)[:20])}"
                + (", …" if len(by_key) > 20 else "")
            )
        yield by_key[key]
