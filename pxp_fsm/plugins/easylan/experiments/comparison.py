"""Comparison of conditions with the paper's results: measures, Table 6, the criteria."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from backends.databases import CallsOf, SqlBlackboard
from backends.models.registry import open_models
from backends.models.settings import Settings
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.statistics import estimate
from pxp_fsm.experiments.summary import Sheet
from pxp_fsm.plugins.easylan.distance.measures import Action, tallied, ued
from pxp_fsm.plugins.easylan.experiments import conditions, developers
from pxp_fsm.plugins.easylan.experiments.conditions import Condition, Measured, TrainingSetting
from pxp_fsm.plugins.easylan.experiments.judges import CriterionJudge
from pxp_fsm.plugins.easylan.experiments.scoring import Score
from pxp_fsm.plugins.easylan.experiments.tasks import By, LanTask, bundled_text
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits

PUBLISHED = "published"


@dataclass(frozen=True)
class TrainingComparison:
    """Training on a task in three ways, once for each of the seeds; `output` is a folder.

    `developer` supervises EasyLAN, `hand` edits the baseline, by the names of `developers`. The
    `database` is a file in the folder unless it is named. With `resume`, what models replied in
    earlier comparisons that it stores is not asked for again. Raises `UsageError` where a
    criterion needs a judge and there is none.
    """

    task: LanTask
    model: str
    output: Path
    judge: str | None = None
    developer: str = "confirms"
    hand: str = "adds-examples"
    seeds: tuple[int, ...] = (1,)
    limits: TrainingLimits = field(default_factory=TrainingLimits)
    resume: bool = False
    database: str | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        judged = [criterion.says for criterion in self.task.criteria if criterion.by == By.JUDGE]
        if judged and self.judge is None:
            raise UsageError(
                f"only a judge can decide {len(judged)} of the criteria of {self.task.name} "
                f"({quoted(judged[0])}, …): name a model with --judge"
            )

    async def measured(
        self, on_wait: Callable[[str], None] = lambda _why: None, meter: Meter | None = None
    ) -> list[Measured]:
        """What came of each condition on each split; `meter` adds up what models cost."""
        self.output.mkdir(parents=True, exist_ok=True)
        with SqlBlackboard(self.database or str(self.output / DATABASE)) as board:
            return await self._measured(board, on_wait, meter or Meter())

    async def _measured(
        self, board: SqlBlackboard, on_wait: Callable[[str], None], meter: Meter
    ) -> list[Measured]:
        calls = meter.kept = CallsOf(board)
        measured = list[Measured]()
        earlier = conditions.earlier(board, self.task, self.seeds) if self.resume else {}
        others = {one.run for one in board.runs()} - {
            run for some in earlier.values() for run in some
        }
        for seed, condition in product(self.seeds, Condition):
            known = [
                reply for run in earlier.get((condition, seed), ()) for reply in board.replies(run)
            ]
            spent = conditions.spent(board, others)
            async with open_models(self.settings, on_wait, meter, calls, spent, known) as opened:
                judge = None if self.judge is None else CriterionJudge(opened(self.judge))
                split, at_once = self.task.split(seed), self.settings.in_flight
                setting = TrainingSetting(
                    self.task, split, opened(self.model), judge, calls, at_once
                )
                measured.append(await self._condition(condition, setting))
        return measured

    async def _condition(self, condition: Condition, setting: TrainingSetting) -> Measured:
        match condition:
            case Condition.EASYLAN:
                will_do, seed = setting.meets.will_do, setting.split.seed
                developer = developers.find_developer(self.developer, seed, will_do)
                return await conditions.easylan(setting, developer, self.limits)
            case Condition.BASELINE:
                return await conditions.baseline(setting, developers.hand(self.hand))
            case Condition.NAIVE:
                return await conditions.naive_lan(setting)

    def save(self, measured: Sequence[Measured]) -> Iterator[Path]:
        """Write each network that came of it into the folder; the files."""
        for one in measured:
            path = self.output / f"{one.condition.lower()}-{one.seed}.lan.json"
            files.save(one.history, path)
            yield path


def sheets(task: LanTask, measured: Sequence[Measured]) -> tuple[Sheet, ...]:
    """What is told of a comparison: its measures, the criteria, what developers did."""
    return measures(task, measured), criteria(task, measured), actions(measured)


def measures(task: LanTask, measured: Sequence[Measured]) -> Sheet:
    """The measures of each condition, means over its seeds, and the published ones beside them.

    The published ones are means over the paper's three tasks and its people; they are no target.
    """
    by = _by_condition(measured)
    ours: list[tuple[str, str, Callable[[Sequence[Measured]], str]]] = [
        ("score", "score, test", lambda some: format_score([one.test for one in some])),
        ("", "score, train", lambda some: format_score([one.train for one in some])),
        ("UED", "user editing distance", _mean(lambda one: ued(one.actions))),
        ("LMD", "modification distance", _lmd),
        ("modifications", "modifications", _mean(lambda one: one.modifications)),
        ("interaction time", "interaction time, s", _mean(lambda one: one.interaction)),
        ("", "of which about steps, s", _mean(lambda one: one.reviewing)),
        ("agents", "agents", _mean(lambda one: len(one.network.agents))),
        ("", "training examples handled", _mean(lambda one: one.handled)),
        ("", "calls in training", _mean(lambda one: one.calls)),
    ]
    published = {row["name"]: row for row in _published()["measure"]}
    rows = []
    for name, title, shown in ours:
        printed = published.get(name, {})
        beside = tuple(_printed(printed.get(str(one).lower())) for one in by)
        rows.append((title, *(shown(some) for some in by.values()), *beside))
    seeds = ", ".join(str(one.seed) for one in next(iter(by.values()), ()))
    return Sheet(
        f"{task.title}: {len(task.examples)} examples, {task.train} to train; seeds {seeds}",
        ("", *by, *(f"{one}, {PUBLISHED}" for one in by)),
        tuple(rows),
    )


def notes(measured: Sequence[Measured]) -> tuple[str, ...]:
    """What is to be said of the tables, a line each."""
    undecided = sum(one.train.undecided + one.test.undecided for one in measured)
    said = (
        "Published: arXiv 2309.15943, 12 people, GPT-4-0613, means over its tasks 1 to 3.",
        "It prints its scores as those of training samples; its procedure scored the testing ones.",
        "UED adds up what Table 6 has; confirming a step is not among it.",
        "Simulated developers take no time.",
    )
    if not undecided:
        return said
    return (
        *said,
        f"{undecided} outputs meet what programs decide, and had no judge's verdict on the rest.",
    )


def actions(measured: Sequence[Measured]) -> Sheet:
    """Table 6: how often each action was done in a task, and its mean UED."""
    by = {
        condition: some
        for condition, some in _by_condition(measured).items()
        if condition is not Condition.NAIVE
    }
    published = {row["name"]: row for row in _published()["action"]}
    rows = []
    for action in Action:
        printed = published.get(action, {})
        ours = tuple(_tally(some, action) for some in by.values())
        beside = tuple(_pair(printed.get(str(one).lower())) for one in by)
        rows.append((str(action), *ours, *beside))
    return Sheet(
        "Actions: how often in a task, and the mean UED of one",
        ("", *by, *(f"{one}, {PUBLISHED}" for one in by)),
        tuple(rows),
    )


def criteria(task: LanTask, measured: Sequence[Measured]) -> Sheet:
    """Each criterion, who decides it, and how many test outputs of each condition meet it."""
    by = _by_condition(measured)
    rows = []
    for criterion in task.criteria:
        met = (
            f"{sum(one.test.met(criterion) for one in some)}/{sum(one.test.total for one in some)}"
            for some in by.values()
        )
        rows.append((criterion.says, str(criterion.by), *met))
    return Sheet("Criteria: test outputs that meet them", ("", "decided by", *by), tuple(rows))


def format_score(scores: Sequence[Score]) -> str:
    """A mean over seeds with its 95 % interval; or the range where verdicts are missing."""
    total = sum(one.total for one in scores)
    if not total:
        return "-"
    passed, undecided = sum(one.passed for one in scores), sum(one.undecided for one in scores)
    if undecided:
        return f"{passed / total:.2f} to {(passed + undecided) / total:.2f}, not all judged"
    outcomes = {
        (seed, scored.example.input): scored.passes is True
        for seed, one in enumerate(scores)
        for scored in one.scored
    }
    found = estimate(outcomes)
    return f"{found.share:.2f} ({found.interval.low:.2f}-{found.interval.high:.2f})"


def _by_condition(measured: Sequence[Measured]) -> Mapping[Condition, Sequence[Measured]]:
    found = {
        condition: [one for one in measured if one.condition is condition]
        for condition in Condition
    }
    return {condition: some for condition, some in found.items() if some}


def _mean(of: Callable[[Measured], float]) -> Callable[[Sequence[Measured]], str]:
    return lambda some: _number(mean(of(one) for one in some))


def _lmd(some: Sequence[Measured]) -> str:
    lower, upper = (mean(getattr(one.lmd, end) for one in some) for end in ("lower", "upper"))
    return _number(lower) if lower == upper else f"{_number(lower)} to {_number(upper)}"


def _tally(some: Sequence[Measured], action: Action) -> str:
    tallies = [tallied(one.actions)[action] for one in some]
    count = sum(tally.count for tally in tallies)
    each = sum(tally.ued for tally in tallies) / count if count else 0
    return _pair([count / len(some), each])


def _printed(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"


def _pair(pair: Sequence[float] | None) -> str:
    return "-" if pair is None else f"{_number(pair[0])} x {_number(pair[1])}"


def _number(number: float) -> str:
    return f"{number:.0f}" if number == int(number) else f"{number:.3g}"


@cache
def _published() -> dict[str, Any]:
    return tomllib.loads(bundled_text("published.toml"))
