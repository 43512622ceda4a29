"""Settings of runs with models: what is refused, presets of the papers, effort."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.cli.run import of_preset
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments import participants, runs
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import build_plan
from pxp_fsm.experiments.runs import Plan
from pxp_fsm.experiments.stored_plans import stored_deviations, stored_plan
from pxp_fsm.prompting.model import Image
from pxp_fsm.tasks.drug.task import DRUG
from pxp_fsm.tasks.prompts import bundled_prompts
from tests.experiments.scripted_server import (
    Table,
    plan,
)

WARM = bundled_prompts("drug").replace("max_tokens = 1024", "max_tokens = 1024\ntemperature = 0.5")
ELSEWHERE = "openai:x@http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"human": "somebody"}, "there is no human 'somebody'; there are: terminal,"),
        ({"human": "gemini:x"}, "there is no model"),
        ({"human": "anthropic:claude-sonnet-4-5"}, "requires a key"),
        ({"human": ELSEWHERE, "subject": "h1"}, "a subject is the person in the human's role"),
        ({"machine": "gemini:x"}, "there is no model"),
        ({"machine": "anthropic:claude-sonnet-4-5"}, "requires a key"),
        ({"judge": "anthropic:claude-sonnet-4-5"}, "requires a key"),
        ({"machine": "anthropic:x@http://127.0.0.1:9", "prompts": WARM}, "temperature"),
        ({"prompts": WARM}, "without a model as machine"),
        ({"effort": "low"}, "without a model as machine"),
        ({"effort": "low", "machine": ELSEWHERE}, "takes no effort 'low'; it takes: none"),
        ({"scope": "run"}, "without a model as machine"),
        ({"scope": "world", "judge": ELSEWHERE}, "there is no scope"),
        ({"votes": 3}, "without a model as judge"),
        ({"votes": 0, "judge": ELSEWHERE}, "votes is at least 1; it was 0"),
        ({"preset": "C-rad"}, "belongs to rad, not to drug"),
        ({"preset": "D-drug"}, "there is no preset"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_stored(
    more: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    with SqlBlackboard(":memory:") as board:
        with pytest.raises((UsageError, DataError), match=said):
            runs.start(Plan("drug", instances="1", **more), board)
        assert board.runs() == ()


def test_a_task_with_pictures_needs_a_model_that_sees_them() -> None:
    problem = DRUG.problem
    assert problem is not None
    seen = replace(problem, picture=lambda _instance: Image("image/png", b"PNG"))
    wanted = Plan("drug", instances="1", machine=ELSEWHERE)
    with pytest.raises(UsageError, match="images"):
        participants.models(wanted, replace(DRUG, problem=seen), read_plan(wanted)[1])
    with pytest.raises(UsageError, match="cannot be answered by a model"):
        participants.models(wanted, replace(DRUG, problem=None), read_plan(wanted)[1])


def test_a_papers_preset_gives_its_settings_and_says_what_is_not_taken(table: Table) -> None:
    wanted = plan(table, preset="C-drug")
    found = participants.models(wanted, *read_plan(wanted))
    assert found.prompts is not None
    assert (found.prompts.judge.max_tokens, found.prompts.judge.temperature) == (10, 0.0)
    paper = "anthropic:claude-3-5-sonnet-latest"
    assert found.deviations == (
        f"Preset C-drug: machine is {table.model}; in the paper it is {paper}.",
        f"Preset C-drug: judge is {table.model}; in the paper it is {paper}.",
        "Preset C-drug: learn is always; in the paper it is better.",
        "Preset C-drug: the number of instances is 3; in the paper it is 20.",
        "The instances are bundled approved drugs; in the paper they are of DrugBank.",
        "Predictions are the reactants of one step, as in the authors' code and data; the paper "
        "tells of pathways (--materials).",
        "No paper gives k; here it is 3 (in the authors' code, 3).",
        "The paper does not give the size of its test set; here it is 36 rows.",
        "The prompts say in our words what the paper's say; --prompts takes those of a file.",
    )
    cold = "anthropic:x@http://127.0.0.1:9"
    found = participants.models(replace(wanted, judge=cold), *read_plan(wanted))
    assert found.prompts is not None
    assert found.prompts.judge.temperature is None
    assert any("takes no temperature" in line for line in found.deviations)


def test_what_is_not_as_in_the_paper_is_told_before_the_run_and_stored(
    table: Table, tmp_path: Path
) -> None:
    where, model = str(tmp_path / "b.sqlite"), table.model
    table.judge = lambda _body: "yes"  # ten tokens hold no JSON
    options = ["--machine", model, "--judge", model, "--validation", "2", "--instances", "1"]
    options += ["--database", where, "--output", str(tmp_path)]
    said = CliRunner().invoke(
        commands,
        ["run", "drug", "--preset", "B-drug", *options, "--learn", "better"],
    )
    assert said.exit_code == 0, said.output
    told = [line for line in said.output.splitlines() if line.startswith("Not as in the paper: ")]
    assert said.output.index(told[-1]) < said.output.index("sessions that")
    assert any("Not in the paper, and chosen here: machine.max_tokens" in line for line in told)
    assert any("size of its validation set; here it is 2 rows" in line for line in told)
    assert any("the number of instances is 1; in the paper it is 20" in line for line in told)
    assert any("The instances are bundled approved drugs; in the paper" in line for line in told)
    assert any("the reactants of one step, as in the authors' code" in line for line in told)
    assert not any("n is" in line for line in told)
    with SqlBlackboard(where, create=False) as board:
        record = board.runs()[0]
        assert [f"Not as in the paper: {line}" for line in stored_deviations(record)] == told
        assert stored_plan(record).preset == "B-drug"


def test_a_preset_is_how_its_paper_ran_the_experiment_unless_said_otherwise() -> None:
    def planned(**given: str) -> Plan:
        return build_plan({**of_preset(given), **given}, Path())

    plain = planned(task="drug", preset="C-drug")
    assert (plain.repetitions, plain.learn, plain.goes_on) == (1, "better", False)
    chosen = planned(task="rad", preset="C-rad", learn="always")
    assert (chosen.repetitions, chosen.learn) == (5, "always")
    assert planned(task="rad", preset="B-rad").goes_on
    person = planned(task="drug", preset="C-drug", human="terminal")
    assert person.learn == "always"  # [C] section 5.3: no such set in uncontrolled experiments
    with pytest.raises(UsageError, match="there is no preset"):
        planned(task="drug", preset="D")


def test_effort_reaches_every_request_and_belongs_to_the_experiment(
    table: Table, tmp_path: Path
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        '[[server]]\nmodels = "openai:*@*"\ncan = ["schema"]\nthinking = 500\neffort = ["low"]\n'
    )
    settings = Settings(catalogue=own)
    wanted = replace(plan(table, effort="low"), instances="1")
    with SqlBlackboard(":memory:") as board:
        runs.start(wanted, board, settings=settings).execute()
        assert stored_plan(board.runs()[0]) == wanted
    assert {body["reasoning_effort"] for body in table.asked} == {"low"}
    assert {body["max_tokens"] for body in table.asked} == {1024 + 500, 64 + 500}
    assert "effort" not in plan(table).meaning()
    with pytest.raises(UsageError, match="takes no effort 'high'; it takes: low"):
        participants.models(replace(wanted, effort="high"), *read_plan(wanted), settings)
