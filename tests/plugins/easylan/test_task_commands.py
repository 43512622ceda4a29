"""Tasks of networks, `pxp lan test` and `compare`: what they print, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import commands
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.files import load, save
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import LanAgent, initial
from pxp_fsm.plugins.easylan.model.operations import Create

TASK = """
format = 1
name = "parity"
title = "Parity"
task = "Say whether a number is even or odd"
output = "even or odd"
source = "this test"
train = 2
criteria = [{ says = "It is right.", by = "program", rule = "equal" }]
examples = [
  { input = "2", truth = "even" },
  { input = "3", truth = "odd" },
  { input = "4", truth = "even" },
  { input = "5", truth = "odd" },
]
"""


def line(purpose: str, when: dict[str, str], **reply: object) -> dict[str, object]:
    return {"purpose": purpose, "when": when, "reply": reply}


SCRIPT = {
    "format": 1,
    "line": [
        *(
            line(
                "execution",
                {"input": number, "knowledge": known},
                thoughts="",
                result="odd" if int(number) % 2 else "even",
            )
            for number in "2345"
            for known in ("by two", f"Input: {number}")
        ),
        line("execution", {}, thoughts="", result="?"),
        line("gap", {}, gap="It does not say.", rationale=""),
        line(
            "reason",
            {},
            reason_type="poor_performance_of_agent",
            agent_name="Solver",
            reason_content="It cannot.",
            rationale="",
        ),
        line(
            "weakness", {}, reason_type="lack_of_knowledge", reason_content="No rule.", rationale=""
        ),
        line("parameters", {}, parameters={"knowledge": "Divide it by two."}, rationale=""),
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "parity.toml").write_text(TASK)
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pxp(*words: str) -> Result:
    return CliRunner().invoke(commands, ["lan", *words])


def compare(*words: str) -> Result:
    return CliRunner().invoke(commands, ["run", *words])


MODEL = ("--machine", "script:script.json")


@pytest.mark.deep
def test_comparing_trains_three_networks_and_leaves_them_with_their_sessions(folder: Path) -> None:
    done = compare("parity.toml", *MODEL, "--set", "seeds=1,2", "--set", "developer=edits:0.5")
    assert done.exit_code == 0, done.output
    for part in (
        "score, test",
        "score, train",
        "0.583",
        "decided by",
        "modify step 1",
        "Published",
    ):
        assert part.split()[0] in done.output
    assert load(folder / "runs" / "easylan-1.lan.json").network.agents[0].knowledge == (
        "Divide it by two.",
    )
    assert len(list((folder / "runs").glob("*.lan.json"))) == 6
    with SqlBlackboard(str(folder / "runs" / "blackboard.sqlite")) as board:
        assert [run.run for run in board.runs()] == [f"lan-{i}" for i in range(1, 7)]
        assert board.sessions("lan-1")
        asked = [{cost.purpose: cost.calls for cost in board.costs(f"lan-{i}")} for i in (1, 2, 3)]
    assert set(asked[0]) == {"execution", "gap", "reason", "weakness", "parameters"}
    assert asked[2] == {"execution": 4}, "the naive network is run on each example, and no more"
    assert set(asked[1]) == {"execution"} and asked[1]["execution"] > 4
    again = compare("parity.toml", *MODEL)
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing", *MODEL), "'nothing' is no file"),
        (("parity.toml",), "Missing option '--machine'"),
        (("parity.toml", "--machine", "gpt"), "there is no model 'gpt'"),
        (("parity.toml", "--machine", "script:"), "cannot be read"),
        (("parity.toml", *MODEL, "--set", "seeds=1;2"), "--set: seeds: '1;2' is not"),
        (("parity.toml", *MODEL, "--set", "seed=1"), "there is no key 'seed'; there are:"),
        (("parity.toml", *MODEL, "--set", "developer=me"), "there is no developer 'me'"),
        (("parity.toml", *MODEL, "--set", "hand=me"), "there is no hand 'me'"),
        (("parity.toml", *MODEL, "--n", "3"), "--n has no effect: parity.toml is a task of"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    done = compare(*words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_a_network_is_scored_from_its_file(folder: Path) -> None:
    save(begun_as(initial("x")), folder / "a.lan.json")
    done = pxp("test", "a.lan.json", "parity.toml", *MODEL)
    assert done.exit_code == 0, done.output
    assert "train: 0.00" in done.output
    assert "0/2  It is right. [program]" in done.output


def test_a_network_is_trained_under_a_simulated_developer_and_tested_with_its_examples(
    folder: Path,
) -> None:
    Lan.new("Say whether a number is even or odd").save(folder / "a.lan.json")
    lines = ('{"input": "2", "output": "even"}', '{"input": "3", "output": "odd"}')
    (folder / "e.jsonl").write_text("\n".join(lines))
    told = ("e.jsonl", *MODEL)
    trained = pxp("train", "a.lan.json", *told, "--developer", "edits:0.5")
    assert "Handled: 2 of 2" in trained.output
    assert "Right: 2 of 2" in pxp("test", "a.lan.json", *told).output
    refused = pxp("train", "a.lan.json", *told, "--developer", "terminal")
    assert (refused.exit_code, "requires a terminal" in refused.output) == (2, True)


def test_the_distance_of_two_files_and_what_was_done_by_hand(folder: Path) -> None:
    lan = Lan.new("x")
    lan.save(folder / "a.lan.json")
    lan.edit(Create(LanAgent("B", "t", "o")))
    lan.save(folder / "b.lan.json")
    compared = CliRunner().invoke(commands, ["compare", "a.lan.json", "b.lan.json"])
    assert "LMD 8" in compared.output
    listed = pxp("history", "b.lan.json", "-v").output
    assert "UED 8; confirmations 0; modifications 1" in listed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tasks",), "there is no command tasks; use pxp list networks, or pxp show TASK"),
        (("compare", "parity.toml"), "use pxp run TASK, or pxp compare NETWORK NETWORK"),
        (("test", "none.lan.json", "parity.toml", *MODEL), "none.lan.json: cannot be read"),
        (("train", "a.lan.json", "e", *MODEL), "Missing option '--developer'"),
        (("test", "none.lan.json", "e.jsonl", *MODEL), "e.jsonl: cannot be read"),
        (("test", "none.lan.json", *MODEL), "none.lan.json: cannot be read"),
        (("distance", "a", "b"), "there is no command distance; use pxp compare NETWORK NETWORK"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    done = pxp(*words)
    assert done.exit_code == 2
    assert said in done.output


def test_each_answer_is_one_document_where_json_is_asked_for(folder: Path) -> None:
    lan = Lan.new("Say whether a number is even or odd")
    lan.save(folder / "a.lan.json")
    lan.edit(Create(LanAgent("B", "t", "o")))
    lan.save(folder / "b.lan.json")
    (folder / "e.jsonl").write_text('{"input": "2", "output": "even"}')

    def told(*words: str) -> Any:
        done = CliRunner().invoke(commands, [*words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    ran = told("run", "a.lan.json", "2", *MODEL)
    assert ran == {"input": "2", "output": "?"}
    assert [change["about"] for change in told("lan", "history", "b.lan.json")]
    assert [agent["name"] for agent in told("show", "b.lan.json")["agents"]] == ["Solver", "B"]
    assert told("show", "parity.toml")["criteria"][0]["by"] == "program"
    assert told("compare", "a.lan.json", "b.lan.json")["most"] == 8
    tested = told("lan", "test", "a.lan.json", "e.jsonl", *MODEL)
    assert (tested["right"], tested["of"]) == (0, 1)
    compared = told("run", "parity.toml", *MODEL, "--set", "seeds=1")
    assert [table["title"] for table in compared["tables"]]
    assert all((folder / file).is_file() for file in compared["files"])
