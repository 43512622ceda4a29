"""Calls and tokens of one repetition of the papers' settings, against those of the authors' code.

Each setting is run with 20 sessions about the bundled data and 10 rows for validation; the model is
scripted, behind a local server. It believes the other at once, only later, or in two steps, by the
instance. The authors' code asks AGREE at each message from the second on, and once more for
Changed where MATCH holds. A token is taken to be four bytes of text; pictures are not counted.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from pxp_fsm.plugins.rad.data import path_of
from pxp_fsm.tasks.task import find_task
from tests.command_line import pxp
from tests.deep.test_papers import CATALOGUE, authors_calls
from tests.experiments.scripted_server import (
    Body,
    Expert,
    Table,
    as_sent,
    is_equal,
    judging,
    text_of,
)

SESSIONS, VALIDATION = 20, 10
PRESETS = ("C-drug", "C-rad", "B-drug", "B-rad")
PATIENCE = ((1, 1), (1, 2), (2, 2))


def tokens(body: Body) -> int:
    return len(text_of(body).encode()) // 4


def measured(preset: str, folder: Path) -> dict[str, float]:
    """Calls and tokens a session, by what they are for, and what the authors' code asks."""
    task = preset.split("-")[1]
    data = find_task(task).load(None)
    rows = (*data.sessions, *data.validation, *data.test)
    drug = task == "drug"
    shown = [row.instance.x if drug else as_sent(path_of(row.instance)) for row in rows]
    truth = {x: row.answer.prediction for x, row in zip(shown, rows, strict=True)}
    patience = {x: PATIENCE[place % len(PATIENCE)] for place, x in enumerate(shown)}
    with HTTPServer(port=0) as server, SqlBlackboard(str(folder / f"{preset}.sqlite")) as board:
        table = Table(server, Expert(truth, patience.__getitem__), is_equal, tokens)
        models = (
            "--machine",
            table.model,
            "--set",
            f"agents.judge={table.model}",
            "--models",
            "servers.toml",
        )
        sizes = ("--repetitions", "1", "--instances", str(SESSIONS))
        held = ("--set", f"validation={VALIDATION}") if preset.startswith("C") else ()
        database = ("--database", f"{preset}.sqlite")
        done = pxp(
            "run",
            task,
            "--set",
            f"agents.preset={preset}",
            *models,
            *sizes,
            *held,
            *database,
            cwd=folder,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        (record,) = board.runs()
        asked = {cost.purpose: cost for cost in board.costs(record.run)}
        theirs = authors_calls(board, record.run)
        sessions = len(board.sessions(record.run))
    judged = [tokens(body) for body in table.asked if judging(body)]
    calls = {purpose: cost.calls / sessions for purpose, cost in asked.items()}
    ours = sum(cost.usage.sent for cost in asked.values())
    more = (theirs - len(judged)) * sum(judged) / len(judged)
    return {
        "answers": calls["answer"],
        "validation": calls.get("validation", 0),
        "AGREE": calls["judge"],
        "AGREE, authors": theirs / sessions,
        "needed, %": 100 * len(judged) / theirs,
        "tokens": ours / sessions,
        "tokens, authors": (ours + more) / sessions,
    }


def main() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "servers.toml").write_text(CATALOGUE)
        print(f"{SESSIONS} sessions, {VALIDATION} rows for validation; a session:")
        for preset in PRESETS:
            costs = measured(preset, folder)
            print(preset, *(f"{name} {value:,.1f}" for name, value in costs.items()), sep="; ")


if __name__ == "__main__":
    main()
