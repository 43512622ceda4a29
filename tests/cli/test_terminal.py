"""The command and who calls it: pipes, encodings, Ctrl-C, folders, hostile names."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.sessions.events import Event
from tests.command_line import ENDLESS, PLACES, interrupted, pxp, take_sigint
from tests.waiting import until

PXP = [sys.executable, "-m", "pxp_fsm.cli"]
LONG = "C" * 300


def started(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PXP, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database with one session about a long instance, whose table is not today's."""
    (tmp_path / "runs").mkdir()
    with SqlBlackboard(str(tmp_path / "runs" / "blackboard.sqlite")) as board:
        board.start_run(RunRecord("r-1", "r", "{}", 0, "0", "f"))
        for position, table in ((1, "mine"), (2, "interact")):
            name = f"r-1/1/{position}"
            place = (name, "r-1", 1, position, Instance(LONG, "x→"), "interact", 10, 3)
            agents = (("m\x1b[2J", "machine"), ("h", "human"))
            board.start_session(SessionRecord(*place, table, "f" * 64, True, (), agents))
            board.append(
                name,
                Event.of_message(
                    Message(name, 1, "m\x1b[2J", "INIT", Answer("", ""), "h"), "{}", []
                ),
            )
    return tmp_path


def test_a_row_in_a_pipe_is_one_line(folder: Path) -> None:
    done = pxp("show", cwd=folder)
    assert [LONG in line for line in done.stdout.splitlines() if "r-1/" in line] == [True, True]


@pytest.mark.deep
def test_names_of_agents_cannot_steer_a_terminal(folder: Path) -> None:
    done = pxp("show", "r-1/1/1", cwd=folder)
    assert (done.returncode, "\x1b" in done.stdout) == (0, False), done.stderr
    for arguments in (("show", "\x1b[2J"), ("show", "\x1b/1/1"), ("run", "\x1b[2J")):
        done = pxp(*arguments, cwd=folder)
        assert (done.returncode, "\x1b" in done.stderr) == (2, False), done.stderr
    (folder / "data.csv").write_text('key,x,prediction,explanation\nk,x,"a\x1b[2J b",e\n')
    done = pxp("run", "animals", "--data", ".", cwd=folder)
    assert (done.returncode, "a\\x1b[2J" in done.stderr) == (2, True), done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("arguments", ["show r-1/1/2", "draw r-1/1/2"])
def test_a_session_on_another_table_is_refused(folder: Path, arguments: str) -> None:
    done = pxp(*arguments.split(), cwd=folder)
    assert done.returncode == 2
    assert "r-1/1/2 followed another table interact" in done.stderr


@pytest.mark.deep
def test_a_terminal_of_few_letters_is_enough(folder: Path) -> None:
    poor = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = started("show", "r-1/1/1", cwd=folder, env=poor)
    assert (done.returncode, "x\\u2192" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "show",
        *(
            pytest.param(arguments, marks=pytest.mark.deep)
            for arguments in ("show r-1/1/1", "run animals --instances 1")
        ),
    ],
)
def test_a_reader_who_goes_away_is_no_error(folder: Path, arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*PXP, *arguments.split()],
            cwd=folder,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.deep
def test_a_full_device_is_said_in_words(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PXP, "show"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (3, "Error: no space left on device\n")


@pytest.mark.deep
def test_without_a_terminal_progress_is_a_line_a_repetition(tmp_path: Path) -> None:
    done = pxp("run", "animals", "--instances", "1", "--repetitions", "2", cwd=tmp_path)
    lines = [f"repetition {number} of 2 is over" for number in (1, 2)]
    assert done.stderr.splitlines() == lines
    assert "1 instance, 2 repetitions" in done.stdout


def test_resuming_nothing_makes_nothing(tmp_path: Path) -> None:
    done = pxp("run", "animals", "animals-1", "--output", "out", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])


def unprivileged() -> None:
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_a_folder_that_cannot_be_written_is_said_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o555)
    place = ("--output", "out", "--database", "b.sqlite")
    done = started("run", "animals", *place, cwd=tmp_path, preexec_fn=unprivileged)
    told = "Error: cannot write out: permission denied; give another folder with --output\n"
    assert (done.returncode, done.stderr, done.stdout) == (3, told, "")
    assert not (tmp_path / "b.sqlite").exists()
    done = started("draw", "pxp", "-o", "out/a.svg", cwd=tmp_path, preexec_fn=unprivileged)
    assert (done.returncode, "out/a.svg: cannot be written" in done.stderr) == (3, True)


