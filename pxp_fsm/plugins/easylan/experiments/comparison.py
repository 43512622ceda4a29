"""Comparison of three ways to train: EasyLAN, the baseline edited by hand, the naive network.

Each has the same training examples and model; the paper's results stand beside what is measured.
Source: arXiv 2309.15943, sections 6.3 and 6.5.1.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from backends.databases import CallsOf, SqlBlackboard
from backends.models.registry import open_models
from backends.models.settings import Settings
from pxp_fsm.defaults import DATABASE, NETWORKS
from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.statistics import estimate
from pxp_fsm.experiments.summary import Sheet
from pxp_fsm.plugins.easylan.distance.lmd import Distance, network_distance
from pxp_fsm.plugins.easylan.distance.measures import (
    Action,
    Attention,
    ManualAction,
    Stopwatch,
    by_hand,
    confirmations,
    effort_of,
    in_steps,
    modifications,
    tallied,
    timed,
    ued,
)
from pxp_fsm.plugins.easylan.experiments import developers
from pxp_fsm.plugins.easylan.experiments.scoring import CriterionJudge, Score, naive, score, scored
from pxp_fsm.plugins.easylan.experiments.setup import TrainingBoard, training_in
from pxp_fsm.plugins.easylan.experiments.tasks import (
    By,
    ExampleSplit,
    LanTask,
    TaskExample,
    bundled_text,
)
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import History, begun_as
from pxp_fsm.plugins.easylan.model.network import Network, initial
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.developer import Developer
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example as Shown
from pxp_fsm.plugins.easylan.training.progress import digest_of
from pxp_fsm.plugins.easylan.training.simulated import HandEditor
from pxp_fsm.plugins.easylan.training.supervision import Supervision
from pxp_fsm.prompting.model import LanguageModel, Spending, layered
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.relations import NOISY, TOLERANCE, Assumption, Outcome
from pxp_fsm.sessions.events import Event


class MeetsCriteria:
    """Whether an output meets all criteria, for the example whose good output is given.

    Fills `Relation`: the left text is an output, the right one a good output. Where several
    examples have the same one, it must meet the criteria for each; a judge without a verdict is
    unsure.
    """

    def __init__(
        self, task: LanTask, examples: Iterable[TaskExample], judge: CriterionJudge | None = None
    ) -> None:
        self._task = task
        self._judge = judge
        self._by_truth: dict[str, list[TaskExample]] = {}
        for example in examples:
            self._by_truth.setdefault(example.truth, []).append(example)

    @property
    def name(self) -> str:
        by = "" if self._judge is None else f" and {self._judge.name}"
        return f"the criteria of {self._task.name}, by a program{by}"

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """A judge may say something else each time; programs do not, but have a side."""
        given = NOISY if self._judge is not None else TOLERANCE
        return given - {Assumption.SYMMETRIC, Assumption.REFLEXIVE}

    async def holds(self, left: str, right: str) -> Outcome:
        passes = [
            (await scored(self._task, example, left, self._judge)).passes
            for example in self._by_truth.get(right, ())
        ]
        if not passes or False in passes:
            return Outcome.NO
        return Outcome.UNSURE if None in passes else Outcome.YES

    async def will_do(self, run: NetworkRun, truth: str) -> bool:
        """Whether the output of a run will do; a developer's word on it. Unsure counts as no."""
        here = [
            example for example in self._by_truth.get(truth, ()) if example.input == run.external
        ]
        if not here:
            return False
        return (await scored(self._task, here[0], run.output, self._judge)).passes is True


ROUNDS = 5
"""How often the baseline's developer edits the network for one example at most."""


class Condition(StrEnum):
    """What is compared."""

    EASYLAN = "EasyLAN"
    BASELINE = "baseline"
    NAIVE = "naive"


