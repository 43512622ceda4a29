"""The setup of networks of LLM agents: their models, examples and training blackboard."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends.databases import CallsOf, RunRecord, SqlBlackboard
from backends.databases.records import session_record
from backends.models.registry import open_models
from backends.models.settings import Settings
from guards.text import NormalisedText
from pxp_fsm import __version__
from pxp_fsm.artifacts import locked
from pxp_fsm.defaults import NETWORKS
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, NoAnswer, NotThere, UsageError, quoted
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.plugins.easylan.experiments.scoring import hint_judge, output_judge
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.running import serialization
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.running.requests import load_prompts
from pxp_fsm.plugins.easylan.training import progress
from pxp_fsm.plugins.easylan.training.developer import Developer
from pxp_fsm.plugins.easylan.training.events import Told
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example, ExampleResult, TrainingProgress
from pxp_fsm.plugins.easylan.training.questions import Remote
from pxp_fsm.plugins.easylan.training.regressions import holds
from pxp_fsm.plugins.easylan.training.simulated import Confirming, Satisfied
from pxp_fsm.plugins.easylan.training.supervision import Supervision
from pxp_fsm.prompting.model import (
    CallLog,
    LanguageModel,
    Ledger,
)
from pxp_fsm.protocol.messages import text_problem
from pxp_fsm.protocol.relations import Judgement, Relation
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session


@asynccontextmanager
async def model_of(
    name: str,
    settings: Settings | None = None,
    on_wait: Callable[[str], None] = lambda _why: None,
    log: CallLog | None = None,
    ledger: Ledger | None = None,
) -> AsyncIterator[LanguageModel]:
    """The model `name`, as `open_models` opens it."""
    async with open_models(settings, on_wait, log, ledger) as opened:
        yield opened(name)


def examples(path: Path) -> tuple[Example, ...]:
    """The examples in a file: JSON, one object with `input` and `output` a line.

    One without `output` is judged by the developer once the network has run on it.
    """
    return examples_in(text_of(path, "examples", most=files.MOST_BYTES, error=DataError), path)


def examples_in(text: str, path: Path) -> tuple[Example, ...]:
    """The examples in the text of the file `path`. Raises `DataError`."""
    lines = enumerate(text.splitlines(), 1)
    found = [_example(path, at, line) for at, line in lines if line.strip()]
    if not found:
        raise DataError(f"{path}: the file has no examples")
    return tuple(found)


def _example(path: Path, number: int, line: str) -> Example:
    try:
        raw: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError.at(path, number, f"this is no JSON: {error}") from error
    if not isinstance(raw, dict) or not {"input"} <= set(raw) <= {"input", "output"}:
        raise DataError.at(path, number, "an example is an object with input and output, no more")
    external, truth = raw["input"], raw.get("output", "")
    for text in (external, truth):
        if not isinstance(text, str) or text_problem(text):
            raise DataError.at(path, number, f"input and output are texts, not {quoted(text)}")
    return Example(external, truth)


class TrainingBoard:
    """Stores the sessions of a training as one run of a blackboard.

    A training that was stopped goes on in its `run`, if that has the same plan and `data`.
    """

    def __init__(
        self, blackboard: SqlBlackboard, plan: dict[str, object], data: str, run: str = ""
    ) -> None:
        self._blackboard = blackboard
        said = json.dumps(plan, sort_keys=True)
        record = RunRecord(NETWORKS, NETWORKS, said, 0, __version__, data)
        known = [one for one in blackboard.runs() if one.run == run]
        self.resumes = any(one.data_fingerprint == data and _is_of(one, plan) for one in known)
        self.run = run if self.resumes else blackboard.start_numbered_run(record).run

    def stored(self, name: str) -> tuple[Event, ...]:
        return self._blackboard.events(name)

    def open(self, session: Session) -> None:
        if all(record.session != session.name for record in self._blackboard.sessions(self.run)):
            _run, example, step = session.name.rsplit("/", 2)
            record = session_record(session, self.run, int(example), int(step))
            self._blackboard.start_session(record)

    def append(self, session: str, event: Event) -> None:
        self._blackboard.append(session, event)

    def close(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        self._blackboard.close(session, ending, cause, judgements)


def training_in(board: SqlBlackboard, run: str | None) -> str:
    """The run of a training; None is the latest one. Raises `NotThere` where there is none."""
    found = [one.run for one in board.runs() if one.task == NETWORKS]
    if not found:
        raise NotThere("the database holds no training of a network; pxp lan train stores one")
    if run is not None and run not in found:
        raise NotThere(
            f"{board.shown} has no training {quoted(run)}; there are: {', '.join(found)}"
        )
    return run or found[-1]


def _is_of(record: RunRecord, plan: dict[str, object]) -> bool:
    """Whether a run has that plan, whatever its network has become since."""
    stored: object = json.loads(record.plan)
    return isinstance(stored, dict) and {**stored, "network": plan.get("network")} == plan


@dataclass(frozen=True)
class Training:
    """What a network in a file is trained with; `developer` of None is unattended.

    The questions to a `Remote` developer wait for answers in the trainer that `opened` gives.
    `meter` adds up what models cost. With `stream` models reply piece by piece, where they can.
    `updater` names a model for the steps of the update alone; `prompts` is a file of prompts.

    `judge` names a model that decides, in place of `same`, whether an output will do, and whether a
    rationale follows a hint. A simulated developer goes by the same; a person is asked.
    `lan` is the network in the file where it is open already: whoever opened it saves its changes.
    """

    path: Path
    examples: tuple[Example, ...]
    model: str
    developer: Developer | Remote | None = None
    limits: TrainingLimits = field(default_factory=TrainingLimits)
    judge: str | None = None
    same: Relation = field(default_factory=NormalisedText)
    settings: Settings | None = None
    database: str | None = None
    on_wait: Callable[[str], None] = lambda _why: None
    lan: Lan | None = None
    meter: Meter = field(default_factory=Meter)
    stream: bool = False
    updater: str | None = None
    prompts: Path | None = None

    async def run(
        self, on_event: Callable[[Told], None] = lambda _event: None
    ) -> tuple[ExampleResult, ...]:
        """Train it to the end of the examples. Raises as `opened` does."""
        async with self.opened(on_event) as trainer:
            return await trainer.train(self.examples)

    @asynccontextmanager
    async def opened(
        self, on_event: Callable[[Told], None] = lambda _event: None
    ) -> AsyncIterator[Trainer]:
        """Its trainer, which goes on where the training was stopped.

        Each change of the network is written to its file, and each thing that happens to the file
        of the training's progress beside it. Without `examples` whatever progress there is goes on,
        and `Trainer.handle` takes further ones. Raises `UsageError` where another process is
        training the network.
        """
        kept = progress.path_of(self.path)
        with locked(kept, waits=False):
            lan = self.lan or self._loaded()
            now = self._stopped(lan, kept)
            async with self._trainer(lan, now, on_event) as trainer:
                yield trainer
            if trainer.is_over:
                kept.unlink(missing_ok=True)

    def _loaded(self) -> Lan:
        """The network in the file, which holds each of its changes."""
        lan = Lan.load(self.path)
        lan.on_change = lambda: lan.save(self.path)
        return lan

    def _stopped(self, lan: Lan, path: Path) -> TrainingProgress:
        """The progress of the training that was stopped, if it had the same examples."""
        data = progress.digest_of(self.examples)
        if path.exists():
            found = progress.load(path)
            if not self.examples or found.data == data:
                return found
        return TrainingProgress(data=data, version=lan.version)

    @asynccontextmanager
    async def _trainer(
        self, lan: Lan, now: TrainingProgress, told: Callable[[Told], None]
    ) -> AsyncIterator[Trainer]:
        if self.database is None:
            async with open_models(self.settings, self.on_wait, self.meter) as opened:
                yield self._trained(lan, now, opened, told)
            return
        with SqlBlackboard(self.database) as blackboard:
            board = self._board(blackboard, lan, now)
            log = self.meter.kept = CallsOf(blackboard, board.run)
            spent = blackboard.spending(board.run)
            known = blackboard.replies(board.run) if board.resumes else ()
            meter, settings = self.meter, self.settings
            async with open_models(settings, self.on_wait, meter, log, spent, known) as opened:
                yield self._trained(lan, now, opened, told, board)

    def _keeping(self) -> Callable[[TrainingProgress], None]:
        """What writes the progress, and each new run as the network's last one."""
        last: list[NetworkRun | None] = [None]

        def keep(now: TrainingProgress) -> None:
            progress.save(now, progress.path_of(self.path))
            if now.run is not None and now.run is not last[0]:
                last[0] = now.run
                serialization.save(now.run, now.version, serialization.path_of(self.path))

        return keep

    def _board(self, blackboard: SqlBlackboard, lan: Lan, now: TrainingProgress) -> TrainingBoard:
        plan: dict[str, object] = {
            "network": lan.network.fingerprint,
            "model": self.model,
            **({} if self.updater is None else {"updater": self.updater}),
            "developer": None if self.developer is None else self.developer.name,
            "iterations": self.limits.iterations,
            "retries": self.limits.retries,
            "same": self.same.name if self.judge is None else self.judge,
        }
        return TrainingBoard(blackboard, plan, now.data, now.name)

    def _trained(
        self,
        lan: Lan,
        now: TrainingProgress,
        opened: Callable[[str], LanguageModel],
        told: Callable[[Told], None],
        board: TrainingBoard | None = None,
    ) -> Trainer:
        same, agree = self.same, None
        if self.judge is not None:
            judge = opened(self.judge)
            same, agree = output_judge(judge), hint_judge(judge)
        if isinstance(self.developer, Confirming):
            self.developer.will_do = _will_do(same)
        return Trainer(
            lan,
            opened(self.model),
            same,
            self.developer,
            limits=self.limits,
            supervision=Supervision(judge=agree, board=board),
            name=NETWORKS if board is None else board.run,
            on_event=told,
            progress=now,
            keep=self._keeping(),
            stream=self.stream,
            updater=None if self.updater is None else opened(self.updater),
            prompts=load_prompts(self.prompts),
        )


