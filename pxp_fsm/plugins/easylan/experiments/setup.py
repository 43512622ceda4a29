"""The setup of networks of LLM agents: their models, examples and training blackboard."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Self

from backends.databases import Origin, RunRecord, SessionRecord, SqlBlackboard
from backends.databases.records import check_same, session_record
from backends.models.registry import open_models
from backends.models.settings import Settings
from guards.text import NormalisedText
from pxp_fsm import __version__
from pxp_fsm.artifacts import locked
from pxp_fsm.defaults import NETWORKS
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, NoAnswer, NotThere, UsageError, quoted
from pxp_fsm.experiments.openings import Past, Slot, Surroundings, Unit
from pxp_fsm.experiments.plan_data import with_stored_caps
from pxp_fsm.experiments.plans import CAPS
from pxp_fsm.experiments.runs import Run, resume, start
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.experiments.scoring import hint_judge, output_judge
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.running import serialization
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.running.requests import load_prompts
from pxp_fsm.plugins.easylan.training import progress
from pxp_fsm.plugins.easylan.training.developer import Developer
from pxp_fsm.plugins.easylan.training.events import Told
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits, check_truths
from pxp_fsm.plugins.easylan.training.progress import Example, ExampleResult, TrainingProgress
from pxp_fsm.plugins.easylan.training.questions import Remote
from pxp_fsm.plugins.easylan.training.regressions import holds
from pxp_fsm.plugins.easylan.training.simulated import Confirming, Satisfied, equal
from pxp_fsm.plugins.easylan.training.supervision import Supervision
from pxp_fsm.prompting.model import (
    CallLog,
    LanguageModel,
    Ledger,
)
from pxp_fsm.protocol.messages import text_problem
from pxp_fsm.protocol.relations import Judgement, Relation
from pxp_fsm.protocol.rules import FAULTS, Ending
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
    listed = [_example(path, at, line) for at, line in lines if line.strip()]
    if not listed:
        raise DataError(f"{path}: the file has no examples")
    return tuple(listed)


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


class StepStore:
    """Where the sessions of a training's steps go: into its `run`, by example and step."""

    def __init__(self, board: SqlBlackboard, run: str) -> None:
        self._board = board
        self._run = run

    def _record(self, name: str) -> SessionRecord | None:
        _run, example, step = name.rsplit("/", 2)
        place = int(example), int(step), int(step)
        return next(iter(self._board.sessions_at(self._run, *place)), None)

    def stored(self, name: str) -> tuple[Event, ...]:
        return self._board.events(name)

    def about(self, name: str) -> str | None:
        record = self._record(name)
        return None if record is None else record.instance.x

    def open(self, session: Session) -> None:
        if self._record(session.name) is None:
            _run, example, step = session.name.rsplit("/", 2)
            record = session_record(session, self._run, int(example), int(step))
            self._board.start_session(record)

    def append(self, session: str, event: Event) -> None:
        self._board.append(session, event)

    def end(self, session: str, ending: str, cause: str, judgements: Sequence[Judgement]) -> None:
        self._board.end(session, ending, cause, judgements)


def training_in(board: SqlBlackboard, run: str | None) -> str:
    """The run of a training; None is the latest one. Raises `NotThere` where there is none."""
    trainings = [record.run for record in board.runs() if record.task == NETWORKS]
    if not trainings:
        raise NotThere("the database holds no training of a network; pxp lan train stores one")
    if run is not None and run not in trainings:
        raise NotThere(
            f"{board.shown} has no training {quoted(run)}; there are: {', '.join(trainings)}"
        )
    return run or trainings[-1]


TRAINING = Unit(0, 1, 1)
"""The place of a training's session in its run; those of its steps come by example, from 1."""

ONE_NETWORK = "a network is in one file, so such a run cannot be spread over workers"


