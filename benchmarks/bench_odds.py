"""The odds of INTERACT beside Storm's: the same chain, the same questions, in one run.

Two given agents, k = 3. Exact rationals at n = 1,000, where Storm has the number of messages as a
variable of the model; exact rationals at n = 10,000, where Storm is left out (its model has ten
times the states, and numbers ten times as long for each); floats at n = 10,000, where Storm is
given the model without that variable and asked what holds after the last step. Ours answers all
twelve outcomes and the expected length at once; Storm is asked for all twelve, and for one alone.

Every measurement is a process of its own, with one thread, in turn with its peer; medians of CPU
seconds and the peak of memory are printed. "Before" is what comes before the computation: for Storm
reading and building the model, for ours making the chain; a part of it is loading ours, where Storm
is a library that is loaded already. So each then answers for another pair of players: "once loaded"
is that in all, with what comes before. Values are compared, rationals by their
remainders modulo a prime. The peer is stormpy (extra `storm`, GPL); without it ours stands alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

PROBE = Path(__file__).with_name("odds_probe.py")
ALL = 12
ROWS = (
    ("exact", 1_000, (("ours", ALL), ("storm", ALL), ("storm", 1))),
    ("exact", 10_000, (("ours", ALL),)),
    ("floats", 10_000, (("ours", ALL), ("storm", ALL), ("storm", 1))),
)
AIMS = {
    ("exact", 1_000): "20 times Storm's speed",
    ("exact", 10_000): "below 8 s and 100 MB",
    ("floats", 10_000): "3 times Storm's speed",
}


@dataclass(frozen=True)
class Measured:
    """CPU seconds before and of a computation, and once loaded; MB at the peak, what came out."""

    before: float
    spent: float
    loaded: float
    memory: float
    values: tuple[Any, ...]


def measured(who: str, kind: str, n: int, outcomes: int) -> Measured:
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(PROBE), who, kind, str(n), str(outcomes)]
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(command, stdout=output, env={**os.environ, **one_thread})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        output.seek(0)
        lines = [line for line in output.read().splitlines() if line.startswith("{")]
    first, second = map(json.loads, lines)
    loaded, memory = second["before"] + second["spent"], used.ru_maxrss / 1024
    values = tuple(zip(first["values"], second["values"], strict=True))
    return Measured(first["before"], first["spent"], loaded, memory, values)


def alike(ours: tuple[Any, ...], theirs: tuple[Any, ...], kind: str) -> bool:
    if kind == "exact":
        return ours[: len(theirs)] == theirs
    pairs = zip(chain.from_iterable(ours), chain.from_iterable(theirs), strict=False)
    return all(abs(value - other) < 1e-12 for value, other in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="of each, in turn (default 5)")
    runs = parser.parse_args().runs
    peer = importlib.util.find_spec("stormpy") is not None
    print(f"INTERACT by chance, k = 3; medians of {runs}, {time.strftime('%Y-%m-%d')}\n")
    print("| | n | who | outcomes | before, CPU s | CPU s | once loaded, CPU s | peak, MB |")
    print("|---|--:|---|--:|--:|--:|--:|--:|")
    closing = []
    for kind, n, sides in ROWS:
        shown = [side for side in sides if peer or side[0] == "ours"]
        by_side: dict[tuple[str, int], list[Measured]] = {side: [] for side in shown}
        for _ in range(runs):
            for side in shown:
                by_side[side].append(measured(side[0], kind, n, side[1]))
        for (who, outcomes), each in by_side.items():
            before, spent, loaded, memory = (
                statistics.median(getattr(measurement, name) for measurement in each)
                for name in ("before", "spent", "loaded", "memory")
            )
            name = "pxp-fsm" if who == "ours" else "Storm"
            print(
                f"| {kind} | {n:,} | {name} | {outcomes} | {before:.3f} | {spent:.4f} "
                f"| {loaded:.4f} | {memory:.0f} |",
                flush=True,
            )
        mine = by_side[sides[0]]
        for side in shown[1:]:
            theirs = by_side[side]
            same = all(
                alike(mine[0].values, measurement.values, kind) for measurement in (*mine, *theirs)
            )
            ratios = [
                (its.before + its.spent) / (our.before + our.spent)
                for our, its in zip(mine, theirs, strict=True)
            ]
            alone = [its.spent / our.spent for our, its in zip(mine, theirs, strict=True)]
            warm = [its.loaded / our.loaded for our, its in zip(mine, theirs, strict=True)]
            closing.append(
                f"{kind}, n = {n:,}, beside Storm asked for {side[1]}: "
                f"{statistics.median(ratios):.1f} times its speed in all, "
                f"{statistics.median(warm):.1f} times once both are loaded, "
                f"{statistics.median(alone):.1f} times without what comes before; "
                f"{'the same values' if same else 'NOT THE SAME VALUES'}."
            )
        closing.append(f"{kind}, n = {n:,}: the aim is {AIMS[kind, n]}.")
    if not peer:
        closing.append("Storm is left out: stormpy is not installed.")
    print("", *closing, sep="\n")


if __name__ == "__main__":
    main()
