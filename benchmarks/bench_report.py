"""A report of many sessions: seconds, memory and the size of the page, as sessions grow.

    python benchmarks/bench_report.py [SESSIONS ...]     (200 1000 10000 unless told)

Scripted DRUG sessions, of three to ten messages each with two judgements, five repetitions, go into
an SQLite database; `pxp report` makes the page and all files beside it in a process of its own.
Beside it stands the one query without which there is no report: Table 1 by the SQL view.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from conversations import rows_of

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from backends.databases.transfer import import_rows
from pxp_fsm.automata.tables import builtin
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.plugins.drug.data import bundled
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import Judgement, Outcome, digest
from pxp_fsm.sessions.events import Event

REPETITIONS = 5
SEQUENCES = (
    ("RATIFY RATIFY", "ratified", 4),
    ("REFUTE REVISE RATIFY RATIFY", "ratified", 3),
    ("REFUTE REFUTE REJECT", "rejected", 2),
    ("REFUTE REVISE REFUTE REVISE RATIFY RATIFY", "ratified", 2),
    ("REFUTE REFUTE REFUTE REFUTE REFUTE REFUTE REFUTE REFUTE REFUTE", "bound", 1),
)


def judged(tag: str) -> list[Judgement]:
    """MATCH and AGREE as they must have been for `tag`, and that the answer changed for REVISE."""
    held = Outcome.YES if tag == "RATIFY" else Outcome.NO
    pair = [
        Judgement(name, digest("y"), digest("z"), held, True, 0.1) for name in ("MATCH", "AGREE")
    ]
    return pair if tag in ("RATIFY", "REJECT") else [*pair, replace(pair[0], outcome=Outcome.NO)]


Made = tuple[SessionRecord, str, list[tuple[Message, list[Judgement]]]]
"""A session with its ending and its messages, each with what was judged."""


def sessions(number: int) -> Iterator[Made]:
    """So many sessions about the bundled molecules, each with its ending and its messages."""
    table, data, choose = builtin("interact"), bundled().sessions, random.Random(0)
    each = number // REPETITIONS
    weights = [weight for _, _, weight in SEQUENCES]
    for repetition, position in itertools.product(range(1, REPETITIONS + 1), range(1, each + 1)):
        row = data[position % len(data)]
        name = f"drug-1/{repetition}/{position}"
        place = (name, "drug-1", repetition, position, row.instance, "interact", 10, 3)
        agents = (("m", "machine"), ("h", "database"))
        record = SessionRecord(*place, table.name, table.fingerprint, True, (), agents)
        tags, ending, _ = choose.choices(SEQUENCES, weights)[0]
        exchanged = []
        for at, tag in enumerate(("INIT", *tags.split()), start=1):
            sender, receiver = ("m", "h") if at % 2 else ("h", "m")
            because = f"{sender} on {name} at {at}: " + "because it is so, " * 12
            prediction = row.answer.prediction if choose.random() < 0.7 else row.instance.x
            message = Message(name, at, sender, tag, Answer(prediction, because), receiver)
            exchanged.append((message, judged(tag) if at > 1 else []))
        yield record, ending, exchanged


def in_bulk(made_sessions: Iterable[Made]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of so many sessions, as an import takes them."""
    plan = Plan("drug", repetitions=REPETITIONS)
    data = replace(bundled(), whole=())
    run = RunRecord("drug-1", "drug", plan.as_json(), 0, "0", data.fingerprint, "2026-01-01")
    made = (
        (
            record,
            (ending, ending),
            [Event.of_message(message, "{}", judgements) for message, judgements in exchanged],
        )
        for record, ending, exchanged in made_sessions
    )
    return rows_of(run, made)


def measure(number: int, folder: Path) -> tuple[str, ...]:
    database = folder / f"{number}.sqlite"
    with SqlBlackboard(str(database)) as board:
        import_rows(board.engine, in_bulk(sessions(number)), "the benchmark")
        started = time.perf_counter()
        statistics_of(board, "drug-1")
        view = time.perf_counter() - started
    page = folder / f"{number}.html"
    command = [sys.executable, "-m", "pxp_fsm.cli", "report", str(database), "-o", str(page)]
    probe = (
        "import json, resource, subprocess, sys, time; started = time.perf_counter();"
        "subprocess.run(json.loads(sys.argv[1]), check=True, capture_output=True);"
        "took = time.perf_counter() - started;"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(took, used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, json.dumps(command)],
        capture_output=True,
        text=True,
        check=True,
    )
    took, busy, memory = map(float, done.stdout.split())
    kilo = 1024 if sys.platform != "darwin" else 1024**2
    return (
        f"{number:,}",
        f"{took:.1f}",
        f"{busy:.1f}",
        f"{view:.2f}",
        f"{took / view:.0f}",
        f"{memory / kilo:.0f}",
        f"{page.stat().st_size / 1e6:.1f}",
    )


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [200, 1000, 10_000]
    headings = ("sessions", "report s", "CPU s", "Table 1 s", "ratio", "MB peak", "page MB")
    print(" ".join(f"{heading:>10}" for heading in headings))
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            shown = measure(size, Path(folder))
            print(" ".join(f"{cell:>10}" for cell in shown), flush=True)


if __name__ == "__main__":
    main()
