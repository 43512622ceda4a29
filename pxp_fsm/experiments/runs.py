"""Runs: new ones, and those that are resumed, on a blackboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from backends.databases import Origin, RunRecord, SqlBlackboard, origin_of
from backends.models.settings import Settings
from pxp_fsm import __version__
from pxp_fsm.errors import DataError, NotThere, UsageError, quoted
from pxp_fsm.experiments import participants
from pxp_fsm.experiments.drawings import check_table
from pxp_fsm.experiments.execution import Progress, Run
from pxp_fsm.experiments.forks import forkable
from pxp_fsm.experiments.guests import check_guests
from pxp_fsm.experiments.participants import Part
from pxp_fsm.experiments.plan_data import data_fingerprint, gate_of, read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.stored_plans import stored_plan, with_stored_caps
from pxp_fsm.tasks.registry import find_task
from pxp_fsm.tasks.task import DataSet, Task

__all__ = ["Plan", "Progress", "Run", "fork", "resume", "run", "start"]


def start(
    plan: Plan,
    blackboard: SqlBlackboard,
    found: tuple[Task, DataSet] | None = None,
    settings: Settings | None = None,
    name: str | None = None,
    origin: Origin | None = None,
) -> Run:
    """A new run, recorded as `name` or the next free `TASK-NUMBER`; nothing is run yet.

    `found` is what `read_plan` says of the plan, where it has been read already; `settings` are
    how its models are asked, which is not stored. With an `origin` its one session carries on that
    of a run with the same data (`fork`). Raises `UsageError`, `DataError` or
    `BlackboardError` before anything is.
    """
    task, data = found or read_plan(plan)
    check_guests(plan, task)
    selection = participants.models(plan, task, data, settings)
    gate = gate_of(plan, data)
    if gate is not None:
        gate.check(task.agents(data, plan.memo)[0].respondent)
    plan = _placed(plan)
    held = data_fingerprint(plan, data)
    told = selection.deviations
    if origin is not None:
        told = (*told, f"one session, carried on from message {origin.number} of {origin.session}")
    record = RunRecord(
        name or plan.task,
        plan.task,
        plan.as_json(told, (settings or Settings()).caps, origin.in_plan if origin else {}),
        plan.seed,
        __version__,
        held,
        subject=plan.subject or "",
    )
    if name is None:
        name = blackboard.start_numbered_run(record).run
    else:
        blackboard.start_run(record)
    return Run(name, plan, task, data, blackboard, settings, origin)


def run(
    plan: Plan | str,
    blackboard: SqlBlackboard,
    *,
    task: Task | None = None,
    machine: Part | None = None,
    human: Part | None = None,
    name: str | None = None,
    settings: Settings | None = None,
) -> Run:
    """Run a task, `drug`, `rad` or an installed one, to its end; sessions go to `blackboard`.

    `task` is one that is not installed. `machine` and `human` take the place of the task's own: an
    agent, or a respondent (a function of the question, too) with the relations of the task's own. A
    learner is copied for each repetition. `name` is the run's, else the next free one; a run that
    is there under it, of the same plan, is carried on. `settings` are how models are asked.

    >>> import pxp_fsm as pxp
    >>> def chemist(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("CO", "I would begin with methanol.")
    >>> with pxp.open_blackboard(":memory:") as board:
    ...     done = pxp.run(pxp.Plan("drug", instances="1"), board)
    ...     mine = pxp.run(pxp.Plan("drug", instances="1"), board, machine=chemist)
    ...     [record.ending for record in board.sessions()]
    ['ratified', 'rejected']

    Raises `UsageError` or `DataError` for a plan that cannot be carried out.
    """
    if not isinstance(blackboard, SqlBlackboard):
        raise UsageError(f"a run needs a pxp.open_blackboard(FILE), not {quoted(blackboard)}")
    plan = Plan(plan) if isinstance(plan, str) else plan
    seated = participants.seated(task or find_task(plan.task), plan, machine, human)
    if name is not None and name in {record.run for record in blackboard.runs()}:
        begun = resume(name, blackboard, settings, seated)
        if _placed(begun.plan) != _placed(plan):
            raise UsageError(f"run {name} has another plan; give this one another name", "name")
    else:
        begun = start(plan, blackboard, read_plan(plan, seated), settings, name)
    begun.execute()
    return begun


def _placed(plan: Plan) -> Plan:
    """The plan with the whole paths of its data, as it is stored."""
    data, materials = (
        None if path is None else str(Path(path).absolute()) for path in (plan.data, plan.materials)
    )
    return replace(plan, data=data, materials=materials)


def resume(
    name: str,
    blackboard: SqlBlackboard,
    settings: Settings | None = None,
    task: Task | None = None,
    *,
    may_be_over: bool = False,
) -> Run:
    """The run `name`, to be carried on at the next message; `task`, where it is not installed.

    It keeps the caps that it was begun with where `settings` set none. Where it `may_be_over`, one
    with a person may be too, and nobody is asked anything.

    Raises `NotThere` where there is no such run, and `UsageError` or `DataError` where the package,
    its plan, data or automaton are not what they were (what was learned could not be rebuilt), or a
    run with a person is over.
    """
    record, plan, task, data = _stored(name, blackboard, task)
    held = with_stored_caps(settings, record)
    found = Run(name, plan, task, data, blackboard, held, origin_of(record.plan))
    if plan.person is not None and not may_be_over and found.finished == found.total:
        raise UsageError(
            f"run {name} is over, with {plan.subject or 'a person who has no pseudonym'}: nobody "
            f"would be asked anything; for somebody else give another subject, and to see what "
            f"came of it pxp report",
            "subject",
        )
    return found


def _stored(
    name: str, blackboard: SqlBlackboard, task: Task | None
) -> tuple[RunRecord, Plan, Task, DataSet]:
    """A stored run that can be carried on: its record, its plan, and what this means today."""
    records = {record.run: record for record in blackboard.runs()}
    if name not in records:
        raise NotThere(
            f"{blackboard.shown} has no run {name!r}; there are: {', '.join(records) or 'none'}"
        )
    record = records[name]
    if record.version != __version__:
        raise UsageError(
            f"run {name} was begun by version {record.version}, this is {__version__}; "
            f"resume it with that version, or start a new run"
        )
    erased = blackboard.erasures(name)
    if erased:
        raise UsageError(
            f"session {erased[0].session} was erased: what was said in it cannot be carried on "
            f"from; start a new run"
        )
    plan = stored_plan(record)
    task, data = read_plan(plan, task)
    if data_fingerprint(plan, data) != record.data_fingerprint:
        raise DataError(f"the data of run {name} have changed since it began; start a new run")
    for session in blackboard.sessions(name, limit=1):
        check_table(session)
    return record, plan, task, data


def fork(
    origin: Origin,
    blackboard: SqlBlackboard,
    given: Mapping[str, Any] = MappingProxyType({}),
    settings: Settings | None = None,
    task: Task | None = None,
) -> Run:
    """A new run of one session, which carries on a stored one of a task from `origin`.

    It is recorded, and nothing is run yet. Its plan is that of the stored run, but for what is
    `given` by the names of a plan's fields. Raises what `resume` and `forks.forkable` raise.
    """
    stored = forkable(blackboard, origin)
    forked = stored.record
    record, plan, task, _ = _stored(forked.run, blackboard, task)
    before = origin_of(record.plan)
    if before is not None:
        raise UsageError(
            f"session {origin.session} carries on {before}, and what its machine had learned is "
            f"not known here; carry on {before.session} instead"
        )
    if given.get("task", plan.task) != plan.task:
        raise UsageError(f"session {origin.session} is of task {plan.task}, not {given['task']}")
    for field in _KEPT:
        if field in given and given[field] != getattr(plan, field):
            raise UsageError("a fork keeps this of the run that it carries on; leave it out", field)
    plan = replace(plan, **given)
    ending = plan.rules().ending(stored.history[: origin.number]) if origin.number else None
    if ending is not None:
        raise UsageError(
            f"with these bounds session {forked.session} ends by message {origin.number} "
            f"({ending.value}); carry it on from an earlier one"
        )
    return start(plan, blackboard, read_plan(plan, task), settings, None, origin)


_KEPT = (
    *("protocol", "data", "instances", "test", "validation", "label"),
    *("order", "seed", "repetitions"),
)
"""The fields of a plan on which it depends which session has which place."""
