"""The studio's server: edits with versions, what pages are told, runs, trainings that go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pxp_fsm.artifacts import locked
from pxp_fsm.errors import FileError, UsageError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit
from pxp_fsm.plugins.easylan.studio import state
from pxp_fsm.plugins.easylan.studio.pages import studio_site
from pxp_fsm.plugins.easylan.studio.state import Studio
from pxp_fsm.plugins.easylan.studio.work import StudioPlan
from tests.plugins.easylan.studios import ECHO, RENAME, network_file, page, script_file, studio

CONNECT = {"do": "connect", "source": "Poet", "target": "Translator"}


def test_a_page_is_told_everything_when_it_is_opened(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with studio(path) as client, page(client) as one:
        assert set(one.parts) == {
            "effort",
            "notes",
            "network",
            "run",
            "training",
            "written",
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
            {"detail": "the studio has no model; start pxp serve with --machine"},
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
            lan.edit(Edit("Poet", AgentField.TASK, "sing"))
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
    beside = state.notes_path(path)
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


def test_two_servers_do_not_share_a_network(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with (
        locked(state.notes_path(path), waits=False),
        pytest.raises(UsageError, match="another process"),
        studio_site(path, StudioPlan(), ()),
    ):
        pass
