"""`pxp lan`: files, errors, the database, a developer at a real terminal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from backends.databases import SqlBlackboard
from backends.models import scripts
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import FileError, NoAnswer, UsageError
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.experiments.terminal import operations
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    AgentField,
    ChangeTask,
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Forget,
    Operation,
    Split,
    SplitKind,
    merging,
)
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import Confirms
from pxp_fsm.plugins.easylan.training.supervision import EFFORT
from pxp_fsm.prompting.model import ChatRole, ChatTurn, ModelRequest
from pxp_fsm.protocol.relations import Outcome
from tests.plugins.easylan.trainings import poet_script
from tests.terminals import Terminal

SCRIPT = poet_script(
    "the days / remains",
    "the days / it stays",
    {"rationale": "see", "gap": "no rhyme"},
    {"rationale": "see again", "gap": "no rhyme at all"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "french.jsonl").write_text(SCRIPT, "utf-8")
    example = {"input": "les jours", "output": "the days / it stays"}
    (tmp_path / "train.jsonl").write_text(json.dumps(example), "utf-8")
    Lan.new("translate").save(tmp_path / "my.lan.json")
    return tmp_path


TRAIN = ("train", "my.lan.json", "train.jsonl", "--machine", "script:french.jsonl")


def test_training_leaves_its_sessions_on_the_blackboard(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    command = ["lan", *TRAIN, "--developer", "nobody", "--database", "sqlite:///x.db"]
    done = CliRunner().invoke(commands, command)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "Handled: 1 of 1")
    assert Lan.load(folder / "my.lan.json").network.order == ("Solver", "Poet")
    with SqlBlackboard(str(folder / "x.db"), create=False) as board:
        (run,) = board.runs()
        training, *records = board.sessions(run.run)
        assert (training.session, training.protocol) == ("lan-1/0/1", "system")
        assert [record.session for record in records] == [f"lan-1/1/{i}" for i in (1, 2, 3)]
        assert {record.ending for record in records} == {"ratified"}
        asked = {cost.purpose: cost.calls for cost in board.costs(run.run)}
        assert asked == {"execution": 2, "gap": 1, "reason": 1, "parameters": 1}
        stored = board.session("lan-1/1/1")
        efforts = [one for one in stored.events[1].judgements if one.relation == EFFORT]
        assert [json.loads(one.detail) for one in efforts] == [{"choice": "confirm", "distance": 0}]


@pytest.mark.deep
def test_reports_leave_the_training_of_networks_out_and_say_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    def pxp(*words: str) -> Result:
        return CliRunner().invoke(commands, words)

    assert pxp("lan", *TRAIN, "--developer", "nobody", "--database", "x.db").exit_code == 0
    alone = pxp("report", "x.db")
    assert alone.exit_code == 2 and "lan-1 trained a network" in alone.stderr
    assert pxp("run", "drug", "--instances", "1", "--database", "x.db").exit_code == 0
    done = pxp("report", "x.db", "-o", "page.html")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (
        0,
        "Left out: run lan-1 trained a network, with no plan of sessions; those can be listed",
    )
    assert "lan-1" not in (folder / "page-sessions.csv").read_text("utf-8")
    for command in ("report x.db lan-1", "run drug lan-1 --database x.db"):
        named = pxp(*command.split())
        assert named.exit_code == 2 and "those can be listed" in named.stderr


def test_training_goes_on_by_the_same_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    command = ["lan", *TRAIN, "--developer", "nobody", "--database", "x.db"]
    for _time in range(2):
        done = CliRunner().invoke(commands, command)
        assert done.exit_code == 0
        assert "Handled: 1 of 1" in done.stdout.splitlines()
    with SqlBlackboard("x.db", create=False) as board:
        assert list(board.costs("lan-2")) == []
        assert [record.session for record in board.sessions("lan-2")] == ["lan-2/0/1"]


def test_a_judge_decides_whether_an_output_will_do_and_a_hint_was_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    wanted = {"input": "les jours", "output": "the days, and how it stays"}
    (folder / "train.jsonl").write_text(json.dumps(wanted), "utf-8")
    told: list[dict[str, Any]] = [
        {"reply": {"consistent": "no"}, "when": {"explanation": "stays"}, "times": 1},
        {"reply": {"consistent": "no"}, "when": {"explanation": "see"}, "times": 1},
        {"reply": {"consistent": "yes"}},
    ]
    lines = (json.dumps({"purpose": "judge", **line}) for line in told)
    (folder / "judge.jsonl").write_text("\n".join(lines), "utf-8")
    act = {"step": "GAP", "choice": "retry", "hint": "Say why."}
    (folder / "acts.json").write_text(json.dumps({"format": 1, "act": [act]}), "utf-8")
    command = ["lan", *TRAIN, "--developer", "follows:acts.json", "--database", "x.db"]
    done = CliRunner().invoke(commands, [*command, "--set", "judge=script:judge.jsonl"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == "Handled: 1 of 1"
    with SqlBlackboard("x.db", create=False) as board:
        entries = board.session("lan-1/1/1").events
        assert [entry.carried.tag for entry in entries] == [
            "INIT",
            "REFUTE",
            "REVISE",
            *2 * ["RATIFY"],
        ]
        agreed = [one for entry in entries for one in entry.judgements if one.relation == "AGREE"]
        assert Outcome.NO in {one.outcome for one in agreed}
        assert any("script:judge.jsonl" in one.detail for one in agreed)
        assert {cost.purpose: cost.calls for cost in board.costs("lan-1")}["judge"] >= 3
    yes = json.dumps({"purpose": "judge", "reply": {"consistent": "yes"}})
    (folder / "yes.jsonl").write_text(yes, "utf-8")
    for judged, right in (((), 0), (("--set", "judge=script:yes.jsonl"), 1)):
        scored = CliRunner().invoke(commands, ["lan", "test", *TRAIN[1:], *judged])
        assert scored.stdout.splitlines()[-1] == f"Right: {right} of 1"


def test_bad_input_is_told_and_nothing_is_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = (folder / "my.lan.json").read_text("utf-8")
    (folder / "bad.jsonl").write_text('{"inputs": "x"}\n', "utf-8")
    for arguments, said in (
        (("new", "again", "-o", "my.lan.json"), "my.lan.json already exists"),
        (TRAIN, "Missing option '--developer'"),
        ((*TRAIN, "--developer", "terminal"), "requires a terminal"),
        (("run", "my.lan.json", "x", "--machine", "nobody"), "nobody"),
        (("run", "none.lan.json", "x", "--machine", "script:french.jsonl"), "cannot be read"),
        (
            ("run", "my.lan.json", "x", "--machine", "script:train.jsonl"),
            "purpose, reply are missing",
        ),
        (
            (*TRAIN[:2], "bad.jsonl", *TRAIN[3:], "--developer", "nobody"),
            "bad.jsonl, line 1",
        ),
        (("history", "my.lan.json", "undo"), "nothing is left to undo"),
        (("edit", "my.lan.json", "delete", "Solver"), "there is no agent"),
    ):
        group = [] if arguments[0] == "run" else ["lan"]
        done = CliRunner().invoke(commands, [*group, *arguments])
        assert done.exit_code == 2 and said in done.stderr, (arguments, done.stderr)
    done = CliRunner().invoke(commands, ["draw", "my.lan.json", "-o", "x.gif"])
    assert done.exit_code == 2 and "a diagram's file name ends in" in done.stderr
    assert (folder / "my.lan.json").read_text("utf-8") == before


def test_a_training_that_is_over_is_repeated_without_a_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    said = "Every example was handled before; the network was not changed."
    first = CliRunner().invoke(commands, ["lan", *TRAIN, "--developer", "nobody"])
    assert said not in first.stdout
    before = Path("my.lan.json").read_bytes()
    again = CliRunner().invoke(commands, ["lan", *TRAIN, "--developer", "nobody"])
    assert again.stdout.splitlines()[-2:] == ["Handled: 1 of 1", said]
    assert Path("my.lan.json").read_bytes() == before


def test_what_was_edited_is_saved_when_the_developer_leaves(folder: Path) -> None:
    class Leaves(Confirms):
        async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool:
            lan.edit(Edit("Solver", AgentField.OUTPUT, "verse"))
            raise KeyboardInterrupt

    path = folder / "my.lan.json"
    examples = setup.examples(folder / "train.jsonl")
    training = setup.Training(path, examples, f"script:{folder / 'french.jsonl'}", Leaves())
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(training.run())
    assert Lan.load(path).network.agent("Solver").output == "verse"


def test_words_mean_operations() -> None:
    agent = LanAgent("A", "do", "text", Control(True, (), ("on",)), ("k", "l"))
    network = Network("t", (agent,))

    def meant(*words: str) -> Operation:
        (found,) = operations(words, network)
        return found

    assert isinstance(meant("create", "A", "do", "text"), Create)
    assert meant("delete", "A") == Delete("A")
    assert meant("connect", "A", "B") == Connect("A", "B")
    assert meant("disconnect", "A", "B") == Disconnect("A", "B")
    assert meant("set", "A", "name", "B") == Edit("A", AgentField.NAME, "B")
    assert meant("set", "A", "enabled", "no") == Edit("A", AgentField.ENABLED, False)
    assert meant("set", "A", "knowledge", "k", "l") == Edit("A", AgentField.KNOWLEDGE, ("k", "l"))
    assert meant("add", "A", "knowledge", "m") == Edit("A", AgentField.KNOWLEDGE, ("k", "l", "m"))
    assert meant("replace", "A", "knowledge", "1", "m") == Edit(
        "A", AgentField.KNOWLEDGE, ("m", "l")
    )
    assert meant("drop", "A", "control_knowledge", "1") == Edit(
        "A", AgentField.CONTROL_KNOWLEDGE, ()
    )
    part = ("do", "text")
    split = meant("split", "A", "parallel", "B", *part, "C", *part)
    assert split == Split("A", SplitKind.PARALLEL, (LanAgent("B", *part), LanAgent("C", *part)))
    two = Network("t", (agent, LanAgent("B", "write", "text")))
    assert operations(("merge", "B", "A"), two) == merging(two, "B", "A")
    assert (meant("task", "u"), meant("forget", "x")) == (ChangeTask("u"), Forget("x"))
    for words, why in (
        (("fly",), "is not an operation"),
        (("split", "A", "sideways", "B", "do", "text"), "is not an operation"),
        (("split", "A", "parallel", "B", "do"), "is not an operation"),
        (("merge", "A", "A"), "cannot be merged into itself"),
        (("set", "A", "colour", "red"), "has no field 'colour'"),
        (("set", "A", "enabled", "maybe"), "yes or no"),
        (("set", "A", "knowledge"), "one text or more"),
        (("add", "A", "name", "B"), "is for knowledge, control_knowledge, required"),
        (("add", "A", "knowledge"), "add NAME FIELD TEXT"),
        (("drop", "A", "knowledge", "3"), "has 2 pieces, counted from 1; '3' is none"),
        (("drop", "A", "knowledge", "0"), "'0' is none"),
        (("drop", "B", "knowledge", "1"), "there is no agent 'B'"),
    ):
        with pytest.raises(UsageError, match=why):
            operations(words, network)


def test_the_task_is_edited_and_an_example_forgotten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for words in (
        (*TRAIN, "--developer", "nobody"),
        ("edit", "my.lan.json", "task", "translate into verse"),
        ("edit", "my.lan.json", "forget", "les jours"),
    ):
        assert CliRunner().invoke(commands, ["lan", *words]).exit_code == 0
    network = Lan.load(folder / "my.lan.json").network
    assert (network.task, network.handled) == ("translate into verse", ())
    done = CliRunner().invoke(commands, ["lan", "history", "my.lan.json", "-v"])
    assert "edit the task 'translate into verse'" in done.stdout
    assert "forget an example 'les jours'" in done.stdout


def test_a_script_says_what_fits_as_often_as_it_may(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"purpose": "gap", "reply": "once", "times": 1}\n', "utf-8")
    script = scripts.read_script(path)
    request = ModelRequest("", (ChatTurn(ChatRole.USER, "hello"),), purpose="gap")
    assert asyncio.run(script.reply(request)).text == "once"
    with pytest.raises(NoAnswer, match="has no reply left for a request of purpose 'gap'"):
        asyncio.run(script.reply(request))
    for line in (
        "[",
        "{}",
        '{"purpose": 1, "reply": ""}',
        '{"purpose": "", "reply": 1, "times": 0}',
    ):
        path.write_text(line, "utf-8")
        with pytest.raises(FileError, match=r"s\.jsonl, line 1"):
            scripts.read_script(path)


@pytest.mark.deep
def test_a_developer_at_the_terminal_supervises_and_edits(folder: Path) -> None:
    command = (*TRAIN, "--developer", "terminal", "--database", "sqlite:///x.db")
    desk = Terminal(folder, "lan", *command)
    desk.sees("Will it do? yes, no or network:")
    desk.types("no")
    desk.sees("Step 1: what is wrong with the output")
    desk.sees("confirm, edit, hint")
    desk.types("hint")
    desk.sees("Your hint")
    desk.types("think of verse")
    desk.types("")
    desk.sees("confirm, edit, hint")
    desk.types("retry")
    desk.sees("no rhyme at all")
    desk.types("confirm")
    desk.sees("Step 2: why it is")
    desk.types("network")
    desk.sees("Operation:")
    desk.types("connect Solver Solver")
    desk.sees("would have a cycle")
    desk.types_on("\x01\x0b")
    desk.types("set Solver output 'plain English'")
    desk.types("confirm")
    desk.sees("run again: the network changed")
    desk.sees("your answer stands")  # the edit is in none of what it was made from
    desk.sees("Step 4: the parameters of the strategy")
    desk.types("confirm")
    desk.sees("Will it do? yes, no or network:")
    desk.types("yes")
    desk.sees("Handled: 1 of 1")
    assert desk.ends() == 0
    network = Lan.load(folder / "my.lan.json").network
    assert network.agent("Solver").output == "plain English" and "Poet" in network.names
    with SqlBlackboard(str(folder / "x.db"), create=False) as board:
        first = board.session("lan-1/1/1")
    assert [entry.carried.tag for entry in first.events] == [
        *("INIT", "REFUTE", "REVISE", "RATIFY", "RATIFY")
    ]
    assert first.events[1].carried.answer.explanation == "think of verse"
    effort = next(one for one in first.events[1].judgements if one.relation == EFFORT)
    typed = len("hint\rthink of verse\r\rretry\r")
    assert json.loads(effort.detail)["distance"] == typed


def test_what_came_of_a_training_is_json_where_that_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(commands, ["lan", *TRAIN, "--developer", "nobody", "--json"])
    told = json.loads(done.stdout)
    assert (told["run"], told["handled"], told["of"]) == ("lan-1", 1, 1)
    assert told["examples"][0]["handled"] is True
    assert told["version"] == Lan.load(folder / "my.lan.json").version