@dataclass(frozen=True)
class Measured:
    """What came of one condition on one split: measures as in section 6.5.1, scores apart.

    `interaction` are the seconds in which the developer was asked, and nobody else worked, and
    `reviewing` those of them about steps, as stored with each of their messages; `handled` counts
    the training examples that came to be right.
    """

    condition: Condition
    seed: int
    history: History
    train: Score
    test: Score
    actions: tuple[ManualAction, ...]
    lmd: Distance
    modifications: int
    interaction: float
    reviewing: float
    handled: int
    calls: int

    @property
    def network(self) -> Network:
        """The network that came of it."""
        return self.history.network


@dataclass(frozen=True)
class TrainingSetting:
    """What all conditions share: task, split, model, judge; where sessions and calls are stored."""

    task: LanTask
    split: ExampleSplit
    model: LanguageModel
    judge: CriterionJudge | None = None
    calls: CallsOf | None = None
    at_once: int = 1

    @property
    def meets(self) -> MeetsCriteria:
        """What decides in training that an output will do."""
        return MeetsCriteria(self.task, self.split.train, self.judge)

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The training examples."""
        return tuple(Shown(example.input, example.truth) for example in self.split.train)

    def begin(self) -> Lan:
        """The network of the beginning: one agent, whose subtask is the task."""
        return Lan(begun_as(initial(self.task.task, output=self.task.output)))


async def easylan(
    setting: TrainingSetting, developer: Developer | None, limits: TrainingLimits | None = None
) -> Measured:
    """The network that is trained by the pipeline, under a developer's eyes or unattended."""
    lan, watch, attention = setting.begin(), Stopwatch(), Attention(outputs=False)
    board = _begun(setting, Condition.EASYLAN, "nobody" if developer is None else developer.name)
    trainer = Trainer(
        lan,
        layered(setting.model, timed(watch)),
        setting.meets,
        developer,
        limits=limits or TrainingLimits(),
        supervision=Supervision(board=board),
        name="lan" if board is None else board.run,
        on_event=attention,
    )
    outcomes = await trainer.train(setting.shown)
    sessions = (
        () if setting.calls is None else tuple(stored(setting.calls.board, setting.calls.run))
    )
    efforts = [effort_of(entry).seconds for _instance, entries in sessions for entry in entries]
    handled = sum(outcome.handled for outcome in outcomes)
    seconds = attention.seconds, sum(efforts)
    done = tuple(in_steps(sessions))
    return await _measured(setting, Condition.EASYLAN, lan, done, watch, seconds, handled)


async def baseline(setting: TrainingSetting, editor: HandEditor, rounds: int = ROUNDS) -> Measured:
    """The network that is edited by hand alone, until its output will do or nobody knows more."""
    _begun(setting, Condition.BASELINE, editor.name)
    lan, watch = setting.begin(), Stopwatch()
    runner = NetworkRunner(Requester(layered(setting.model, timed(watch)), bundled()))
    meets, handled, spent = setting.meets, 0, 0.0
    for example in setting.shown:
        for attempt in range(rounds + 1):
            run = await _run(runner, lan.network, example.external)
            if run is not None and await meets.will_do(run, example.truth):
                handled += 1
                break
            if attempt == rounds:
                break
            began = watch.clock()
            edited = await editor.improve(run, example.external, example.truth, lan)
            spent += watch.clock() - began
            if not edited:
                break
    return await _measured(setting, Condition.BASELINE, lan, (), watch, (spent, 0.0), handled)


async def naive_lan(setting: TrainingSetting) -> Measured:
    """The naive network: made from the training examples at once, by nobody."""
    _begun(setting, Condition.NAIVE, "nobody")
    watch = Stopwatch()
    network = naive(setting.task, setting.split.train)
    lan = Lan(begun_as(network))
    outcome = await _measured(setting, Condition.NAIVE, lan, (), watch, (0.0, 0.0), 0)
    return replace(outcome, handled=outcome.train.passed)


def earlier(
    board: SqlBlackboard, task: LanTask, seeds: Iterable[int]
) -> dict[tuple[Condition, int], list[str]]:
    """The runs of earlier comparisons on a task, by condition and seed, oldest first."""
    trained: dict[tuple[Condition, int], list[str]] = {
        place: [] for place in product(Condition, seeds)
    }
    for run in board.runs():
        plan = json.loads(run.plan) if run.task == NETWORKS else {}
        place = plan.get("condition"), plan.get("seed")
        if plan.get("task") == task.name and place in trained:
            trained[place].append(run.run)
    return trained


