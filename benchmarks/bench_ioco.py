"""uioco by state counting, beside on-the-fly random testing as in TorX, on faulty servers.

For each table: one server that conforms, and all servers that differ from it in one reply or in one
state; those that still conform, which is decided exactly, are left out. A suite is `conform_ioco`
without extra states, and with one. The random tester (de Vries, Tretmans, "On-the-fly conformance
testing using SPIN", STTT 2(4), 2000) takes any input that is specified, starts anew after 20, and
may give as many inputs as the suite gives a server that conforms; its column is the mean of 10
seeds. Times are CPU seconds, of the server that conforms, in this process.

    python benchmarks/bench_ioco.py
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.plugins.conformance.ioco import IocoReport, conform_ioco
from pxp_fsm.plugins.conformance.mealy import Stimulus
from pxp_fsm.plugins.conformance.suspension import Suspension, Transitions, as_transitions

HERE = Path(__file__).parents[1] / "examples" / "agent_protocols"
TABLES = ("mcp_task_server", "a2a/task_server", "servers/mcp_session_server")
LONGEST = 20
SEEDS = 10
Reply = tuple[str, ...]


@dataclass(frozen=True)
class Server:
    """What a server replies in each state, by input, and its next state."""

    rows: tuple[dict[int, tuple[Reply, int]], ...]
    inputs: tuple[Stimulus, ...]
    state: int = 0

    def step(self, given: int) -> tuple[Reply, int]:
        return self.rows[self.state].get(given, ((), self.state))


class Running:
    """A server as a subject of tests."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def reset(self) -> Reply:
        self.now = self.server
        return ()

    def step(self, given: Stimulus) -> Reply:
        reply, state = self.now.step(self.server.inputs.index(given))
        self.now = replace(self.now, state=state)
        return reply


def conforming(system: Transitions[Stimulus]) -> Server:
    """A server that conforms; of 500 choices of what the table leaves open, one of the largest."""
    servers = (chosen(system, random.Random(seed)) for seed in range(500))
    return max(servers, key=lambda server: len(server.rows))


def chosen(system: Transitions[Stimulus], choice: random.Random) -> Server:
    rows: dict[int, dict[int, tuple[Reply, int]]] = {system.initial: {}}
    waiting = [system.initial]
    while waiting:
        state = waiting.pop()
        for given, targets in system.receives[state].items():
            at, reply = choice.choice(sorted(targets)), list[str]()
            while system.silent[at] or system.sends[at]:
                if system.silent[at]:
                    at = choice.choice(sorted(system.silent[at]))
                else:
                    output = choice.choice(sorted(system.sends[at]))
                    reply.append(output)
                    at = choice.choice(sorted(system.sends[at][output]))
            rows[state][given] = (tuple(reply), at)
            if at not in rows:
                rows[at] = {}
                waiting.append(at)
    number = {state: place for place, state in enumerate(rows)}
    return Server(
        tuple(
            {given: (reply, number[at]) for given, (reply, at) in row.items()}
            for row in rows.values()
        ),
        system.inputs,
    )


def faulty(server: Server) -> Iterator[Server]:
    replies = sorted({reply for row in server.rows for reply, _ in row.values()})
    for state, row in enumerate(server.rows):
        for given, (reply, at) in row.items():
            others = [(other, at) for other in replies if other != reply]
            others += [(reply, other) for other in range(len(server.rows)) if other != at]
            for other in others:
                rows = list(server.rows)
                rows[state] = row | {given: other}
                yield Server(tuple(rows), server.inputs)


def is_right(server: Server, spec: Suspension[Stimulus]) -> bool:
    """Whether a server conforms: every pair of a node and a state that can meet is looked at."""
    start, _ = spec.follow(0, ())
    seen = {(start, server.state)}
    waiting = [*seen]
    while waiting:
        node, state = waiting.pop()
        if node is None:
            return False
        for given, target in spec.receives[node].items():
            reply, at = replace(server, state=state).step(given)
            pair = (spec.follow(target, reply)[0], at)
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return True


def found_by_chance(server: Server, spec: Suspension[Stimulus], inputs: int, seed: int) -> bool:
    choice = random.Random(seed)
    start = spec.waiting[0]
    node, now = start, server
    for place in range(inputs):
        if place % LONGEST == 0 or not spec.receives[node]:
            node, now = start, server
        given = choice.choice(sorted(spec.receives[node]))
        reply, state = now.step(given)
        after, _ = spec.follow(spec.receives[node][given], reply)
        if after is None:
            return True
        node, now = after, replace(now, state=state)
    return False


def suite(system: Transitions[Stimulus], server: Server, extra: int) -> IocoReport[Stimulus]:
    return conform_ioco(system, Running(server), extra, searched=0)


def main() -> None:
    print("| table | quiet states | extra | tests | inputs | CPU s | faulty | found | by chance |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name in TABLES:
        system = as_transitions(load_automaton(str(HERE / f"{name}.toml")))
        spec = Suspension(system)
        server = conforming(system)
        wrong = [program for program in faulty(server) if not is_right(program, spec)]
        for extra in (0, 1):
            start = time.process_time()
            right = suite(system, server, extra)
            took = time.process_time() - start
            if not right.conforms:
                raise RuntimeError(f"{name}: the server that conforms was refused")
            detected = sum(suite(system, program, extra).deviation is not None for program in wrong)
            chance = sum(
                found_by_chance(program, spec, right.inputs, seed)
                for program in wrong
                for seed in range(SEEDS)
            )
            print(
                f"| `{name}` | {len(server.rows)} | {extra} | {right.tests:,} | {right.inputs:,} "
                f"| {took:.2f} | {len(wrong)} | {detected} | {chance / SEEDS:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
