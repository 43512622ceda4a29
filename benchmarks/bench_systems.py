"""Systems over channels beside SPIN, from 10 to 10^8 states: the same counts, seconds and memory.

Workers report BEGIN and END in turn to a hub, which takes them as they come: 2(C + 1) states a
worker over FIFO channels of capacity C. SPIN explores the same system, written with its own
processes and channels (`--exported`: as `proofs.export` writes it), breadth first and depth first,
its partial order off. Storm, with the extra `storm`, builds what `proofs.export` writes in PRISM's
language with its explicit engine, where the states are not too many. Search is set against search,
in CPU seconds of one core, the least of several runs; then the whole command against the whole of
SPIN: generating, compiling, searching. The runs alternate, so that what else the machine does meets
all of them. MB is the peak beyond what the process had before it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proofs.systems import Composition

ROWS = ((2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (6, 8), (8, 4))
"""Agents and capacities: 10 to 10^7 states."""

FAIR = ((6, 4), (6, 7))
FORMULA = "G (worker1@BUSY -> F worker1@IDLE)"
"""A formula that is checked on runs that are weakly fair to each row."""

HAS_STORM = importlib.util.find_spec("stormpy") is not None
STORM_MOST = 200_000
"""The states of the largest system that Storm builds: it takes seconds for each 100,000."""

LARGEST = (9, 4)
"""10^8 states, searched with `--largest`."""

REDUCED = ((6, 4), (6, 8))
COMPILED = ("-O3", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=8000")
SPIN = {"breadth": (*COMPILED, "-DBFS"), "depth": COMPILED}
"""What SPIN is fastest with, by the order of its search."""


@dataclass(frozen=True)
class Run:
    """States found, CPU seconds of the search and of everything, MB of the search."""

    states: int
    search: float
    whole: float
    memory: float


def composition(agents: int, capacity: int) -> Composition:
    """The hub and its workers."""
    from proofs.systems import Channel, Composition, Member, System
    from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition

    tags = ("BEGIN", "END")
    worker = Automaton(
        "worker",
        "worker",
        (State("IDLE"), State("BUSY")),
        "IDLE",
        frozenset({"IDLE"}),
        {},
        (
            Transition(1, "IDLE", "BUSY", None, Kind.SEND, "BEGIN"),
            Transition(2, "BUSY", "IDLE", None, Kind.SEND, "END"),
        ),
    )
    rows = tuple(
        Transition(row, "READY", "READY", None, Kind.RECEIVE, tag)
        for row, tag in enumerate(tags, 1)
    )
    hub = Automaton("hub", "hub", (State("READY"),), "READY", frozenset({"READY"}), {}, rows)
    members = [Member(f"worker{number}", worker) for number in range(1, agents)]
    return Composition(System((Member("hub", hub), *members)).over(Channel(capacity)))


def promela(agents: int, capacity: int) -> str:
    """The same as somebody who knows SPIN would write it."""
    lines = []
    takes = []
    for number in range(1, agents):
        lines += [
            f"chan c{number} = [{capacity}] of {{ bit }};",
            f"active proctype worker{number}()",
            "{",
            f"end_idle: c{number}!0 -> goto busy;",
            f"busy: c{number}!1 -> goto end_idle",
            "}",
        ]
        takes.append(f"  :: c{number}?_")
    return "\n".join([*lines, "active proctype hub()", "{ end: do", *takes, "  od", "}", ""])


def probe(agents: int, capacity: int, how: str) -> None:
    """Explore in a process of its own, and print what it took."""
    from proofs.core.limits import Effort
    from proofs.core.table_search import explore_tables
    from proofs.logic.fairness import demand
    from proofs.logic.parsing import parse
    from proofs.systems import check
    from proofs.systems.partial_order import PartialOrder
    from proofs.systems.reachability import reach
    from proofs.systems.symmetry import Symmetry
    from proofs.systems.tables import tables_of

    model = composition(agents, capacity)
    if how in {"symmetry", "partial-order"}:
        before = peak()
        started = time.process_time()
        reduced = reach(model, reduction={"symmetry": Symmetry}.get(how, PartialOrder)(model))
        seconds = time.process_time() - started
        print(json.dumps([len(reduced.states), seconds, peak() - before, reduced.transitions]))
        return
    if how == "storm":
        print(json.dumps(storm(model)))
        return
    if how == "formula":
        asked = parse(FORMULA), [demand("weak:rows")]
        check(composition(2, 1), asked[0], demands=asked[1], compiled=True)
        before, started = peak(), time.process_time()
        check(model, asked[0], demands=asked[1], compiled=True)
        print(json.dumps([0, time.process_time() - started, peak() - before, 0]))
        return
    explore_tables(tables_of(composition(2, 1)), Effort())  # compiles
    tables, before, started = tables_of(model), peak(), time.process_time()
    reached = explore_tables(tables, Effort())
    seconds, memory = time.process_time() - started, peak() - before
    print(json.dumps([len(reached.states), seconds, memory, reached.transitions]))


def storm(model: Composition) -> tuple[int, float, float, int]:
    """States, CPU seconds and MB of building with Storm's explicit engine; transitions."""
    import stormpy

    from pxp_fsm.plugins.exports.prism import to_prism

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.prism"
        path.write_text(to_prism(model).text, "utf-8")
        program = stormpy.parse_prism_program(str(path))
    before, started = peak(), time.process_time()
    built = stormpy.build_model(program)
    seconds = time.process_time() - started
    return built.nr_states, seconds, peak() - before, built.nr_transitions


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def finished(command: list[str], folder: Path) -> tuple[str, float, float]:
    """What a command printed, its CPU seconds, and its peak of memory in MB.

    Python keeps its bytecode, as an installation does: else each command would compile it anew.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (folder / "output").open("w+") as output:
        child = subprocess.Popen(command, cwd=folder, stdout=output, env=kept)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        output.seek(0)
        return output.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def ours(agents: int, capacity: int, folder: Path, how: str = "all") -> tuple[Run, int]:
    """The search; and, where nothing is reduced, the whole command on tables in files."""
    script = str(Path(__file__).resolve())
    command = [sys.executable, script, "--probe", str(agents), str(capacity), how]
    states, search, memory, transitions = json.loads(finished(command, folder)[0])
    whole = 0.0
    if how == "all":
        (folder / "hub.toml").write_text(HUB, "utf-8")
        (folder / "worker.toml").write_text(WORKER, "utf-8")
        members = ["hub=hub.toml", *(f"worker{number}=worker.toml" for number in range(1, agents))]
        asked = ["--channel", f"fifo:{capacity}", "--property", "no-deadlock"]
        check = [sys.executable, "-m", "pxp_fsm.cli", "check", *members, *asked]
        whole = finished(check, folder)[1]
    return Run(states, search, whole, memory), transitions


HUB = """format = 1
name = "hub"
title = "hub"
initial = "READY"
final = ["READY"]
states = [{ name = "READY", about = "takes what comes" }]
rows = [{ number = 1, from = "READY", to = "READY", receive = ["BEGIN", "END"] }]
"""
WORKER = """format = 1
name = "worker"
title = "worker"
peer = "hub"
initial = "IDLE"
final = ["IDLE"]
states = [{ name = "IDLE", about = "has no work" }, { name = "BUSY", about = "works" }]
rows = [
  { number = 1, from = "IDLE", to = "BUSY", send = "BEGIN" },
  { number = 2, from = "BUSY", to = "IDLE", send = "END" },
]
"""


def spin(text: str, order: str, folder: Path, expected: int) -> Run:
    """SPIN's verifier on `text`, with room for the states that are expected."""
    (folder / "model.pml").write_text(text, "utf-8")
    commands = (["spin", "-a", "model.pml"], ["gcc", "-w", *SPIN[order], "-o", "pan", "pan.c"])
    before = sum(finished(command, folder)[1] for command in commands)
    depth = 2 * expected + 10_000 if order == "depth" else 10_000
    search = ["./pan", f"-m{depth}", f"-w{max(16, expected.bit_length() + 1)}", "-n"]
    told, seconds, memory = finished(search, folder)
    states = re.search(r"(\d+) states, stored", told)
    if states is None or "max search depth too small" in told:
        raise SystemExit(f"SPIN's verifier said something else:\n{told}")
    return Run(int(states[1]), seconds, before + seconds, memory)


