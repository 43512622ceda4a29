"""The papers' experiments from end to end: presets, test data, report, with a scripted server."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard, calls_of_session
from pxp_fsm.cli.main import commands
from pxp_fsm.experiments.reports.contents import gather
from pxp_fsm.experiments.stored_plans import stored_deviations
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from tests.experiments.scripted_server import Body, Table, frames, judging

pytestmark = pytest.mark.deep

SIZES = {"instances": 3, "repetitions": 2, "validation": 2, "test": 2}
PAPERS = {"C-drug": (1024, None), "C-rad": (300, None), "B-drug": (1024, 0.3), "B-rad": (300, 1.0)}
"""Longest answer and temperature of each preset."""


def expert(body: Body) -> str:
    """Nothing known at first; then what the other says, and in the end why."""
    told = frames({"messages": [{**m, "content": _text(m["content"])} for m in body["messages"]]})
    start = max(place for place, f in enumerate(told) if "instance" in f or "picture" in f)
    heard = [frame for frame in told[start:] if "tag" in frame]
    rad = "findings" in json.dumps(body["messages"][0]["content"])
    prediction: list[str] = [] if rad else ["C"]
    if heard:
        said = str(heard[-1]["prediction"])
        prediction = [] if said == "none" else said.split(", " if rad else ".")
    why = str(heard[-1]["explanation"]) if len(heard) > 1 else f"My view, {len(heard)}."
    if rad:
        return f"Prediction: {', '.join(prediction) or 'none'}\nExplanation: {why}"
    return f"Pathway: {'.'.join(prediction)}\nExplanation: {why}"


def _text(content: str | list[dict[str, Any]]) -> str:
    """What a message says, beside its pictures."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content)


def judge(body: Body) -> str:
    first, second = (frame["explanation"] for frame in frames(body))
    return "yes" if first == second else "no"


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, expert, judge)


def pxp(*arguments: object) -> str:
    done = CliRunner().invoke(commands, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def carried(table: Table, folder: Path, preset: str) -> str:
    """The database of a run of `preset` with today's model and small sizes."""
    own = folder / "servers.toml"
    own.write_text(
        '[[server]]\nmodels = "openai:*@*"\ncan = ["temperature", "seed", "schema", "images"]\n'
        '[[price]]\nmodels = "openai:*@*"\ninput = 1.0\noutput = 4.0\nas_of = 2026-01-01\n'
    )
    sizes = [f"--{name}={size}" for name, size in SIZES.items()]
    where = str(folder / "b.sqlite")
    models = ["--machine", table.model, "--judge", table.model, "--catalogue", own]
    said = pxp(
        *("run", preset.split("-")[1], "--preset", preset, *models, *sizes, "--in-flight", 1),
        *("--max-dollars", 9, "--database", where, "--output", folder),
    )
    assert said.count("Not as in the paper: ") >= 4
    assert f"machine is {table.model}; in the paper it is" in said
    return where


@pytest.mark.parametrize("preset", PAPERS)
def test_an_experiment_is_made_from_its_settings_to_its_figures(
    table: Table, tmp_path: Path, preset: str
) -> None:
    where = carried(table, tmp_path, preset)
    tokens, temperature = PAPERS[preset]
    for body in table.asked:
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        settings = (limit, body.get("temperature"))
        assert settings == ((10, 0.0) if judging(body) else (tokens, temperature))
    run = preset.split("-")[1] + "-1"
    before = len(table.asked)
    own = ("--catalogue", tmp_path / "servers.toml")
    pxp("test", run, "--database", where, "--max-dollars", 9, *own)
    tested = len(table.asked) - before
    assert tested > 0
    pxp("test", run, "--database", where, *own)
    assert len(table.asked) == before + tested
    page = tmp_path / "page.html"
    pxp("report", where, "-o", page, *own)
    with SqlBlackboard(where, create=False) as board:
        record = board.run(run)
        assert len(stored_deviations(record)) >= 4
        sessions = board.sessions(run)
        assert len(sessions) == SIZES["instances"] * SIZES["repetitions"]
        learned = [
            judgement.outcome
            for session in sessions
            for entry in board.entries(session.session)
            for judgement in entry.judgements
            if judgement.relation == "LEARN"
        ]
        assert bool(learned) is preset.startswith("C-")
        table1 = _naive_table1(board, run)
        report = gather(board, record, catalogue=tmp_path / "servers.toml")
        found = {row.name: float(row.median) for row in report.statistics.classes()[1:]}
        assert found == table1
        curve = report.performance.on_test_set
        assert not isinstance(curve, str)
        assert [j for j, _ in curve] == [0, 2, 4, 6, 8, 10]
        costs = {cost.purpose: cost for cost in board.costs(run)}
        assert sum(cost.calls for cost in costs.values()) == len(table.asked)
        assert not any(cost.cached for cost in costs.values())
        assert all(cost.dollars for cost in costs.values())
        _agree_is_asked_no_more_than_needed(board, run)
    shown = pxp("sessions", f"{run}/1/1", "--prompts", "--database", where)
    assert "was asked (answer)" in shown
    assert "Comments: what models were asked" in page.read_text("utf-8")
    packed = tmp_path / "supplement.zip"
    pxp("archive", run, "-o", packed, "--database", where, *own)
    with ZipFile(packed) as archive:
        prompts = archive.read(f"runs/{run}/prompts.toml").decode()
    assert prompts.startswith("# Prompts of the papers, in our words.")
    assert "Table 1 counted again" in pxp("archive", packed, "--check")


def _naive_table1(board: SqlBlackboard, run: str) -> dict[str, float]:
    """Table 1 from the stored tags, by the definitions."""
    counts = dict[int, Counter[str]]()
    for session in board.sessions(run):
        messages = [entry.message for entry in board.entries(session.session)]
        here = counts.setdefault(session.repetition, Counter())
        for name, role in (("one_way", "one-way"), ("strong", "strong"), ("ultra_strong", "")):
            for agent, who in (("h", "human"), ("m", "machine")):
                title = f"{role or 'ultra-strong'}, {who}"
                here[title] += holds_for(DEFINITIONS[name], messages, agent)
        here["two-way"] += two_way(messages, "m", "h")
    titles = {title for here in counts.values() for title in here}
    return {t: sum(here[t] for here in counts.values()) / len(counts) for t in titles}


def authors_calls(board: SqlBlackboard, run: str) -> int:
    """How often the authors' code asks AGREE in the sessions of `run`.

    At each message from the second on, and once more for Changed where MATCH holds of the agent's
    new and its own earlier prediction.
    """
    calls = 0
    for session in board.sessions(run):
        said = [entry.message.answer for entry in board.entries(session.session)]
        for place in range(1, len(said)):
            own = said[place - 2] if place > 1 else said[place]
            calls += 1 + (said[place].prediction == own.prediction)
    return calls


def _agree_is_asked_no_more_than_needed(board: SqlBlackboard, run: str) -> None:
    """Each ordered pair of different explanations once a session for each agent, at most."""
    costs = {cost.purpose: cost.calls for cost in board.costs(run)}
    assert costs["judge"] < authors_calls(board, run)
    for session in board.sessions(run):
        calls = calls_of_session(board, session.session)
        asked = sum(call.purpose == "judge" for call in calls)
        pairs = Counter[tuple[Any, ...]]()
        for entry in board.entries(session.session):
            for one in entry.judgements:
                if one.relation == "AGREE" and one.asked:
                    pairs[entry.message.sender, one.left, one.right] += 1
        assert asked == pairs.total()
        assert max(pairs.values(), default=1) == 1
