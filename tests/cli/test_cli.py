"""The command: what it prints, what it refuses and with which exit code, what it leaves."""

from __future__ import annotations

import csv
import resource
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pxp_fsm.cli.show import _why
from pxp_fsm.protocol.messages import printable
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.command_line import ENDLESS, interrupted, pxp, take_sigint
from tests.waiting import until

PXP = [sys.executable, "-m", "pxp_fsm.cli"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a small run has been done."""
    folder = tmp_path_factory.mktemp("ran")
    done = pxp("run", "animals", "--instances", "3", "--repetitions", "2", "-v", cwd=folder)
    assert done.returncode == 0, done.stderr
    for line in (
        "one-way, human",
        "ultra-strong, machine",
        "AGREE is the same reason",
        "Of 3 animals, the machine knows a feature of 3.",
        "drawn from the seed",
        "runs/blackboard.sqlite",
    ):
        assert line in done.stdout
    return folder


def test_a_run_leaves_table_drawings_and_database_where_it_says(ran: Path) -> None:
    left = {path.name for path in (ran / "runs").iterdir()}
    assert left == {
        "blackboard.sqlite",
        "animals-1-table.md",
        "animals-1-table.csv",
        *(
            f"animals-1-{what}.{suffix}"
            for what in ("automaton", "session")
            for suffix in ("svg", "png")
        ),
    }
    for path in (ran / "runs").glob("*.svg"):
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own drawing
    with (ran / "runs" / "animals-1-table.csv").open(encoding="utf-8", newline="") as table:
        header, *rows = csv.reader(table)
    assert header == ["class", "median", "share", "min", "max", "low", "high"]
    assert len(rows) == 8
    assert rows[0][5:] == ["", ""]  # no interval is of the number of all sessions
    assert all(
        float(cell) >= 0 for row in (rows[0][1:5], *(row[1:] for row in rows[1:])) for cell in row
    )


def test_sessions_are_listed_and_shown(ran: Path) -> None:
    listed = pxp("show", cwd=ran)
    assert listed.returncode == 0
    assert sum("animals-1/" in line for line in listed.stdout.splitlines()) == 6
    shown = pxp("show", "animals-1/1/1", cwd=ran).stdout
    for part in ("1  m → h  INIT", "because MATCH", "category", "ended", "two-way", "assumptions"):
        assert part in shown


def test_the_category_is_that_of_match_and_agree_whatever_is_asked_before() -> None:
    asked = [("LEARN", "yes"), ("MATCH", "no"), ("AGREE", "yes"), ("AGREE", "no")]
    judgements = [
        Judgement(relation, "", "", Outcome(outcome), True, 0.0) for relation, outcome in asked
    ]
    compared = "MATCH no, AGREE yes: category C"
    assert _why(judgements) == f"LEARN yes; {compared}; new answer: AGREE no"
    assert _why(judgements[1:3]) == compared
    assert _why(judgements[:1]) == "LEARN yes"


@pytest.mark.parametrize(
    "suffix", ["mmd", *(pytest.param(one, marks=pytest.mark.deep) for one in ("svg", "png", "dot"))]
)
def test_everything_can_be_drawn_in_every_format(ran: Path, tmp_path: Path, suffix: str) -> None:
    database = str(ran / "runs" / "blackboard.sqlite")
    for what, *options in (
        ("interact", "--state", "WAIT"),
        ("animals-1/1/1", "--database", database),
        ("animals-1/1/1", "--agent", "h", "--database", database),
    ):
        path = tmp_path / f"drawing.{suffix}"
        done = pxp("draw", what, "-o", str(path), *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert path.stat().st_size > 200
        path.unlink()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("run dragon", 2, "'dragon' is no file and no name that pxp list shows"),
        ("run animals --n 0", 2, "n is the largest number of messages"),
        ("run animals --k 0", 2, "REJECT is allowed, at least 1"),
        ("run animals --protocol pxp --k 0", 2, "it was 0"),
        ("run animals --protocol pxp --n 5", 2, "n is INTERACT's bound; PXP is bounded by k"),
        ("run animals --n 99999999999999999999999", 2, "n is at most 1000000000"),
        (f"run animals --k {10**23}", 2, "k is at most 1000000000"),
        (f"run animals --protocol pxp --k {10**23}", 2, "k is at most 1000000000"),
        (f"run animals --repetitions {10**23}", 2, "repetitions is at most 1000000000"),
        (f"run animals --seed {10**23}", 2, "seed is at most 9223372036854775807; it was"),
        (f"run animals --seed -{2**63}", 2, "seed is at least -9223372036854775807; it was"),
        (f"run animals --instances {'9' * 5000}", 2, "there are 12 instances"),
        ("run animals --set timeout=inf", 2, "timeout: inf is not finite; write a number"),
        ("run animals --set k=unbounded", 2, "only PXP can be unbounded"),
        (
            "run animals --protocol pxp --set k=unbounded --k 2",
            2,
            "k has an option, which is given too",
        ),
        ("run animals --instances ²", 2, "there is no instance '²'"),
        ("run animals --instances=--3", 2, "there is no instance '--3'"),
        ("run animals --database postgresql://u:hunter2@h:notaport/d", 2, "cannot be read"),
        ("run animals --protocol http", 2, "'http' is not one of"),
        ("run animals --instances 99", 2, "there are 12 instances"),
        ("run animals --repetitions 0", 2, "repetitions is at least 1; it was 0"),
        ("run animals --data nowhere", 2, "there is no such folder"),
        ("run animals --data .", 2, "there is no data.csv or data.jsonl in it"),
        ("run animals animals-1", 2, "there is no database"),
        ("run animals animals-1 --k 4", 2, "keeps its own plan; leave out --k"),
        (
            "run animals --database /no/such/folder/b.sqlite",
            2,
            "there is no folder /no/such/folder",
        ),
        ("run animals --database postgres://x:hunter2@localhost:1/d", 3, "is the server running"),
        ("run animals --database oracle://x:hunter2@h/d", 3, "SQLite and PostgreSQL are supported"),
        ("show", 2, "there is no database runs/blackboard.sqlite"),
        ("draw nothing.toml", 2, "there is no file nothing.toml"),
        (
            "draw interact --state LOST",
            2,
            "interact has no state 'LOST' to mark; it has IDLE, WAIT",
        ),
        ("draw interact -o a.gif", 2, ".svg, .png, .pdf, .tex, .dot"),
        ("draw interact -o a.svg --format dot", 2, "a.svg does not end in .dot or .gv"),
        ("draw interact --agent m", 2, "--agent: only a session or a"),
        ("draw interact -o /no/such/folder/a.svg", 2, "/no/such/folder"),
        ("draw animals-1/1/1", 2, "there is no database"),
    ],
)
def test_what_cannot_be_done_is_said_and_leaves_nothing(
    tmp_path: Path, arguments: str, code: int, says: str
) -> None:
    done = pxp(*arguments.split(), cwd=tmp_path)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr + done.stdout
    assert not list(tmp_path.rglob("*.sqlite"))


def test_a_broken_table_is_refused_with_file_line_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('format = 1\nname = "mine"\ntitle = "M"\ninitial = "A"\n')
    done = pxp("draw", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "mine.toml, line 1: states, rows are missing; add them" in done.stderr


def test_a_malformed_row_is_named_and_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,prediction,explanation\nfins,fish,x\nfur,7!,x\n")
    done = pxp("run", "animals", "--data", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "data.csv, line 3" in done.stderr
    assert "'7!'" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_database_of_another_version_is_refused(ran: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    other.write_bytes((ran / "runs" / "blackboard.sqlite").read_bytes())
    connection = sqlite3.connect(other)
    connection.execute("UPDATE blackboard_version SET version_num = '99'")
    connection.commit()
    connection.close()
    for command in ("show", "run animals"):
        done = pxp(*command.split(), "--database", str(other), cwd=tmp_path)
        assert done.returncode == 3
        assert "has schema version 99" in done.stderr


@pytest.mark.deep
def test_a_full_disk_ends_the_run_with_a_message_and_loses_nothing(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    full = subprocess.run(
        [*PXP, "run", "animals"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert full.returncode == 3
    assert "what was stored before is kept" in full.stderr
    assert "Traceback" not in full.stderr
    stored = messages(tmp_path / "runs" / "blackboard.sqlite")
    assert stored
    resumed = pxp("run", "animals", "animals-1", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert messages(tmp_path / "runs" / "blackboard.sqlite")[: len(stored)] == stored


@pytest.mark.deep
def test_ctrl_c_stops_the_run_and_says_how_to_carry_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*PXP, "run", "animals", "--repetitions", ENDLESS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_sigint,  # noqa: PLW1509 - no threads here
    )
    database = tmp_path / "runs" / "blackboard.sqlite"
    until(lambda: process.poll() is not None or len(messages(database)) >= 20)
    _, error = interrupted(process)
    assert process.returncode == 130, error
    assert "pxp run animals animals-1 --output runs" in error
    assert "Traceback" not in error
    assert len(messages(database)) >= 20


def messages(database: Path) -> list[tuple[object, ...]]:
    """Every stored message, in order; none while there is no such table."""
    if not database.exists():
        return []
    connection = sqlite3.connect(database, timeout=30)
    try:
        query = (
            "SELECT session, number, messages.tag, prediction FROM messages "
            "JOIN sessions USING (session) ORDER BY ordinal, number"
        )
        return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def test_text_that_could_steer_a_terminal_is_shown_by_its_code_points() -> None:
    assert printable("a\x1b[31mred\u202e\n[bold]x") == "a\\u001b[31mred\\u202e [bold]x"