@dataclass(frozen=True)
class Training:
    """What a network in a file is trained with; `developer` of None is unattended.

    The questions to a `Remote` developer wait for answers in the `Trainer` of the opening.
    With `stream` models reply piece by piece, where they can. `updater` names a model for the steps
    of the update alone; `prompts` is a file of prompts. A model may be given in place of its name.

    `judge` names a model that decides, in place of `same`, whether an output will do, and whether a
    rationale follows a hint. A simulated developer goes by the same; a person is asked.
    `lan` is the network in the file where it is open already: whoever opened it saves its changes.

    It is one run of a `database`: one session, of the table `lan_pipeline`, and those of its steps.
    Without one it is kept in a file beside the network until it is over. `more` is what else the
    run's plan says.
    """

    path: Path
    examples: tuple[Example, ...]
    model: str | LanguageModel
    developer: Developer | Remote | None = None
    limits: TrainingLimits = field(default_factory=TrainingLimits)
    judge: str | None = None
    same: Relation = field(default_factory=NormalisedText)
    settings: Settings | None = None
    database: str | None = None
    on_wait: Callable[[str], None] = lambda _why: None
    lan: Lan | None = None
    stream: bool = False
    updater: str | None = None
    prompts: Path | None = None
    more: Mapping[str, object] = field(default_factory=dict)

    @property
    def kept(self) -> Path:
        """The database of a training that none is named for."""
        return self.path.with_name(f"{self.path.name}.training")

    async def run(
        self,
        on_event: Callable[[Told], None] = lambda _event: None,
        on_begin: Callable[[Run[TrainingOpening]], None] = lambda _run: None,
    ) -> tuple[ExampleResult, ...]:
        """Train it to the end of the examples, from where it was stopped.

        Each change of the network is written to its file. Without `examples` a training that was
        stopped goes on with its own, if there is one. `on_begin` is told of the run, whose
        opening has the trainer. Raises `UsageError` where another process is training the network,
        and `NoAnswer` where the training ended by a fault.
        """
        # Runs in two databases would still change one file.
        with locked(self.kept, waits=False):
            with SqlBlackboard(self.database or str(self.kept)) as board:
                run = self.on(board, on_event)
                run.on_wait = self.on_wait
                run.on_begin = lambda _session: on_begin(run)
                await run.carry(self.path.parent)
                outcomes, fault = run.opening.outcomes, run.opening.fault
            self._forget()
        if fault:
            raise NoAnswer(fault)
        return outcomes

    def on(
        self,
        board: SqlBlackboard,
        on_event: Callable[[Told], None] = lambda _event: None,
        *,
        may_be_over: bool = False,
    ) -> Run[TrainingOpening]:
        """The run of it on a blackboard: the one that was stopped, or a new one.

        The latest one may be over where that is said; nothing is left to do in it then.
        """
        opening = self._opening(on_event)
        known = self._stopped(board, opening, may_be_over)
        if known is None:
            return start(opening, board)
        return resume(known.run, board, self.settings, opening)

    @property
    def is_stopped(self) -> bool:
        """Whether there is a training that was stopped, and can go on."""
        with self._there() as board:
            return board is not None and self._stopped(board, self._opening()) is not None

    def end(self) -> None:
        """Let the training that was stopped be over, so that it does not go on."""
        with self._there() as board:
            stopped = None if board is None else self._stopped(board, self._opening())
            if board is not None and stopped is not None:
                for record in _session_of(board, stopped.run):
                    board.end(record.session, Ending.BROKEN.value, ENDED, ())
        self._forget()

    @contextmanager
    def _there(self) -> Iterator[SqlBlackboard | None]:
        """The database, where there is one."""
        if self.database is None and not self.kept.exists():
            yield None
            return
        with SqlBlackboard(self.database or str(self.kept)) as board:
            yield board

    def _opening(self, on_event: Callable[[Told], None] = lambda _event: None) -> TrainingOpening:
        return TrainingOpening(self, self.lan or self._loaded(), on_event)

    def _forget(self) -> None:
        if self.database is None:
            for path in self.path.parent.glob(f"{self.kept.name}*"):
                path.unlink(missing_ok=True)

    def _loaded(self) -> Lan:
        """The network in the file, which holds each of its changes."""
        lan = Lan.load(self.path)
        lan.on_change = lambda: lan.save(self.path)
        return lan

    def _stopped(
        self, board: SqlBlackboard, opening: TrainingOpening, may_be_over: bool = False
    ) -> RunRecord | None:
        """The latest run of this training that is not over, unless it may be.

        Its network has become what it is from the one that the run began with. Without examples of
        one's own, only those that are stored can tell what it is about.
        """
        data = progress.digest_of(self.examples)
        for record in reversed(board.runs()):
            if record.task != NETWORKS or not opening.is_of(record):
                continue
            if self.examples and record.data_fingerprint != data:
                continue
            sessions = _session_of(board, record.run)
            if not may_be_over and any(session.ending is not None for session in sessions):
                continue
            if self.examples or any(board.events(session.session) for session in sessions):
                return record
        return None


ENDED = "the developer ended it"


def _session_of(board: SqlBlackboard, run: str) -> tuple[SessionRecord, ...]:
    """The session of a training itself, where it is begun."""
    return board.sessions_at(run, TRAINING.repetition, TRAINING.first, TRAINING.last)


def come_to(board: SqlBlackboard, run: str) -> TrainingProgress:
    """How far a training has come, as it is stored."""
    events = [event for record in _session_of(board, run) for event in board.events(record.session)]
    return progress.from_text(events[-1].memory, run) if events else TrainingProgress()


