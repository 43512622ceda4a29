"""LMD: the least UED that turns one network into another by hand (arXiv 2309.15943, section 6.5.1).

What can be done by hand, and what it costs, is the table of `costs.toml`; texts cost what
`text_cost` says. Agents of one name are the same agent, edited or deleted and made anew, whichever
is less. Agents whose names are in one network only are paired so that the total is least, or
deleted and made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

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

Pair = tuple[str, str]

MOST_STEPS = 20_000
"""Partial matchings that are looked at before the search ends with bounds."""


@dataclass(frozen=True, slots=True)
class Pairable:
    """What can be paired: what each allowed pair saves by itself, and the edges on both sides.

    `required` are edges of both sides whose target requires the source; to set or clear such a mark
    costs `require`, which is at most what taking the edge away and making it anew does.
    """

    saved: Mapping[Pair, int]
    first: frozenset[Edge]
    second: frozenset[Edge]
    connect: int
    disconnect: int
    required: tuple[frozenset[Edge], frozenset[Edge]] = (frozenset(), frozenset())
    require: int = 0

    def between(self, one: Pair, other: Pair) -> int:
        """What the edges between two pairs save; negative where some must be taken away."""
        total = 0
        for (a, b), (c, d) in ((one, other), (other, one)):
            if (a, c) in self.first and (b, d) not in self.second:
                total -= self.disconnect
            elif (a, c) in self.first:
                marked, wanted = (a, c) in self.required[0], (b, d) in self.required[1]
                total += self.connect + self.require * marked * (1 if wanted else -1)
        return total

    def most(self, a: str, b: str, others: Collection[str] | None = None) -> int:
        """What the edges at `a`, to `others` or to all, can save at most where it becomes `b`."""
        pairs = ((self.first, self.second, self.connect), (*self.required, self.require))
        return sum(
            each * min(_there(old, a, end, others), _there(new, b, end))
            for old, new, each in pairs
            for end in (0, 1)
        )

    def total(self, pairs: Iterable[Pair]) -> int:
        """What a matching saves."""
        chosen = list(pairs)
        return sum(self.saved[pair] for pair in chosen) + sum(
            self.between(one, other)
            for place, one in enumerate(chosen)
            for other in chosen[place + 1 :]
        )


@dataclass(frozen=True, slots=True)
class BestMatching:
    """The best matching found, what it saves, and what no matching can save more than."""

    pairs: tuple[Pair, ...]
    saved: int
    bound: int


def best(choice: Pairable, most_steps: int = MOST_STEPS) -> BestMatching:
    """The matching that saves most; where the search is cut short, `bound` is above `saved`.

    A pair whose two agents can have no other partner, and which saves more than all edges at it
    could lose, is in a best matching: it is settled first, and what it means for the others is
    added up.
    """
    settled = _settled(choice)
    taken = {a for a, _b in settled}, {b for _a, b in settled}
    rest = {
        pair: saved + sum(choice.between(pair, other) for other in settled)
        for pair, saved in choice.saved.items()
        if pair[0] not in taken[0] and pair[1] not in taken[1]
    }
    base = choice.total(settled)
    if not rest:
        return BestMatching(tuple(settled), base, base)
    search = _Search(replace(choice, saved=rest))
    pairs, saved, bound = search.run(most_steps)
    return BestMatching((*settled, *pairs), base + saved, base + bound)


def _settled(choice: Pairable) -> list[Pair]:
    partners: dict[tuple[int, str], int] = {}
    for pair in choice.saved:
        for end in enumerate(pair):
            partners[end] = partners.get(end, 0) + 1
    degree: dict[str, int] = {}
    for edge in choice.first:
        for name in edge:
            degree[name] = degree.get(name, 0) + 1
    return [
        pair
        for pair, saved in choice.saved.items()
        if all(partners[end] == 1 for end in enumerate(pair))
        and saved >= choice.disconnect * degree.get(pair[0], 0)
    ]


@dataclass(slots=True)
class _Search:
    """Branch and bound over the agents of the first network, one after the other."""

    choice: Pairable
    steps: int = 0
    best_pairs: tuple[Pair, ...] = ()
    best_saved: int = 0
    order: list[str] = field(default_factory=list)
    options: dict[str, list[tuple[int, Pair]]] = field(default_factory=dict)
    ahead: list[int] = field(default_factory=list)

    def run(self, most_steps: int) -> tuple[tuple[Pair, ...], int, int]:
        first_guess, bound = self._matched()
        self._keep(first_guess, self.choice.total(first_guess))
        self._prepare()
        if self._descend(0, (), 0, most_steps):
            bound = self.best_saved
        return self.best_pairs, self.best_saved, max(bound, self.best_saved)

    def _keep(self, pairs: tuple[Pair, ...], saved: int) -> None:
        if saved > self.best_saved:
            self.best_pairs, self.best_saved = pairs, saved

    def _matched(self) -> tuple[tuple[Pair, ...], int]:
        """A matching by what pairs could save, and a bound: edges count half at each end."""
        import networkx as nx

        graph: nx.Graph[tuple[int, str]] = nx.Graph()
        for (a, b), saved in self.choice.saved.items():
            twice = 2 * saved + self.choice.most(a, b)
            if twice > 0:
                graph.add_edge((0, a), (1, b), weight=twice)
        pairs, total = [], 0
        for ends in nx.max_weight_matching(graph):
            (_, a), (_, b) = sorted(ends)
            pairs.append((a, b))
            total += graph.edges[ends]["weight"]
        return tuple(sorted(pairs)), total // 2

    def _prepare(self) -> None:
        """For each agent its possible partners, the most promising first; an edge between two
        agents counts for the later one, so nothing is counted twice."""
        choice = self.choice
        names = sorted({a for a, _b in choice.saved})
        options: dict[str, list[tuple[int, Pair]]] = {}
        alone = {a: max(saved for (x, _b), saved in choice.saved.items() if x == a) for a in names}
        self.order = sorted(names, key=lambda name: (-alone[name], name))
        for place, a in enumerate(self.order):
            earlier = self.order[:place]
            options[a] = sorted(
                (
                    (saved + choice.most(a, b, earlier), (x, b))
                    for (x, b), saved in choice.saved.items()
                    if x == a
                ),
                key=lambda option: (-option[0], option[1]),
            )
        self.options = options
        self.ahead = [0] * (len(self.order) + 1)
        for place in reversed(range(len(self.order))):
            self.ahead[place] = self.ahead[place + 1] + max(0, options[self.order[place]][0][0])

    def _descend(self, place: int, chosen: tuple[Pair, ...], saved: int, most: int) -> bool:
        """Try everything from `place` on; False where the steps ran out."""
        self._keep(chosen, saved)
        if place == len(self.order):
            return True
        taken = {b for _a, b in chosen}
        for at_most, pair in self.options[self.order[place]]:
            if saved + at_most + self.ahead[place + 1] <= self.best_saved:
                break
            if pair[1] in taken:
                continue
            self.steps += 1
            if self.steps > most:
                return False
            more = self.choice.saved[pair] + sum(self.choice.between(pair, x) for x in chosen)
            if not self._descend(place + 1, (*chosen, pair), saved + more, most):
                return False
        if saved + self.ahead[place + 1] > self.best_saved:
            return self._descend(place + 1, chosen, saved, most)
        return True


def _there(
    edges: Iterable[Edge], name: str, end: int, others: Collection[str] | None = None
) -> int:
    """How many edges have `name` at this end, and one of `others` (None: any) at the other."""
    return sum(edge[end] == name and (others is None or edge[1 - end] in others) for edge in edges)


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
