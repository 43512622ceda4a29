"""The studio's server: edits with versions, what pages are told, runs, trainings that go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.artifacts import locked
from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.networks.lan import Lan
from pxp_fsm.networks.model.network import HandledExample
from pxp_fsm.networks.model.operations import Edit, Field, Handle
from pxp_fsm.web.studio import notes
from pxp_fsm.web.studio.server import serve_studio
from pxp_fsm.web.studio.state import Studio
from pxp_fsm.web.studio.work import StudioPlan
from tests.networks.trainings import POET
from tests.web.studios import Page, network_file, page, script_file, studio

CONNECT = {"do": "connect", "source": "Poet", "target": "Translator"}
RENAME = {"do": "edit", "name": "Poet", "field": "name", "value": "Polisher"}
ECHO = {"purpose": "execution", "where": {}, "reply": {"thoughts": "so", "result": "an output"}}


def test_a_page_is_told_everything_when_it_is_opened(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one:
        assert set(one.parts) == {
            "effort",
            "notes",
            "network",
            "run",
            "training",
            "comparison",
            "measures",
            "begin",
        }
        assert [agent["name"] for agent in one.network["agents"]] == ["Translator", "Poet"]
        assert one.network["edges"][0]["path"].startswith("M")
        assert (one.network["version"], one.parts["network"]["undoable"]) == (1, False)
        assert one.parts["begin"]["automaton"]["layout"]["states"]


def test_an_edit_is_saved_and_told_to_every_page(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one, page(client) as two:
        assert one.edit(RENAME) == (200, 2)
        for each in (one, two):
            each.version(2)
            assert [agent["name"] for agent in each.network["agents"]] == ["Translator", "Polisher"]
        assert Lan.load(path).network.names == ("Translator", "Polisher")
        assert one.post("undo", version=2) == (200, 3)
        assert one.post("redo", version=3) == (200, 4)
        assert one.post("restore", version=4, to=1) == (200, 5)
        assert Lan.load(path).network.names == ("Translator", "Poet")
        two.version(5)
        log = two.network["log"]
        assert [change["undone"] for change in log] == [False, True, False, False, False]


def test_the_second_of_two_edits_on_one_version_is_refused(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one, page(client) as two:
        assert one.edit(RENAME) == (200, 2)
        other = {"do": "edit", "name": "Poet", "field": "task", "value": "mine"}
        code, said = two.edit(other, version=1)
        assert code == 409
        assert "it changed since you looked at it" in said["detail"]
        assert Lan.load(path).network.agent("Polisher").task == "make it rhyme"


def test_what_cannot_be_is_refused_with_the_reason_and_nothing_changes(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    before = path.read_bytes()
    learn = {"do": "learn", "name": "Poet", "decisions": []}
    huge = {"do": "edit", "name": "Poet", "field": "task", "value": "\ud800"}
    with studio(path) as client, page(client) as one:
        for operations, said in (
            ([CONNECT], "cycle: "),
            ([{"do": "delete", "name": "Nobody"}], "no agent"),
            ([RENAME, {"do": "edit", "name": "Polisher", "field": "task", "value": " "}], "empty"),
            ([learn], "no operation by hand"),
            ([{"do": "begin", "task": "x"}], "no operation by hand"),
            ([{"do": "explode"}], "operations[0]"),
            ([{"do": "edit", "name": "Poet", "field": "soul", "value": "x"}], "soul"),
            ([{"do": "edit", "name": "Poet", "field": "enabled", "value": "x"}], "enabled"),
            ([huge], ""),
        ):
            code, found = one.edit(*operations)
            assert code == 422, operations
            assert said in json.dumps(found), found
            code, faults = one.post("faults", operations=operations)
            assert code == 422 or faults, operations
        assert one.post("faults", operations=[RENAME]) == (200, [])
        assert one.post("edit", version=1, operations=[], more=1)[0] == 422
        assert one.post("restore", version=1, to=9)[0] == 422
        assert one.post("merge", version=1, name="Poet", into="Poet")[0] == 422
        assert one.post("run", input="x") == (
            422,
            {"detail": "the studio has no model; start pxp lan serve with --model"},
        )
        assert client.get("/api/diagram/exe").status_code == 404
    assert path.read_bytes() == before


def test_agents_are_merged_and_split_by_hand(tmp_path: Path) -> None:
    part = {"task": "half", "output": "text"}
    split = {"do": "split", "name": "Poet", "kind": "sequential"}
    split["parts"] = [{"name": name, **part} for name in ("One", "Two")]  # type: ignore[assignment]
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one:
        assert one.edit(split) == (200, 2)
        assert one.post("merge", version=2, name="One", into="Two") == (200, 3)
    found = Lan.load(path).network
    assert found.edges == {("Translator", "Two")}


def test_what_another_process_writes_is_taken_and_an_older_page_cannot_undo_it(
    tmp_path: Path,
) -> None:
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one:
        with Lan.editing(path) as lan:
            lan.edit(Edit("Poet", Field.TASK, "sing"))
        assert one.edit(RENAME, version=1)[0] == 409  # seen at once, not after the next look
        one.version(2)
        assert one.network["agents"][1]["task"] == "sing"
        assert one.edit(RENAME) == (200, 3)
        path.write_text("{", "utf-8")
        one.until(lambda: "notice" in one.parts)
        assert "JSON" in one.parts["notice"]["text"]
        assert one.edit(RENAME)[0] == 422
    assert path.read_text("utf-8") == "{"


def test_what_is_kept_beside_the_network_is_there_again(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one:
        assert one.post("move", name="Poet", x=10.5, y=-3) == (204, None)
        assert one.post("move", name="Nobody", x=0, y=0)[0] == 422
        assert one.post("move", name="Poet", x="NaN", y=0)[0] == 422
        assert one.post("draft", field="agent:Poet", text="half a word")[0] == 204
        assert one.post("draft", field="input", text="gone")[0] == 204
        assert one.post("draft", field="input", text="")[0] == 204
        assert one.post("note", input="la nuit", output="the night")[0] == 204
        assert one.post("note", input="la nuit", output="night")[0] == 204
        assert one.post("note", input="le jour", output="")[0] == 204
        assert one.post("drop", input="le jour")[0] == 204
    with studio(path) as client, page(client) as one:
        poet = one.network["agents"][1]
        assert (poet["x"], poet["y"], poet["moved"]) == (10.5, -3, True)
        assert one.network["edges"][0]["path"] == ""
        assert one.parts["begin"]["drafts"] == {"agent:Poet": "half a word"}
        assert one.parts["notes"]["examples"] == [{"input": "la nuit", "output": "night"}]
        assert one.post("tidy")[0] == 204
        one.until(lambda: not one.network["agents"][1]["moved"])
    beside = notes.path_of(path)
    beside.write_text('{"positions": 3}', "utf-8")
    with pytest.raises(FileError, match=r"positions: .*mend it, or remove the file"):
        Studio(path)


def test_a_network_begins_in_the_browser(tmp_path: Path) -> None:
    path = tmp_path / "new.lan.json"
    with studio(path) as client, page(client) as one:
        assert one.network is None
        assert one.edit(RENAME, version=0)[0] == 422
        assert one.post("new", task="  ")[0] == 422
        assert not path.exists()
        assert one.post("new", task="translate")[0] == 204
        assert one.post("new", task="translate")[0] == 422
        one.until(lambda: one.network is not None)
        assert one.network["agents"][0]["name"] == "Solver"


def test_a_run_is_told_as_it_goes(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    model = script_file(tmp_path, ECHO)
    with studio(path, model) as client, page(client) as one:
        assert one.post("run", input="la nuit")[0] == 204
        one.until(lambda: one.parts["run"]["output"] is not None)
        one.until(lambda: one.parts["run"]["agents"]["Poet"]["received"] is not None)
        run = one.parts["run"]
        assert (run["output"], run["running"]) == ("an output", False)
        poet = run["agents"]["Poet"]
        assert (poet["state"], poet["result"], poet["guard"]) == ("done", "an output", "ALWAYS")
        assert poet["received"]["pieces"] == [{"author": "Translator", "text": "an output"}]
        assert one.post("compare")[0] == 204
        one.until(lambda: one.parts["comparison"]["comparison"] is not None)
        assert one.parts["comparison"]["comparison"]["total"] == 0


def test_a_model_that_fails_is_said_and_the_studio_goes_on(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    model = script_file(tmp_path, {"purpose": "control", "where": {}, "reply": "x"})
    with studio(path, model) as client, page(client) as one:
        for _ in range(2):
            one.parts.pop("notice", None)
            assert one.post("run", input="la nuit")[0] == 204
            one.until(lambda: "notice" in one.parts)
            assert one.parts["run"]["failure"]
            assert not one.parts["run"]["running"]


GAP = {"purpose": "gap", "reply": {"rationale": "see", "gap": "no rhyme"}}
REASON = {
    "purpose": "reason",
    "reply": {
        "rationale": "nobody rhymes",
        "reason_type": "lack_of_agent",
        "agent_name": "",
        "reason_content": "nobody",
    },
}
PARAMETERS: dict[str, Any] = {"purpose": "parameters", "reply": POET}
SOLVER = {
    "purpose": "execution",
    "where": {"name": "Solver"},
    "reply": {"thoughts": "", "result": "prose"},
}
RHYMER = {**SOLVER, "where": {"name": "Poet"}, "reply": {"thoughts": "", "result": "verse"}}
UPDATE = (SOLVER, RHYMER, GAP, REASON, PARAMETERS)


def _solver(folder: Path) -> Path:
    path = folder / "my.lan.json"
    Lan.new("write").save(path)
    return path


def test_a_training_goes_on_after_each_answer_in_another_server(tmp_path: Path) -> None:
    path, model = _solver(tmp_path), script_file(tmp_path, *UPDATE)
    confirm = {"kind": "Act", "choice": "confirm", "result": None, "hint": "", "distance": 0}
    answers: list[tuple[str, dict[str, Any]]] = [
        ("OutputView", {"kind": "Judged", "satisfied": False, "truth": "verse"}),
        *[("StepView", {**confirm, "to": None})] * 3,
        ("OutputView", {"kind": "Judged", "satisfied": True, "truth": ""}),
    ]
    with studio(path, model) as client, page(client) as one:
        assert one.post("train", examples=[{"input": "a poem"}])[0] == 204
        one.asked("OutputView")
    for number, (kind, answer) in enumerate(answers, 1):
        with studio(path, model) as client, page(client) as one, page(client) as two:
            question = one.asked(kind)
            assert two.asked(kind)["id"] == question["id"]
            assert two.answer(question, **answer)[0] == 204
            code, said = one.answer(question, **answer)
            assert (code, "asked" in said["detail"]) == (409, True)
            if number == len(answers):
                one.until(lambda: not one.parts["training"]["going"])
                assert one.parts["training"]["ended"] == "Handled: 1 of 1."
    network = Lan.load(path).network
    assert network.names == ("Solver", "Poet")
    assert network.handled[0].output == "verse"
    assert not list(tmp_path.glob("*.training"))


def test_an_edit_during_a_step_withdraws_the_question(tmp_path: Path) -> None:
    path, model = _solver(tmp_path), script_file(tmp_path, *UPDATE)
    judged = {"kind": "Judged", "satisfied": False, "truth": "verse"}
    with studio(path, model) as client, page(client) as one:
        one.post("train", examples=[{"input": "a poem", "output": "verse"}])
        assert one.answer(one.asked("OutputView"), **judged)[0] == 204
        question = one.asked("StepView")
        assert (
            one.edit({"do": "edit", "name": "Solver", "field": "task", "value": "sing"})[0] == 200
        )
        code, said = one.answer(question, kind="Act", choice="confirm")
        assert code in (409, 422)
        assert said["detail"]
        one.until(lambda: one.question.get("version") == 2)
        assert one.question["id"] != question["id"]


def test_a_training_is_taken_over_and_ended(tmp_path: Path) -> None:
    path, model = _solver(tmp_path), script_file(tmp_path, *UPDATE)
    with studio(path, model) as client, page(client) as one:
        one.post("train", examples=[{"input": "a poem", "output": "verse"}])
        one.asked("OutputView")
        assert one.post("train", examples=[{"input": "x"}])[0] == 422
        assert one.post("cancel")[0] == 204
        one.asked("HandedView")
        assert one.post("cancel")[0] == 204
        one.until(lambda: not one.parts["training"]["going"])
        assert one.parts["notes"]["examples"] == [{"input": "a poem", "output": "verse"}]
    with studio(path, model) as client, page(client) as one:
        assert not one.parts["training"]["going"]


def test_what_was_done_is_counted_beside_the_least(tmp_path: Path) -> None:
    path, model = _solver(tmp_path), script_file(tmp_path, *UPDATE)
    with studio(path, model) as client, page(client) as one:
        body = {"version": 1, "operations": [{"do": "create", "agent": _agent("B")}]}
        assert one.post("edit", **body, distance=40)[0] == 200
        one.until(lambda: one.parts["effort"]["ued"] == 40)
        assert 0 < one.parts["effort"]["least"] < 40
    with studio(path, model) as client, page(client) as one:
        assert one.parts["effort"]["ued"] == 40


def _handled(folder: Path) -> Path:
    """A network of one agent that has handled an example, whose output was prose."""
    path = folder / "my.lan.json"
    lan = Lan.new("write")
    lan.edit(Handle(HandledExample("a poem", "prose", "prose", (("Solver", "prose"),))))
    lan.save(path)
    return path


def test_earlier_results_are_compared_after_each_change_if_the_developer_wants_it(
    tmp_path: Path,
) -> None:
    path, known = _handled(tmp_path), {"where": {"name": "Solver", "knowledge": ["rhyme"]}}
    model = script_file(tmp_path, {**SOLVER, **known, "reply": RHYMER["reply"]}, SOLVER)
    learn = {"do": "edit", "name": "Solver", "field": "knowledge", "value": ["rhyme"]}

    def compared(one: Page, version: int) -> dict[str, Any]:
        def is_over() -> bool:
            found = one.parts["comparison"]["comparison"] or {"version": 0}
            return bool(found["version"] == version and found["done"] == found["total"])

        one.until(is_over)
        found: dict[str, Any] = one.parts["comparison"]["comparison"]
        return found

    with studio(path, model) as client, page(client) as one:
        assert one.edit(learn) == (200, 3)
        (lost,) = compared(one, 3)["regressions"]
        assert (lost["handled"]["output"], lost["run"]["output"]) == ("prose", "verse")
        assert one.post("undo", version=3) == (200, 4)
        assert compared(one, 4)["regressions"] == []
        with Lan.editing(path) as lan:  # somebody else's change is compared too
            lan.edit(Edit("Solver", Field.KNOWLEDGE, ("rhyme",)))
        assert len(compared(one, 5)["regressions"]) == 1
        assert one.post("compares", compares=False)[0] == 204
        one.until(lambda: not one.parts["notes"]["compares"])
        assert one.post("undo", version=5) == (200, 6)
        assert one.post("run", input="x")[0] == 204  # what a comparison would have come before
        one.until(lambda: one.parts["run"]["output"] is not None)
        assert one.parts["comparison"]["comparison"]["version"] == 5
    with studio(path, model) as client, page(client) as one:
        assert not one.parts["notes"]["compares"]


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
            ("three-ways", {"task": {"name": "couplets"}}, "name a model with --judge"),
            ("three-ways", {"task": {"name": "couplets"}, "developer": "terminal"}, "developer"),
            ("examples-file", {"name": "x.jsonl", "text": "nothing"}, "x.jsonl"),
            ("examples-file", {"name": "x.jsonl", "text": ""}, "no examples"),
        ):
            code, found = one.post(sent, **body)
            assert code == 422, (sent, found)
            assert said in json.dumps(found), found
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name, "script.jsonl"]


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
    kept = path.with_name(f"{path.name}.compare")
    assert (kept / "naive-1.lan.json").is_file()


def _agent(name: str) -> dict[str, str]:
    return {"name": name, "task": "do", "output": "text"}


def test_two_servers_do_not_share_a_network(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with (
        locked(notes.path_of(path), waits=False),
        pytest.raises(UsageError, match="another process"),
    ):
        serve_studio(path, StudioPlan(), (), 0, print)