def _will_do(same: Relation) -> Satisfied:
    async def will_do(run: NetworkRun, truth: str) -> bool:
        return await holds(same, run.output, truth)

    return will_do


@dataclass(frozen=True, slots=True)
class Tested:
    """A network on one example: its output, or why it has none, and whether it will do."""

    example: Example
    output: str | None
    right: bool
    why: str = ""


async def tested(
    lan: Lan, some: tuple[Example, ...], same: Relation | None = None
) -> AsyncIterator[Tested]:
    """`lan` run on examples, one after the other; nothing in it is changed."""
    relation = same or NormalisedText()
    if not all(one.truth for one in some):
        raise UsageError("an example without an output cannot be tested; add the right output")
    for example in some:
        try:
            output = (await lan.run(example.external)).output
            right = await holds(relation, output, example.truth)
        except NoAnswer as error:
            yield Tested(example, None, right=False, why=str(error))
        else:
            yield Tested(example, output, right)


def new(task: str, path: Path, name: str = "Solver") -> Lan:
    """A network for `task`, begun by the agent `name`, in a new file.

    Raises `UsageError` where there is a file already.
    """
    made = Lan.new(task, name=name)
    with locked(path):
        if path.exists():
            raise UsageError(f"{path} already exists; give another name, or remove it")
        files.save(made.history, path)
    return made
