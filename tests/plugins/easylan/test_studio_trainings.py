"""Trainings in the studio: questions and answers, over servers; earlier results; the effort."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.distance.measures import by_hand, confirmations, counted, ued
from pxp_fsm.plugins.easylan.experiments.comparison import acts_in_steps
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import HandledExample
from pxp_fsm.plugins.easylan.model.operations import AgentField, Edit, Handle
from pxp_fsm.plugins.easylan.running import serialization
from pxp_fsm.plugins.easylan.studio.state import StudioEffort, StudioEffortSpent
from tests.plugins.easylan.studios import (
    ECHO,
    GAP,
    PARAMETERS,
    REASON,
    RHYMER,
    SOLVER,
    UPDATE,
    Page,
    network_file,
    page,
    script_file,
    studio,
)
from tests.plugins.easylan.trainings import NOBODY


def _solver(folder: Path) -> Path:
    path = folder / "my.lan.json"
    Lan.new("write").save(path)
    return path


@pytest.mark.deep
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
        body = {
            "version": 1,
            "operations": [
                {"do": "create", "agent": {"name": "B", "task": "do", "output": "text"}}
            ],
        }
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


@pytest.mark.deep
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
            lan.edit(Edit("Solver", AgentField.KNOWLEDGE, ("rhyme",)))
        assert len(compared(one, 5)["regressions"]) == 1
        assert one.post("settings", compares=False)[0] == 204
        one.until(lambda: not one.parts["notes"]["compares"])
        assert one.post("undo", version=5) == (200, 6)
        assert one.post("run", input="x")[0] == 204  # what a comparison would have come before
        one.until(lambda: one.parts["run"]["output"] is not None)
        assert one.parts["comparison"]["comparison"]["version"] == 5
    with studio(path, model) as client, page(client) as one:
        assert not one.parts["notes"]["compares"]


ACTS = """
format = 1