def spent(board: SqlBlackboard, others: Container[str]) -> Spending:
    """What the runs of a database have spent on models, without some `others`."""
    some = [board.spending(run.run) for run in board.runs() if run.run not in others]
    return Spending(
        sum(spent.calls for spent in some),
        sum(spent.dollars for spent in some),
        sum(spent.unpriced for spent in some),
        any(spent.exceeded for spent in some),
    )


def acts_in_steps(database: str, run: str | None) -> tuple[ManualAction, ...]:
    """A developer's actions in the steps of the training `run` in a database, or of the latest one.

    Raises `NotThere` where there is none.
    """
    with SqlBlackboard(database, create=False) as board:
        return tuple(in_steps(stored(board, training_in(board, run))))


def stored(board: SqlBlackboard, run: str) -> Iterator[tuple[Instance, Sequence[Event]]]:
    """The sessions of a training in their order, each with what it is about."""
    for record in board.sessions(run):
        yield record.instance, board.events(record.session)


def _begun(setting: TrainingSetting, condition: Condition, developer: str) -> TrainingBoard | None:
    """Begin a condition's run, where there is a blackboard: its sessions and calls are kept."""
    if setting.calls is None:
        return None
    plan: dict[str, object] = {
        "task": setting.task.name,
        "condition": condition,
        "seed": setting.split.seed,
        "model": setting.model.name,
        "developer": developer,
        "same": setting.meets.name,
    }
    board = TrainingBoard(setting.calls.board, plan, digest_of(setting.shown))
    setting.calls.run = board.run
    return board


async def _measured(
    setting: TrainingSetting,
    condition: Condition,
    lan: Lan,
    steps: Sequence[ManualAction],
    watch: Stopwatch,
    seconds: tuple[float, float],
    handled: int,
) -> Measured:
    runner = NetworkRunner(Requester(setting.model, bundled()))
    train, test = [
        await score(lan.network, setting.task, part, runner, setting.judge, at_once=setting.at_once)
        for part in (setting.split.train, setting.split.test)
    ]
    return Measured(
        condition,
        setting.split.seed,
        lan.history,
        train,
        test,
        (*steps, *by_hand(lan.history)),
        network_distance(setting.begin().network, lan.network),
        modifications(lan.history),
        *seconds,
        handled,
        watch.calls,
    )


async def _run(runner: NetworkRunner, network: Network, external: str) -> NetworkRun | None:
    try:
        return await runner.run(network, external)
    except NoAnswer:
        return None


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
        before = earlier(board, self.task, self.seeds) if self.resume else {}
        others = {run.run for run in board.runs()} - {
            run for some in before.values() for run in some
        }
        for seed, condition in product(self.seeds, Condition):
            known = [
                reply for run in before.get((condition, seed), ()) for reply in board.replies(run)
            ]
            spending = spent(board, others)
            async with open_models(self.settings, on_wait, meter, calls, spending, known) as opened:
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
                return await easylan(setting, developer, self.limits)
            case Condition.BASELINE:
                return await baseline(setting, developers.hand(self.hand))
            case Condition.NAIVE:
                return await naive_lan(setting)

    def save(self, measured: Sequence[Measured]) -> Iterator[Path]:
        """Write each network that came of it into the folder; the files."""
        for outcome in measured:
            path = self.output / f"{outcome.condition.lower()}-{outcome.seed}.lan.json"
            files.save(outcome.history, path)
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
        ("score", "score, test", lambda some: format_score([outcome.test for outcome in some])),
        ("", "score, train", lambda some: format_score([outcome.train for outcome in some])),
        ("UED", "user editing distance", _mean(lambda outcome: ued(outcome.actions))),
        ("", "confirmations", _mean(lambda outcome: confirmations(outcome.actions))),
        ("LMD", "modification distance", _lmd),
        ("modifications", "modifications", _mean(lambda outcome: outcome.modifications)),
        ("interaction time", "interaction time, s", _mean(lambda outcome: outcome.interaction)),
        ("", "of which about steps, s", _mean(lambda outcome: outcome.reviewing)),
        ("agents", "agents", _mean(lambda outcome: len(outcome.network.agents))),
        ("", "training examples handled", _mean(lambda outcome: outcome.handled)),
        ("", "calls in training", _mean(lambda outcome: outcome.calls)),
    ]
    published = {row["name"]: row for row in _published()["measure"]}
    rows = []
    for name, title, shown in ours:
        printed = published.get(name, {})
        beside = tuple(_printed(printed.get(str(condition).lower())) for condition in by)
        rows.append((title, *(shown(some) for some in by.values()), *beside))
    seeds = ", ".join(str(outcome.seed) for outcome in next(iter(by.values()), ()))
    return Sheet(
        f"{task.title}: {len(task.examples)} examples, {task.train} to train; seeds {seeds}",
        ("", *by, *(f"{condition}, {PUBLISHED}" for condition in by)),
        tuple(rows),
    )


