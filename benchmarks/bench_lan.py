"""Networks of agents: what running one costs beside its models, replay, and the editing distance.

Beside each: what the same calls take without a network (one after the other, or as few in a row as
the edges allow), and for texts Levenshtein's distance in plain Python. Models are scripts; nothing
is sent anywhere.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from guards import Exact
from pxp_fsm.lan.asking import Asker, bundled
from pxp_fsm.lan.distance import distance
from pxp_fsm.lan.edits import applied
from pxp_fsm.lan.keystrokes import text_cost
from pxp_fsm.lan.network import Agent, Control, Handled, Network
from pxp_fsm.lan.operations import Teach
from pxp_fsm.lan.replaying import replay
from pxp_fsm.lan.running import Runner
from pxp_fsm.models import Capability, Reply, Request

RESULT = json.dumps({"thoughts": "so", "result": "a result of some length"})


@dataclass
class Script:
    """Says the same to everything, after `seconds`."""

    seconds: float = 0.0
    name: str = "script"
    capabilities: frozenset[Capability] = frozenset({Capability.SCHEMA})
    calls: int = 0

    async def reply(self, request: Request) -> Reply:
        self.calls += 1
        if self.seconds:
            await asyncio.sleep(self.seconds)
        return Reply(RESULT)


def chain(length: int) -> Network:
    agents = tuple(
        Agent(f"agent {number:02}", f"do part {number} of the work", "a text")
        for number in range(length)
    )
    names = [agent.name for agent in agents]
    return Network("work", agents, frozenset(itertools.pairwise(names)))


def runner(model: Script, remembering: bool = False) -> Runner:
    return Runner(Asker(model, bundled()), {} if remembering else None)


def timed(work: Callable[[], Awaitable[object]], repeat: int = 20) -> float:
    """The least of some times, in seconds."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        asyncio.run(work())  # type: ignore[arg-type] # a coroutine
        times.append(time.perf_counter() - began)
    return min(times)


def handled(network: Network, number: int) -> Network:
    """The network with so many examples that it has handled, as if it had been trained so."""
    results = tuple((agent.name, "a result of some length") for agent in network.agents)
    examples = tuple(
        Handled(f"input {one}", "a result of some length", "a result of some length", results)
        for one in range(number)
    )
    return replace(network, handled=examples)


def overhead(archive: int) -> tuple[float, float]:
    """Milliseconds an agent, of a chain of ten, and of ten bare calls."""
    network, model = handled(chain(10), archive), Script()
    asker = Asker(model, bundled())
    asyncio.run(runner(model).run(network, "x"))

    async def bare() -> None:
        for _ in network.agents:
            await model.reply(asker.request("gap", {}, "x"))

    ran = timed(lambda: runner(model).run(network, "x"))
    return ran * 100, timed(bare) * 100


def diamond() -> tuple[float, float]:
    """Milliseconds of a diamond of four agents at 50 ms a call, and of three calls in a row."""
    names = [Agent(name, "t", "o") for name in "abcd"]
    edges = frozenset({("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")})
    network, model = Network("x", tuple(names), edges), Script(0.05)

    async def three() -> None:
        for _ in range(3):
            await model.reply(Request("", ()))

    return timed(lambda: runner(model).run(network, "x"), 3) * 1e3, timed(three, 3) * 1e3


def replayed() -> tuple[int, int, float]:
    """Calls of replaying 200 examples after one agent of ten has learned something; of all; ms."""
    network, model = handled(chain(10), 200), Script()
    remembering = runner(model, remembering=True)
    asyncio.run(replay(network, remembering, Exact()))
    whole, model.calls = model.calls, 0
    changed = applied(network, [Teach("agent 04", "something", control=False)])
    began = time.perf_counter()
    lost = asyncio.run(replay(changed, remembering, Exact()))
    spent = time.perf_counter() - began
    if lost:
        raise RuntimeError("a script that always says the same breaks no example")
    return model.calls, whole, spent * 1e3


def thirty(seed: int) -> Network:
    """Thirty agents, with about 600 characters of texts each, and 100 edges."""
    chance = random.Random(seed)

    def text(words: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(words))

    agents = tuple(
        Agent(
            f"agent {number:02}",
            text(15),
            text(8),
            Control(knowledge=(text(20),)),
            tuple(text(12) for _ in range(4)),
        )
        for number in range(30)
    )
    pairs = [(a.name, b.name) for place, a in enumerate(agents) for b in agents[place + 1 :]]
    return Network("work", agents, frozenset(chance.sample(pairs, 100)))


WORDS = "the of and to in is for that with as on be at by this from or an".split()  # noqa: SIM905


def levenshtein(one: str, other: str) -> int:
    row = list(range(len(one) + 1))
    for there, b in enumerate(other, start=1):
        last, row[0] = row[0], there
        for here, a in enumerate(one, start=1):
            last, row[here] = row[here], min(row[here] + 1, row[here - 1] + 1, last + (a != b))
    return row[-1]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    rows: list[tuple[str, str, str, str]] = []
    for archive in (0, 2_000):
        mine, bare = overhead(archive)
        title = f"an agent of a chain of 10, {archive} examples in the archive"
        rows.append((title, f"{mine:.2f} ms", "a bare call", f"{bare:.3f} ms"))
    mine, three = diamond()
    ratio = f"{three:.0f} ms (ratio {mine / three:.2f})"
    rows.append(
        ("a diamond of 4 agents, 50 ms a call", f"{mine:.0f} ms", "3 calls in a row", ratio)
    )
    calls, whole, spent = replayed()
    title = "replay of 200 examples, one agent of 10 changed"
    rows.append((title, f"{calls} calls, {spent:.0f} ms", "all of it anew", f"{whole} calls"))
    one, other = thirty(1), thirty(2)
    distance(chain(2), chain(3))
    found = distance(one, other)
    spent = seconds(lambda: distance(one, other))
    texts = [
        (a.task + a.output, b.task + b.output)
        for a, b in zip(one.agents, other.agents, strict=True)
    ]
    ours = seconds(lambda: [text_cost(*pair) for pair in texts])
    theirs = seconds(lambda: [levenshtein(*pair) for pair in texts])
    exact = "exact" if found.exact else "bounds"
    rows.append(
        (f"LMD of 30 agents, all texts differ ({exact}, {found.upper})", f"{spent:.2f} s", "", "")
    )
    rows.append(
        (
            "least keys for 30 texts of 100 characters",
            f"{ours * 1e3:.0f} ms",
            "Levenshtein, plain Python",
            f"{theirs * 1e3:.0f} ms (ratio {ours / theirs:.2f})",
        )
    )
    print("| networks of agents | here | beside it | |")
    print("|---|--:|---|--:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
