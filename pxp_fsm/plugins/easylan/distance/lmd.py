"""LMD: the least UED that turns one network into another by hand (arXiv 2309.15943, section 6.5.1).

What can be done by hand, and what it costs, is the table of `costs.toml`; texts cost what
`keystrokes` says. Agents of one name are the same agent, edited or deleted and made anew, whichever
is less. Agents whose names are in one network only are paired so that the total is least, or
deleted and made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pxp_fsm.plugins.easylan.distance.correspondence import (
    MOST_STEPS,
    BestMatching,
    Pair,
    Pairable,
    best,
)
from pxp_fsm.plugins.easylan.distance.costs import (
    FIELDS,
    TextCost,
    cost,
    creation_cost,
    edited_cost,
    text_cost,
    text_costs,
)
from pxp_fsm.plugins.easylan.model.network import Edge, LanAgent, Network


@dataclass(frozen=True, slots=True)
class EditStep:
    """One operation of a least edit: which, on what, and its UED."""

    operation: str
    on: str
    ued: int


@dataclass(frozen=True, slots=True)
class Distance:
    """LMD(A, B): it is at least `lower` and at most `upper`, which `steps` add up to.

    `pairs` are the agents of A and those of B that they become. `beyond` says what of B is not
    among the manual operations, and costs nothing here: examples and the network's task.
    """

    lower: int
    upper: int
    steps: tuple[EditStep, ...]
    pairs: tuple[Pair, ...]
    beyond: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether it is known exactly."""
        return self.lower == self.upper


def network_distance(before: Network, after: Network, most_steps: int = MOST_STEPS) -> Distance:
    """LMD(before, after).

    Exact where agents correspond by name, and where the search over the others ends within
    `most_steps`; else a lower and an upper bound.
    """
    text = _Texts(before, after)
    saved = {
        (a, b): cost("delete")
        + creation_cost(after.agent(b))
        - edited_cost(before.agent(a), after.agent(b), text)
        for a, b in _allowed(before, after)
    }
    choice = Pairable(
        saved,
        before.edges,
        after.edges,
        cost("connect"),
        cost("disconnect"),
        (_required(before), _required(after)),
        cost("require"),
    )
    found = best(choice, most_steps)
    steps = tuple(_steps(before, after, found, text))
    upper = sum(step.ued for step in steps)
    lower = upper - (found.bound - found.saved)
    return Distance(lower, upper, steps, found.pairs, _beyond(before, after, found))


class _Texts:
    """`text_cost`, remembered; those of agents that may become any other are found together."""

    def __init__(self, before: Network, after: Network) -> None:
        both = set(before.names) & set(after.names)
        old = [agent for agent in before.agents if agent.name not in both]
        new = [agent for agent in after.agents if agent.name not in both]
        self._known: dict[tuple[str, str], int] = {}
        for shown in FIELDS.values():
            texts = list(dict.fromkeys(map(shown, old)))
            for target in dict.fromkeys(map(shown, new)):
                costs = zip(texts, text_costs(texts, target), strict=True)
                self._known |= {(text, target): spent for text, spent in costs}

    def __call__(self, before: str, after: str) -> int:
        pair = before, after
        if pair not in self._known:
            self._known[pair] = text_cost(before, after)
        return self._known[pair]


def _required(network: Network) -> frozenset[Edge]:
    """The edges whose target requires their source; each agent requires predecessors only."""
    return frozenset(
        (name, agent.name) for agent in network.agents for name in agent.control.required
    )


def _allowed(before: Network, after: Network) -> Iterator[Pair]:
    both = set(before.names) & set(after.names)
    for name in before.names:
        if name in both:
            yield name, name
        else:
            yield from ((name, other) for other in after.names if other not in both)


def _steps(
    before: Network, after: Network, found: BestMatching, text: TextCost
) -> Iterator[EditStep]:
    """A least edit, what is taken away first, so that no cycle can come up on the way."""
    becomes = dict(found.pairs)
    kept = {
        (becomes[a], becomes[b]): (a, b) for a, b in before.edges if a in becomes and b in becomes
    }
    for name in before.names:
        if name not in becomes:
            yield EditStep("delete", name, cost("delete"))
    for image, (a, b) in sorted(kept.items()):
        if image not in after.edges:
            yield EditStep("disconnect", f"{a} → {b}", cost("disconnect"))
    for a, b in found.pairs:
        spent = edited_cost(before.agent(a), after.agent(b), text)
        if spent:
            yield EditStep("edit", a, spent)
    made = set(becomes.values())
    for agent in after.agents:
        if agent.name not in made:
            yield EditStep("create", agent.name, creation_cost(agent))
    for edge in sorted(after.edges - set(kept)):
        yield EditStep("connect", " → ".join(edge), cost("connect"))
    required = _required(before)
    marked = {image for image, edge in kept.items() if edge in required and image in after.edges}
    for edge in sorted(marked ^ _required(after)):
        yield EditStep("require", " → ".join(edge), cost("require"))


def _beyond(before: Network, after: Network, found: BestMatching) -> tuple[str, ...]:
    becomes = {b: a for a, b in found.pairs}
    said = [] if before.task == after.task else ["the network's task"]
    for agent in after.agents:
        old = becomes.get(agent.name)
        was = (
            before.agent(old) if old is not None else LanAgent(agent.name, agent.task, agent.output)
        )
        differences = {
            "control examples": was.control.examples != agent.control.examples,
            "examples": was.examples != agent.examples,
        }
        said += [f"{agent.name}: {what}" for what, differs in differences.items() if differs]
    return tuple(said)
