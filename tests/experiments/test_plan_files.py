"""Fields of a plan by `--set KEY=VALUE`, and plans written as experiments' files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import files
from pxp_fsm.experiments.plans import Plan, build_plan
from pxp_fsm.schemas import read_assignments
from tests.command_line import pxp

FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "n": st.integers(1, 99),
    "k": st.integers(1, 99),
    "repetitions": st.integers(1, 9),
    "seed": st.integers(-5, 5),
    "instances": st.sampled_from(["all", "3", "cat", "cat, dog"]),
    "validation": st.integers(1, 9),
    "memo": st.booleans(),
    "timeout": st.sampled_from([1, 0.5, 20.0]),
    "judge": st.sampled_from(["anthropic:x", "openai:y@http://h:1"]),
    "votes": st.sampled_from([1, 3]),
    "scope": st.sampled_from(["call", "run"]),
    "effort": st.sampled_from(["low", 'a "b" c']),
    "learn": st.sampled_from(["better", "never"]),
    "carry": st.booleans(),
    "order": st.sampled_from(["fixed", "sampled"]),
    "data": st.sampled_from(["labels.csv", "../elsewhere", "/abs/olute"]),
}

PLANS = st.lists(st.sampled_from(sorted(FIELDS)), unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)


@given(PLANS, st.sampled_from([".toml", ".json"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_saved_plan_is_read_as_the_plan_that_was_given(
    tmp_path: Path, values: Mapping[str, Any], suffix: str
) -> None:
    path = tmp_path / "of" / f"plan{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    files.save(path, {"task": "animals", **values})
    read = build_plan(files.EXPERIMENT.load(path).value.plan, path.parent)
    meant = build_plan({"task": "animals", **values}, Path.cwd())
    for plan in (read, meant):
        for name in ("data", "instances"):  # paths and lists of the same meaning
            text = getattr(plan, name)
            if name == "data" and text is not None:
                text = str(Path(text).resolve())
            if name == "instances" and text is not None:
                text = text.replace(" ", "")
            object.__setattr__(plan, name, text)
    assert read == meant


KEYS = {"n": "n", "votes": "agents.votes", "carry": "learning.carry", "label": "label"}
VALUES = st.one_of(
    st.integers(-3, 10),
    st.booleans(),
    st.sampled_from(["Pneumonia", "all", "x y", "true story", "1990-01-01x"]),
)


@given(st.sampled_from(sorted(KEYS)), VALUES)
def test_what_is_set_is_what_a_file_with_that_key_sets(field: str, value: object) -> None:
    key, written = KEYS[field], value if isinstance(value, str) else json.dumps(value)
    table, _, last = key.rpartition(".")
    document = {"format": 1, "task": "animals", **({table: {last: value}} if table else {})}
    document |= {} if table else {key: value}
    read, faults = files.EXPERIMENT.read(tomlkit.loads(tomlkit.dumps(document)).unwrap())
    try:
        given = read_assignments(Plan, [f"{key}={written}"])
    except UsageError as error:
        assert faults
        assert key in str(error)
        return
    # Where TOML has no text there, the words that were written are one: label=3.
    assert given == {field: read.plan[field] if not faults else written}
    assert not faults or field == "label"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--set votes=3", "--set: there is no key 'votes'; did you mean agents.votes?"),
        ("--set agents.vote=3", "did you mean agents.votes"),
        ("--set agents.votes", "--set: 'agents.votes' sets nothing; write KEY=VALUE"),
        ("--set agents.votes=many", "--set: agents.votes: 'many' is not of the type integer"),
        ("--set agents.votes=0", "--set: agents.votes: 0 is too small; it is at least 1"),
        ("--set learning.keep=some", "--set: learning.keep: 'some'"),
        ("--set task=rad", "there is no key 'task'"),
        ("--set n=3 --set n=4", "--set: n is set twice"),
        ("--set n=3 --n 4", "--set: n has an option, which is given too"),
        ("--set agents.subject=h1", "--set agents.subject: a subject is the person"),
        ("--votes 3", "--votes is no option: give --set agents.votes=VALUE"),
        ("--cache x", "--cache is no option: a models file (pxp help models) sets cache"),
        ("--sed 3", "--seed"),
        ("--save-plan p.toml --both", "--both: an experiment's file is one new run"),
        ("animals-1 --save-plan p.toml", "an experiment's file is one new run"),
        ("--save-plan p.toml --instances 99", "--instances: there are 12 instances"),
    ],
)
def test_what_cannot_be_set_is_said_with_its_neighbour(
    words: str, says: str, tmp_path: Path
) -> None:
    done = pxp("run", "animals", *words.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("notes of my own\n")
    done = pxp("run", "animals", "--save-plan", "mine.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--save-plan: mine.toml is there already; give a new name" in done.stderr
    assert (tmp_path / "mine.toml").read_text() == "notes of my own\n"


@pytest.mark.deep
def test_a_plan_that_is_saved_runs_as_the_options_say(tmp_path: Path) -> None:
    options = ("--instances", "2", "--seed", "4", "--set", "learning.keep=better", "--k", "2")
    saved = pxp("run", "animals", *options, "--save-plan", "two.toml", cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["two.toml"]
    of_file = pxp("run", "two.toml", "--output", "file", cwd=tmp_path)
    of_options = pxp("run", "animals", *options, "--output", "options", cwd=tmp_path)
    tables = [(tmp_path / folder).glob("*table*.csv") for folder in ("file", "options")]
    assert of_file.returncode == of_options.returncode == 0
    first, second = (sorted(path.read_text("utf-8") for path in table) for table in tables)
    assert first == second


def test_what_is_set_replaces_what_a_file_says(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('format = 1\ntask = "animals"\ninstances = 1\n')
    whole = pxp("run", "e.toml", cwd=tmp_path)
    other = pxp("run", "e.toml", "--set", "n=4", cwd=tmp_path)
    assert "INTERACT with n = 10, k = 3; 1 instance" in whole.stdout
    assert "INTERACT with n = 4, k = 3; 1 instance" in other.stdout
    assert "Resumed" not in other.stdout
    again = pxp("run", "e.toml", "--set", "n=4", cwd=tmp_path)
    assert "Resumed: 1 of 1 session" in again.stdout