class TrainingOpening:
    """The session of a training, which is one of the table `lan_pipeline`; fills `Opening`.

    `trainer` is who carries it, once it is open. The sessions of its steps are stored in the same
    run, by example and step.
    """

    repetitions = sessions = at_once = 1
    carries, unshared = False, ONE_NETWORK
    single: Unit | None = TRAINING
    origin: Origin | None = None

    def __init__(
        self,
        training: Training,
        lan: Lan,
        on_event: Callable[[Told], None] = lambda _event: None,
        settings: Settings | None = None,
    ) -> None:
        self.training = training
        self.lan = lan
        self.settings = settings or training.settings or Settings()
        self.trainer: Trainer | None = None
        self._on_event = on_event
        self._around: Surroundings | None = None

    @property
    def asks_models(self) -> bool:
        return isinstance(self.training.model, str)

    @property
    def outcomes(self) -> tuple[ExampleResult, ...]:
        """What came of each example."""
        return () if self.trainer is None else tuple(self.trainer.outcomes)

    @property
    def fault(self) -> str:
        """Why it is over, where it ended by a fault."""
        session = None if self.trainer is None else self.trainer.session
        return "" if session is None or session.ending not in FAULTS else session.cause

    def _meaning(self) -> dict[str, object]:
        """What the training depends on, but for its network, examples and developer."""
        training, model = self.training, self.training.model
        return {
            "model": model if isinstance(model, str) else model.name,
            **({} if training.updater is None else {"updater": training.updater}),
            "iterations": training.limits.iterations,
            "retries": training.limits.retries,
            "same": training.same.name if training.judge is None else training.judge,
            **training.more,
        }

    def is_of(self, record: RunRecord) -> bool:
        """Whether a stored run is of this training, of a network that has become this one."""
        stored: object = json.loads(record.plan)
        if not isinstance(stored, dict):
            return False
        was, version = stored.pop("network", None), stored.pop("version", 0)
        other = {key: stored[key] for key in stored if key not in (CAPS, "developer")}
        if other != self._meaning() or not 1 <= version <= self.lan.version:
            return False
        return bool(self.lan.history.at(version).fingerprint == was)

    def run_record(self, board: SqlBlackboard) -> RunRecord:
        caps, developer = self.settings.caps, self.training.developer
        check_truths(self.training.examples, attended=developer is not None)
        plan = self._meaning() | {
            "network": self.lan.network.fingerprint,
            "version": self.lan.version,
            "developer": None if developer is None else developer.name,
            **({CAPS: caps} if caps else {}),
        }
        data = progress.digest_of(self.training.examples)
        stored = json.dumps(plan, sort_keys=True)
        return RunRecord(NETWORKS, NETWORKS, stored, 0, __version__, data)

    def _trainer(self, now: TrainingProgress, around: Surroundings, session: str) -> Trainer:
        training, model = self.training, self.training.model
        same, agree = training.same, None
        if training.judge is not None:
            judge = around.model(training.judge)
            same, agree = output_judge(judge), hint_judge(judge)
        if isinstance(training.developer, Confirming) and training.developer.will_do is equal:
            training.developer.will_do = _will_do(same)
        return Trainer(
            self.lan,
            around.model(model) if isinstance(model, str) else model,
            same,
            training.developer,
            limits=training.limits,
            supervision=Supervision(judge=agree, board=StepStore(around.board, around.run)),
            name=around.run,
            on_event=self._on_event,
            progress=now,
            keep=self._keeping(),
            stream=training.stream,
            updater=None if training.updater is None else around.model(training.updater),
            prompts=load_prompts(training.prompts),
            blackboard=around.board,
            session=session,
        )

    def _keeping(self) -> Callable[[TrainingProgress], None]:
        """What writes each new run as the network's last one."""
        last: list[NetworkRun | None] = [None]

        def keep(now: TrainingProgress) -> None:
            if now.run is not None and now.run is not last[0]:
                last[0] = now.run
                path = serialization.path_of(self.training.path)
                serialization.save(now.run, now.version, path)

        return keep

    def resumed(self, record: RunRecord, settings: Settings | None = None) -> Self:
        """The same, with the caps of a stored run where none are set."""
        held = with_stored_caps(settings or self.settings, record)
        return type(self)(self.training, self.lan, self._on_event, held)

    def sent(self) -> str:
        """Nothing: one process carries it."""
        return ""

    def begin(self, around: Surroundings) -> None:
        self._around = around

    def before(self, unit: Unit) -> Sequence[SessionRecord]:
        """None: a training depends on no other."""
        return ()

    @asynccontextmanager
    async def open(self, slot: Slot, past: Past) -> AsyncIterator[Session]:
        around = self._around
        assert around is not None  # noqa: S101 - `begin` comes first
        board = around.board
        stored = () if slot.stored is None else board.events(slot.session)
        now = TrainingProgress(version=self.lan.version)
        if stored:
            now = progress.from_text(stored[-1].memory, slot.session)
        trainer = self._trainer(now, around, slot.session)
        if self.training.examples:
            trainer.expect(self.training.examples)
        self.trainer = trainer
        with trainer.watching():
            yield trainer.session

    def record(self, session: Session, slot: Slot) -> SessionRecord:
        run = slot.session.rsplit("/", 2)[0]
        return session_record(session, run, slot.repetition, slot.position)

    def check(self, session: Session, slot: Slot) -> None:
        """The table is the same; the network's task may be another since, and the developer."""
        if slot.stored is not None:
            now = self.record(session, slot)
            check_same(slot.stored, replace(now, instance=slot.stored.instance))


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
    if not all(example.truth for example in some):
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
