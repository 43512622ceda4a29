"""The cost of a run before it begins, from what sessions of the same setting took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, linear_regression
from typing import Any

from backends.databases import SessionUsage, SqlBlackboard, usage_of_sessions
from pxp_fsm import __version__
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.openings import TaskOpening
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Run
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.sessions.learning import Keep

_VARIES = ("repetitions", "seed", "order", "subject", "test")
"""What two runs of one setting may differ in, beside the number of instances."""


_MOST_CACHED = 0.1
"""The share of a run's calls from which on a cache has answered for earlier runs."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the sessions that are left of a run will take, as those recorded of `runs` did.

    `dollars` is None where a price was not known. `recorded` is the number of those sessions.
    """

    calls: float
    sent: float
    received: float
    dollars: float | None
    recorded: int
    runs: tuple[str, ...]

    def __str__(self) -> str:
        money = "price unknown" if self.dollars is None else f"${self.dollars:.4f}"
        which = f"{self.recorded:,} session{'' if self.recorded == 1 else 's'}"
        return (
            f"{self.calls:,.0f} calls, {self.sent:,.0f} tokens in, {self.received:,.0f} out, "
            f"{money}, as the {which} recorded of this setting took ({', '.join(self.runs)})"
        )


def forecast(run: Run[TaskOpening], board: SqlBlackboard) -> Forecast | None:
    """What the sessions left of `run` will cost; None where none of its setting is recorded.

    A session costs what recorded ones did on average. Where a model carries its conversations on,
    it is what those at the same place of their repetition did; beyond these the number of calls is
    their mean, and what a call takes is on a straight line. Runs that a call cache answered
    are no measure, but for the few questions that a run repeats by itself.
    """
    usages: list[SessionUsage] = []
    runs = []
    for record in board.runs():
        if record.task != run.opening.plan.task or record.version != __version__:
            continue
        try:
            other = stored_plan(record)
        except UsageError:
            continue
        if _setting(other) != _setting(run.opening.plan):
            continue
        used = [session for session in usage_of_sessions(board, record.run) if session.calls]
        if sum(usage.cached for usage in used) < _MOST_CACHED * sum(usage.calls for usage in used):
            usages += used
            runs.append(record.run)
    if not usages:
        return None
    places = _left(run, board)
    of_place: dict[int, list[SessionUsage]] = defaultdict(list)
    for usage in usages:
        of_place[usage.position if run.opening.carries else 0].append(usage)

    def total(amount: Callable[[SessionUsage], float]) -> float:
        return sum(_at(place if run.opening.carries else 0, of_place, amount) for place in places)

    priced = all(usage.dollars is not None for usage in usages)
    return Forecast(
        total(lambda usage: usage.calls - usage.cached),
        total(lambda usage: usage.sent),
        total(lambda usage: usage.received),
        total(lambda usage: usage.dollars or 0.0) if priced else None,
        len(usages),
        tuple(runs),
    )


def _setting(plan: Plan) -> Mapping[str, Any]:
    """What two runs of one setting have in common.

    Where lessons are weighed on rows that no session is about, how many instances there are
    decides on how many.
    """
    weighed = plan.learn not in (Keep.ALWAYS, Keep.NEVER) and plan.validation is None
    left_out = {*_VARIES, *(() if weighed else ("instances",))}
    return {name: value for name, value in plan.meaning().items() if name not in left_out}


def _left(run: Run[TaskOpening], board: SqlBlackboard) -> Sequence[int]:
    """The positions of the sessions that are not over, of all repetitions."""
    over = {
        (session.repetition, session.position)
        for session in board.sessions(run.name)
        if session.ending
    }
    every = (
        (repetition, position)
        for repetition in range(1, run.opening.plan.repetitions + 1)
        for position in range(1, len(run.opening.data.sessions) + 1)
    )
    return [place[1] for place in every if place not in over]


def _at(
    place: int,
    recorded: Mapping[int, Sequence[SessionUsage]],
    amount: Callable[[SessionUsage], float],
) -> float:
    """The mean amount at a place, or for the mean number of calls what a line gives for each."""
    if place in recorded or len(recorded) == 1:
        known = recorded.get(place) or next(iter(recorded.values()))
        return fmean(map(amount, known))
    calls = fmean(usage.calls for ones in recorded.values() for usage in ones)
    rates = [fmean(amount(usage) / usage.calls for usage in ones) for ones in recorded.values()]
    line = linear_regression(list(recorded), rates)
    return calls * max(0.0, line.intercept + line.slope * place)
