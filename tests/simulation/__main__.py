"""`python -m tests.simulation SEEDS`: simulate labs, and print how often what struck them.

SEEDS is a number N (the seeds 0 to N - 1) or FIRST:LAST. A seed that fails is printed with how to
replay it; the exit code is 1 then.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from tests.backends.postgresql_servers import fresh_schema, running
from tests.simulation.lab import Lab


def simulate(seeds: range, dialect: str) -> tuple[Counter[str], list[int]]:
    """How often what struck the labs of `seeds`, and the seeds that failed."""
    struck, failed = Counter[str](), list[int]()
    if dialect == "sqlite":
        for seed in seeds:
            _one(seed, "", struck, failed)
    else:
        with running() as server:
            for seed in seeds:
                _one(seed, fresh_schema(server), struck, failed)
    return struck, failed


def _one(seed: int, database: str, struck: Counter[str], failed: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(seed, Path(folder))
        try:
            struck.update(lab.disturbed(database or f"sqlite:///{folder}/lab.sqlite"))
        except Exception:  # noqa: BLE001 - whatever a lab fails by, the others go on
            traceback.print_exc()
            failed.append(seed)


def main(wanted: str, dialect: str = "sqlite") -> int:
    """Simulate, print, and say with the exit code whether anything was lost."""
    first, _, last = wanted.rpartition(":")
    seeds = range(int(first or 0), int(last))
    struck, failed = simulate(seeds, dialect)
    print(f"{len(seeds)} labs on {dialect}; struck {struck.total()} times:")
    for what, times in sorted(struck.items()):
        print(f"  {what:34}{times:7}")
    for seed in failed:
        print(f"FAILED: replay it with python -m tests.simulation {seed}:{seed + 1} {dialect}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
