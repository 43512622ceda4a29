"""Measures of a network in the studio: tests, distances, actions, comparisons, earlier results."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from backends.models.registry import open_models
from guards.text import NormalisedText
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments.sheets import Sheet
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.distance.lmd import Distance, network_distance
from pxp_fsm.plugins.easylan.distance.measures import ManualAction, by_hand, counted
from pxp_fsm.plugins.easylan.experiments import comparison, setup
from pxp_fsm.plugins.easylan.experiments.comparison import TrainingComparison, format_score
from pxp_fsm.plugins.easylan.experiments.scoring import CriterionJudge, Score, output_judge, score
from pxp_fsm.plugins.easylan.experiments.setup import Tested
from pxp_fsm.plugins.easylan.experiments.tasks import LanTask
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import History
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.running.execution import Memory, NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, load_prompts
from pxp_fsm.plugins.easylan.studio.queries import CompareQuery
from pxp_fsm.plugins.easylan.studio.state import Message, Studio
from pxp_fsm.plugins.easylan.studio.work import StudioPlan
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.regressions import Regression, remembered_by, replay


@dataclass(frozen=True)
class MeasureReport:
    """Tables, and what is to be said of them; while it is made, `doing` says how far it is."""

    title: str
    sheets: tuple[Sheet, ...] = ()
    notes: tuple[str, ...] = ()
    doing: str = ""


def tested_report(tested_examples: Sequence[Tested], total: int) -> MeasureReport:
    """Which of `total` examples were right, as far as they were run."""
    rows = tuple(
        ("right" if tested.right else "wrong", tested.example.external, tested.output or tested.why)
        for tested in tested_examples
    )
    right = sum(tested.right for tested in tested_examples)
    sheet = Sheet(f"Right: {right} of {len(tested_examples)}", ("", "input", "output"), rows)
    doing = (
        f"{len(tested_examples)} of {total} examples were run"
        if len(tested_examples) < total
        else ""
    )
    return MeasureReport("Test on the examples", (sheet,), doing=doing)


def score_report(task: LanTask, scores: dict[str, Score], left: int) -> MeasureReport:
    """The scores on the parts of a task; `left` parts are scored yet."""
    rows = [("score", *map(_score, scores.values()))]
    for criterion in task.criteria:
        met = (f"{measured.met(criterion)}/{measured.total}" for measured in scores.values())
        rows.append((f"{criterion.says} [{criterion.by}]", *met))
    notes = tuple(
        f"No output on {scored.example.input}: {scored.failure}"
        for measured in scores.values()
        for scored in measured.scored
        if scored.failure
    )
    doing = "the network runs on the task's examples" if left else ""
    return MeasureReport(
        f"Test on {task.title}", (Sheet("", ("", *scores), tuple(rows)),), notes, doing
    )


def _score(measured: Score) -> str:
    return f"{format_score([measured])}, {measured.total} examples"


def distance_report(distance: Distance, of: str) -> MeasureReport:
    """The least editing between two networks, step by step."""
    rows = tuple((str(step.ued), step.operation, step.on) for step in distance.steps)
    bounds = f"from {distance.lower} to {distance.upper} (the search was cut short)"
    title = f"LMD {distance.upper}" if distance.exact else f"LMD {bounds}"
    notes = (f"Not counted: {', '.join(distance.beyond)}",) if distance.beyond else ()
    return MeasureReport(f"Distance {of}", (Sheet(title, ("UED", "operation", "on"), rows),), notes)


def actions_report(history: History, in_steps: Sequence[ManualAction] = ()) -> MeasureReport:
    """What was done in steps, as it was counted, and by hand, with its least UED too."""
    done = by_hand(history)
    rows = (
        *(("", str(step.ued), str(step.action), step.on) for step in in_steps),
        *(
            (
                str(action.ued),
                "" if action.spent is None else str(action.spent),
                str(action.action),
                action.on,
            )
            for action in done
        ),
    )
    title = counted((*in_steps, *done), history)
    headings = ("least UED", "as done", "action", "on")
    return MeasureReport("Actions by hand", (Sheet(title, headings, rows),))


class Measuring:
    """Measures the network of `studio`, one measure at a time, beside what else is done with it."""

    def __init__(self, studio: Studio, plan: StudioPlan) -> None:
        self.studio = studio
        self.plan = plan
        self.report = MeasureReport("")
        self._task: asyncio.Task[None] | None = None
        studio.follow(lambda: [self._message()])

    def _message(self) -> Message:
        return {"type": "measures", "report": asdict(self.report)}

    def show(self, report: MeasureReport) -> None:
        """Show a report on every page, in place of the one before."""
        self.report = report
        self.studio.tell(self._message())

    def start_actions(self, run: str | None) -> None:
        """Show what was done by hand, and in the steps of a stored training unless `run` is None.

        An empty `run` is the latest one. Raises `UsageError` while something is measured, and
        where the studio has no database.
        """
        if run is None:
            self._check()
            self.show(actions_report(self.studio.lan.history))
        elif self.plan.database is None:
            raise UsageError("no steps are stored; start pxp serve with --database")
        else:
            self._begin("Actions by hand", self._actions(self.plan.database, run))

    def start_distance(self, other: Network, of: str) -> None:
        """Find the distance to another network. Raises `UsageError` while something is measured."""
        self._begin(f"Distance {of}", self._distance(self.studio.lan.network, other, of))

    def start_test(self, examples: tuple[Example, ...]) -> None:
        """Run the network on examples. Raises `UsageError` while something is measured."""
        if not examples:
            raise UsageError("there is no example with an output to test on; note one")
        self._begin("Test on the examples", self._test(examples))

    def start_score(self, task: LanTask, seed: int) -> None:
        """Score the network on a task. Raises `UsageError` while something is measured."""
        self._begin(f"Test on {task.title}", self._score(task, seed))

    def start_comparison(self, query: CompareQuery) -> None:
        """Train on a task in three ways. Raises `UsageError` while something is measured.

        What comes of it is kept in a folder beside the network, and what developers followed.
        """
        task, acts = query.task.task(), query.followed()
        folder = self.studio.path.with_name(f"{self.studio.path.name}.compare")
        is_json = acts is not None and acts.name.endswith(".json")
        kept = folder / ("acts.json" if is_json else "acts.toml")

        def who(name: str) -> str:
            return f"follows:{kept}" if name == "follows" else name

        comparing = TrainingComparison(
            task,
            self.plan.model_name,
            folder,
            judge=self.plan.judge,
            developer=who(query.developer),
            hand=who(query.hand),
            seeds=query.seeds,
            limits=self.plan.limits,
            resume=query.resume,
            settings=self.plan.settings,
        )
        followed = None if acts is None else (kept, acts.text)
        self._begin(f"Comparison on {task.title}", self._compare(comparing, followed))

    async def stop(self) -> None:
        """Stop what is measured now."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def _check(self) -> None:
        if self._task is not None and not self._task.done():
            raise UsageError("something is measured already; stop it, or wait until it ends")

    def _begin(self, title: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._check()
        except UsageError:
            work.close()
            raise
        self.show(MeasureReport(title, doing="it begins"))
        self._task = asyncio.create_task(self._watched(work))

    async def _watched(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it; what fails is shown on the page, beside what was found."""
        try:
            await work
        except PXPError as error:
            self._end(str(error))
        except asyncio.CancelledError:
            self._end("It was stopped.")
            raise
        except BaseException as error:
            self._end(f"{type(error).__name__}: {error}")
            raise

    def _end(self, why: str) -> None:
        self.show(replace(self.report, notes=(*self.report.notes, why), doing=""))

    def _on_wait(self, why: str) -> None:
        self.show(replace(self.report, doing=why))

    async def _actions(self, database: str, run: str) -> None:
        done = await asyncio.to_thread(comparison.acts_in_steps, database, run or None)
        self.show(actions_report(self.studio.lan.history, done))

    async def _distance(self, network: Network, other: Network, of: str) -> None:
        measured = await asyncio.to_thread(network_distance, other, network)
        self.show(distance_report(measured, of))

    async def _test(self, examples: tuple[Example, ...]) -> None:
        prompts, tested_examples = load_prompts(self.plan.prompts), list[Tested]()
        async with open_models(self.plan.settings, self._on_wait) as opened:
            judge = self.plan.judge
            same = None if judge is None else output_judge(opened(judge))
            lan = Lan(self.studio.lan.history, opened(self.plan.model_name), prompts)
            async for tested in setup.tested(lan, examples, same):
                tested_examples.append(tested)
                self.show(tested_report(tested_examples, len(examples)))

    async def _score(self, task: LanTask, seed: int) -> None:
        split, judge, scores = task.split(seed), self.plan.judge, dict[str, Score]()
        parts = {"train": split.train, "test": split.test}
        network, prompts = self.studio.lan.network, load_prompts(self.plan.prompts)
        async with open_models(self.plan.settings, self._on_wait) as opened:
            runner = NetworkRunner(Requester(opened(self.plan.model_name), prompts))
            by = None if judge is None else CriterionJudge(opened(judge))
            at_once = self.plan.settings.in_flight
            for name, part in parts.items():
                scores[name] = await score(network, task, part, runner, by, at_once=at_once)
                self.show(score_report(task, scores, len(parts) - len(scores)))

    async def _compare(
        self, comparing: TrainingComparison, followed: tuple[Path, str] | None
    ) -> None:
        self._on_wait("networks are trained in three ways")
        if followed is not None:
            comparing.output.mkdir(parents=True, exist_ok=True)
            write_atomically(*followed)
        measured = await comparing.measured(self._on_wait)
        kept = tuple(f"Saved {path}" for path in comparing.save(measured))
        sheets = comparison.sheets(comparing.task, measured)
        notes = (*comparison.notes(measured), *kept)
        self.show(MeasureReport(f"Comparison on {comparing.task.title}", sheets, notes))


PAUSE = 0.3
"""Seconds after a change in which a further one puts the comparison off: it may cost money."""


class EarlierResults:
    """Compares the earlier results of a network with those of now, beside what else is done.

    Nobody waits for it, so that it counts as no time of the developer's.
    """

    def __init__(self, studio: Studio, plan: StudioPlan) -> None:
        self.studio = studio
        self.plan = plan
        self._task: asyncio.Task[None] | None = None
        self._memory: Memory = {}
        self._known: dict[str, LanAgent] = {}
        self._message: Message = {"type": "comparison", "comparison": None}
        studio.follow(lambda: [self._message])

    def start(self) -> None:
        """Run the earlier examples again.

        A comparison that is not over is begun anew. Raises `UsageError` without a model.
        """
        _ = self.plan.model_name, self.studio.lan
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._compare())

    def start_if_wanted(self) -> None:
        """Run them again after an edit, if the developer wants that and they may have changed."""
        wanted = self.studio.notes.compares and self.plan.model is not None
        if wanted and self.studio.lan.network.handled:
            self.start()

    async def close(self) -> None:
        """Stop what is under way."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def _tell(self, done: int, lost: Sequence[Regression] = (), failure: str = "") -> None:
        lan = self.studio.lan
        progress = {
            "version": lan.version,
            "done": done,
            "total": len(lan.network.handled),
            "regressions": [_shown(regression) for regression in lost],
            "failure": failure,
        }
        self._message = {"type": "comparison", "comparison": progress}
        self.studio.tell(self._message)

    async def _compare(self) -> None:
        self._tell(0)
        await asyncio.sleep(PAUSE)
        network = self.studio.lan.network
        total = len(network.handled)
        for agent in network.agents:
            if self._known.get(agent.name) is not agent:
                self._memory |= remembered_by(agent)
                self._known[agent.name] = agent
                await asyncio.sleep(0)  # pages are answered meanwhile
        try:
            async with setup.model_of(self.plan.model_name, self.plan.settings) as model:
                runner = NetworkRunner(
                    Requester(model, load_prompts(self.plan.prompts)), self._memory
                )
                lost = await replay(
                    network,
                    runner,
                    NormalisedText(),
                    lambda done, _lost: self._tell(done) if done < total else None,
                )
        except PXPError as error:
            self._tell(0, failure=str(error))
        else:
            self._tell(total, lost)


def _shown(regression: Regression) -> dict[str, Any]:
    """What a page shows of a regression: no agent's turn."""
    handled = {"external": regression.handled.external, "output": regression.handled.output}
    run = None if regression.run is None else {"output": regression.run.output}
    return {"handled": handled, "run": run, "why": regression.why}
