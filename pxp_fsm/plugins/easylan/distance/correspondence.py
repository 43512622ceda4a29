"""The correspondence of agents of two networks: the partial matching that saves most.

Without any pair, all of the first is deleted and all of the second made. A pair saves what making
anew costs more than editing; two pairs save an edge that both networks have between them, and lose
one that only the first has. This is a quadratic assignment, so large ones end with bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pxp_fsm.plugins.easylan.model.network import Edge

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
