"""Systems over channels: states, states a second and memory for 2 to 6 agents and FIFO 1 to 8.

Workers report BEGIN and END in turn to a hub, which takes them as they come: 2(C + 1) states a
worker. SPIN explores the same system, written with its own processes and channels (`--exported`:
as `proofs.export` writes it), breadth is not asked of it, its partial order is off. Seconds are
CPU seconds of the search on one core; what comes before it (imports, compiling) is given apart.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proofs.systems import Composition

AGENTS = (2, 3, 4, 5, 6)
CAPACITIES = (1, 2, 4, 8)
SPIN_OPTIONS = ("-O3", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=4000")


@dataclass(frozen=True)
class Run:
    """States found, CPU seconds of the search and of what comes before it, MB at the peak."""

    states: int
    search: float
    before: float
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
        Transition(row, "READY", "READY", None, Kind.RECEIVE, tag) for row, tag in enumerate(tags)
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
    """Explore once, in a process of its own, and print what it took."""
    from proofs.systems.partial_order import PartialOrder
    from proofs.systems.reachability import reach
    from proofs.systems.symmetry import Symmetry

    model = composition(agents, capacity)
    reduction = {"symmetry": Symmetry, "partial-order": PartialOrder}.get(how)
    if reduction is None:
        from proofs.systems.compiled import fits

        if fits(model):
            reach(composition(2, 1), compiled=True)  # compiles, or loads what was compiled
    started = time.process_time()
    found = reach(model, reduction=None if reduction is None else reduction(model))
    search = time.process_time() - started
    print(json.dumps([len(found.states), search, started, found.transitions]))


def finished(command: list[str], folder: Path) -> tuple[str, float, float]:
    """What a command printed, its CPU seconds, and its peak of memory in MB."""
    with (folder / "output").open("w+") as output:
        child = subprocess.Popen(command, cwd=folder, stdout=output)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        output.seek(0)
        return output.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def ours(agents: int, capacity: int, folder: Path, how: str = "all") -> tuple[Run, int]:
    script = str(Path(__file__).resolve())
    command = [sys.executable, script, "--probe", str(agents), str(capacity), how]
    told, _, memory = finished(command, folder)
    states, search, before, transitions = json.loads(told)
    return Run(states, search, before, memory), transitions


def spin(text: str, folder: Path, expected: int) -> Run:
    """SPIN's verifier on `text`, with room for the states that are expected."""
    (folder / "model.pml").write_text(text, "utf-8")
    commands = (["spin", "-a", "model.pml"], ["gcc", "-w", *SPIN_OPTIONS, "-o", "pan", "pan.c"])
    before = sum(finished(command, folder)[1] for command in commands)
    told, seconds, memory = finished(
        ["./pan", f"-m{2 * expected + 10_000}", f"-w{expected.bit_length() + 1}", "-n"], folder
    )
    states = re.search(r"(\d+) states, stored", told)
    if states is None or "max search depth too small" in told:
        raise SystemExit(f"SPIN's verifier said something else:\n{told}")
    return Run(int(states[1]), seconds, before, memory)


def exported(agents: int, capacity: int) -> str:
    """The model as it is exported."""
    from proofs.export.promela import to_promela

    return to_promela(composition(agents, capacity)).text


def row(agents: int, capacity: int, folder: Path, peer: bool, as_exported: bool) -> float | None:
    us, transitions = ours(agents, capacity, folder)
    cells = [
        f"{agents} | {capacity} | {us.states:,} | {transitions:,}",
        f"{us.search:.2f} | {us.states / max(us.search, 1e-3):,.0f} | {us.memory:.0f}",
    ]
    ratio = None
    if peer:
        text = exported(agents, capacity) if as_exported else promela(agents, capacity)
        it = spin(text, folder, us.states)
        ratio = max(it.search, 0.01) / max(us.search, 0.01)
        same = "" if it.states == us.states else f" NOT THE SAME: {it.states:,}"
        cells.append(f"{it.search:.2f} | {it.memory:.0f} | {ratio:.1f}{same}")
    print(f"| {' | '.join(cells)} |", flush=True)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", nargs=3, metavar=("AGENTS", "FIFO", "HOW"))
    parser.add_argument("--exported", action="store_true", help="SPIN on our exported model")
    asked = parser.parse_args()
    if asked.probe:
        probe(int(asked.probe[0]), int(asked.probe[1]), asked.probe[2])
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    peer = all(map(shutil.which, ("spin", "gcc")))
    if asked.exported:
        try:
            exported(2, 1)
        except ImportError:
            raise SystemExit("there is no export to Promela here; leave out --exported") from None
    print(f"Workers that report to a hub; one run each, {time.strftime('%Y-%m-%d')}\n")
    heads = "| agents | FIFO | states | transitions | CPU s | states/s | MB |"
    print(heads + (" SPIN, CPU s | SPIN, MB | SPIN's seconds by ours |" if peer else ""))
    print("|--:" * (heads.count("|") - 1 + 3 * peer) + "|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ratios = [
            row(agents, capacity, folder, peer, asked.exported)
            for agents in AGENTS
            for capacity in CAPACITIES
        ]
        print("\nWith a reduction:\n\n| agents | FIFO | how | states | CPU s | MB |")
        print("|--:|--:|---|--:|--:|--:|")
        for capacity in (4, 8):
            for how, label in (("symmetry", "symmetry"), ("partial-order", "for deadlocks")):
                us, _ = ours(AGENTS[-1], capacity, folder, how)
                print(
                    f"| {AGENTS[-1]} | {capacity} | {label} | {us.states:,} | {us.search:.2f} "
                    f"| {us.memory:.0f} |",
                    flush=True,
                )
    if peer:
        print(f"\nThe largest: {ratios[-1]:.1f} times SPIN's speed.")
    else:
        print("\nSPIN is left out: `spin` and `gcc` are not both on the path.")
    print("States grow as (2C + 2) to the power of the workers; so do time and memory.")


if __name__ == "__main__":
    main()
