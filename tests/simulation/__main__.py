"""`python -m tests.simulation SEEDS [DIALECT]`: simulate labs, print how often what struck them.

SEEDS is a number N (the seeds 0 to N - 1) or FIRST:LAST; DIALECT is sqlite or postgresql. A seed
that fails is printed with how to replay it; the exit code is 1 then. Without DIALECT both are
simulated, and docs/reliability.md is written.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.backends.postgresql_servers import fresh_schema, running
from tests.simulation.lab import Lab

PAGE = Path("docs/reliability.md")
DIALECTS = ("sqlite", "postgresql")
TEXT = """\
# Reliability

What is stored survives whatever stops a run. Three kinds of tests show it:

- **Simulated labs** (`python -m tests.simulation SEEDS`). A lab is an experiment of a few sessions
  with models behind HTTP, some with a judge, a cap, or a person at the terminal. A seed draws the
  experiment, the order of tasks, the clock and the faults: the process is killed at any await,
  statement, commit or billed request; the disk or the connection fails at any statement; servers
  reply with errors, cut or invalid JSON, or bill nothing; a person leaves in mid-sentence, or never
  answers. Each lab is resumed until it is done. Then its messages, judgements and endings are those
  of the same lab undisturbed, but for a session that ended as late, which holds the first of them;
  no more was billed than is stored, and that is within the caps; the hash chain verifies; export
  and import give the same database. A failing seed is replayed by its number.
- **Real kills** (`make test-deep`): SIGKILL at random instants and at exact system calls, on SQLite
  and PostgreSQL; a PostgreSQL restarted under a run; full disks; workers whose parent is killed.
- **Hostile data** (`make test-deep`): messages, replies, imports and files made to break something.

## Simulated labs

`make simulation` writes this page. Its last run: {labs} labs on each database, each with a
different experiment. Nothing was lost, no cap was passed, and every chain verified.

{table}

A statement that fails is tried again where the connection was cut, for as long as the
blackboard is patient; a failed disk stops the run, which is resumed at its next message.
"""


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


def main(wanted: str, *dialects: str) -> int:
    """Simulate, print, and say with the exit code whether anything was lost."""
    first, _, last = wanted.rpartition(":")
    seeds = range(int(first or 0), int(last))
    struck, failed = dict[str, Counter[str]](), 0
    for dialect in dialects or DIALECTS:
        struck[dialect], broken = simulate(seeds, dialect)
        print(f"{len(seeds)} labs on {dialect}; struck {struck[dialect].total()} times:")
        for what, times in sorted(struck[dialect].items()):
            print(f"  {what:34}{times:7}")
        for seed in broken:
            print(f"FAILED: replay it with python -m tests.simulation {seed}:{seed + 1} {dialect}")
        failed += len(broken)
    if not dialects and not failed:
        PAGE.write_text(page(len(seeds), struck), "utf-8")
    return bool(failed)


def page(labs: int, struck: Mapping[str, Counter[str]]) -> str:
    """docs/reliability.md."""
    kinds = sorted({kind for counts in struck.values() for kind in counts})
    lines = [f"| what struck | {' | '.join(struck)} |", f"|---|{'--:|' * len(struck)}"]
    for kind in kinds:
        times = " | ".join(f"{counts[kind]:,}" for counts in struck.values())
        lines.append(f"| {kind} | {times} |")
    table = "\n".join(lines)
    return TEXT.format(labs=labs, table=table)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
