"""`pxp run TASK --set resume=true`: what was replied before the stop is not asked for again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pytest_httpserver import HTTPServer

from pxp_fsm.cli.main import commands
from pxp_fsm.plugins.easylan.model.files import load
from tests.experiments.scripted_server import Body, Table, frames
from tests.plugins.easylan.test_task_commands import TASK


def says(body: Body) -> str:
    """Even or odd where the knowledge says how; the steps of the update else."""
    held: dict[str, Any] = {}
    for one in frames(body):
        held |= one
    system = body["messages"][0]["content"]
    if "strategy" in held:
        return json.dumps({"parameters": {"knowledge": "Divide it by two."}, "rationale": ""})
    if "poor_performance" in held:
        said = {"reason_type": "lack_of_knowledge", "reason_content": "No rule."}
        return json.dumps({**said, "rationale": ""})
    if "gap" in held:
        said = {"reason_type": "poor_performance_of_agent", "agent_name": "Solver"}
        return json.dumps({**said, "reason_content": "It cannot.", "rationale": ""})
    if "network" in system and "gap" in system:
        return json.dumps({"gap": "It does not say.", "rationale": ""})
    known = " ".join(map(str, held.get("knowledge", ())))
    right = "odd" if int(held["input"]) % 2 else "even"
    able = "by two" in known or f"Input: {held['input']}" in known
    return json.dumps({"thoughts": "", "result": right if able else "?"})


@pytest.fixture
def table(httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("parity.toml").write_text(TASK)
    return Table(httpserver, says, says)


def compare(table: Table, *more: str) -> Result:
    arguments = ["run", "parity.toml", "--machine", table.model, *more]
    return CliRunner().invoke(commands, arguments)


def prompts(table: Table) -> Counter[str]:
    return Counter(json.dumps(body["messages"]) for body in table.asked)


@pytest.mark.deep
def test_a_comparison_that_a_cap_stopped_goes_on_where_it_was(table: Table) -> None:
    stopped = compare(table, "--max-calls", "9")
    assert stopped.exit_code != 0 and len(table.asked) == 9, stopped.output
    again = compare(table, "--set", "resume=true", "--max-calls", "9")
    assert again.exit_code != 0 and len(table.asked) == 9, "the cap holds for both"
    done = compare(table, "--set", "resume=true", "--max-calls", "500")
    assert done.exit_code == 0, done.output
    resumed, names = prompts(table), ("easylan-1", "baseline-1", "naive-1")
    found = [load(Path("runs") / f"{name}.lan.json") for name in names]
    table.asked.clear()
    assert compare(table, "--output", "whole").exit_code == 0
    assert resumed == prompts(table)
    assert found == [load(Path("whole") / f"{name}.lan.json") for name in names]
