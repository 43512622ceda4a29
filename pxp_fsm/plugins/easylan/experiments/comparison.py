"""Comparison of three ways to train: EasyLAN, the baseline edited by hand, the naive network.

Each has the same training examples and model; the paper's results stand beside what is measured.
Source: arXiv 2404.15974, sections 6.3 and 6.5.1.
"""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field, replace
from enum import StrEnum
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.defaults import DATABASE
from pxp_fsm.errors import NoAnswer, UsageError, quoted
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.runs import Run, start
from pxp_fsm.experiments.sheets import Sheet
from pxp_fsm.experiments.statistics import estimate, rounded
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.distance.lmd import Distance, network_distance
from pxp_fsm.plugins.easylan.distance.measures import (
    Action,
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
from pxp_fsm.plugins.easylan.experiments.setup import (
    TRAINING,
    Training,
    TrainingOpening,
    come_to,
    training_in,
)
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
from pxp_fsm.plugins.easylan.training.pipeline import TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example as Shown
from pxp_fsm.plugins.easylan.training.simulated import HandEditor
from pxp_fsm.prompting.model import LanguageModel, Spending, layered
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.relations import NOISY, TOLERANCE, Assumption, Outcome
from pxp_fsm.sessions.events import Event


class MeetsCriteria:
    """Whether an output meets all criteria, for the example whose good output is given.

    Fills `Relation`: the left text is an output, the right one a good output. Where several
    examples have the same one, it must meet the criteria for each; a judge without a verdict is
    unsure. The `judge` may be set once its model is open: `judged_by` says who it will be.
    """

    def __init__(
        self,
        task: LanTask,
        examples: Iterable[TaskExample],
        judge: CriterionJudge | None = None,
        judged_by: str | None = None,
    ) -> None:
        self._task = task
        self.judge = judge
        self._judged_by = judged_by if judge is None else judge.name
        self._by_truth: dict[str, list[TaskExample]] = {}
        for example in examples:
            self._by_truth.setdefault(example.truth, []).append(example)

    @property
    def name(self) -> str:
        by = "" if self._judged_by is None else f" and {self._judged_by}"
        return f"the criteria of {self._task.name}, by a program{by}"

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """A judge may say something else each time; programs do not, but have a side."""
        assumed = NOISY if self._judged_by is not None else TOLERANCE
        return assumed - {Assumption.SYMMETRIC, Assumption.REFLEXIVE}

    async def holds(self, left: str, right: str) -> Outcome:
        passes = [
            (await scored(self._task, example, left, self.judge)).passes
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
        return (await scored(self._task, here[0], run.output, self.judge)).passes is True


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
    the training examples that came to be right. `run` is its name on the blackboard.
    """

    condition: Condition
    seed: int
    run: str
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
    """What all conditions share: task, split, model, and who judges.

    Each condition is a run of the `board`, or of one in memory. With `resumes` it is the latest
    one with the same plan, if there is one. A trained network is kept in `folder`, which need not
    be there where nothing is trained.
    """

    task: LanTask
    split: ExampleSplit
    model: str | LanguageModel
    judge: str | None = None
    board: SqlBlackboard = field(default_factory=lambda: SqlBlackboard(":memory:"))
    folder: Path = Path()
    settings: Settings = field(default_factory=Settings)
    on_wait: Callable[[str], None] = lambda _why: None
    resumes: bool = False

    @cached_property
    def meets(self) -> MeetsCriteria:
        """What decides in training that an output will do."""
        return MeetsCriteria(self.task, self.split.train, judged_by=self.judge)

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The training examples."""
        return tuple(Shown(example.input, example.truth) for example in self.split.train)

    def begin(self) -> Lan:
        """The network of the beginning: one agent, whose subtask is the task."""
        return Lan(begun_as(initial(self.task.task, output=self.task.output)))

    def file(self, condition: Condition) -> Path:
        """Where a network that comes of a condition is kept."""
        return self.folder / f"{condition.lower()}-{self.split.seed}.lan.json"

    @asynccontextmanager
    async def open_run(
        self,
        condition: Condition,
        who: str,
        developer: Developer | None = None,
        limits: TrainingLimits | None = None,
    ) -> AsyncIterator[tuple[Run[TrainingOpening], LanguageModel]]:
        """The run of a condition, and its model; `who` develops its network."""
        trains, path = condition is Condition.EASYLAN, self.file(condition)
        goes_on = trains and self.resumes and path.exists()
        lan = Lan.load(path) if goes_on else self.begin()
        if trains:
            lan.on_change = lambda: lan.save(path)
        more = {"task": self.task.name, "condition": str(condition), "seed": self.split.seed}
        training = Training(
            path,
            self.shown,
            self.model,
            developer,
            limits=limits or TrainingLimits(),
            same=self.meets,
            settings=self.settings,
            lan=lan,
            more=more | {"who": who},
        )
        if self.resumes:
            run = training.on(self.board, may_be_over=True)
        else:
            run = start(TrainingOpening(training, lan), self.board)
        run.on_wait = self.on_wait
        async with run.open_models() as opened:
            if self.judge is not None:
                self.meets.judge = CriterionJudge(opened(self.judge))
            yield run, opened(self.model) if isinstance(self.model, str) else self.model


async def easylan(
    setting: TrainingSetting, developer: Developer | None, limits: TrainingLimits | None = None
) -> Measured:
    """The network that is trained by the pipeline, under a developer's eyes or unattended."""
    who = "nobody" if developer is None else developer.name
    async with setting.open_run(Condition.EASYLAN, who, developer, limits) as (run, model):
        if not run.finished:
            await run.carry(setting.folder)
        now, lan = come_to(setting.board, run.name), run.opening.lan
        sessions = tuple(stored(setting.board, run.name))
        efforts = [effort_of(entry).seconds for _instance, entries in sessions for entry in entries]
        return await _measured(
            setting,
            Condition.EASYLAN,
            run,
            model,
            lan,
            steps=tuple(in_steps(sessions)),
            seconds=(now.seconds, sum(efforts)),
            handled=sum(outcome.handled for outcome in now.outcomes),
            calls=now.calls,
        )


async def baseline(setting: TrainingSetting, editor: HandEditor, rounds: int = ROUNDS) -> Measured:
    """The network that is edited by hand alone, until its output will do or nobody knows more."""
    async with setting.open_run(Condition.BASELINE, editor.name) as (run, model):
        lan, watch, meets = run.opening.lan, Stopwatch(), setting.meets
        runner = NetworkRunner(Requester(layered(model, timed(watch)), bundled()))
        handled, spent = 0, 0.0
        for example in setting.shown:
            for attempt in range(rounds + 1):
                ran = await _run(runner, lan.network, example.external)
                if ran is not None and await meets.will_do(ran, example.truth):
                    handled += 1
                    break
                if attempt == rounds:
                    break
                began = watch.clock()
                edited = await editor.improve(ran, example.external, example.truth, lan)
                spent += watch.clock() - began
                if not edited:
                    break
        return await _measured(
            setting,
            Condition.BASELINE,
            run,
            model,
            lan,
            seconds=(spent, 0.0),
            handled=handled,
            calls=watch.calls,
        )


async def naive_lan(setting: TrainingSetting) -> Measured:
    """The naive network: made from the training examples at once, by nobody."""
    async with setting.open_run(Condition.NAIVE, "nobody") as (run, model):
        lan = Lan(begun_as(naive(setting.task, setting.split.train)))
        outcome = await _measured(setting, Condition.NAIVE, run, model, lan)
    return replace(outcome, handled=outcome.train.passed)


def spent(board: SqlBlackboard, measured: Iterable[Measured]) -> Spending:
    """What conditions that are measured have spent on models."""
    some = [board.spending(outcome.run) for outcome in measured]
    return Spending(
        sum(spending.calls for spending in some),
        sum(spending.dollars for spending in some),
        sum(spending.unpriced for spending in some),
        any(spending.exceeded for spending in some),
    )


def acts_in_steps(database: str, run: str | None) -> tuple[ManualAction, ...]:
    """A developer's actions in the steps of the training `run` in a database, or of the latest one.

    Raises `NotThere` where there is none.
    """
    with SqlBlackboard(database, create=False) as board:
        return tuple(in_steps(stored(board, training_in(board, run))))


def stored(board: SqlBlackboard, run: str) -> Iterator[tuple[Instance, Sequence[Event]]]:
    """The sessions of a training's steps in their order, each with what it is about."""
    for record in board.sessions(run):
        if record.repetition != TRAINING.repetition:
            yield record.instance, board.events(record.session)


async def _measured(
    setting: TrainingSetting,
    condition: Condition,
    run: Run[TrainingOpening],
    model: LanguageModel,
    lan: Lan,
    *,
    steps: Sequence[ManualAction] = (),
    seconds: tuple[float, float] = (0.0, 0.0),
    handled: int = 0,
    calls: int = 0,
) -> Measured:
    runner, at_once = NetworkRunner(Requester(model, bundled())), setting.settings.in_flight
    judge = setting.meets.judge
    train, test = [
        await score(lan.network, setting.task, part, runner, judge, at_once=at_once)
        for part in (setting.split.train, setting.split.test)
    ]
    return Measured(
        condition,
        setting.split.seed,
        run.name,
        lan.history,
        train,
        test,
        (*steps, *by_hand(lan.history)),
        network_distance(setting.begin().network, lan.network),
        modifications(lan.history),
        *seconds,
        handled,
        calls,
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
    `database` is a file in the folder unless it is named. With `resume` the latest run of each
    condition goes on, and what models replied in it is not asked for again. Raises `UsageError`
    where a criterion needs a judge and there is none.
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
                f"({quoted(judged[0])}, …): name a model with --set judge=MODEL"
            )

    async def measured(
        self, on_wait: Callable[[str], None] = lambda _why: None, meter: Meter | None = None
    ) -> list[Measured]:
        """What came of each condition on each split; `meter` adds up what models cost."""
        self.output.mkdir(parents=True, exist_ok=True)
        with SqlBlackboard(self.database or str(self.output / DATABASE)) as board:
            measured = list[Measured]()
            for seed, condition in product(self.seeds, Condition):
                setting = TrainingSetting(
                    self.task,
                    self.task.split(seed),
                    self.model,
                    self.judge,
                    board,
                    self.output,
                    self.settings.shares(1, spent(board, measured))[0],
                    on_wait,
                    self.resume,
                )
                outcome = await self._condition(condition, setting)
                measured.append(outcome)
                if meter is not None:
                    meter.add(board.costs(outcome.run))
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
        "Published: arXiv 2404.15974, 12 people, GPT-4-0613, means over its tasks 1 to 3.",
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
        return (
            f"{rounded(passed / total)} to {rounded((passed + undecided) / total)}, not all judged"
        )
    outcomes = {
        (seed, scored.example.input): scored.passes is True
        for seed, part in enumerate(scores)
        for scored in part.scored
    }
    estimated = estimate(outcomes)
    bounds = f"{rounded(estimated.interval.low)}-{rounded(estimated.interval.high)}"
    return f"{rounded(estimated.share)} ({bounds})"


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
    mean_ued = sum(tally.ued for tally in tallies) / count if count else 0
    return _pair([count / len(some), mean_ued])


def _printed(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"


def _pair(pair: Sequence[float] | None) -> str:
    return "-" if pair is None else f"{_number(pair[0])} x {_number(pair[1])}"


def _number(number: float) -> str:
    return f"{number:.0f}" if number == int(number) else f"{number:.3g}"


@cache
def _published() -> dict[str, Any]:
    return tomllib.loads(bundled_text("published.toml"))
