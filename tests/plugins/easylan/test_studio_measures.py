"""Measures in the studio: tests, actions, distances, comparisons, as in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.lan import Lan
from tests.plugins.easylan.studios import (
    ECHO,
    GAP,
    PARAMETERS,
    REASON,
    RENAME,
    UPDATE,
    Page,
    network_file,
    page,
    script_file,
    studio,
)


def _report(one: Page, title: str) -> Any:
    """The report of that title, once it is whole."""

    def is_whole() -> bool:
        report = one.parts["measures"]["report"]
        return bool(report["title"] == title and report["doing"] == "")

    one.until(is_whole)
    return one.parts["measures"]["report"]


def test_a_network_is_measured_as_in_the_terminal(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    before = path.read_text("utf-8")
    model = script_file(tmp_path, ECHO)
    some = [{"input": "a", "output": "An output"}, {"input": "b", "output": "c"}, {"input": "d"}]
    with studio(path, model) as client, page(client) as one:
        assert one.post("test", examples=some[2:])[0] == 422
        assert one.post("test", examples=some)[0] == 204
        (sheet,) = _report(one, "Test on the examples")["sheets"]
        assert sheet["title"] == "Right: 1 of 2"
        assert [row[0] for row in sheet["rows"]] == ["right", "wrong"]
        assert one.edit(RENAME, version=1) == (200, 2)
        assert one.post("actions")[0] == 204
        (sheet,) = _report(one, "Actions by hand")["sheets"]
        assert sheet["rows"][0][2:] == ["modify agent", "Polisher"]
        for sent, body, since in (
            ("distance/1", {}, "version 1"),
            ("distance", {"name": "old.json", "text": before}, "old.json"),
        ):
            assert one.post(sent, **body)[0] == 204
            (sheet,) = _report(one, f"Distance from {since}")["sheets"]
            assert sheet["title"].startswith("LMD ")
            assert sheet["rows"][0][1:] == ["edit", "Poet"]


def test_what_cannot_be_measured_is_refused_with_the_reason(tmp_path: Path) -> None:
    path, model = network_file(tmp_path), script_file(tmp_path, ECHO)
    with studio(path, model) as client, page(client) as one:
        for sent, body, said in (
            ("distance/9", {}, "versions are 1 to 1"),
            ("distance", {"name": "x.json", "text": "{"}, "x.json"),
            ("test", {"task": {"name": "../secret.toml"}}, "there is no task"),
            ("test", {"task": {"name": "x.toml", "text": "a ="}}, "x.toml"),
            ("three-ways", {"task": {"name": "couplets"}}, "name a model with --set judge=MODEL"),
            ("three-ways", {"task": {"name": "couplets"}, "developer": "terminal"}, "developer"),
            ("examples-file", {"name": "x.jsonl", "text": "nothing"}, "x.jsonl"),
            ("examples-file", {"name": "x.jsonl", "text": ""}, "no examples"),
        ):
            code, found = one.post(sent, **body)
            assert code == 422, (sent, found)
            assert said in json.dumps(found), found
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name, "script.jsonl"]


def test_acts_in_the_steps_of_a_stored_training_are_listed(tmp_path: Path) -> None:
    path, model = tmp_path / "my.lan.json", script_file(tmp_path, *UPDATE)
    Lan.new("write").save(path)
    database = str(tmp_path / "lan.sqlite")
    with studio(path, model) as client, page(client) as one:
        assert one.post("actions", run="")[0] == 422
    with studio(path, model, database=database) as client, page(client) as one:
        assert one.parts["begin"]["stores"]
        assert one.post("actions", run="")[0] == 204
        assert "database" in _report(one, "Actions by hand")["notes"][0]
        one.post("train", examples=[{"input": "a poem", "output": "verse"}], developer="confirms")
        one.until(lambda: one.parts["training"]["ended"] != "")
        assert one.post("actions", run="")[0] == 204
        one.until(lambda: one.parts["measures"]["report"]["notes"] == [])
        (sheet,) = _report(one, "Actions by hand")["sheets"]
        done = [row[2] for row in sheet["rows"]]
        assert done == ["confirm a step"] * 3
        assert one.post("actions")[0] == 204
        one.until(lambda: one.parts["measures"]["report"]["sheets"][0]["rows"] == [])
        assert one.post("actions", run="no such run")[0] == 204
        one.until(lambda: one.parts["measures"]["report"]["notes"] != [])
        assert "no such run" in _report(one, "Actions by hand")["notes"][0]


TASK = """
format = 1
name = "plural"
title = "Plurals"
task = "Write the plural"
output = "the plural"
source = "a test"
train = 1
criteria = [{ says = "It is the plural.", by = "program", rule = "equal" }]
examples = [{ input = "book", truth = "books" }, { input = "dog", truth = "an output" }]
"""

FOLLOWED = {
    "format": 1,
    "edit": [
        {"operations": [{"do": "edit", "name": "Solver", "field": "task", "value": "by hand"}]}
    ],
}


@pytest.mark.deep
def test_a_network_is_scored_and_compared_on_a_task_of_a_file(tmp_path: Path) -> None:
    path, model = network_file(tmp_path), script_file(tmp_path, ECHO, GAP, REASON, PARAMETERS)
    task = {"name": "plural.toml", "text": TASK}
    with studio(path, model) as client, page(client) as one:
        assert one.post("test", task=task)[0] == 204
        assert one.post("test", task=task)[0] in (204, 422)  # one measure at a time
        (sheet,) = _report(one, "Test on Plurals")["sheets"]
        assert sheet["headings"] == ["", "train", "test"]
        assert sorted(sheet["rows"][1][1:]) == ["0/1", "1/1"]
        assert one.post("three-ways", task=task, developer="nobody")[0] == 204
        report = _report(one, "Comparison on Plurals")
        assert len(report["sheets"]) == 3, report
        acts = {"name": "mine.json", "text": json.dumps(FOLLOWED)}
        followed = {"task": task, "developer": "follows", "hand": "follows"}
        assert one.post("three-ways", **followed)[0] == 422
        assert one.post("three-ways", **followed, acts=acts)[0] == 204
        one.until(lambda: one.parts["measures"]["report"]["doing"] != "")
        assert len(_report(one, "Comparison on Plurals")["sheets"]) == 3
    kept = path.with_name(f"{path.name}.compare")
    assert (kept / "naive-1.lan.json").is_file()
    assert json.loads((kept / "acts.json").read_text("utf-8")) == FOLLOWED
    assert Lan.load(kept / "baseline-1.lan.json").network.agents[0].task == "by hand"
