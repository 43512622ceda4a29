"""What is found of the life cycles of agents' protocols: verdicts, traces, sessions, pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from proofs.core.results import Status
from proofs.systems.results import check_machine
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.diagrams import write
from pxp_fsm.experiments.openings import SystemOpening
from pxp_fsm.experiments.runs import start
from tests.analysis.agent_findings import (
    DRAWN,
    HERE,
    PICTURES,
    ROOT,
    SYSTEMS,
    TABLES,
    channels_of,
    drawn,
    file_of,
    found,
    picture,
    pinned,
)
from tests.sampling import sampled

PINNED = pinned()
SHOWN = (ROOT / "docs" / "findings-agents.md").read_text("utf-8")


LARGE = (
    "together/stop_waits_expiring.toml",
    "together/stop_expiring.toml",
    "together/stop_waits.toml",
    "a2a/push_polls.toml",
    "a2a/push.toml",
    "a2a/task_gives_up.toml",
)
"""Systems of which each takes half a second or more."""
SIZED = [
    pytest.param(path, marks=pytest.mark.deep if path in LARGE or place % 3 else ())
    for place, path in enumerate(SYSTEMS)
]


@pytest.mark.parametrize("path", SIZED)
def test_sizes_and_verdicts_over_each_channel_are_the_known_ones(path: str) -> None:
    assert list(PINNED[path]) == list(channels_of(path))
    for channel, known in PINNED[path].items():
        one = found(path, channel)
        assert (one.states, one.transitions, list(one.fails)) == tuple(known.values()), channel


@pytest.mark.parametrize("path", SYSTEMS)
def test_a_file_expects_what_is_found_over_its_own_channel(path: str) -> None:
    file, system = file_of(path)
    fails = PINNED[path][system.channel.name]["fails"]
    expected = [one.check or one.about for one in file.properties if one.expected == "FAILS"]
    assert sorted(fails) == sorted(expected)
    titles = [one.about for one in file.properties if one.formula]
    assert len(set(titles)) == len(titles)


@pytest.mark.deep
@pytest.mark.parametrize("table", TABLES)
def test_the_machine_of_each_table_does_what_the_table_says(table: str) -> None:
    assert check_machine(load_automaton(HERE / table)).status is Status.HOLDS


@pytest.mark.parametrize("table", TABLES)
def test_each_row_stands_below_the_section_that_it_reads(table: str) -> None:
    lines = (HERE / table).read_text("utf-8").splitlines()
    rows = [number for number, line in enumerate(lines) if line.startswith("  { from")]
    assert rows
    for number in rows:
        above = lines[number - 1]
        assert above.startswith(("  # ", "  { from")), lines[number]
    assert re.search(r"20\d\d-\d\d-\d\d|no specification", load_automaton(HERE / table).source)


@pytest.mark.parametrize("path", sampled(SYSTEMS, 3))
def test_random_members_run_what_is_checked(path: str) -> None:
    file, system = file_of(path)
    who = {one.name: "random" for one in file.members}
    with SqlBlackboard(":memory:") as board:
        run = start(SystemOpening(file, who, sessions=2, seed=3), board)
        run.execute()
        endings = set(run.endings())
    may_stop = "no-deadlock" in PINNED[path][system.channel.name]["fails"]
    assert endings <= {"finished", "idle", "limit", *(["deadlock"] if may_stop else [])}


@pytest.mark.parametrize("name", DRAWN)
def test_a_session_follows_each_counterexample(name: str) -> None:
    trace = drawn(name).trace
    assert trace is not None
    session = pxp.Session(file_of(DRAWN[name][0])[1], {}, follow=trace).run_sync()
    taken = [one.action for one in session.events]
    assert taken[: len(trace.steps)] == [step.action for step in trace.steps]


@pytest.mark.parametrize("name", DRAWN)
def test_the_page_shows_the_picture_of_each_trace(name: str, tmp_path: Path) -> None:
    write(picture(name), tmp_path / "now.svg")
    now = (tmp_path / "now.svg").read_text("utf-8")
    assert now == (PICTURES / f"{name}.svg").read_text("utf-8")
    assert f"pictures/agents/{name}.svg" in SHOWN


def test_each_verdict_of_the_page_is_the_known_one() -> None:
    compared = 0
    for header, *rows in _tables(SHOWN):
        for row in rows:
            for title, cell in zip(header, row, strict=True):
                path = _file_in(title) or _file_in(row[0]) or _file_in(cell)
                named = {row[0], row[0].replace(" ", "-"), title}
                verdict = re.search(r"HOLDS|FAILS", cell)
                if path is None or verdict is None:
                    continue
                file, system = file_of(path)
                titles = {one.check or one.about for one in file.properties} & named
                for name in titles:
                    fails = PINNED[path][system.channel.name]["fails"]
                    assert (name in fails) == (verdict[0] == "FAILS"), (path, name)
                    compared += 1
    assert compared >= 45
    assert [path for path in SYSTEMS if path.rpartition("/")[2] not in SHOWN] == []


def test_the_page_says_which_notifications_a_client_survives() -> None:
    titles = {"a client can come to know of the end", "each question is answered once"}
    (found_there,) = [rows for head, *rows in _tables(SHOWN) if head[0].startswith("client of")]
    for row in found_there:
        path = _file_in(row[0])
        assert path is not None
        holds = [not titles & set(one["fails"]) for one in PINNED[path].values()]
        assert ["HOLDS" if one else "FAILS" for one in holds] == row[1:]


def _tables(page: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells, the header first."""
    found = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    lines = [[line for line in text.splitlines() if "|--" not in line] for text in found]
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in one] for one in lines
    ]


def _file_in(text: str) -> str | None:
    """The system file whose name stands in a cell, if one does."""
    names = re.findall(r"`(\w+\.toml)`", text)
    return next((path for path in SYSTEMS if names and path.rpartition("/")[2] == names[0]), None)
