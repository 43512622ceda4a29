"""`pxp lan history` and `pxp show`: versions of a network, and what it did last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pxp_fsm.cli.main import commands
from pxp_fsm.plugins.easylan.lan import Lan

SCRIPT: list[dict[str, Any]] = [
    {
        "purpose": "execution",
        "where": {"name": "Poet"},
        "reply": {"thoughts": "it rhymes", "result": "verse\nand verse"},
    },
    {"purpose": "execution", "reply": {"thoughts": "word by word", "result": "prose"}},
]


def pxp(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments)


def lan(*arguments: str) -> Result:
    return pxp("lan", *arguments)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{json.dumps(line)}\n" for line in SCRIPT)
    Path("script.jsonl").write_text(lines, "utf-8")
    Lan.new("translate").save("my.lan.json")
    return tmp_path


def test_what_was_undone_is_redone_and_any_version_is_gone_to() -> None:
    lan("edit", "my.lan.json", "set", "Solver", "output", "verse")
    assert lan("history", "my.lan.json", "undo").exit_code == 0
    assert (
        lan("history", "my.lan.json", "redo").stdout
        == "Change 4: redo change 2: set Solver output verse\n"
    )
    assert lan("history", "my.lan.json", "redo").exit_code == 2
    assert lan("history", "my.lan.json", "1").stdout == "Change 5: go to version 1\n"
    network = Lan.load("my.lan.json").network
    assert network.agent("Solver").output == "the result of the task"
    done = lan("history", "my.lan.json", "9")
    assert done.exit_code == 2 and "the versions are 1 to 5" in done.stderr


def test_a_network_is_shown_with_its_last_run_by_agent() -> None:
    assert "It has not run yet." in pxp("show", "my.lan.json").stdout
    lan("edit", "my.lan.json", "create", "Poet", "make it rhyme", "verse")
    lan("edit", "my.lan.json", "connect", "Solver", "Poet")
    lan("edit", "my.lan.json", "add", "Poet", "knowledge", "by sound")
    ran = pxp("run", "my.lan.json", "la nuit", "--machine", "script:script.jsonl")
    assert ran.stdout == "verse\nand verse\n"
    shown = pxp("show", "my.lan.json").stdout
    assert "Last run: la nuit" in shown and "   knowledge 1: by sound" in shown
    assert "      thoughts: word by word" in shown and "      from Solver: prose" in shown
    one = pxp("show", "my.lan.json", "--agent", "Poet").stdout
    assert "it rhymes" in one and "word by word" not in one
    lan("edit", "my.lan.json", "drop", "Poet", "knowledge", "1")
    assert (
        "The last run was of version 4; the network is in 5." in pxp("show", "my.lan.json").stdout
    )
    assert pxp("show", "my.lan.json", "--agent", "Gone").exit_code == 2


def test_a_run_whose_record_cannot_be_written_has_its_output_still() -> None:
    Path("my.lan.json.last").mkdir()
    ran = pxp("run", "my.lan.json", "x", "--machine", "script:script.jsonl")
    assert (ran.exit_code, ran.stdout) == (0, "prose\n")
    assert "is not kept" in ran.stderr and "my.lan.json.last" in ran.stderr


@pytest.mark.parametrize("text", ["", "[", "{}", '{"format": "pxp-fsm run"}'])
def test_a_broken_last_run_says_what_to_do(text: str) -> None:
    Path("my.lan.json.last").write_text(text, "utf-8")
    done = pxp("show", "my.lan.json")
    assert (
        done.exit_code == 2 and "my.lan.json.last" in done.stderr and "Traceback" not in done.stderr
    )


def test_the_acts_of_a_stored_training_are_listed_and_a_training_ends_with_what_it_took() -> None:
    Path("train.jsonl").write_text('{"input": "la nuit", "output": "verse"}\n', "utf-8")
    steps = {
        "gap": {"gap": "no verse", "rationale": ""},
        "reason": {
            "reason_type": "lack_of_agent",
            "agent_name": "",
            "reason_content": "no poet",
            "rationale": "",
        },
        "parameters": {
            "parameters": {
                "agent": {
                    "name": "Bard",
                    "task": "sing",
                    "output": "verse",
                    "enabled": False,
                    "control_knowledge": [],
                    "knowledge": [],
                },
                "from": ["Solver"],
                "to": [],
            },
            "rationale": "",
        },
    }
    lines: list[dict[str, Any]] = [
        {"purpose": purpose, "reply": reply} for purpose, reply in steps.items()
    ]
    bard = {"purpose": "execution", "where": {"name": "Bard"}}
    lines = [{**bard, "reply": {"thoughts": "", "result": "verse"}}, *SCRIPT, *lines]
    Path("all.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")
    training = (
        "train",
        "my.lan.json",
        "train.jsonl",
        "--machine",
        "script:all.jsonl",
    )
    done = lan(*training, "--developer", "confirms", "--database", "sqlite:///x.db")
    assert done.exit_code == 0, done.output
    assert "Time: " in done.stdout and "UED: 0; confirmations: 3\n" in done.stdout
    assert "Handled: 1 of 1" in done.stdout
    listed = lan("history", "my.lan.json", "-v", "--database", "sqlite:///x.db").stdout
    assert listed.count("confirm a step") == 3
    assert "confirm a step" not in lan("history", "my.lan.json", "-v").stdout
    none = lan("history", "my.lan.json", "-v", "--database", "sqlite:///none.db")
    assert none.exit_code == 2 and "Traceback" not in none.stderr
