"""A training that is stopped anywhere goes on at the next message, and ends the same."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from pxp_fsm.artifacts import locked
from pxp_fsm.documents import faults
from pxp_fsm.errors import BlackboardError, UsageError
from pxp_fsm.plugins.easylan.experiments.setup import Training
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training import progress
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Confirms,
    Continuation,
    Developer,
    DeveloperChoice,
    RegressionChoice,
    StepView,
)
from pxp_fsm.plugins.easylan.training.events import Kept, Moved, Resumed, StepBegun
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example, TrainingProgress
from pxp_fsm.plugins.easylan.training.supervision import StepEnded
from pxp_fsm.protocol.messages import Message
from tests.plugins.easylan.scripted_models import Frames, Speaking
from tests.plugins.easylan.trainings import GAP, Same, forgets, parameters, poet_script, poor, weak

EXAMPLES = Example("a", "a"), Example("x", "kx"), Example("y", "never"), Example("z", "klz")


def say(purpose: str, frames: Frames) -> Any:
    """Steps that depend on what they are shown alone; agents that honour nothing."""
    if purpose in ("control", "execution"):
        return forgets(purpose, frames)
    hinted = "hint" in frames and bool(frames["hint"])
    if purpose == "gap":
        return {**GAP, "gap": "no metre"} if hinted else GAP
    if purpose == "reason":
        return poor("Solver")
    if purpose == "weakness":
        return weak("lack_of_knowledge")
    known = frames["agent"]["knowledge"]
    return parameters(knowledge="l" if known else "k")


class Careful(Confirms):
    """Does what it does by what it sees alone: hints, edits, accepts, resumes once, then skips."""

    name = "careful"

    def __init__(self) -> None:
        self.reviewed: list[tuple[str, object]] = []

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
        return run.output == truth

    async def review(self, view: StepView, lan: Lan) -> Act:
        self.reviewed.append((view.step, view.proposal))
        if view.proposal == {"gap": "it does not rhyme"}:
            return Act(DeveloperChoice.RETRY, None, "think of metre")
        if isinstance(view.proposal, dict) and view.proposal.get("reason_content") == "so":
            return Act(
                DeveloperChoice.CONFIRM, {**view.proposal, "reason_content": "it knows too little"}
            )
        return Act(DeveloperChoice.CONFIRM)

    async def weigh(self, *given: Any) -> RegressionChoice:
        return RegressionChoice.ACCEPT

    async def handed(self, why: str, lan: Lan) -> Continuation:
        if lan.network.task == "t" and "once" not in lan.network.agent("Solver").output:
            lan.edit(Edit("Solver", AgentField.OUTPUT, "once"))
            return Continuation.RESUME
        return Continuation.SKIP


class Stopped(BaseException):
    """The process is gone."""


class Desk:
    """A training of which only what was written down outlives a stop, after `most` writings."""

    def __init__(self, developer: bool = True, examples: int = 2) -> None:
        self.examples = EXAMPLES[:examples]
        self.written = 0
        self.model = Speaking(say)
        self.file = json.dumps(files.of_history(Lan.new("t").history))
        self.kept: str | None = None
        self.messages: list[Message] = []
        self.developer = developer
        self.reviewed: list[tuple[str, object]] = []
        self.resumed: list[str] = []

    def carried(self, most: int | None = None) -> Lan:
        self.written = 0
        lan = Lan(files.parse(self.file))

        def save() -> None:
            self.file = json.dumps(files.of_history(lan.history))

        def keep(now: TrainingProgress) -> None:
            self.kept = json.dumps(progress.to_json(now))
            self.written += 1
            if self.written == most:
                raise Stopped

        def told(event: Any) -> None:
            if isinstance(event, StepEnded):
                self.messages += event.messages
            elif isinstance(event, Resumed):
                self.resumed.append(event.state)

        lan.on_change = save
        found = None
        if self.kept is not None:
            raw = json.loads(self.kept)
            assert not faults(raw, progress.schema())
            found = progress.from_json(raw)
            assert json.loads(json.dumps(progress.to_json(found))) == raw
        who: Developer | None = Careful() if self.developer else None
        trainer = Trainer(
            lan,
            self.model,
            Same(),
            who,
            limits=TrainingLimits(1, 1),
            on_event=told,
            progress=found,
            keep=keep,
        )
        try:
            asyncio.run(trainer.train(self.examples))
        finally:
            if isinstance(who, Careful):
                self.reviewed += who.reviewed
        self.outcomes = trainer.outcomes
        return lan


def steps_asked(desk: Desk) -> dict[str, int]:
    return {key: n for key, n in desk.model.asked.items() if key not in ("control", "execution")}


def undisturbed(developer: bool, examples: int = 2) -> Desk:
    desk = Desk(developer, examples)
    desk.carried()
    return desk


def same(developer: bool, places: Iterable[int], examples: int = 2) -> None:
    """Stopped at each of the places, and gone on with, it ends as it would have."""
    whole = undisturbed(developer, examples)
    network = files.parse(whole.file).network
    for place in places:
        desk = Desk(developer, examples)
        with pytest.raises(Stopped):
            desk.carried(place)
        desk.carried()
        assert files.parse(desk.file).network == network, place
        assert steps_asked(desk) == steps_asked(whole), place
        assert desk.reviewed == whole.reviewed, place
        assert desk.outcomes == whole.outcomes, place


@pytest.mark.parametrize(("developer", "places"), [(True, (4, 16, 27)), (False, (13,))])
def test_a_training_that_is_stopped_ends_as_an_undisturbed_one(
    developer: bool, places: tuple[int, ...]
) -> None:
    same(developer, places)


@pytest.mark.deep
@pytest.mark.parametrize("developer", [True, False])
def test_a_training_that_is_stopped_anywhere_ends_as_an_undisturbed_one(developer: bool) -> None:
    same(developer, range(1, undisturbed(developer, 4).written), 4)


@pytest.mark.deep
def test_a_training_that_is_stopped_at_every_place_ends_as_an_undisturbed_one() -> None:
    """Each process gets as far as one more thing that happens, and is gone."""
    whole, desk = undisturbed(True, 4), Desk(True, 4)
    while True:
        try:
            desk.carried(2)
        except Stopped:
            continue
        break
    assert files.parse(desk.file).network == files.parse(whole.file).network
    assert steps_asked(desk) == steps_asked(whole)
    assert desk.reviewed == whole.reviewed
    assert {"RUN", "GAP", "REASON", "WEAKNESS", "PARAMETERS", "HANDED"} <= set(desk.resumed)


@pytest.mark.deep
def test_whoever_goes_on_without_a_developer_gives_up_what_was_theirs() -> None:
    for place in range(1, undisturbed(True, 4).written):
        desk = Desk(True, 4)
        with pytest.raises(Stopped):
            desk.carried(place)
        desk.developer = False
        desk.carried()
        assert len(desk.outcomes) == 4


def test_an_edit_between_two_processes_is_an_edit_during_the_step(tmp_path: Path) -> None:
    desk = Desk()
    told: list[Any] = []
    with pytest.raises(Stopped):
        desk.carried(23)
    assert desk.kept is not None and json.loads(desk.kept)["state"] == "PARAMETERS"
    lan = Lan(files.parse(desk.file))
    lan.edit(Edit("Solver", AgentField.OUTPUT, "verse"))
    trainer = Trainer(
        lan,
        desk.model,
        Same(),
        Careful(),
        limits=TrainingLimits(1, 1),
        on_event=told.append,
        progress=progress.from_json(json.loads(desk.kept)),
    )
    asyncio.run(trainer.train(desk.examples))
    rows = [one.label for one in told if isinstance(one, Moved)]
    assert rows[:3] == ["RESTART", "RAN", "BEGIN"]
    assert [one.step for one in told if isinstance(one, Kept)][:2] == ["GAP", "REASON"]


KILLED = """
import os, signal, sys
from pathlib import Path
from backends.databases import SqlBlackboard
from pxp_fsm.plugins.easylan import lan
from pxp_fsm.plugins.easylan.experiments import setup
folder, most, database = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] or None
written = 0
def killing(kind, name):
    write = getattr(kind, name)
    def killed(*given):
        global written
        write(*given)
        written += 1
        if written == most:
            os.kill(os.getpid(), signal.SIGKILL)
    setattr(kind, name, killed)
