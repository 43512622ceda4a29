"""The `pxp` command in the process of the tests, which saves a start of Python for each; or apart,
where it is interrupted.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import traceback
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from unittest.mock import patch

from pxp_fsm.cli.main import main

INSTALLED = Path(__file__).parent / "tasks" / "installed"
"""Where the tests' own task is installed, as a user's would be: an entry point and no more."""

PLACES = os.pathsep.join((str(Path(__file__).parents[1]), str(INSTALLED)))
"""Where a process that a test starts finds this repository and the tests' own task."""


def pxp(*arguments: str, cwd: Path, **environment: str) -> CompletedProcess[str]:
    """Run `pxp ARGUMENTS` in the folder `cwd` with an empty input and no terminal.

    `environment` is added to the variables. A test of signals, limits, closed streams or of what a
    new process loads starts a process instead.
    """
    with ExitStack() as stack:
        out, err, empty = (
            stack.enter_context(TemporaryFile("w+", encoding="utf-8", newline="")) for _ in range(3)
        )
        stack.enter_context(chdir(cwd))
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": "80"} | environment))
        stack.enter_context(patch.object(sys, "stdin", empty))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        try:
            main(arguments, "pxp")
        except SystemExit as ended:
            code = ended.code
        except Exception:  # noqa: BLE001 - Python would print it and exit with 1
            traceback.print_exc()
            code = 1
        assert isinstance(code, int)
        out.seek(0)
        err.seek(0)
        return CompletedProcess(["pxp", *arguments], code, out.read(), err.read())


APART = """
import contextlib, io, json, sys
from pxp_fsm.cli.main import main
ran = []
for arguments in json.load(sys.stdin):
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments, "pxp")
        except SystemExit as ended:
            code = ended.code
    ran.append([code, out.getvalue(), err.getvalue()])
json.dump(ran, sys.stdout)
"""


def pxp_apart(*commands: str, cwd: Path, path: str) -> list[tuple[int, str, str]]:
    """The exit code, output and errors of each of several `pxp` commands.

    One process of its own runs them, in the folder `cwd` with the packages of `path` alone.
    """
    done = subprocess.run(
        [sys.executable, "-c", APART],
        input=json.dumps([shlex.split(command) for command in commands]),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


ENDLESS = "20000"
"""More repetitions than any machine has done when a test interrupts it."""


def take_sigint() -> None:
    """Let a process that is started take Ctrl-C, as one in a terminal does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process has said on its output, if that is a pipe, and errors when Ctrl-C is pressed.

    Pressed again after a while: a library takes a signal for itself that comes while it is loaded,
    as RDKit does while it matches a substructure, and may keep it.
    """
    try:
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            try:
                said, error = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                continue
            return said or "", error
        raise AssertionError("the process does not stop")
    finally:
        process.kill()


def processor_seconds(process: int) -> float:
    """What a process has used of the processor so far (Linux), however busy the machine is."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2]
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
