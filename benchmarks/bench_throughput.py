"""Whole runs against a model that takes 50 ms: sessions and messages a minute, by calls in flight.

    python benchmarks/bench_throughput.py [IN_FLIGHT ...] (16 64 200 unless told)

DRUG sessions whose machine is behind HTTP, at `model_server.py`, a process of its own; everything
is stored in an SQLite file as in any run. The ideal is a program that costs nothing: as many calls
in flight as are allowed, at each moment. `CPU` is what this process computed for a call (prompt,
client library, limits, reservation, judgements, storing): no run in one process makes more calls a
second than one over that, however many are in flight.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench_models import OWN, server

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan

SECONDS, INSTANCES = 0.05, 20
REPLY = json.dumps({"prediction": ["CCO", "CC(=O)Cl"], "explanation": "An acylation of ethanol."})


@dataclass(frozen=True)
class Throughput:
    """What a run came to: counts, seconds on the clock and computed."""

    sessions: int
    messages: int
    calls: int
    clock: float
    computed: float


def measured(url: str, in_flight: int, folder: Path) -> Throughput:
    repetitions = max(1, 6 * in_flight // INSTANCES)
    machine = f"anthropic:counted@{url}"
    plan = Plan("drug", machine=machine, repetitions=repetitions)
    settings = Settings(in_flight=in_flight, catalogue=OWN)
    with SqlBlackboard(str(folder / f"{in_flight}.sqlite")) as board:
        run = runs.start(plan, board, settings=settings)
        started, worked = time.perf_counter(), time.process_time()
        run.execute(folder=folder)
        clock, computed = time.perf_counter() - started, time.process_time() - worked
        lines = board.listing(run.name)
        messages = sum(line.messages for line in lines)
        return Throughput(len(lines), messages, board.spending(run.name).calls, clock, computed)


def main() -> None:
    wanted = [int(word) for word in sys.argv[1:]] or [16, 64, 200]
    print(
        "| in flight | sessions | calls | seconds | sessions a minute | messages a minute "
        "| of the ideal | CPU ms a call |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name, server(SECONDS, REPLY) as url:
        measured(url, 1, Path(name))  # what is made at first use is made
        for in_flight in wanted:
            found = measured(url, in_flight, Path(name))
            minutes, ideal = found.clock / 60, found.calls * SECONDS / in_flight
            print(
                f"| {in_flight} | {found.sessions:,} | {found.calls:,} | {found.clock:.1f} "
                f"| {found.sessions / minutes:,.0f} | {found.messages / minutes:,.0f} "
                f"| {ideal / found.clock:.0%} | {1000 * found.computed / found.calls:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
