"""Kills a run of scripted sessions at random instants, and says what is left of it.

    python -m tests.backends.killed_runs URL KILLS SEED SESSIONS PLAN

Each attempt is a forked process that opens the database, resumes the run, and is killed (SIGKILL)
at a random instant; when a run gets to its end, the next one begins. PLAN is a JSON object of
fields of the runs' plan. Prints JSON: how many were killed, how many runs came to their end, and
what differs from an undisturbed run. What is killed stands between two processes that must not
share connections: hence a program of its own.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import MappingProxyType

from backends.databases import SqlBlackboard
from backends.databases.verify import verify
from pxp_fsm.experiments.plans import Plan
from tests.backends.scripted_task import open_run, task, transcript

PLAN = Plan("scripted", n=10, k=3, seed=3)


def attempt(url: str, plan: Plan, name: str, sessions: int) -> None:
    """Carry the run as far as it gets."""
    with SqlBlackboard(url) as board:
        open_run(board, task(), plan, sessions, name).execute()


def killed(url: str, plan: Plan, name: str, sessions: int, after: float) -> float | None:
    """None where an attempt was killed after so many seconds; its own time if it ended first."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            attempt(url, plan, name, sessions)
            code = 0
        finally:
            os._exit(code)
    started, ended, status = time.perf_counter(), 0, 0
    while not ended and time.perf_counter() - started < after:
        time.sleep(0.001)
        ended, status = os.waitpid(child, os.WNOHANG)
    took = time.perf_counter() - started
    if not ended:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    if os.WEXITSTATUS(status):
        raise RuntimeError("an attempt failed by itself")
    return took


def kill(
    url: str,
    kills: int,
    seed: int,
    sessions: int,
    plan: Mapping[str, object] = MappingProxyType({}),
) -> int:
    """Kill runs in a process of their own, and resume them: how many came to their end.

    `plan` has other fields of their plan. `AssertionError` where one is not as if it had not been
    killed.
    """
    command = [sys.executable, "-m", "tests.backends.killed_runs", url]
    command += [*map(str, (kills, seed, sessions)), json.dumps(dict(plan))]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["killed"], found["differ"], found["problems"]) == (kills, [], [])
    return int(found["runs"])


def main() -> None:
    url, kills, seed, sessions = sys.argv[1], *map(int, sys.argv[2:5])
    chosen, plan = random.Random(seed), replace(PLAN, **json.loads(sys.argv[5]))
    with SqlBlackboard(":memory:") as board:
        open_run(board, task(), plan, sessions).execute()
        expected = transcript(board)
    started = time.perf_counter()
    attempt(url, plan, "whole", sessions)
    whole = time.perf_counter() - started
    done, differing, runs = 0, [], 0
    for number in count(1):
        name, before = f"s-{number}", done
        while (took := killed(url, plan, name, sessions, chosen.uniform(0, 1.2 * whole))) is None:
            done += 1
            if done >= kills:
                break
        if took is not None and done == before:  # the machine may have been busier before
            whole = min(whole, took)
        attempt(url, plan, name, sessions)
        runs += 1
        with SqlBlackboard(url) as board:
            found = transcript(board, name)
        if json.dumps(found, default=str).replace(f'"{name}/', '"s-1/').replace(
            f"session='{name}/", "session='s-1/"
        ) != json.dumps(expected, default=str):
            differing.append(name)
        if done >= kills:
            break
    problems = [f"{problem.where}: {problem.what}" for problem in verify(url).problems]
    print(json.dumps({"killed": done, "runs": runs, "differ": differing, "problems": problems}))


if __name__ == "__main__":
    main()