def notes(measured: Sequence[Measured]) -> tuple[str, ...]:
    """What is to be said of the tables, a line each."""
    undecided = sum(outcome.train.undecided + outcome.test.undecided for outcome in measured)
    lines = (
        "Published: arXiv 2309.15943, 12 people, GPT-4-0613, means over its tasks 1 to 3.",
        "It prints its scores as those of training samples; its procedure scored the testing ones.",
        "UED adds up what modifies a step or the network, as Table 6; confirmations stand apart.",
        "Simulated developers take no time.",
    )
    if not undecided:
        return lines
    return (
        *lines,
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
        beside = tuple(_pair(printed.get(str(condition).lower())) for condition in by)
        rows.append((str(action), *ours, *beside))
    return Sheet(
        "Actions: how often in a task, and the mean UED of one",
        ("", *by, *(f"{condition}, {PUBLISHED}" for condition in by)),
        tuple(rows),
    )


def criteria(task: LanTask, measured: Sequence[Measured]) -> Sheet:
    """Each criterion, who decides it, and how many test outputs of each condition meet it."""
    by = _by_condition(measured)
    rows = []
    for criterion in task.criteria:
        met = (
            f"{sum(test.met(criterion) for test in tests)}/{sum(test.total for test in tests)}"
            for tests in ([outcome.test for outcome in some] for some in by.values())
        )
        rows.append((criterion.says, str(criterion.by), *met))
    return Sheet("Criteria: test outputs that meet them", ("", "decided by", *by), tuple(rows))


def format_score(scores: Sequence[Score]) -> str:
    """A mean over seeds with its 95 % interval; or the range where verdicts are missing."""
    total = sum(part.total for part in scores)
    if not total:
        return "-"
    passed, undecided = sum(part.passed for part in scores), sum(part.undecided for part in scores)
    if undecided:
        return f"{passed / total:.2f} to {(passed + undecided) / total:.2f}, not all judged"
    outcomes = {
        (seed, scored.example.input): scored.passes is True
        for seed, part in enumerate(scores)
        for scored in part.scored
    }
    estimated = estimate(outcomes)
    return f"{estimated.share:.2f} ({estimated.interval.low:.2f}-{estimated.interval.high:.2f})"


def _by_condition(measured: Sequence[Measured]) -> Mapping[Condition, Sequence[Measured]]:
    by_condition = {
        condition: [outcome for outcome in measured if outcome.condition is condition]
        for condition in Condition
    }
    return {condition: some for condition, some in by_condition.items() if some}


def _mean(of: Callable[[Measured], float]) -> Callable[[Sequence[Measured]], str]:
    return lambda some: _number(mean(of(outcome) for outcome in some))


def _lmd(some: Sequence[Measured]) -> str:
    lower, upper = (
        mean(getattr(outcome.lmd, end) for outcome in some) for end in ("lower", "upper")
    )
    return _number(lower) if lower == upper else f"{_number(lower)} to {_number(upper)}"


def _tally(some: Sequence[Measured], action: Action) -> str:
    tallies = [tallied(outcome.actions)[action] for outcome in some]
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
