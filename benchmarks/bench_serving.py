"""Experts on one server: the round trip of an answer, and what is left after kills.

`python benchmarks/bench_serving.py [EXPERTS [KILLS [SECONDS]]]`, 200 experts for 60 seconds and no
kill if nothing is said. Each expert has a session and a WebSocket open, thinks 30 seconds on
average, gives an answer, a tag, a last look, and asks for the queue after each. Experts, server and
database share this machine. An answer that was acknowledged must be stored once; after a kill what
was not acknowledged is given again, as a browser does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from pxp_fsm.web.bundles import static
from tests.web.expert_load import THINKS, check, measured
from tests.web.experts import QuickServer


def main(experts: int = 200, kills: int = 0, seconds: int = 60) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = QuickServer(Path(folder), experts, cases=4 if kills else 1)
        begun = time.perf_counter()
        with server:
            print(f"{experts} experts; the server is up after {time.perf_counter() - begun:.0f} s")
            before = server.processor_seconds()
            thinks = 2.0 if kills else THINKS  # with kills there is to be something to lose
            load = asyncio.run(measured(server, experts, kills, seconds, thinks))
            spent = server.processor_seconds() - before
        stored, lost, doubled = check(server.database, load)
    times = sorted(load.seconds)
    if not kills:
        for share in (0.5, 0.95, 0.99):
            took = 1000 * times[int(share * len(times))]
            print(f"round trip of an answer, {share:.0%}: {took:.0f} ms")
        each = 1000 * spent / len(times)
        print(
            f"processor time of the server for each answer, with what its page asks: {each:.0f} ms"
        )
    print(f"load of the machine: {', '.join(f'{average:.1f}' for average in os.getloadavg())}")
    print(f"{len(times)} answers, {stored} messages stored, {kills} kills")
    print(f"acknowledged and lost: {lost}; doubled: {doubled}")
    for name in ("experts.js", "experts.css", "base.css", "molecules.js"):
        print(f"{name}: {len(static(name).encode()) >> 10} kB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
