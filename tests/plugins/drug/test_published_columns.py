"""Runs of DRUG beside what the papers publish of it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import main
from pxp_fsm.experiments import summary
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.statistics import ROWS, published, statistics_of

Ran = tuple[int, str, str]


def pxp(capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def screen(text: str) -> list[str]:
    """The lines as a terminal of 80 columns shows them."""
    return [part for line in text.splitlines() for part in textwrap.wrap(line, 80) or [""]]


@pytest.mark.deep
@pytest.mark.parametrize("instances", ["2", pytest.param("5", marks=pytest.mark.deep)])
def test_both_settings_stand_side_by_side_with_the_published_columns_of_each(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    instances: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ("run", "drug", "--instances", instances, "--set", "validation=4", "--both")
    code, said, _ = pxp(capsys, *arguments)
    assert code == 0
    assert len(screen(said)) <= 36
    assert max(map(len, said.partition("sessions that are")[2].splitlines()[:10])) <= 80
    assert "pxp compare drug-1 drug-3" in said
    with SqlBlackboard("runs/blackboard.sqlite") as board:
        plans = [stored_plan(record) for record in board.runs()]
        counts = [statistics_of(board, f"drug-{n}").repetitions[0].counts for n in (1, 2, 3)]
    assert [(plan.learn, plan.gate) for plan in plans] == [
        ("likelihood", "context"), ("better", "context"), ("always", "revision"),
    ]  # fmt: skip
    by_title = {column.title: column.counts for column in published("drug")}
    for place, row in enumerate(ROWS):
        line = next(line for line in said.splitlines() if line.startswith(row))
        numbers = [word for word in line[len(row) :].split() if not word.startswith("(")]
        expected = [
            counts[0][place], counts[1][place], by_title["DRUG 2025"][place], counts[2][place],
            *(by_title[title][place] for title in ("DRUG-h1 2025", "DRUG-h2 2025", "DRUG 2024")),
        ]  # fmt: skip
        assert numbers == [str(number) for number in expected]


def test_only_the_tables_with_a_validation_set_are_controlled() -> None:
    every = [*published("drug"), *published("rad")]
    assert {column.title for column in every if column.controlled} == {"DRUG 2025", "RAD 2025"}


@pytest.mark.deep
def test_the_page_shows_what_make_run_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    root = Path(summary.__file__).parents[2]
    command = next(
        line for line in (root / "Makefile").read_text().splitlines() if "pxp run" in line
    )
    code, said, _ = pxp(capsys, *command.split()[1:])
    assert code == 0
    lines = [line.rstrip() for line in said.splitlines()]
    first = next(place for place, line in enumerate(lines) if line.startswith("Intelligibility"))
    assert "\n".join(lines[first : first + 13]) in (root / "docs" / "drug.md").read_text("utf-8")
