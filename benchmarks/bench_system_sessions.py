"""What a message costs in a session of a system, and how many sessions go on at once.

One message and its commit: a session of two members on SQLite, beside two machines of `transitions`
that store a row each, and a graph of two nodes in LangGraph with its SQLite saver (`pip install
langgraph langgraph-checkpoint-sqlite`; without it its row is left out, and it is said). They take
turns in one process; of each the best of five rounds counts, in CPU time, of a short run and of a
long one: what a message costs is the difference, what remains of the short one is opening the
database, its tables, and the session. LangGraph stores its state at each node; nothing in it says
what a node may send. Then 1,000 sessions of four members that answer after 50 ms each: beside the
time in which they would be over if computing took none, and beside 1 s of latency.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.system import System, system_of

SHORT, LONG, ROUNDS = 200, 1000, 5
SESSIONS, LATENCIES = 1000, (0.05, 1.0)
Subject = Callable[[Path, int, int], None]
"""Sends so many messages, in a database of its own that the number names."""

COMMIT = "INSERT INTO messages (number, sender, tag) VALUES (?, ?, ?)"


def tables() -> System:
    left = [
        {"from": "SAYS", "to": "HEARS", "send": "PING"},
        {"from": "HEARS", "to": "SAYS", "receive": "PONG"},
    ]
    right = [
        {"from": "HEARS", "to": "SAYS", "receive": "PING"},
        {"from": "SAYS", "to": "HEARS", "send": "PONG"},
    ]
    return pxp.System.load(
        pxp.build_automaton("left", left, final=["SAYS"], peer="right"),
        pxp.build_automaton("right", right, final=["HEARS"], peer="left"),
    )


def ours(folder: Path, number: int, messages: int) -> None:
    members = {"left": lambda _turn: "PING", "right": lambda _turn: "PONG"}
    with SqlBlackboard(str(folder / f"ours-{number}.sqlite")) as board:
        session = pxp.Session(tables(), members, blackboard=board, limit=messages)
        session.run_sync()


def by_transitions(folder: Path, number: int, messages: int) -> None:
    import transitions

    machines = []
    for states in (("says", "hears"), ("hears", "says")):
        machine = transitions.Machine(
            states=list(states), initial=states[0], auto_transitions=False
        )
        machine.add_transition("say", "says", "hears")
        machine.add_transition("hear", "hears", "says")
        machines.append(machine)
    database = sqlite3.connect(folder / f"transitions-{number}.sqlite")
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")
    database.execute("CREATE TABLE messages (number INTEGER PRIMARY KEY, sender TEXT, tag TEXT)")
    for at in range(messages):
        speaker, listener = machines[at % 2], machines[1 - at % 2]
        with database:
            database.execute(COMMIT, (at, str(at % 2), ("PING", "PONG")[at % 2]))
        speaker.trigger("say")
        listener.trigger("hear")
    database.close()


def langgraph() -> Subject | None:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import START, StateGraph
    except ImportError:
        return None

    class State(TypedDict):
        tags: list[str]

    def node(tag: str) -> Callable[[State], Mapping[str, list[str]]]:
        return lambda state: {"tags": [*state["tags"][-1:], tag]}

    def run(folder: Path, number: int, messages: int) -> None:
        graph: Any = StateGraph(State)
        graph.add_node("left", node("PING"))
        graph.add_node("right", node("PONG"))
        graph.add_edge(START, "left")
        graph.add_edge("left", "right")
        graph.add_edge("right", "left")
        with SqliteSaver.from_conn_string(str(folder / f"langgraph-{number}.sqlite")) as saver:
            made = graph.compile(checkpointer=saver)
            config = {"configurable": {"thread_id": "1"}, "recursion_limit": messages}
            try:
                made.invoke({"tags": []}, config)
            except Exception as error:  # its bound on steps is an error of its own
                if type(error).__name__ != "GraphRecursionError":
                    raise

    return run


def costs(folder: Path) -> dict[str, tuple[float, float]]:
    """CPU microseconds a message, and milliseconds to open, the best of the rounds."""
    subjects: dict[str, Subject] = {
        "a session of a system": ours,
        "two machines of transitions": by_transitions,
    }
    peer = langgraph()
    if peer is None:
        print("LangGraph is not installed: its row is left out.")
    else:
        subjects["a graph of LangGraph"] = peer
    seconds: dict[tuple[str, int], list[float]] = {}
    for number in range(ROUNDS):
        for name, run in subjects.items():
            for messages in (SHORT, LONG):
                started = time.process_time()
                run(folder, number * LONG + messages, messages)
                taken = seconds.setdefault((name, messages), [])
                taken.append(time.process_time() - started)
    best = {}
    for name in subjects:
        short, long = (min(seconds[name, messages]) for messages in (SHORT, LONG))
        each = (long - short) / (LONG - SHORT)
        best[name] = each * 1e6, (short - each * SHORT) * 1e3
    return best


def fan() -> System:
    """A hub that gives a task to three workers, each of which answers: four steps in a row."""
    names = ("one", "two", "three")
    gives = [
        {"from": f"S{at}", "to": f"S{at + 1}", "send": "TASK", "partner": name}
        for at, name in enumerate(names)
    ]
    takes = [{"from": f"S{at}", "to": f"S{at + 1}", "receive": "DONE"} for at in (3, 4, 5)]
    hub = pxp.build_automaton("hub", [*gives, *takes], final=["S6"], peer="worker")
    rows = [
        {"from": "IDLE", "to": "BUSY", "receive": "TASK"},
        {"from": "BUSY", "to": "OVER", "send": "DONE"},
    ]
    worker = pxp.build_automaton("worker", rows, final=["OVER"], peer="hub")
    members = [("hub", hub), *((name, worker) for name in names)]
    return system_of(members, parse_channel("fifo:1"))


async def many(sessions: int, latency: float) -> tuple[float, float, float, int]:
    """Seconds on the clock and computed, KB a session, and actions of all sessions at once."""

    def says(tag: str) -> Callable[[pxp.Turn], Any]:
        async def answer(_turn: pxp.Turn) -> str:
            await asyncio.sleep(latency)
            return tag

        return answer

    system, before = fan(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    members = {name: says("TASK" if name == "hub" else "DONE") for name in system.places}
    made = [pxp.Session(system, members, name=f"s{number}") for number in range(sessions)]
    started, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(session.run() for session in made))
    clock, computed = time.perf_counter() - started, time.process_time() - worked
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / sessions
    return clock, computed, memory, sum(len(session.events) for session in made)


def main() -> None:
    with TemporaryDirectory() as folder:
        for name, (cost, opened) in costs(Path(folder)).items():
            print(
                f"{name:<30} {cost:6.0f} µs CPU a message and its commit, {opened:4.0f} ms to open"
            )
    for sessions, latency in (
        (1, 0.05),
        (24, 0.05),
        *((SESSIONS, latency_of_many) for latency_of_many in LATENCIES),
    ):
        clock, computed, memory, actions = asyncio.run(many(sessions, latency))
        print(
            f"{sessions:>5} sessions of 4 members, {latency * 1e3:.0f} ms an answer: {clock:.2f} s "
            f"({clock / (4 * latency):.2f} times the ideal), {computed / actions * 1e6:.0f} µs CPU "
            f"an action, {memory:.0f} KB a session"
        )


if __name__ == "__main__":
    main()
