"""Other systems than Linux: what they lack is not needed to import the product."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WINDOWS = """
import asyncio, importlib, multiprocessing.spawn, os, pkgutil, signal, subprocess, sys, types
from importlib.util import find_spec
for name in ("mcp.server.stdio", "inspect_ai"):  # what looks at sys.platform, or for POSIX, itself
    if find_spec(name.partition(".")[0]):
        importlib.import_module(name)
for name in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getpgid", "getuid", "killpg", "sched_getaffinity", "sysconf"):
    delattr(os, name)
for name in ("SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1"):
    delattr(signal, name)
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
here, sys.platform = sys.platform, "win32"
import pxp_fsm.artifacts  # imports msvcrt in place of fcntl
sys.platform = here
import backends, guards, proofs, pxp_fsm
OURS = ("backends.databases.migrations", "__main__")  # run by Alembic, and as programs
count = 0
for package in (backends, guards, proofs, pxp_fsm):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name.endswith(OURS[1]) or module.name.startswith(OURS[0]):
            continue
        if module.name.endswith("inspect_tasks") and not find_spec("inspect_ai"):
            count += 1  # it is for Inspect alone to import
            continue
        importlib.import_module(module.name)
        count += 1
print(count)
"""


@pytest.mark.deep
def test_every_module_is_imported_where_posix_is_missing() -> None:
    """As on Windows: without the modules, functions and signals that only POSIX has."""
    done = subprocess.run(
        [sys.executable, "-c", WINDOWS], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    files = [
        path
        for package in ("pxp_fsm", "guards", "backends", "proofs")
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts and path.name != "__main__.py"
    ]
    assert int(done.stdout) == len(files) - 4  # the four packages themselves
