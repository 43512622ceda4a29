"""Two models as both agents: who sits where, what is stored, what each was right about."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments import files, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports.contents import gather
from pxp_fsm.experiments.reports.write import write
from tests.experiments.scripted_server import Body, Table, frames, judging
from tests.experiments.test_report_files import schema
from tests.tasks.animals import bundled

RIGHT = {row.instance.x: row.answer for row in bundled().sessions}
ONE = Settings(in_flight=1)


def chemists(body: Body) -> str:
    """Who was answered first knows the right answer; who begins says a worm, then what they hear.

    On the first instance of the data the one who knows is wrong, too.
    """
    told = frames(body)
    x = told[0]["instance"]
    heard = [frame for frame in told if "tag" in frame]
    if heard and heard[0]["tag"] == "INIT":
        wrong = x == next(iter(RIGHT))
        prediction = "insect" if wrong else RIGHT[x].prediction
    else:
        prediction = heard[-1]["prediction"] if heard else "worm"
    return json.dumps({"prediction": prediction, "explanation": "It is known."})


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, chemists, lambda _body: json.dumps({"consistent": "yes"}))


def both(table: Table) -> Plan:
    model = table.model
    return Plan(
        "animals", instances="2", machine=model, human=model, judge=model, order="fixed", n=4
    )


def test_two_models_hold_sessions_and_each_is_measured(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        run = runs.start(both(table), board, settings=ONE)
        run.execute()
        (record, _) = board.sessions(run.name)
        assert all(who.startswith(table.model) for _, who in record.agents)
        assert not any("revises" in who or "database" in who for _, who in record.agents)
        assert any(f"The human's role has {table.model}" in note for note in run.opening.notes)
        assert not any("The human is a database" in note for note in run.opening.notes)
        first = [entry.carried.tag for entry in board.events(record.session)]
        assert first[:2] == ["INIT", "REFUTE"]
        measured = gather(board, board.run(run.name)).performance
    assert [float(point.median) for point in measured.human] == [0, 0.5, 0.5, 0.5]  # type: ignore[union-attr]
    assert [float(point.median) for point in measured.in_sessions] == [0, 0, 0.5, 0.5]  # type: ignore[union-attr]
    asked = len(table.asked)
    assert asked == len({json.dumps(body) for body in table.asked})


def test_a_run_of_two_models_is_resumed_without_asking_twice(table: Table) -> None:
    def stop(step: runs.Progress) -> None:
        if step.event is not None and step.event.number == 2:
            raise KeyboardInterrupt

    with SqlBlackboard(":memory:") as board:
        run = runs.start(both(table), board, settings=ONE)
        with pytest.raises(KeyboardInterrupt):
            run.execute(stop)
        runs.resume(run.name, board, ONE).execute()
        assert all(record.ending for record in board.sessions(run.name))
    said = [json.dumps(body["messages"]) for body in table.asked if not judging(body)]
    assert len(said) == len(set(said))


@pytest.mark.deep
def test_a_file_names_the_model_and_the_report_the_roles(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    text = f'format = 1\ntask = "animals"\ninstances = 1\n[agents]\nhuman = "{table.model}"\n'
    path.write_text(text)
    experiment = files.load(path)
    assert experiment.plan.human_model == table.model
    said = CliRunner().invoke(commands, ["run", str(path), "--output", str(tmp_path / "o")])
    assert said.exit_code == 0, said.output
    assert f"Models: human {table.model}" in said.output
    with SqlBlackboard(str(tmp_path / "o" / "blackboard.sqlite"), create=False) as board:
        write(board, (), tmp_path / "page.html", test_set=False)
    found = json.loads((tmp_path / "page.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(found)
    assert isinstance(found["runs"][0]["performance"]["human_in_sessions"], list)
    assert f"human {table.model}" in (tmp_path / "page.html").read_text("utf-8")
    assert "human right, on the sessions" in (tmp_path / "page-curves.csv").read_text("utf-8")
