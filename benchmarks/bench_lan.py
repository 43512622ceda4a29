"""Networks of LLM agents without their models: what running, replaying and proving cost.

    python benchmarks/bench_lan.py [--quick]

A model that replies at once stands in, so that only our own work is timed: a chain of agents, each
with as many examples as the network has handled, run again and again (µs of CPU an agent, the least
of five rounds). Beside it the same chain as a LangGraph `StateGraph` that calls the same model with
a plain prompt (`pip install langgraph`; without it its row is left out, and it is said).

A diamond of four agents at 50 ms a call shows what runs at once. Replay: so many handled examples,
ten agents in a row, and an update that touches one of them; the calls that are made, beside all.
The proofs: every claim about both tables, with and without its guard.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise

from learned_networks import learned

from pxp_fsm.plugins.easylan import proofs
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import Teach, applied
from pxp_fsm.plugins.easylan.running.execution import NetworkRunner
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.plugins.easylan.training.regressions import remembered, replay
from pxp_fsm.prompting.model import Capability, ChatRole, ChatTurn, ModelRequest, Reply
from pxp_fsm.protocol.relations import EQUIVALENCE, Outcome

ROUNDS = 5


class AtOnce:
    """A model that replies the same for ever, after `seconds`."""

    name = "at once"
    capabilities = frozenset(Capability)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    async def reply(self, request: ModelRequest) -> Reply:
        if self.seconds:
            await asyncio.sleep(self.seconds)
        key = '"active": true' if request.purpose == "control" else '"result": "so"'
        return Reply(f'{{"thoughts": "", {key}}}')


class Equal:
    name = "equal"
    assumptions = EQUIVALENCE

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if left == right else Outcome.NO


def chain(length: int, handled: int, *, enabled: bool = False) -> Network:
    """A row of agents that has handled so many examples."""
    names = [f"A{place}" for place in range(length)]
    bare = LanAgent("", "do a small part of it", "a text", Control(enabled))
    return learned(bare, names, pairwise(names), handled)


def least(run: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """The least time on the clock, and of CPU, in s, of a few rounds after one to warm up."""

    async def rounds() -> tuple[float, float]:
        await run()
        clock, cpu = [], []
        for _ in range(ROUNDS):
            started, computed = time.perf_counter(), time.process_time()
            await run()
            clock.append(time.perf_counter() - started)
            cpu.append(time.process_time() - computed)
        return min(clock), min(cpu)

    return asyncio.run(rounds())


def langgraph(length: int) -> Callable[[], Awaitable[object]] | None:
    """The same chain as a LangGraph state graph, or None where it is not installed."""
    try:
        from langgraph.graph import END, START, StateGraph
    except ImportError:
        return None
    model = AtOnce()

    async def node(state: dict[str, str]) -> dict[str, str]:
        told = ChatTurn(ChatRole.USER, f"Do a small part of it: {state['text']}")
        await model.reply(ModelRequest("You are an agent.", (told,)))
        return {"text": "so"}

    graph = StateGraph(dict)
    names = [f"A{place}" for place in range(length)]
    for name in names:
        graph.add_node(name, node)
    for source, other in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, other)
    compiled = graph.compile()
    return lambda: compiled.ainvoke({"text": "x"}, {"recursion_limit": length + 5})


def running(length: int, sizes: tuple[int, ...]) -> None:
    runner = NetworkRunner(Requester(AtOnce(), bundled()))
    print(f"{'a run without model time':<40} {'µs an agent':>12} {'against ours':>13}")
    first = 0.0
    for handled in sizes:
        network = chain(length, handled)
        cpu = least(partial(runner.run, network, "x"))[1] / length
        first = first or cpu
        told = f"{length} agents, {handled} examples each"
        print(f"{told:<40} {cpu * 1e6:>12.0f} {cpu / first:>12.2f}x")
    peer = langgraph(length)
    if peer is None:
        print("LangGraph is not installed; its row is left out")
    else:
        cpu = least(peer)[1] / length
        print(f"{f'LangGraph, {length} nodes':<40} {cpu * 1e6:>12.0f} {cpu / first:>12.2f}x")


def at_once() -> None:
    agents = tuple(LanAgent(name, "do", "text") for name in "ABCD")
    edges = frozenset({("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")})
    runner = NetworkRunner(Requester(AtOnce(0.05), bundled()))
    clock, _cpu = least(lambda: runner.run(Network("a task", agents, edges), "x"))
    print(
        f"\na diamond of 4 agents at 50 ms a call: {clock * 1e3:.0f} ms ({clock / 0.05:.2f} calls)"
    )


def replaying(handled: int) -> None:
    network = chain(10, handled, enabled=True)
    copy = applied(network, [Teach("A4", "a rule", control=False)])
    runner = NetworkRunner(Requester(AtOnce(), bundled()), remembered(network))
    started = time.process_time()
    lost = asyncio.run(replay(copy, runner, Equal()))
    seconds = time.process_time() - started
    print(
        f"replay of {handled} examples, 10 agents, 1 changed: {runner.calls} calls of "
        f"{handled * 20}, {len(lost)} lost, {seconds:.2f} s of CPU"
    )


def proving() -> None:
    for table in proofs.models():
        started = time.process_time()
        verdicts = list(proofs.checked(table))
        right = sum(result.verdict.status is result.expected for result in verdicts)
        seconds = time.process_time() - started
        print(f"{table}: {right} of {len(verdicts)} verdicts as expected, {seconds:.2f} s of CPU")


def main() -> None:
    quick = "--quick" in sys.argv
    running(10, (0, 50) if quick else (0, 50, 200, 800))
    at_once()
    replaying(20 if quick else 200)
    proving()


if __name__ == "__main__":
    main()
