"""Exploration without symmetry, beside SPIN: the same model, the same states, in one run.

INTERACT with n = 10 and k = 4 over explicit values of y and e, breadth first, every state kept.
SPIN explores the Promela that `proofs.sessions.promela` writes, compiled with the options it is
fastest with. Search is set against search, in CPU seconds of one thread; what comes before it is
given apart. Every run is a process of its own, on one processor, in turn with its peer; medians are
printed. Then the same question with symmetry, which does not depend on the number of values.

Ours is not a general checker that is faster: it tabulates the control graph first and keeps a byte
for every possible state (control × data), where SPIN hashes and stores state vectors of any model.
Both follow every transition.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

N, K = 10, 4
VALUES = (8, 12)
SLOTS = {8: 20, 12: 22}  # SPIN's -w: 2^w slots in its hash table, what it is fastest with
PROBES = Path(__file__).with_name("exploration_probe.py")


@dataclass(frozen=True)
class Run:
    """CPU seconds of the search and of what comes before it, MB at the peak, states found."""

    search: float
    before: float
    memory: float
    states: int


def finished(command: list[str], folder: Path, **settings: str) -> tuple[str, float, float]:
    """What a command printed, its CPU seconds, and its peak of memory in MB."""
    with (folder / "output").open("w+") as output:
        child = subprocess.Popen(command, cwd=folder, stdout=output, env={**os.environ, **settings})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        output.seek(0)
        return output.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def ours(values: int, folder: Path, cache: Path) -> Run:
    command = [sys.executable, str(PROBES), "values", str(N), str(K), str(values)]
    told, _, memory = finished(command, folder, XDG_CACHE_HOME=str(cache))
    found = json.loads(told)
    return Run(found["search"], found["before"], memory, found["states"])


def build_spin(values: int, folder: Path) -> float:
    """Writes and compiles SPIN's verifier; the CPU seconds that took."""
    from proofs.sessions.packed import PackedSessions
    from proofs.sessions.promela import OPTIONS, promela
    from pxp_fsm.protocol.rules import Interact

    folder.mkdir()
    (folder / "model.pml").write_text(promela(PackedSessions(Interact(N, K), values)))
    commands = (["spin", "-a", "model.pml"], ["gcc", "-w", *OPTIONS, "-o", "pan", "pan.c"])
    return sum(finished(command, folder)[1] for command in commands)


def spin(values: int, folder: Path, built: float) -> Run:
    told, seconds, memory = finished(["./pan", f"-w{SLOTS[values]}"], folder)
    states = re.search(r"(\d+) states, stored", told)
    if states is None:
        raise SystemExit(f"SPIN's verifier said something else:\n{told}")
    return Run(seconds, built, memory, int(states[1]))


def median(runs: list[Run]) -> Run:
    search, before, memory = (
        statistics.median(getattr(r, f) for r in runs) for f in ("search", "before", "memory")
    )
    states = {run.states for run in runs}
    if len(states) != 1:
        raise SystemExit(f"runs found different numbers of states: {sorted(states)}")
    return Run(search, before, memory, states.pop())


def row(values: int, who: str, run: Run, cold: str = "") -> str:
    return (
        f"| {values} | {who} | {run.states:,} | {run.search:.3f} | {run.before:.2f}{cold} "
        f"| {run.memory:.0f} |"
    )


def without_symmetry(runs: int, folder: Path, peer: bool) -> list[str]:
    closing = []
    for values in VALUES:
        cache = folder / f"cache-{values}"
        cold = ours(values, folder, cache)
        verifier = folder / f"spin-{values}"
        built = build_spin(values, verifier) if peer else 0.0
        mine, theirs = [], []
        for _ in range(runs):
            mine.append(ours(values, folder, cache))
            if peer:
                theirs.append(spin(values, verifier, built))
        us = median(mine)
        print(row(values, "pxp-fsm", us, f" (first time {cold.before:.2f})"), flush=True)
        if peer:
            it = median(theirs)
            print(row(values, f"SPIN -w{SLOTS[values]}", it), flush=True)
            ratios = [its.search / our.search for our, its in zip(mine, theirs, strict=True)]
            closing.append(
                f"{values} values: {statistics.median(ratios):.0f} times SPIN's speed "
                f"({min(ratios):.0f} to {max(ratios):.0f}), "
                f"{us.memory - it.memory:+.0f} MB beside it, "
                f"{'the same' if us.states == it.states else 'NOT THE SAME'} states."
            )
    return closing


def with_symmetry(runs: int, folder: Path) -> str:
    command = [sys.executable, str(PROBES), "symmetry", str(N), str(K)]
    found = [json.loads(finished(command, folder)[0]) for _ in range(runs)]
    seconds = [one["search"] for one in found]
    return (
        f"With symmetry, for any number of values: {found[0]['states']} states, "
        f"{1000 * statistics.median(seconds):.0f} ms "
        f"({1000 * min(seconds):.0f} to {1000 * max(seconds):.0f})."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="of each, in turn (default 5)")
    runs = parser.parse_args().runs
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    peer = all(map(shutil.which, ("spin", "gcc")))
    print(f"INTERACT, n = {N}, k = {K}; medians of {runs}, {time.strftime('%Y-%m-%d')}\n")
    print("| values of y and e | | states | search, CPU s | before it, CPU s | peak, MB |")
    print("|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        closing = without_symmetry(runs, Path(name), peer)
        closing.append(with_symmetry(runs, Path(name)))
    if not peer:
        closing.append("SPIN is left out: `spin` and `gcc` are not both on the path.")
    print("", *closing, sep="\n")


if __name__ == "__main__":
    main()
