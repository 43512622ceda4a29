"""What is exported does not have to fit into memory."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import conversations
import pytest

from backends.databases import SqlBlackboard
from backends.databases.transfer import import_rows
from pxp_fsm.experiments.plans import Plan

SESSIONS = 200, 5_000


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run of 1,200 messages and one of 30,000."""
    folder, plan = tmp_path_factory.mktemp("runs"), Plan("drug", repetitions=max(SESSIONS))
    paths = [folder / f"{sessions}.sqlite" for sessions in SESSIONS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversations, "RUN", replace(conversations.RUN, plan=plan.as_json()))
        for path, sessions in zip(paths, SESSIONS, strict=True):
            with SqlBlackboard(str(path)) as board:
                import_rows(board.engine, conversations.in_bulk(sessions), "made")
    return paths


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is counted in KB there")
@pytest.mark.parametrize("form", ["jsonl", "parquet", "zip"])
def test_an_export_takes_the_same_memory_whatever_its_size(
    form: str, databases: list[Path]
) -> None:
    """A run of 25 times the messages; in memory its texts alone would be 45 MB more."""
    peaks = []
    for database in databases:
        output = database.with_suffix(f".{form}")
        command = [sys.executable, "-m", "pxp_fsm.cli", "export", "drug-1", "--format", form]
        child = subprocess.Popen([*command, "--database", str(database), "-o", str(output)])
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        peaks.append(used.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < 15
