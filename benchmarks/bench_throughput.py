"""Whole runs against models that take 50 ms and 1 s: messages a minute, by calls in flight.

    python benchmarks/bench_throughput.py [--seconds S] [--processes N] [IN_FLIGHT ...]

DRUG sessions whose machine is behind HTTP, at `model_server.py`, a process of its own; everything
is stored in one SQLite file, as in any run. With `--processes N` there are N processes, each with a
run of its own and its part of the calls in flight, on the same file.

The ideal is a program that costs nothing: as many calls in flight as are allowed, at each moment.
`CPU` is what the processes computed for a call (prompt, client library, limits, reservation,
judgements, storing): one process makes no more calls a second than one over that, however many are
in flight. `allowed` is the share of the ideal that this leaves, were each process alone on a core;
`measured` is what came of it here, whoever else used the machine. How busy it was is told by a
loop of a million additions: its CPU time beside the best that was seen (CPU times grow as well
where others use the same core and caches).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from bench_models import OWN, server

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan

INSTANCES = 20
REPLY = json.dumps({"prediction": ["CCO", "CC(=O)Cl"], "explanation": "An acylation of ethanol."})


@dataclass(frozen=True)
class Throughput:
    """What a run came to: counts, when it began and ended, seconds computed, two of the loop."""

    sessions: int
    messages: int
    calls: int
    began: float
    ended: float
    computed: float
    loop: float
    best: float


def additions() -> tuple[float, float]:
    """Seconds of CPU for a million additions: as it is now, and by the best tenth of them."""
    tenths = []
    for _ in range(10):
        started, total = time.process_time(), 0
        for number in range(100_000):
            total += number
        tenths.append(time.process_time() - started)
    return sum(tenths), 10 * min(tenths)


def measured(url: str, in_flight: int, database: str) -> Throughput:
    """A run with enough sessions that its beginning and its end weigh little."""
    with tempfile.TemporaryDirectory() as name, SqlBlackboard(database) as board:
        machine, folder = f"anthropic:counted@{url}", Path(name)
        settings = Settings(in_flight=in_flight, catalogue=OWN)
        runs.run(Plan("drug", machine=machine), board, settings=settings)  # made at first use
        plan = Plan("drug", machine=machine, repetitions=max(1, 4 * in_flight // INSTANCES))
        run = runs.start(plan, board, settings=settings)
        before, best = additions()
        began, worked = time.time(), time.process_time()
        run.execute(folder=folder)
        ended, computed = time.time(), time.process_time() - worked
        lines = board.listing(run.name)
        messages, calls = sum(line.messages for line in lines), board.spending(run.name).calls
        after, other = additions()
        loop, best = (before + after) / 2, min(best, other)
        return Throughput(len(lines), messages, calls, began, ended, computed, loop, best)


@contextmanager
def processes(number: int) -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:
        yield pool


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("in_flight", type=int, nargs="*", default=[16, 64, 200])
    given = parser.parse_args()
    print(
        "| processes | seconds a call | in flight | sessions | calls | sessions a minute "
        "| messages a minute | measured | allowed | CPU ms a call | ms of the loop |"
    )
    print("|--:" * 11 + "|")
    best = float("inf")
    for in_flight in given.in_flight:
        with (
            tempfile.TemporaryDirectory() as name,
            server(given.seconds, REPLY) as url,
            processes(given.processes) as pool,
        ):
            database, each = f"sqlite:///{name}/runs.sqlite", in_flight // given.processes
            SqlBlackboard(database).dispose()
            parts = list(
                pool.map(measured, repeat(url, given.processes), repeat(each), repeat(database))
            )
        sessions = sum(part.sessions for part in parts)
        messages, calls = sum(part.messages for part in parts), sum(part.calls for part in parts)
        clock = max(part.ended for part in parts) - min(part.began for part in parts)
        computed = sum(part.computed for part in parts) / calls
        ideal = in_flight / given.seconds
        allowed = min(1.0, given.processes / computed / ideal)
        loop = sum(part.loop for part in parts) / len(parts)
        best = min(best, *(part.best for part in parts))
        print(
            f"| {given.processes} | {given.seconds:g} | {in_flight} | {sessions:,} | {calls:,} "
            f"| {60 * sessions / clock:,.0f} | {60 * messages / clock:,.0f} "
            f"| {calls / ideal / clock:.0%} | {allowed:.0%} | {1000 * computed:.1f} "
            f"| {1000 * loop:.0f} |",
            flush=True,
        )
    print(f"The best of a million additions was {1000 * best:.0f} ms.")


if __name__ == "__main__":
    main()
