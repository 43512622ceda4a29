"""Programs in the place of models: as machines and humans, and who may name them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import pxp_fsm as pxp
from backends.models.registry import check_model
from backends.models.settings import Settings
from backends.programs import schema
from pxp_fsm.errors import UsageError
from tests.command_line import pxp as command

TABLE = Path(__file__).parents[3] / "examples" / "labels"
LABELS = ("run", "labels", "--data", str(TABLE), "--instances", "2")
ASKED = "asked.jsonl"
PROGRAM = f"""
import json, sys
for line in sys.stdin:
    with open({ASKED!r}, "a") as file:
        file.write(line)
    schema = json.loads(line)["schema"]
    label = schema["properties"]["prediction"]["enum"][int(sys.argv[1])]
    print(json.dumps({{"prediction": label, "explanation": "It is the first."}}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "first.py").write_text(PROGRAM, "utf-8")
    return tmp_path


def program(argument: str = "0") -> str:
    return f"program:{sys.executable} -S -E first.py {argument}"


@pytest.mark.deep
def test_programs_are_the_machines_of_a_panel_and_are_asked_as_published(folder: Path) -> None:
    names = ",".join([program(), program(), program("1")])
    ran = command(*LABELS, "--agents", "3", "--machine", names, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    with pxp.open_blackboard(str(folder / "runs" / "blackboard.sqlite")) as board:
        for record in board.sessions("labels-1"):
            said = [event.carried for event in board.events(record.session)]
            first = {message.sender: message.answer.prediction for message in said}
            assert first["m1"] == first["m2"] != first["m3"]
    published = schema()
    question = Draft202012Validator({"$ref": "#/$defs/question", "$defs": published["$defs"]})
    asked = [json.loads(line) for line in (folder / ASKED).read_text("utf-8").splitlines()]
    for line in asked:
        question.validate(line)
    assert all("instance" in line["turns"][0]["data"][0] for line in asked)


def test_a_program_has_the_human_of_two(folder: Path) -> None:
    ran = command(*LABELS, "--machine", program(), "--human", program("1"), cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "bound 2" in ran.stdout


def test_files_and_databases_start_no_program_that_nobody_named(folder: Path) -> None:
    file = folder / "own.toml"
    file.write_text(
        f'format = 1\ntask = "labels"\ndata = "{TABLE}"\ninstances = 1\n'
        f'[agents]\nmachine = "{program()}"\n',
        "utf-8",
    )
    refused = command("run", str(file), cwd=folder)
    assert (refused.returncode, (folder / ASKED).exists()) == (2, False)
    assert "set PXP_PROGRAMS" in refused.stderr
    command_of = program().removeprefix("program:")
    assert command("run", str(file), cwd=folder, PXP_PROGRAMS=command_of).returncode == 0
    again = f"agents.machine={program('1')}"
    assert command("run", str(file), "--set", again, cwd=folder).returncode == 0
    assert command(*LABELS, "--machine", program(), cwd=folder).returncode == 0
    asked = (folder / ASKED).read_text("utf-8")
    stored = command("run", "labels-1/1/1@2", cwd=folder)
    assert (stored.returncode, "set PXP_PROGRAMS" in stored.stderr) == (2, True)
    assert (folder / ASKED).read_text("utf-8") == asked
    for reads in (("show", "labels-1"), ("report", "runs/blackboard.sqlite")):
        assert command(*reads, cwd=folder).returncode == 0


def test_a_program_that_says_what_is_no_answer_ends_its_session(folder: Path) -> None:
    ran = command(*LABELS, "--machine", "program:false", cwd=folder)
    assert ran.returncode == 5
    assert "the program has ended instead of a reply" in ran.stderr


def test_a_program_that_is_none_is_refused_before_anything_is_run(folder: Path) -> None:
    for wrong, problem in (
        ("program:/no/such", "'/no/such' is no program"),
        ("program:", "a program's command is empty"),
        ("program:'", "is no command"),
    ):
        ran = command(*LABELS, "--machine", wrong, cwd=folder)
        assert (ran.returncode, problem in ran.stderr) == (2, True), ran.stderr
    with pytest.raises(UsageError, match="does not support what is requested: temperature"):
        check_model("program:cat", [pxp.models.Capability.TEMPERATURE], _may("program:cat"))


def _may(name: str) -> Settings:
    return Settings(programs=frozenset({name}))
