"""Sessions carried on from a message: copies, what follows, what was learned, kills, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from backends.databases import Origin, SqlBlackboard, origin_of
from backends.databases.erasure import erase, sessions_of
from backends.databases.verify import verify_engine
from pxp_fsm.automata.system_files import RANDOM
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.experiments import openings, runs
from pxp_fsm.experiments.forks import fork
from pxp_fsm.experiments.members import seated
from tests.backends.test_members import SYSTEM
from tests.command_line import pxp as command
from tests.experiments.test_own_tasks import NUMBERS, PLAN, Pupil

DEBATE = str(Path(__file__).parents[2] / "examples" / "debate" / "debate.toml")


def content(board: SqlBlackboard, session: str) -> list[Any]:
    """What a session says, without its name and times."""
    stored = board.session(session)
    # what a member of a system judged is named with the salt of its session
    pairs = not stored.record.channel
    judged = [
        [(one.relation, pairs and (one.left, one.right), one.outcome, one.asked) for one in judged]
        for judged in (event.judgements for event in stored.events)
    ]
    said = [replace(entry.carried, session="") for entry in stored.events]
    contexts = [entry.addition for entry in stored.events]
    acted = [
        (one.action, one.guard, one.message, one.memory, [j.relation for j in one.judgements])
        for one in (event.in_session("") for event in stored.events)
    ]
    return [said, contexts, judged, acted, stored.record.ending, stored.record.cause]


def agent(prediction: str) -> pxp.Agent:
    return pxp.Agent(
        lambda _question: pxp.Answer(prediction, "so it is"),
        match=pxp.exact,
        agree=pxp.normalised_text,
    )


def members() -> dict[str, pxp.Agent]:
    return {"m": agent("mammal"), "h": agent("fish")}


def seats(seat: int = 1) -> dict[str, Any]:
    grants = pxp.Actor(lambda _turn: {"seat": seat}, guards=lambda _turn: "FREE")
    return {"asks": lambda _turn: pxp.Intent("ASK", "a seat"), "grants": grants}


@pytest.fixture
def board() -> Any:
    with SqlBlackboard(":memory:") as opened:
        pxp.Session(
            pxp.Interact(k=10), members(), instance="a whale", name="lab/1", blackboard=opened
        ).run_sync()
        pxp.Session(SYSTEM, seats(), name="lab/2", blackboard=opened).run_sync()
        yield opened


def test_the_same_members_say_the_same_from_every_message_on(board: SqlBlackboard) -> None:
    whole = content(board, "lab/1")
    assert len(whole[0]) == 10
    for number in range(10):
        name = f"fork{number}/1"
        fork(board, f"lab/1@{number}", members(), name=name).run_sync()
        assert content(board, name) == whole
        assert origin_of(board.run(f"fork{number}").plan) == Origin("lab/1", number)
    assert content(board, "lab/1") == whole
    assert not verify_engine(board.engine).problems


def test_other_members_go_on_otherwise_and_what_went_before_is_the_same(
    board: SqlBlackboard,
) -> None:
    others = {"m": agent("mammal"), "h": agent("mammal")}
    forked = fork(board, "lab/1@3", others, name="agreed/1").run_sync()
    before, after = content(board, "lab/1"), content(board, "agreed/1")
    assert after[0][:3] == before[0][:3]
    assert (str(forked.ending), len(after[0])) == ("ratified", 6)


def test_a_systems_session_goes_on_from_every_action(board: SqlBlackboard) -> None:
    whole = content(board, "lab/2")
    for number in range(len(whole[3])):
        fork(board, f"lab/2@{number}", seats(), name=f"seats{number}/1").run_sync()
        assert content(board, f"seats{number}/1") == whole
    fork(board, "lab/2@1", seats(7), name="seven/1").run_sync()
    letters = [one.message for one in board.events("seven/1")]
    assert [one and one.value for one in letters] == ["a seat", {"seat": 7}]


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_fork_killed_while_it_copies_goes_on(
    board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    append, many = board.append, 0

    def killed(*entry: Any) -> None:
        nonlocal many
        if many == after:
            raise KeyboardInterrupt
        many += 1
        append(*entry)

    monkeypatch.setattr(board, "append", killed)
    with pytest.raises(KeyboardInterrupt):
        fork(board, "lab/1@6", members(), name="again/1")
    monkeypatch.undo()
    assert len(board.events("again/1")) == after
    fork(board, "lab/1@6", members(), name="again/1").run_sync()
    assert content(board, "again/1") == content(board, "lab/1")
    with pytest.raises(UsageError, match="session again/1 has ended"):
        fork(board, "lab/1@6", members(), name="again/1")


@pytest.mark.parametrize(
    ("origin", "name", "error", "said"),
    [
        ("lab/1@11", "new/1", UsageError, "has 10 messages, and no message 11"),
        ("lab/1@10", "new/1", UsageError, "ended with message 10"),
        ("lab/2@3", "new/1", UsageError, "has 2 actions, and no action 3"),
        ("lab/3@1", "new/1", NotThere, "has no session 'lab/3'"),
        ("lab/1@-1", "new/1", UsageError, "is no message of a session"),
        ("lab/1@²", "new/1", UsageError, "is no message of a session"),
        ("@1", "new/1", UsageError, "is no message of a session"),
        ("lab/1", "new/1", UsageError, "is no message of a session"),
        ("lab/1@1", "lab/9", UsageError, "has a run 'lab' already"),
        ("lab/1@1", "", UsageError, "name"),
    ],
)
def test_what_cannot_be_carried_on_is_refused_and_nothing_is_stored(
    board: SqlBlackboard, origin: str, name: str, error: type[Exception], said: str
) -> None:
    before = board.runs(), board.sessions()
    with pytest.raises(error, match=said):
        fork(board, origin, members(), name=name)
    assert (board.runs(), board.sessions()) == before


def test_who_could_not_have_sent_it_is_refused(board: SqlBlackboard) -> None:
    with pytest.raises(UsageError, match="answers for m and h"):
        fork(board, "lab/1@2", {"a": agent("x"), "b": agent("x")}, name="others/1")


def test_copies_are_erased_with_what_they_are_copies_of(board: SqlBlackboard) -> None:
    fork(board, "lab/1@2", members(), name="one/1")
    fork(board, "one/1@1", members(), name="two/1")
    fork(board, "lab/2@1", seats(), name="three/1")
    chosen = sessions_of(board, ["lab/1"])
    assert [one.session for one in chosen] == ["lab/1", "one/1", "two/1"]
    erase(board, chosen)
    with pytest.raises(UsageError, match="was erased"):
        fork(board, "lab/1@2", members(), name="four/1")
    assert board.events("two/1")[0].carried.answer.prediction == "(erased)"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_session_of_a_task_goes_on_with_what_was_learned_before_it(number: int) -> None:
    task = seated(NUMBERS, PLAN, Pupil())
    with SqlBlackboard(":memory:") as board:
        pxp.run(PLAN, board, task=NUMBERS, machine=Pupil(), name="whole")
        forked = runs.fork(Origin("whole/2/3", number), board, task=task)
        assert (forked.total, forked.finished) == (1, 0)
        forked.execute()
        assert content(board, f"{forked.name}/2/3") == content(board, "whole/2/3")
        assert [one.session for one in board.sessions(forked.name)] == [f"{forked.name}/2/3"]
        assert len(board.sessions("whole")) == 8
        assert not verify_engine(board.engine).problems


@pytest.mark.parametrize("after", [1, 2])
def test_a_fork_of_a_task_that_was_stopped_is_resumed(after: int) -> None:
    task = seated(NUMBERS, PLAN, Pupil())
    with SqlBlackboard(":memory:") as board:
        pxp.run(PLAN, board, task=NUMBERS, machine=Pupil(), name="whole")
        forked = runs.fork(Origin("whole/1/2", 1), board, task=task)
        seen = 0

        def stop(step: runs.Progress) -> None:
            nonlocal seen
            seen += step.event is not None
            if seen == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            forked.execute(stop)
        runs.resume(forked.name, board, subject=task).execute()
        assert content(board, f"{forked.name}/1/2") == content(board, "whole/1/2")


def test_what_a_fork_of_a_task_may_change_and_what_not() -> None:
    task = seated(NUMBERS, PLAN, Pupil())
    with SqlBlackboard(":memory:") as board:
        pxp.run(PLAN, board, task=NUMBERS, machine=Pupil(), name="whole")
        with pytest.raises(UsageError, match="keeps this of the run"):
            runs.fork(Origin("whole/1/2", 1), board, {"seed": 9}, task=task)
        with pytest.raises(UsageError, match="ends by message 2"):
            runs.fork(Origin("whole/1/2", 2), board, {"n": 2}, task=task)
        short = runs.fork(Origin("whole/1/2", 1), board, {"n": 2}, task=task)
        short.execute()
        (stored,) = board.sessions(short.name)
        assert (stored.n, stored.messages, stored.ending) == (2, 2, "bound")
        with pytest.raises(UsageError, match=r"carries on whole/1/2@1"):
            runs.fork(Origin(stored.session, 1), board, task=task)
        begun = runs.start(openings.TaskOpening.read(PLAN, task), board, name="begun")

        def stop(step: runs.Progress) -> None:
            if step.position == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            begun.execute(stop)
        runs.fork(Origin("begun/1/2", 1), board, task=task).execute()


@pytest.mark.parametrize(
    "plan", ["[]", "{", '{"origin": 1}', '{"origin": {"session": 1, "number": 1}}', "null"]
)
def test_a_plan_that_says_nothing_of_an_origin_has_none(plan: str) -> None:
    assert origin_of(plan) is None
    assert origin_of(json.dumps(Origin("a@b/1", 3).in_plan)) == Origin("a@b/1", 3)


@pytest.mark.deep
def test_the_command_carries_on_tasks_and_systems(tmp_path: Path) -> None:
    def ran(*arguments: str, code: int = 0) -> str:
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return str(done.stdout if code == 0 else done.stderr)

    ran("run", "animals", "--instances", "3", "--seed", "5")
    said = ran("run", "animals", "animals-1/1/2@2", "--n", "5")
    assert "from message 2 of animals-1/1/2 on" in said
    assert "carries on  animals-1/1/2, from message 2" in ran("show", "animals-2/1/2")
    assert "animals-2 carries on animals-1/1/2@2" in ran("show")
    who = [
        word
        for name in ("pro", "con", "judge")
        for word in ("--set", f"{name}.respondent={RANDOM}")
    ]
    ran("run", DEBATE, *who)
    ran("run", DEBATE, *who, "debate-3/1/1@2", "--repetitions", "3")
    assert "carries on  debate-3/1/1, from action 2" in ran("show", "debate-4/1/3")
    for arguments, why in (
        ([DEBATE, *who, "animals-1/1/2@2"], "of another system"),
        (["animals", "animals-1/1/2@2", "animals-2"], "unexpected extra argument"),
        (["animals", "animals-1/1/2@2", "--both"], "--both"),
        (["animals", "animals-9/1/2@2"], "has no session"),
    ):
        assert why in ran("run", *arguments, code=2)
