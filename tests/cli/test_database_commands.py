"""`pxp verify`, `upgrade`, `export`, `import` and long lists, as a person uses them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

import pxp_fsm
from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from backends.databases.verify import NOT_COVERED
from pxp_fsm.cli.show import list_all
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.sessions.events import Event
from tests import command_line
from tests.backends.test_members import SYSTEM

DATABASE = "b.sqlite"
EXACT = pxp_fsm.exact


def pxp(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command_line.pxp(*arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database of two runs; the texts of the first are hostile to terminals and to file names."""
    with SqlBlackboard(str(tmp_path / DATABASE)) as board:
        for run in ("a-1", "../\x1b[2J"):
            board.start_run(RunRecord(run, "a", "{}", 0, "0", "f"))
            for position in (1, 2, 3):
                name, about = f"{run}/1/{position}", Instance("\x1b]0;x\x07", "x")
                agents = (("m", "machine"), ("h", "human"))
                place = (name, run, 1, position, about, "interact", 10, 3, "interact", "f")
                board.start_session(SessionRecord(*place, True, (), agents))
                answer = Answer("\x1b[31m", "'; DROP TABLE events; --")
                board.append(
                    name, Event.of_message(Message(name, 1, "m", "INIT", answer, "h"), "{}", [])
                )
    return tmp_path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A database of a program's own sessions: one without a name, one named by a word alone."""

    def expert(_question: pxp_fsm.Question) -> pxp_fsm.Answer:
        return pxp_fsm.Answer("a whale", "because it breathes")

    agents = {name: pxp_fsm.Agent(expert, match=EXACT, agree=EXACT) for name in ("m", "h")}
    grants = pxp_fsm.Actor(lambda _turn: {"seat": 1}, guards=lambda _turn: "FREE")
    asks = pxp_fsm.Actor(lambda _turn: pxp_fsm.Intent("ASK", "?"))
    members = {"asks": asks, "grants": grants}
    with pxp_fsm.open_blackboard(tmp_path / DATABASE) as board:
        rules = pxp_fsm.Interact(n=1, k=1)
        pxp_fsm.Session(rules, agents, instance="?", blackboard=board).run_sync()
        pxp_fsm.Session(rules, agents, instance="?", blackboard=board, name="alone").run_sync()
        pxp_fsm.Session(SYSTEM, members, name="lab/1", blackboard=board).run_sync()
    return tmp_path


def test_what_runs_hold_is_counted_in_words(own: Path) -> None:
    said = pxp(own, "verify", DATABASE).stdout
    assert "own: 1 session, 1 message, mark " in said
    assert "lab: 1 session, 2 actions, mark " in said


def test_a_session_without_a_slash_in_its_name_is_shown(own: Path) -> None:
    of = ("--database", DATABASE)
    shown = pxp(own, "show", "alone", *of).stdout
    assert "because it breathes" in shown
    assert "instance    ?\n" in shown
    assert pxp(own, "monitor", "alone", "F m.INIT", *of).stdout.startswith("Monitor F m.INIT\n")
    assert "own/1" in pxp(own, "show", "own", *of).stdout.splitlines()[1]
    assert "because it breathes" in pxp(own, "show", "own/1", *of).stdout
    pxp(own, "draw", "own/1", *of, "-o", "one.svg")
    assert (own / "one.svg").exists()


def test_what_verify_does_not_cover_is_named_in_its_help_and_output(folder: Path) -> None:
    told = " ".join(pxp(folder, "verify", "--help").stdout.split())
    found = pxp(folder, "verify", DATABASE).stdout
    assert len(NOT_COVERED) == 5
    for what in NOT_COVERED.values():
        assert what in told
        assert what in found


