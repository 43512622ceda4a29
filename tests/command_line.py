"""The `pxp` command in the process of the tests, which saves a start of Python for each."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from unittest.mock import patch

from pxp_fsm.cli import main


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
