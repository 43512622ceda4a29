"""The editing distance between networks (LMD), and the least keys between texts.

Beside the texts: Levenshtein's distance in plain Python, which is not the same (it knows no
selection, and every character that goes costs), and takes as many cells.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

from pxp_fsm.plugins.easylan.distance.lmd import network_distance, text_cost
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network


def thirty(seed: int) -> Network:
    """Thirty agents, with about 600 characters of texts each, and 100 edges."""
    chance = random.Random(seed)

    def text(words: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(words))

    agents = tuple(
        LanAgent(
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


WORDS = "the of and to in is for that with as on be at by this from or an".split()  # noqa: SIM905 - it reads better so


def levenshtein(text: str, other: str) -> int:
    row = list(range(len(text) + 1))
    for there, b in enumerate(other, start=1):
        last, row[0] = row[0], there
        for here, a in enumerate(text, start=1):
            last, row[here] = row[here], min(row[here] + 1, row[here - 1] + 1, last + (a != b))
    return row[-1]


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def renamed(network: Network) -> Network:
    """The same with other names for all agents."""
    names = {name: name.replace("agent", "worker") for name in network.names}
    return replace(
        network,
        agents=tuple(replace(agent, name=names[agent.name]) for agent in network.agents),
        edges=frozenset((names[source], names[other]) for source, other in network.edges),
    )


def main() -> None:
    network, other = thirty(1), thirty(2)
    network_distance(thirty(3), thirty(3))
    print("| LMD of 30 agents, 600 characters and 3 edges each | s of CPU | from | to |")
    print("|---|--:|--:|--:|")
    for title, after in (("names correspond", other), ("no name corresponds", renamed(other))):
        began = time.process_time()
        distance = network_distance(network, after)
        spent = time.process_time() - began
        print(f"| all texts differ, {title} | {spent:.2f} | {distance.lower} | {distance.upper} |")
    pairs = zip(network.agents, other.agents, strict=True)
    texts = [(a.task + a.output, b.task + b.output) for a, b in pairs]
    ours = seconds(lambda: [text_cost(*pair) for pair in texts])
    theirs = seconds(lambda: [levenshtein(*pair) for pair in texts])
    print()
    print("| 30 texts of about 100 characters | ms of CPU | ratio |")
    print("|---|--:|--:|")
    print(f"| least keys | {ours * 1e3:.0f} | 1.00 |")
    print(f"| Levenshtein, plain Python | {theirs * 1e3:.0f} | {theirs / ours:.2f} |")


if __name__ == "__main__":
    main()