def least(rounds: Iterable[Run]) -> Run:
    """The least of what runs of the same took."""
    runs = list(rounds)
    search, whole = min(run.search for run in runs), min(run.whole for run in runs)
    return Run(runs[0].states, search, whole, min(run.memory for run in runs))


def exported(agents: int, capacity: int) -> str:
    """The model as it is exported."""
    from pxp_fsm.plugins.exports.promela import to_promela

    return to_promela(composition(agents, capacity)).text


def row(agents: int, capacity: int, folder: Path, runs: int, text: str) -> None:
    """One line of the table; `text` is the model for SPIN, "" where it is left out."""
    rounds: list[list[Run]] = []
    for _ in range(runs):
        found, transitions = ours(agents, capacity, folder)
        peers = [spin(text, order, folder, found.states) for order in SPIN] if text else []
        if HAS_STORM and found.states <= STORM_MOST:
            peers.append(ours(agents, capacity, folder, "storm")[0])
        rounds.append([found, *peers])
    us, *others = map(least, zip(*rounds, strict=True))
    speed = us.states / max(us.search, 1e-6) / 1e6
    cells = [f"{agents}", f"{capacity}", f"{us.states:,}", f"{transitions:,}"]
    cells += [f"{us.search:.4f}", f"{speed:.1f}", f"{us.memory:.0f}", f"{us.whole:.2f}"]
    same = {peer: "" if peer.states == us.states else " NOT THE SAME" for peer in others}
    if text:
        spins = others[: len(SPIN)]
        for peer in spins:
            cells += [f"{peer.search:.3f}", f"{peer.memory:.0f}", f"{peer.whole:.2f}{same[peer]}"]
        cells.append(f"{min(peer.search for peer in spins) / us.search:.1f}")
        cells.append(f"{min(peer.whole for peer in spins) / us.whole:.1f}")
        others = others[len(SPIN) :]
    for peer in others:
        cells += [f"{peer.search:.3f}", f"{peer.memory:.0f}{same[peer]}"]
    if HAS_STORM and not others:
        cells += ["", ""]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", nargs=3, metavar=("AGENTS", "FIFO", "HOW"))
    parser.add_argument("--exported", action="store_true", help="SPIN on our exported model")
    parser.add_argument("--largest", action="store_true", help="10^8 states, without peers")
    parser.add_argument("--runs", type=int, default=3, help="of each; the least counts (default 3)")
    asked = parser.parse_args()
    if asked.probe:
        agents, capacity, how = asked.probe
        probe(int(agents), int(capacity), how)
        return
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set[int]()
    if allowed:
        os.sched_setaffinity(0, {max(allowed)})
    peer = all(map(shutil.which, ("spin", "gcc")))
    print(f"Workers that report to a hub; least of {asked.runs}, {time.strftime('%Y-%m-%d')}\n")
    heads = "| agents | FIFO | states | transitions | search, s | M/s | MB | whole, s |"
    for order in SPIN if peer else ():
        heads += f" SPIN {order} first, s | MB | whole, s |"
    heads += " SPIN's search by ours | SPIN's whole by ours |" if peer else ""
    heads += " Storm's building, s | MB |" if HAS_STORM else ""
    print(heads)
    print("|--:" * (heads.count("|") - 1) + "|")
    written = exported if asked.exported else promela
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for agents, capacity in ROWS:
            text = written(agents, capacity) if peer else ""
            row(agents, capacity, folder, asked.runs, text)
        if asked.largest:
            us, transitions = ours(*LARGEST, folder, "search")
            agents, capacity = LARGEST
            speed = us.states / us.search / 1e6
            measured = f"{us.search:.1f} | {speed:.1f} | {us.memory:.0f}"
            print(f"| {agents} | {capacity} | {us.states:,} | {transitions:,} | {measured} |")
        print(f"\n`{FORMULA}`, fair to rows:\n\n| agents | FIFO | CPU s | MB |\n|--:|--:|--:|--:|")
        for agents, capacity in FAIR:
            us, _ = ours(agents, capacity, folder, "formula")
            print(f"| {agents} | {capacity} | {us.search:.2f} | {us.memory:.0f} |", flush=True)
        if allowed:
            os.sched_setaffinity(0, allowed)
        print("\nWith a reduction:\n\n| agents | FIFO | how | states | CPU s | MB |")
        print("|--:|--:|---|--:|--:|--:|")
        for agents, capacity in REDUCED:
            for how, label in (("symmetry", "symmetry"), ("partial-order", "for deadlocks")):
                us, _ = ours(agents, capacity, folder, how)
                cells = f"{label} | {us.states:,} | {us.search:.2f} | {us.memory:.0f}"
                print(f"| {agents} | {capacity} | {cells} |", flush=True)
    if not peer:
        print("\nSPIN is left out: `spin` and `gcc` are not both on the path.")
    if not HAS_STORM:
        print("\nStorm is left out: stormpy is not installed.")
    print("\nStates grow as (2C + 2) to the power of the workers; so do time and memory.")


if __name__ == "__main__":
    main()
