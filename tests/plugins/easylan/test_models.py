"""Models of a training: one for the agents, one for the update; prompts from a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from pxp_fsm.cli.main import commands
from pxp_fsm.errors import DataError, FileError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.running.requests import bundled, load_prompts
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example
from tests.plugins.easylan.scripted_models import Speaking, module
from tests.plugins.easylan.trainings import (
    FIRST,
    GAP,
    NOBODY,
    POET,
    Same,
    new_agent,
    parameters,
    poor,
    scripted,
    weak,
)

SPLIT = parameters(kind="parallel", agents=[new_agent("One"), new_agent("Two")])


def test_the_update_has_a_model_of_its_own() -> None:
    agents, updater = Speaking(module), scripted(GAP, NOBODY, POET)
    trainer = Trainer(Lan.new("t"), agents, Same(), updater=updater)
    (outcome,) = asyncio.run(trainer.train([FIRST]))
    assert outcome.handled
    assert set(agents.asked) <= {"control", "execution"}
    assert updater.asked == {"gap": 1, "reason": 1, "parameters": 1}


def test_the_updaters_model_picks_the_part_of_a_split() -> None:
    steps = [GAP, poor("Solver"), weak("need_finer_structure"), SPLIT, {"agent": "Two"}]
    agents, updater = Speaking(module), scripted(*steps)
    trainer = Trainer(Lan.new("t"), agents, Same(), updater=updater, limits=TrainingLimits(1, 0))
    asyncio.run(trainer.train([Example("a", "Solver(a)"), Example("x", "never")]))
    assert updater.asked["part"] == 1 and "part" not in agents.asked


def test_a_file_of_prompts_says_what_is_asked_and_the_rest_is_bundled(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[gap]\nmax_tokens = 9000\neffort = "high"\n'
        'system = "Find the gap. $form"\nquestion = "$network"\ndeveloper = "$edited"\n'
    )
    prompts = load_prompts(path)
    assert prompts["reason"] == bundled()["reason"] and load_prompts(None) is bundled()
    model = scripted(GAP, NOBODY, POET)
    trainer = Trainer(Lan.new("t"), model, Same(), prompts=prompts)
    asyncio.run(trainer.train([FIRST]))
    (gap,) = (one for one in model.requests if one.purpose == "gap")
    assert gap.system.startswith("Find the gap. ")
    assert (gap.max_tokens, gap.effort) == (9000, "high")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gap]\nmax_tokens = 1\n", "system is missing"),
        ("[gaps]\n", "gaps"),
        ("gap = 3\n", r"no table \[gap\]"),
        ("[", "not TOML"),
        (
            '[gap]\nmax_tokens = 9\nsystem = "x"\nquestion = "$network"\ndeveloper = "$edited"\n',
            "form",
        ),
    ],
)
def test_a_file_of_prompts_with_a_fault_names_it(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=said) as raised:
        load_prompts(path)
    assert "mine.toml" in str(raised.value)


def test_a_file_of_prompts_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.toml"):
        load_prompts(tmp_path / "none.toml")


@pytest.mark.parametrize(("status", "said"), [(400, "no such parameter"), (404, "no such model")])
def test_a_request_that_a_server_refuses_ends_the_training_at_once_with_its_words(
    httpserver: HTTPServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    refused = {"error": {"message": said, "type": "invalid_request_error"}}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(refused, status=status)
    Lan.new("t").save("my.lan.json")
    before = Path("my.lan.json").read_bytes()
    Path("train.jsonl").write_text('{"input": "x", "output": "y"}\n' * 3)
    model = f"openai:chemist@{httpserver.url_for('/v1')}"
    arguments = ["lan", "train", "my.lan.json", "train.jsonl", "--machine", model]
    done = CliRunner().invoke(commands, [*arguments, "--developer", "nobody"])
    assert done.exit_code != 0 and said in done.stderr and "Traceback" not in done.stderr
    assert len(httpserver.log) == 1 and Path("my.lan.json").read_bytes() == before
