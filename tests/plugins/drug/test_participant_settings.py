"""Presets of the papers about molecules: what they set, and what is not as in the papers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments import members
from pxp_fsm.experiments.plan_data import read_plan, stored_deviations, stored_plan
from tests.experiments.scripted_server import (
    Table,
    plan,
)


def test_a_papers_preset_gives_its_settings_and_says_what_is_not_taken(table: Table) -> None:
    wanted = plan(table, "drug", preset="C-drug")
    found = members.models(wanted, *read_plan(wanted))
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
        "tells of pathways (--set materials=FILE).",
        "No paper gives k; here it is 3 (in the authors' code, 3).",
        "The paper does not give the size of its test set; here it is 36 rows.",
        "The prompts say in our words what the paper's say; --set agents.prompts=FILE takes "
        "others.",
    )
    cold = "anthropic:x@http://127.0.0.1:9"
    found = members.models(replace(wanted, judge=cold), *read_plan(wanted))
    assert found.prompts is not None
    assert found.prompts.judge.temperature is None
    assert any("takes no temperature" in line for line in found.deviations)


@pytest.mark.deep
def test_what_is_not_as_in_the_paper_is_told_before_the_run_and_stored(
    table: Table, tmp_path: Path
) -> None:
    where, model = str(tmp_path / "b.sqlite"), table.model
    table.judge = lambda _body: "yes"  # ten tokens hold no JSON
    options = [
        "--machine",
        model,
        "--set",
        f"agents.judge={model}",
        "--set",
        "validation=2",
        "--instances",
        "1",
    ]
    options += ["--database", where, "--output", str(tmp_path)]
    said = CliRunner().invoke(
        commands,
        ["run", "drug", "--set", "agents.preset=B-drug", *options, "--set", "learning.keep=better"],
    )
    assert said.exit_code == 5, said.output  # what the chemist says has not the paper's form
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