@pytest.mark.deep
def test_a_drawing_is_named_after_its_agent_and_may_be_called_gv(tmp_path: Path) -> None:
    place = ("--database", "b.sqlite")
    done = pxp("run", "animals", "--instances", "1", *place, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for options, name in ((("--agent", "m"), "animals-1-1-1-m.svg"), ((), "animals-1-1-1.svg")):
        assert (
            pxp("draw", "animals-1/1/1", *options, *place, cwd=tmp_path).stdout
            == f"Drawn: {name}\n"
        )
    done = pxp("draw", "pxp", "--format", "dot", "-o", "a.gv", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "a.gv").read_text()[:7]) == (0, "digraph")


@pytest.mark.deep
def test_the_hint_after_ctrl_c_can_be_pasted_as_it_is(tmp_path: Path) -> None:
    place = ("--output", "my runs", "--database", "my data.sqlite")
    command = [*PXP, "run", "animals", "--repetitions", ENDLESS, *place]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_sigint,  # noqa: PLW1509 - no threads here
    )
    until(lambda: process.poll() is not None or any_message(tmp_path / "my data.sqlite"))
    _, error = interrupted(process)
    assert process.returncode == 130, error
    hint = re.search(r"^  (pxp run .*)$", error, re.MULTILINE)
    assert hint is not None
    assert shlex.split(hint[1]) == ["pxp", "run", "animals", "animals-1", *place]


def any_message(database: Path) -> bool:
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return bool(connection.execute("SELECT 1 FROM events").fetchone())
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return False


INTERRUPTED_AT = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["pxp", "check", "interact"]
runpy.run_module("pxp_fsm.cli", run_name="__main__")
"""
LOADED = ("typing", "pxp_fsm.cli.main", "click", "pxp_fsm.cli.presentation.text",
          "pxp_fsm.shadowing", "pxp_fsm.cli.kinds", "proofs.check",
          "proofs.core.results")  # fmt: skip


@pytest.mark.parametrize("module", LOADED[:3])
def test_ctrl_c_while_the_command_loads_ends_with_a_sentence(module: str, tmp_path: Path) -> None:
    script = INTERRUPTED_AT.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PLACES},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")


@pytest.mark.deep
@pytest.mark.parametrize("module", LOADED[3:])
def test_ctrl_c_while_a_command_imports_ends_with_a_sentence(module: str, tmp_path: Path) -> None:
    test_ctrl_c_while_the_command_loads_ends_with_a_sentence(module, tmp_path)


AFTER_ALL = {
    "threads are waited for": """
def strike():
    while threading.main_thread().is_alive():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(600)
threading.Thread(target=strike).start()
""",
    "what was registered for the exit is called": """
atexit.register(os.kill, os.getpid(), signal.SIGINT)
""",
}


@pytest.mark.parametrize("script", AFTER_ALL.values(), ids=AFTER_ALL)
def test_ctrl_c_after_the_work_is_done_changes_nothing(script: str, tmp_path: Path) -> None:
    text = f"""
import atexit, os, runpy, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
{script}
sys.argv = ["pxp", "--version"]
runpy.run_module("pxp_fsm.cli", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PLACES}, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pxp, version")


FIRST_LINES = """
import sys
before = {*sys.modules}
import pxp_fsm.cli.__main__
print(*sorted({*sys.modules} - before))
"""


def test_ctrl_c_is_handled_before_anything_large_is_loaded(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_LINES], capture_output=True, text=True, check=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": PLACES},
    )  # fmt: skip
    ours = {"pxp_fsm", "pxp_fsm.lazy", "pxp_fsm.cli"}
    ours |= {"pxp_fsm.cli.interrupts", "pxp_fsm.cli.__main__"}
    small = {"__future__", "_warnings", "atexit", "warnings", "importlib"}
    loaded = {name for name in done.stdout.split() if not name.startswith("importlib._bootstrap")}
    assert ours <= loaded <= ours | small


STARTED = """
import os, sys
from pxp_fsm.cli.__main__ import main

class Begins:
    def find_spec(self, name, path=None, target=None):
        if name == "pxp_fsm.cli.main":
            os.write(1, b"begins\\n")

sys.meta_path.insert(0, Begins())
main(sys.argv[1:], "pxp")
"""
COMMANDS = {
    "check": ("check", "pxp"),
    "run": ("run", "animals", "--repetitions", ENDLESS, "--output", "runs"),
    "list": ("list",),
    "serve": ("serve", "pxp", "--no-browser", "--port", "0"),
}


@pytest.mark.deep
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_in_the_first_half_second_ends_with_a_sentence(name: str, tmp_path: Path) -> None:
    stopped = 0
    for moment in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", STARTED, *COMMANDS[name]],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": PLACES}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=take_sigint,  # noqa: PLW1509 - no threads here
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(moment / 24)
        _, error = interrupted(process)
        assert "Traceback" not in error, (moment, error)
        if name in ("check", "list") and process.returncode == 0:
            assert error == ""  # it was done before
            continue
        assert process.returncode == 130, (moment, error)
        assert error.startswith("Stopped.") or "\nStopped." in error, (moment, error)
        stopped += 1
    assert stopped
