"""The studio with 30 agents and 200 examples: how long a click is answered, and events take.

A request is answered by the application, without the network, and the change is in the file by
then. An event is what a running network tells; it has come when the page's socket has it. Figures
are medians and the slowest, in CPU milliseconds of the process and in milliseconds on the wall;
first alone, then while all examples are run again after each change, which computes on and on.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from learned_networks import learned

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from tests.plugins.easylan.studios import Page, network_file, page, script_file, studio

AGENTS, EXAMPLES, CLICKS = 30, 200, 16


def network() -> Network:
    """Each agent has an example of both modules for every input."""
    chance = random.Random(1)
    names = [f"Agent {number}" for number in range(AGENTS)]
    edges = (pair for pair in combinations(names, 2) if chance.random() < 2 / AGENTS)
    bare = LanAgent("", "its subtask", "a string", Control(knowledge=("all",)), ("know this",))
    external = "input {}, a sentence of ordinary length"
    return learned(bare, names, edges, EXAMPLES, external, "what an agent puts out")


def timed(name: str, times: list[tuple[float, float]]) -> None:
    """Print CPU and wall milliseconds of something that was done several times."""
    cpu, wall = ([each[at] * 1000 for each in times] for at in (0, 1))
    print(
        f"{name:<34} CPU {statistics.median(cpu):6.1f} ms (at most {max(cpu):6.1f}), "
        f"wall {statistics.median(wall):6.1f} ms (at most {max(wall):6.1f})"
    )


def clicks(open_page: Page, path: str, *bodies: Mapping[str, object]) -> list[tuple[float, float]]:
    """What answers to requests take, each on the version that came of the one before."""
    times = []
    version = open_page.network["version"]
    for number in range(CLICKS):
        body = {**bodies[number % len(bodies)]}
        if path not in ("faults", "move"):
            body["version"] = version
        cpu, wall = time.process_time(), time.perf_counter()
        status, answer = open_page.post(path, **body)
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
        if status not in (200, 204):
            raise RuntimeError(answer)
        version += path not in ("faults", "move")
    open_page.version(version)
    return times


def events(open_page: Page) -> list[tuple[float, float]]:
    """What an event takes to come: the time between two of a run of a script, which takes none."""
    open_page.post("run", input="an input")
    times = []
    open_page.parts["run"]["output"] = None
    while open_page.parts["run"]["output"] is None:
        cpu, wall = time.process_time(), time.perf_counter()
        open_page.next()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = network_file(Path(folder), network())
        model = script_file(
            Path(folder),
            {"purpose": "execution", "where": {}, "reply": {"thoughts": "", "result": "r"}},
        )
        print(f"{AGENTS} agents, {EXAMPLES} examples, {path.stat().st_size >> 20} MB")
        with studio(path, model) as client, page(client) as open_page:
            pair = {"source": "Agent 0", "target": "Agent 29"}
            edit = {"do": "edit", "name": "Agent 3", "field": "task"}
            texts = [{"operations": [{**edit, "value": f"task {at}"}]} for at in range(2)]
            edges = [{"operations": [{"do": do, **pair}]} for do in ("connect", "disconnect")]
            moves = [{"name": "Agent 3", "x": at, "y": at} for at in range(2)]
            for compares in (False, True):
                open_page.post("compares", compares=compares)
                print(f"earlier results are {'' if compares else 'not '}compared meanwhile")
                timed("save an agent's form", clicks(open_page, "edit", *texts))
                timed("faults as one types", clicks(open_page, "faults", *texts))
                timed("connect and disconnect", clicks(open_page, "edit", *edges))
                timed("move an agent", clicks(open_page, "move", *moves))
                timed("an event of a run", events(open_page))
        if not Lan.load(path).network.agent("Agent 3").task.startswith("task "):
            raise RuntimeError("the edits are not in the file")


if __name__ == "__main__":
    main()
