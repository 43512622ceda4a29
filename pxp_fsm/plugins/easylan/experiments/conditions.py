"""The compared conditions: EasyLAN, the baseline edited by hand, the naive network.

Source: arXiv 2309.15943, sections 6.3 and 6.5.1. Each has the same training examples and model.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import Protocol

from backends.databases import CallsOf, SqlBlackboard
from pxp_fsm.defaults import NETWORKS
from pxp_fsm.errors import NoAnswer
from pxp_fsm.plugins.easylan.distance.lmd import Distance, network_distance
from pxp_fsm.plugins.easylan.distance.measures import (
    Attention,
    ManualAction,
    Stopwatch,
    by_hand,
    effort_of,
    in_steps,
    modifications,
    timed,
)
from pxp_fsm.plugins.easylan.experiments.judges import CriterionJudge
from pxp_fsm.plugins.easylan.experiments.scoring import Score, naive, score, scored
from pxp_fsm.plugins.easylan.experiments.setup import TrainingBoard, training_in
from pxp_fsm.plugins.easylan.experiments.tasks import ExampleSplit, LanTask, TaskExample
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import History, begun_as
from pxp_fsm.plugins.easylan.model.network import Network, initial
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit, Operation
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.developer import Developer
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example as Shown
from pxp_fsm.plugins.easylan.training.progress import digest_of
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
        here = [one for one in self._by_truth.get(truth, ()) if one.input == run.external]
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


class HandEditor(Protocol):
    """A developer without the pipeline: sees a run that will not do, and edits the network."""

    @property
    def name(self) -> str:
        """Who it is."""

    async def improve(self, run: NetworkRun | None, external: str, truth: str, lan: Lan) -> bool:
        """Edit `lan`; whether anything was edited. `run` is None where there was no output."""


@dataclass(frozen=True)
class AddsExamples:
    """A simulated developer: what goes wrong is added to the knowledge of an agent, as it is.

    So did many in the study: a third of the baseline's knowledge was training examples, or parts of
    them, "without any generalization" (section 6.7).
    """

    name: str = "simulated: adds the example as knowledge"

    async def improve(self, run: NetworkRun | None, external: str, truth: str, lan: Lan) -> bool:
        last = lan.network.agent(lan.network.order[-1])
        told = f"Input: {external}\nResult: {truth}"
        if told in last.knowledge:
            return False
        lan.edit(Edit(last.name, AgentField.KNOWLEDGE, (*last.knowledge, told)))
        return True


@dataclass(frozen=True, slots=True)
class HandEdit:
    """What is done by hand, at once, where the output on an input with `about` will not do."""

    operations: tuple[Operation, ...]
    about: str = ""


class FollowsEdits:
    """A simulated developer of the baseline: each edit once, the first that fits; `left` remain.

    An edit that the network refuses raises what `Lan.edit` does.
    """

    name = "simulated: follows a script by hand"

    def __init__(self, edits: Sequence[HandEdit]) -> None:
        self.left = list(edits)

    async def improve(self, run: NetworkRun | None, external: str, truth: str, lan: Lan) -> bool:
        for place, edit in enumerate(self.left):
            if edit.about in external:
                del self.left[place]
                lan.edit(*edit.operations)
                return True
        return False


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
    found = await _measured(setting, Condition.NAIVE, lan, (), watch, (0.0, 0.0), 0)
    return replace(found, handled=found.train.passed)


def earlier(
    board: SqlBlackboard, task: LanTask, seeds: Iterable[int]
) -> dict[tuple[Condition, int], list[str]]:
    """The runs of earlier comparisons on a task, by condition and seed, oldest first."""
    found: dict[tuple[Condition, int], list[str]] = {
        place: [] for place in product(Condition, seeds)
    }
    for run in board.runs():
        plan = json.loads(run.plan) if run.task == NETWORKS else {}
        place = plan.get("condition"), plan.get("seed")
        if plan.get("task") == task.name and place in found:
            found[place].append(run.run)
    return found


def spent(board: SqlBlackboard, others: Container[str]) -> Spending:
    """What the runs of a database have spent on models, without some `others`."""
    some = [board.spending(one.run) for one in board.runs() if one.run not in others]
    return Spending(
        sum(one.calls for one in some),
        sum(one.dollars for one in some),
        sum(one.unpriced for one in some),
        any(one.exceeded for one in some),
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