for name in ("start_run", "start_session", "append", "close"):
    killing(SqlBlackboard, name)
killing(lan.Lan, "save")
import asyncio
examples = setup.examples(folder / "train.jsonl")
model = f"script:{folder / 'script.jsonl'}"
training = setup.Training(folder / "my.lan.json", examples, model, database=database)
print([one.handled for one in asyncio.run(training.run())])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def prepared(tmp_path: Path) -> Path:
    """The folder with a network, its examples and a script of the model."""
    (tmp_path / "script.jsonl").write_text(poet_script("one", "two"), "utf-8")
    (tmp_path / "train.jsonl").write_text('{"input": "x", "output": "two"}', "utf-8")
    Lan.new("t").save(tmp_path / "my.lan.json")
    return tmp_path


def carried(folder: Path, most: int, database: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED, str(folder), str(most), database]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.deep
@pytest.mark.parametrize("kills", [(9,), pytest.param((4, 6, 5, 3), marks=pytest.mark.deep)])
def test_a_killed_training_goes_on_with_its_confirmed_steps_in_its_run(
    folder: Path, kills: tuple[int, ...]
) -> None:
    assert kill(folder, kills) == len(kills)


def kill(folder: Path, kills: Iterable[int]) -> int:
    """Kill a training after so many writes each time, then let it end; how often it was killed.

    `AssertionError` where the database has not one run, and each session and call of its steps
    once.
    """
    url, killed = f"sqlite:///{folder / 'x.db'}", 0
    for most in (*kills, -1):
        done = carried(folder, most, url)
        if done.returncode != -9:
            break
        killed += 1
    assert (done.stdout, done.returncode) == ("[True]\n", 0), done.stderr
    assert not (folder / "my.lan.json.training").exists()
    assert Lan.load(folder / "my.lan.json").network.order == ("Solver", "Poet")
    with SqlBlackboard(str(folder / "x.db"), create=False) as board:
        (run,) = board.runs()
        training, *sessions = board.sessions(run.run)
        assert (training.session, training.ending) == ("lan-1/0/1", "finished")
        assert [one.session for one in sessions] == [f"lan-1/1/{i}" for i in (1, 2, 3)]
        assert {one.ending for one in sessions} == {"ratified"}
        asked = {cost.purpose: cost.calls for cost in board.costs(run.run)}
    assert not verify(url).problems
    assert {key: asked[key] for key in ("gap", "reason", "parameters")} == {
        "gap": 1,
        "reason": 1,
        "parameters": 1,
    }
    return killed


