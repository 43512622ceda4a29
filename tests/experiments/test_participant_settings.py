"""Settings of runs with models: what is refused, presets of the papers, effort."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.run import of_preset
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments import members, runs
from pxp_fsm.experiments.plan_data import read_plan, stored_plan
from pxp_fsm.experiments.plans import Plan, build_plan
from pxp_fsm.prompting.model import Image
from tests.experiments.scripted_server import (
    Table,
    plan,
)
from tests.tasks.animals import ANIMALS, PROMPTS

WARM = PROMPTS.replace("max_tokens = 256", "max_tokens = 256\ntemperature = 0.5")
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
        ({"preset": "C-rad"}, "belongs to rad, not to animals"),
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
            runs.start(Plan("animals", instances="1", **more), board)
        assert board.runs() == ()


def test_a_task_with_pictures_needs_a_model_that_sees_them() -> None:
    problem = ANIMALS.problem
    assert problem is not None
    seen = replace(problem, picture=lambda _instance: Image("image/png", b"PNG"))
    wanted = Plan("animals", instances="1", machine=ELSEWHERE)
    with pytest.raises(UsageError, match="images"):
        members.models(wanted, replace(ANIMALS, problem=seen), read_plan(wanted)[1])
    with pytest.raises(UsageError, match="cannot be answered by a model"):
        members.models(wanted, replace(ANIMALS, problem=None), read_plan(wanted)[1])


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
    assert {body["max_tokens"] for body in table.asked} == {256 + 500, 64 + 500}
    assert "effort" not in plan(table).meaning()
    with pytest.raises(UsageError, match="takes no effort 'high'; it takes: low"):
        members.models(replace(wanted, effort="high"), *read_plan(wanted), settings)