[[act]]
step = "REASON"
choice = "reject"
"""


def test_a_training_is_supervised_by_nobody_or_by_who_is_simulated(tmp_path: Path) -> None:
    path, model = _solver(tmp_path), script_file(tmp_path, *UPDATE)
    example = {"input": "a poem", "output": "verse"}
    acts = {"name": "acts.toml", "text": ACTS}
    with studio(path, model) as client, page(client) as one:
        for developer, more, said in (
            ("nobody", {"examples": [{"input": "a poem"}]}, "requires its right output"),
            ("terminal", {}, "developer"),
            ("edits:2", {}, "probability"),
            ("follows", {}, "choose the file"),
            ("follows", {"acts": {"name": "x.toml", "text": "format = 2"}}, "x.toml"),
            ("follows:/etc/passwd", {}, "developer"),
        ):
            code, found = one.post(
                "train", **{"examples": [example], "developer": developer} | more
            )
            assert (code, said in json.dumps(found)) == (422, True), found
        for developer, more, ended in (
            ("follows", {"acts": acts}, "Handled: 0 of 1. a poem: "),
            ("confirms", {}, "Handled: 1 of 1."),
        ):
            sent = {"examples": [example], "developer": developer, **more}
            assert one.post("train", **sent) == (204, None)
            one.until(lambda: one.parts["training"]["going"])
            one.until(lambda: not one.parts["training"]["going"])
            assert one.parts["training"]["ended"].startswith(ended)
        assert one.post("train", examples=[example], developer="nobody")[0] == 204
        one.until(lambda: one.parts["training"]["going"])
        one.until(lambda: one.parts["training"]["ended"] == "Handled: 1 of 1.")
    assert Lan.load(path).network.names == ("Solver", "Poet")


@pytest.mark.deep
def test_the_last_run_is_shown_again_and_that_of_another_process(tmp_path: Path) -> None:
    path, model = network_file(tmp_path), script_file(tmp_path, ECHO)
    with studio(path, model) as client, page(client) as one:
        assert one.post("run", input="la nuit")[0] == 204
        one.until(lambda: one.parts["run"]["output"] is not None)
    kept = serialization.path_of(path)
    with studio(path) as client, page(client) as one:
        run = one.parts["run"]
        assert (run["external"], run["output"], run["version"]) == ("la nuit", "an output", 1)
        assert run["agents"]["Poet"]["received"]["pieces"][0]["text"] == "an output"
        found, version = serialization.load(kept)
        serialization.save(replace(found, external="le jour"), version, kept)
        one.until(lambda: one.parts["run"]["external"] == "le jour")
        kept.write_text("{", "utf-8")
    with studio(path) as client, page(client) as one:
        assert one.parts["run"]["external"] is None


def test_the_papers_own_result_of_step_2_names_the_new_agent(tmp_path: Path) -> None:
    """Figure 5: `lack_of_agent`, with the name of the agent that is lacking."""
    reply = {**NOBODY, "agent_name": "PoeticTranslator"}
    poetic = {**RHYMER, "where": {"name": "PoeticTranslator"}}
    script = (SOLVER, poetic, GAP, {**REASON, "reply": reply}, PARAMETERS)
    path, model = _solver(tmp_path), script_file(tmp_path, *script)
    with studio(path, model) as client, page(client) as one:
        one.post("train", examples=[{"input": "a poem", "output": "verse"}])
        one.answer(one.asked("OutputView"), kind="Judged", satisfied=False)
        for step in ("GAP", "REASON", "PARAMETERS"):
            question = one.asked("StepView")
            assert (question["view"]["step"], question["view"]["refused"]) == (step, "")
            assert one.answer(question, kind="Act", choice="confirm")[0] == 204
            one.until(lambda asked=question["id"]: one.question.get("id") != asked)  # type: ignore[misc]
        assert one.answer(one.asked("OutputView"), kind="Judged", satisfied=True)[0] == 204
        one.until(lambda: not one.parts["training"]["going"])
    assert Lan.load(path).network.names == ("Solver", "PoeticTranslator")


def test_the_studio_the_events_and_the_log_count_the_same(tmp_path: Path) -> None:
    """UED is what modifies; confirmations are counted apart; judging an output is neither."""
    path, database = _solver(tmp_path), f"sqlite:///{tmp_path / 'lan.db'}"
    model = script_file(tmp_path, *UPDATE)
    act = {"kind": "Act", "result": None, "hint": "", "distance": 0, "to": None}
    edited = {"gap": "it does not rhyme at all"}

    def sent(one: Page, answer: dict[str, Any], distance: int) -> None:
        question = one.asked("StepView")
        found = one.post("answer", question=question["id"], answer=answer, distance=distance)
        assert found[0] == 204
        one.until(lambda: bool(one.question.get("id") != question["id"]))

    with studio(path, model, database=database) as client, page(client) as one:
        one.post("train", examples=[{"input": "a poem", "output": "verse"}])
        judged = {"kind": "Judged", "satisfied": False, "truth": ""}
        question = one.asked("OutputView")
        one.post("answer", question=question["id"], answer=judged, distance=9)
        sent(one, act | {"choice": "confirm", "result": edited}, 30)
        sent(one, act | {"choice": "confirm"}, 2)
        sent(one, act | {"choice": "retry", "hint": "a bard"}, 12)
        sent(one, act | {"choice": "confirm"}, 1)
        one.answer(one.asked("OutputView"), kind="Judged", satisfied=True)
        one.until(lambda: not one.parts["training"]["going"])
        shown = one.parts["network"]["network"]["version"]
        assert one.post("undo", version=shown, distance=4)[0] == 200
        one.until(lambda: one.parts["effort"]["ued"] == 30 + 12 + 4)
        effort = one.parts["effort"]
    assert (effort["confirmed"], effort["least"] < effort["ued"]) == (2, True)
    history = Lan.load(path).history
    actions = (*acts_in_steps(database, None), *by_hand(history))
    assert (ued(actions), confirmations(actions)) == (effort["ued"], effort["confirmed"])
    assert counted(actions, history).startswith("UED 46; confirmations 2; ")
    assert history.network.names == ("Solver",)  # the update went with its example
    assert not history.network.handled


@pytest.mark.parametrize("streams", [True, False])
def test_what_models_write_for_a_step_is_shown_unless_it_is_switched_off(
    tmp_path: Path, streams: bool
) -> None:
    path, model = _solver(tmp_path), script_file(tmp_path, *UPDATE)
    seen = list[str]()

    def look() -> bool:
        seen.append(one.parts["written"]["text"] + (one.parts["run"]["text"] or ""))
        return bool(one.question.get("view", {}).get("step") == "REASON")

    with studio(path, model) as client, page(client) as one:
        assert one.parts["notes"]["streams"]
        assert one.post("settings", streams=streams)[0] == 204
        one.until(lambda: one.parts["notes"]["streams"] is streams)
        one.post("train", examples=[{"input": "a poem", "output": "verse"}])
        one.answer(one.asked("OutputView"), kind="Judged", satisfied=False)
        one.answer(one.asked("StepView"), kind="Act", choice="confirm")
        one.until(look)
        assert one.parts["notes"]["compares"]
    written = "".join(seen)
    assert ("nobody rhymes" in written) is streams
    assert seen[-1] == ""  # what was written is the proposal now


def test_time_counts_while_a_page_is_in_use_and_no_moment_twice() -> None:
    now = [100.0]
    effort = StudioEffort(StudioEffortSpent(total=7.0, waiting=1.0), clock=lambda: now[0])
    now[0] = 1000.0  # nobody looks at the page, and models work
    effort.watch.begin()
    now[0] = 1900.0
    effort.watch.end()
    now[0] = 2000.0
    assert effort.use(5.0).total == 12.0
    assert effort.use(5.0).total == 12.0  # another page, at the same time
    effort.watch.begin()
    now[0] = 2004.0
    assert (effort.use(3.0).total, effort.spent.waiting) == (15.0, 4.0)
    now[0] = 2006.0
    effort.watch.end()
    assert (effort.use(60.0).total, effort.spent.waiting) == (17.0, 6.0)