def forked(folder: Path, most: int) -> bool:
    """Whether a training came to its end in a process that is killed after so many writings.

    It is a fork of this one, which need not import everything again.
    """
    process = os.fork()
    if process == 0:
        with suppress(BaseException):
            os.chdir(folder)
            sys.argv = ["", str(folder), str(most), ""]
            exec(KILLED, {})  # noqa: S102 - our own text
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(process, 0)
    assert status in (0, signal.SIGKILL)
    return status == 0


@pytest.mark.deep
def test_a_training_killed_at_any_place_ends_as_an_undisturbed_one(folder: Path) -> None:
    before = (folder / "my.lan.json").read_text("utf-8")
    forked(folder, -1)
    whole = Lan.load(folder / "my.lan.json").history
    most = 0
    while True:
        most += 1
        (folder / "my.lan.json").write_text(before, "utf-8")
        if forked(folder, most):
            break
        assert forked(folder, -1)
        assert Lan.load(folder / "my.lan.json").history == whole, most
    assert most > 30


def test_whoever_leaves_keeps_the_confirmed_steps(folder: Path) -> None:
    class Leaving(Confirms):
        name = "leaving"

        async def review(self, view: StepView, lan: Lan) -> Act:
            if view.step == "PARAMETERS":
                raise KeyboardInterrupt
            return Act(DeveloperChoice.CONFIRM)

    path = folder / "my.lan.json"
    told: list[Any] = []
    examples = (Example("x", "two"),)
    model = f"script:{folder / 'script.jsonl'}"
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Training(path, examples, model, Leaving()).run())
    asyncio.run(Training(path, examples, model, Confirms()).run(told.append))
    assert isinstance(told[0], Resumed) and told[0].state == "PARAMETERS"
    assert [type(event) for event in told[:2]] == [Resumed, StepBegun]
    steps = [one for one in told if isinstance(one, StepEnded)]
    assert len(steps) == 1 and list(steps[0].value) == ["parameters"]  # type: ignore[call-overload] # an object
    assert Lan.load(path).network.order == ("Solver", "Poet")


def test_a_network_is_trained_by_one_process_at_a_time(folder: Path) -> None:
    path = folder / "my.lan.json"
    before = path.read_bytes()
    training = Training(path, (Example("x", "two"),), f"script:{folder / 'script.jsonl'}")
    with (
        locked(training.kept),
        pytest.raises(UsageError, match=r"my\.lan\.json\.training: another process"),
    ):
        asyncio.run(training.run())
    assert path.read_bytes() == before
    assert [one.handled for one in asyncio.run(training.run())] == [True]
    assert sorted(one.name for one in folder.iterdir()) == [
        "my.lan.json",
        "my.lan.json.last",
        "script.jsonl",
        "train.jsonl",
    ]


@pytest.mark.deep
def test_other_examples_begin_a_training_anew_and_a_broken_file_says_what_to_do(
    folder: Path,
) -> None:
    path, model = folder / "my.lan.json", f"script:{folder / 'script.jsonl'}"
    assert carried(folder, 4).returncode == -9
    told: list[Any] = []
    asyncio.run(Training(path, (Example("y", "two"),), model).run(told.append))
    assert not any(isinstance(one, Resumed) for one in told)
    training = Training(path, (Example("y", "two"),), model)
    training.kept.write_text("{}" * 500, "utf-8")
    with pytest.raises(BlackboardError, match=r"my\.lan\.json\.training"):
        asyncio.run(training.run())
