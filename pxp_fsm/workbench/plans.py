"""What a run depends on: its plan, checked before anything is stored, and the rows it asks for."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_type_hints

from backends.databases import RunRecord
from pxp_fsm.decisions import check_bound
from pxp_fsm.errors import UsageError
from pxp_fsm.learning import Gate, Gated, Keep
from pxp_fsm.messages import quoted
from pxp_fsm.rules import Interact, Pxp, Rules
from pxp_fsm.workbench import defaults, orders
from pxp_fsm.workbench.orders import Order
from pxp_fsm.workbench.task_registry import find_task
from pxp_fsm.workbench.tasks import DataSet, Row, Task

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
    without an answer ends as late. `machine`, `human` and `judge` (of AGREE) name who sits in place
    of the task's own agents and relation; None leaves the task's own. `preset` names a paper whose
    settings are taken; `prompts` is the text of a file of prompts, or None for the task's own.
    `scope` is how far a judge remembers its verdicts (None: the session, or with `memo` off not at
    all), `votes` how often it is asked each question. `learn` says when the machine keeps what it
    is told, and `gate` what is refused otherwise (`pxp_fsm.learning`); with `carry` it goes on with
    what it has learned from session to session (None: the task's own machine does, a model does
    not). `order` is that of the instances
    (`pxp_fsm.workbench.orders`).
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
    machine: str | None = None
    human: str | None = None
    judge: str | None = None
    preset: str | None = None
    prompts: str | None = None
    scope: str | None = None
    votes: int = 1
    learn: str = Keep.ALWAYS.value
    gate: str = Gated.REVISION.value
    carry: bool | None = None
    order: str = Order.SHUFFLED.value

    def rules(self) -> Rules:
        """The protocol's rules; `UsageError` where a bound is out of range."""
        if self.protocol == "interact":
            return Interact(
                defaults.N if self.n is None else self.n, defaults.K if self.k is None else self.k
            )
        if self.protocol == "pxp":
            return Pxp(self.k)
        raise UsageError(f"there is no protocol {self.protocol!r}; there are: interact, pxp")

    @property
    def goes_on(self) -> bool:
        """Whether the machine goes on with what it has learned; a model does only if asked to."""
        return self.machine is None and self.preset is None if self.carry is None else self.carry

    def as_json(self) -> str:
        """The plan as it is stored."""
        return json.dumps(asdict(self))


def stored_plan(record: RunRecord) -> Plan:
    """The plan that is stored with a run; `UsageError` where it is none."""
    run = record.run
    if record.task == defaults.NETWORKS:
        raise UsageError(
            f"run {quoted(run)} is the training of a network of agents, with no plan of sessions; "
            f"pxp sessions {run} lists its sessions (docs/lan.md)"
        )
    try:
        raw = json.loads(record.plan)
        wrong = _no_plan(raw)
        if wrong is None:
            plan = Plan(**raw)
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
    unknown = sorted(set(raw) - set(get_type_hints(Plan)))
    return f"it has {quoted(', '.join(unknown))}, which is unknown here" if unknown else None


def check_plan(plan: Plan) -> None:
    """Raise `UsageError` where a value of the plan is none, or a number out of its range."""
    for name, kind in get_type_hints(Plan).items():
        value = getattr(plan, name)
        if not isinstance(value, kind):
            raise UsageError(f"{name} cannot be {quoted(value)}")
    plan.rules()
    for name, known in (("learn", Keep), ("gate", Gated), ("order", Order)):
        if getattr(plan, name) not in set(known):
            raise UsageError(
                f"{name} is one of {', '.join(known)}; it was {quoted(getattr(plan, name))}"
            )
    check_bound(plan.repetitions, "repetitions are")
    for name in ("n", "k", "repetitions"):
        if (getattr(plan, name) or 0) > MOST:
            raise UsageError(f"{name} is at most {MOST}; give a smaller one")
    if type(plan.seed) is not int or abs(plan.seed) >= _SEEDS:
        raise UsageError(f"a seed is a whole number between -{_SEEDS} and {_SEEDS}")
    if plan.scope is not None and plan.scope not in defaults.SCOPES:
        there = ", ".join(defaults.SCOPES)
        raise UsageError(f"there is no scope {quoted(plan.scope)}; there are: {there}")
    if not 1 <= plan.votes <= defaults.MOST_VOTES:
        raise UsageError(f"a judge votes 1 to {defaults.MOST_VOTES} times, not {plan.votes}")
    if plan.timeout is not None and not 0 < plan.timeout <= MOST:
        raise UsageError(f"a timeout is more than 0 and at most {MOST} seconds")


def read_plan(plan: Plan) -> tuple[Task, DataSet]:
    """The task of `plan` and its data, as chosen; nothing is stored.

    Raises `UsageError` or `DataError` for whatever in the plan or its data cannot be used.
    """
    task = find_task(plan.task)
    check_plan(plan)
    data = choose(plan, task.load(Path(plan.data) if plan.data is not None else None))
    gate_of(plan, data)
    orders.check_order(Order(plan.order), len(data.sessions), plan.repetitions)
    return task, data


def gate_of(plan: Plan, data: DataSet) -> Gate | None:
    """What keeps the machine from learning as it is told; None where it learns everything."""
    if plan.learn == Keep.ALWAYS:
        return None
    rows = [(row.instance, row.answer.prediction) for row in validation(data)]
    return Gate(Keep(plan.learn), Gated(plan.gate), rows)


def validation(data: DataSet) -> tuple[Row, ...]:
    """The rows that lessons are weighed on: the set held back, or what no session is about."""
    sessions = set(data.sessions)
    return data.validation or tuple(row for row in data.whole if row not in sessions)


def data_fingerprint(plan: Plan, data: DataSet) -> str:
    """SHA-256 (hex) of the rows that the plan depends on: the sessions', and those it weighs on."""
    if plan.learn in (Keep.ALWAYS, Keep.NEVER):
        return data.fingerprint
    held = replace(data, sessions=validation(data)).fingerprint
    return hashlib.sha256(f"{data.fingerprint}/{held}".encode()).hexdigest()


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
