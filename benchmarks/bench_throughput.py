"""Whole runs against models that take 50 ms and 1 s: messages a minute, by calls in flight.

    python benchmarks/bench_throughput.py [--seconds S] [--processes N] [IN_FLIGHT ...]

DRUG sessions whose machine is behind HTTP, at `model_server.py`, a process of its own; everything
is stored in one SQLite file, as in any run. With `--processes N` the run is spread over N processes
that share it, as `pxp run --executor processes://N` does; they are started twice, the second time
for a run that is over, and what that takes is not counted.

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
import gc
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench_models import OWN, server

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.main import SEARCHES
from pxp_fsm.experiments import openings, runs
from pxp_fsm.experiments.executors import Done, spread
from pxp_fsm.experiments.plans import Plan

INSTANCES = 20
LEAST = 5.0
"""Seconds that a run takes at least, so that its beginning and its end weigh little."""
COMPUTED = 250
"""Calls a second that a process hardly gets beyond."""
REPLY = json.dumps({"prediction": ["CCO", "CC(=O)Cl"], "explanation": "An acylation of ethanol."})


@dataclass(frozen=True)
class Throughput:
    """What a run came to: counts, seconds on the clock and computed."""

    sessions: int
    messages: int
    calls: int
    clock: float
    computed: float


def additions() -> tuple[float, float]:
    """Seconds of CPU for a million additions: as it is now, and by the best tenth of them."""
    tenths = []
    for _ in range(10):
        started, total = time.process_time(), 0
        for number in range(100_000):
            total += number
        tenths.append(time.process_time() - started)
    return sum(tenths), 10 * min(tenths)


def begun(
    board: SqlBlackboard, machine: str, in_flight: int, calls: float = 0
) -> runs.Run[openings.TaskOpening]:
    """A run of so many calls or more, at two a session or more."""
    sessions = max(4 * in_flight, calls / 2)
    plan = Plan("drug", machine=machine, repetitions=max(1, round(sessions / INSTANCES)))
    return runs.start(plan, board, settings=Settings(in_flight=in_flight, catalogue=OWN))


def come_to(board: SqlBlackboard, run: str, clock: float, computed: float) -> Throughput:
    lines, calls = board.listing(run), board.spending(run).calls
    return Throughput(len(lines), sum(line.messages for line in lines), calls, clock, computed)


def alone(url: str, in_flight: int, calls: float) -> Throughput:
    """A run in this process, on SQLite."""
    with tempfile.TemporaryDirectory() as name, SqlBlackboard(f"{name}/runs.sqlite") as board:
        machine, folder = f"anthropic:counted@{url}", Path(name)
        first = begun(board, machine, 1)  # what is made at first use is made
        first.execute(folder=folder)
        run = begun(board, machine, in_flight, calls)
        began, worked = time.perf_counter(), time.process_time()
        run.execute(folder=folder)
        took = time.perf_counter() - began, time.process_time() - worked
        return come_to(board, run.name, *took)


def together(url: str, in_flight: int, calls: float, processes: int) -> Throughput:
    """A run spread over processes."""
    with tempfile.TemporaryDirectory() as name:
        database = f"{name}/runs.sqlite"
        with SqlBlackboard(database) as board:
            run = begun(board, f"anthropic:counted@{url}", in_flight, calls)
            clock, computed = dealt_out(run, database, board, processes)
            idle, started = dealt_out(run, database, board, processes)
            return come_to(board, run.name, clock - idle, computed - started)


def dealt_out(
    run: runs.Run[openings.TaskOpening], database: str, board: SqlBlackboard, processes: int
) -> tuple[float, float]:
    """Seconds of the slowest process on the clock, and computed by all of them."""
    done, before = list[Done](), os.times()
    spread(run, database, board, f"processes://{processes}", done.append)
    after = os.times()
    computed = sum(after[2:4]) - sum(before[2:4])
    return max(part.seconds for part in done), computed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("in_flight", type=int, nargs="*", default=[16, 64, 200])
    given = parser.parse_args()
    gc.set_threshold(*SEARCHES)  # as the command does
    print(
        "| processes | seconds a call | in flight | sessions | calls | sessions a minute "
        "| messages a minute | calls a second | measured | allowed | CPU ms a call "
        "| ms of the loop |"
    )
    print("|--:" * 12 + "|")
    best = float("inf")
    for in_flight in given.in_flight:
        before, least = additions()
        ideal = in_flight / given.seconds
        calls = LEAST * min(ideal, COMPUTED * given.processes)
        with server(given.seconds, REPLY) as url:
            run = (
                alone(url, in_flight, calls)
                if given.processes == 1
                else together(url, in_flight, calls, given.processes)
            )
        after, other = additions()
        best, computed = min(best, least, other), run.computed / run.calls
        allowed = min(1.0, given.processes / computed / ideal)
        print(
            f"| {given.processes} | {given.seconds:g} | {in_flight} | {run.sessions:,} "
            f"| {run.calls:,} | {60 * run.sessions / run.clock:,.0f} "
            f"| {60 * run.messages / run.clock:,.0f} "
            f"| {run.calls / run.clock:.0f} | {run.calls / ideal / run.clock:.0%} "
            f"| {allowed:.0%} | {1000 * computed:.1f} | {500 * (before + after):.0f} |",
            flush=True,
        )
    print(f"The best of a million additions was {1000 * best:.0f} ms.")


if __name__ == "__main__":
    main()