def test_a_database_is_verified_and_a_change_is_found(folder: Path) -> None:
    done = pxp(folder, "verify", DATABASE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "a-1: 3 sessions, 3 messages, mark " in done.stdout
    assert done.stdout.endswith("Nothing was changed.\n")
    assert "\x1b" not in done.stdout
    mark = done.stdout.split("mark ")[1].split()[0]
    assert pxp(folder, "verify", DATABASE, "--mark", f"a-1={mark}").returncode == 0
    other = pxp(folder, "verify", DATABASE, "--mark", f"a-1={'0' * 64}")
    assert (other.returncode, "not the mark that was expected" in other.stdout) == (1, True)
    assert pxp(folder, "verify", DATABASE, "--mark", "nonsense").returncode == 2
    gone = pxp(folder, "verify", DATABASE, "--mark", f"a-9={mark}")
    assert gone.returncode == 1
    assert "run a-9: there is no such run: it was removed, or its name is another" in gone.stdout
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute("DROP TRIGGER events_unchanged")
    connection.execute("UPDATE events SET label = 'TERM' WHERE session = 'a-1/1/2'")
    connection.commit()
    connection.close()
    done = pxp(folder, "verify", DATABASE)
    assert done.returncode == 1
    assert "Changed: session a-1/1/2, event 1: it, its judgements or its place" in done.stdout
    assert "Changed: table events: the trigger events_unchanged" in done.stdout


@pytest.mark.parametrize("form", ["jsonl", pytest.param("parquet", marks=pytest.mark.deep)])
def test_a_run_goes_out_and_comes_in(folder: Path, form: str) -> None:
    done = pxp(folder, "export", "a-1", "--database", DATABASE, "--format", form)
    assert (done.returncode, done.stdout) == (0, f"Exported: a-1.{form}\n")
    again = pxp(folder, "export", "a-1", "--database", DATABASE, "--format", form)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    done = pxp(folder, "import", f"a-1.{form}", "--database", "new.sqlite")
    assert "Imported into sqlite:///new.sqlite: a-1, 3 sessions, 3 messages, mark" in done.stdout
    assert pxp(folder, "verify", "new.sqlite").returncode == 0
    twice = pxp(folder, "import", f"a-1.{form}", "--database", "new.sqlite")
    assert (twice.returncode, "has a run 'a-1' already" in twice.stderr) == (2, True)


def test_a_run_is_no_path(folder: Path) -> None:
    done = pxp(folder, "export", "../\x1b[2J", "--database", DATABASE)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.glob("*.jsonl")] == ["2J.jsonl"]
    assert not list(folder.parent.glob("*.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("verify", "none.sqlite"), 2, "there is no file none.sqlite"),
        (("upgrade", "none.sqlite"), 2, "there is no database"),
        (("export", "b-1", "--database", DATABASE), 2, "no run 'b-1'; there are: a-1"),
        (("export", "a-1", "--database", DATABASE, "-o", "x.csv"), 2, "must end in .jsonl"),
        (("import", "none.jsonl"), 2, "does not exist"),
        (("import", DATABASE, "--database", "new.sqlite"), 2, "line 1: this is not JSON"),
    ],
)
def test_what_cannot_be_done_is_said(
    folder: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = pxp(folder, *arguments)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def test_an_up_to_date_database_needs_no_upgrade(folder: Path) -> None:
    done = pxp(folder, "upgrade", DATABASE)
    assert "schema version 1, is up to date" in done.stdout
    said = json.loads(pxp(folder, "upgrade", DATABASE, "--dry-run", "--json").stdout)
    assert said.pop("database").endswith(DATABASE)
    assert said == {"before": "1", "after": "1", "steps": [], "upgraded": False}


def test_a_long_list_is_cut_and_says_so(folder: Path) -> None:
    done = pxp(folder, "show", "--database", DATABASE, "--limit", "2")
    assert "… and 4 more" in done.stdout
    assert "a-1: 3 sessions, 0 over" in done.stdout
    assert "\x1b" not in done.stdout
    assert "more" not in pxp(folder, "show", "--database", DATABASE).stdout


def test_a_list_goes_on_where_it_was_left(folder: Path) -> None:
    whole = pxp(folder, "show", "--database", DATABASE).stdout.splitlines()
    assert whole[0].split() == ["session", "instance", "protocol", "messages", "ended"]
    assert [line.split()[0] for line in whole[1:4]] == ["a-1/1/1", "a-1/1/2", "a-1/1/3"]
    part = pxp(folder, "show", "--database", DATABASE, "--skip", "2", "--limit", "2")
    assert [line.split()[0] for line in part.stdout.splitlines()[1:3]] == [
        whole[3].split()[0],
        whole[4].split()[0],
    ]
    assert "… and 2 more; 2 before" in part.stdout
    beyond = pxp(folder, "show", "--database", DATABASE, "--skip", "6")
    assert (beyond.returncode, "none after the first 6" in beyond.stderr) == (2, True)


def test_a_list_stands_in_columns_whatever_is_in_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqlBlackboard(str(folder / DATABASE)) as board:
        board.start_run(RunRecord("wide", "a", "{}", 0, "0", "f"))
        for position, key in enumerate(("x", "阿司匹林", "e\u0301", "\U0001f9ea"), 1):
            agents = (("m", "machine"), ("h", "human"))
            rules = ("interact", None, position, "interact", "f", True, (), agents)
            about = Instance(key, "x")
            board.start_session(
                SessionRecord(f"wide/1/{position}", "wide", 1, position, about, *rules)
            )
        board.end("wide/1/1", "late", "", [])
        board.end("wide/1/2", "ratified", "why", [])
        list_all(board, "wide", 10, 0)
    assert capsys.readouterr().out == (
        "session   instance  protocol      messages  ended\n"
        "wide/1/1  x         interact k=1  0         late:\n"
        "wide/1/2  阿司匹林  interact k=2  0         ratified\n"
        "wide/1/3  e\u0301         interact k=3  0         not over\n"
        "wide/1/4  \U0001f9ea        interact k=4  0         not over\n"
    )
