"""LMD: the least UED that turns one network into another by hand (arXiv 2404.15974, section 6.5.1).

What can be done by hand, and what it costs, is the table of `costs.toml`; texts cost what
`text_cost` says. Agents of one name are the same agent, edited or deleted and made anew, whichever
is less. Agents whose names are in one network only are paired so that the total is least, or
deleted and made.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pxp_fsm.errors import require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.model.network import Edge, LanAgent, Network

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Operation:
    """A manual operation: the gestures it is made of, why those, and what they cost together."""

    name: str
    gestures: tuple[str, ...]
    why: str
    cost: int


@cache
def gestures() -> Mapping[str, int]:
    """The UED of a click, a key, a drag and a selection."""
    return MappingProxyType(_table()["gestures"])


@cache
def operations() -> tuple[Operation, ...]:
    """Every manual operation of the table, in its order."""
    return tuple(
        Operation(
            row["name"],
            tuple(row["gestures"]),
            row["why"],
            sum(gestures()[gesture] for gesture in row["gestures"]),
        )
        for row in _table()["operation"]
    )


@cache
def cost(name: str) -> int:
    """The UED of the operation of that name."""
    return next(operation.cost for operation in operations() if operation.name == name)


@cache
def _table() -> dict[str, Any]:
    resource = resources.files("pxp_fsm.plugins.easylan.distance").joinpath("costs.toml")
    return tomllib.loads(resource.read_text("utf-8"))


_NEVER = 1 << 29


def text_cost(before: str, after: str) -> int:
    """The least UED that turns `before` into `after`; time and memory of their lengths' product.

    Exact for the costs as they are published: the equal beginning and end are set aside first, and
    with other prices that could lose the optimum.
    """
    before, after = _apart(before, after)
    if not before or not after:
        return place_cost(len(before), len(after))
    return _aligned([before], after)[0]


def text_costs(befores: Sequence[str], after: str) -> list[int]:
    """`text_cost` of each of the `befores`, all at once: faster than one by one."""
    return _aligned(befores, after) if befores and after else [text_cost(x, after) for x in befores]


def place_cost(deleted: int, typed: int) -> int:
    """The least UED of one place where that many characters go and that many come."""
    if deleted == 0 and typed == 0:
        return 0
    one_by_one = cost("place") + (deleted + typed) * cost("press")
    selected = cost("mark") + max(typed, 1) * cost("press")
    return min(one_by_one, selected) if deleted else one_by_one


def _apart(before: str, after: str) -> tuple[str, str]:
    """What is left of both without their equal beginning and end."""
    start = _alike(before, after)
    before, after = before[start:], after[start:]
    end = _alike(before[::-1], after[::-1])
    return before[: len(before) - end], after[: len(after) - end]


def _alike(text: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))


def _aligned(befores: Sequence[str], after: str) -> list[int]:
    """The least cost over all ways to keep characters of each text, by rows over `after`.

    Of a row, index i stands for the first i characters of a text being dealt with. A place is only
    begun where a kept character (or nothing) stands before it: two that touch are never less than
    one.
    """
    require_extra("lan", "the distance between texts", {"numpy": "NumPy"})
    import numpy as np

    place, mark, press = cost("place"), cost("mark"), cost("press")
    longest = max(map(len, befores))
    source = np.zeros((len(befores), longest), dtype=np.uint32)
    for row, before in enumerate(befores):
        source[row, : len(before)] = np.frombuffer(before.encode("utf-32-le"), dtype=np.uint32)
    steps = np.arange(longest + 1, dtype=np.int32) * np.int32(press)
    kept: Rows = np.full((len(befores), longest + 1), _NEVER, dtype=np.int32)
    kept[:, 0] = 0
    cursor = np.minimum.accumulate(kept + place - steps, axis=1) + steps
    marked = np.minimum.accumulate(kept, axis=1) + mark
    typed = np.full_like(kept, _NEVER)
    closed = np.minimum(np.minimum(kept, cursor), marked + press)
    kept[:, 0] = _NEVER
    for character in after:
        kept[:, 1:] = np.where(source == ord(character), closed[:, :-1], _NEVER)
        np.minimum(kept + place, cursor + press, out=cursor)
        cursor -= steps
        np.minimum.accumulate(cursor, axis=1, out=cursor)
        cursor += steps
        np.minimum(marked, typed, out=typed)
        typed += press
        np.minimum.accumulate(kept, axis=1, out=marked)
        marked += mark
        np.minimum(kept, cursor, out=closed)
        np.minimum(closed, typed, out=closed)
        np.minimum(closed, marked + press, out=closed)
    return [int(closed[row, len(before)]) for row, before in enumerate(befores)]


FIELDS: dict[str, Callable[[LanAgent], str]] = {
    "name": lambda agent: agent.name,
    "task": lambda agent: agent.task,
    "output": lambda agent: agent.output,
    "control knowledge": lambda agent: "\x00".join(agent.control.knowledge),
    "knowledge": lambda agent: "\x00".join(agent.knowledge),
}
"""What the form of an agent shows; a key begins a further piece of knowledge.

The pieces are told apart by a character that stands in none of them.
"""

EMPTY = LanAgent("", "", "")
"""What the form of a new agent shows."""

TextCost = Callable[[str, str], int]


def form_cost(before: LanAgent, after: LanAgent, text: TextCost = text_cost) -> int:
    """The least UED within an open form, saving included; 0 where nothing in it changes."""
    spent = sum(text(shown(before), shown(after)) for shown in FIELDS.values())
    spent += cost("switch") * (before.control.enabled != after.control.enabled)
    return spent + cost("save") if spent else 0


def creation_cost(agent: LanAgent) -> int:
    """The least UED of a new agent like this, without its edges."""
    return cost("create") + form_cost(EMPTY, agent)


def edited_cost(before: LanAgent, after: LanAgent, text: TextCost = text_cost) -> int:
    """The least UED of making an agent into another, without edges: its form is opened first."""
    spent = form_cost(before, after, text)
    return cost("open") + spent if spent else 0


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

    def between(self, pair: Pair, other: Pair) -> int:
        """What the edges between two pairs save; negative where some must be taken away."""
        total = 0
        for (a, b), (c, d) in ((pair, other), (other, pair)):
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
            price * min(_there(old, a, end, others), _there(new, b, end))
            for old, new, price in pairs
            for end in (0, 1)
        )

    def total(self, pairs: Iterable[Pair]) -> int:
        """What a matching saves."""
        chosen = list(pairs)
        return sum(self.saved[pair] for pair in chosen) + sum(
            self.between(pair, other)
            for place, pair in enumerate(chosen)
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
    matching = best(choice, most_steps)
    steps = tuple(_steps(before, after, matching, text))
    upper = sum(step.ued for step in steps)
    lower = upper - (matching.bound - matching.saved)
    return Distance(lower, upper, steps, matching.pairs, _beyond(before, after, matching))


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
    before: Network, after: Network, matching: BestMatching, text: TextCost
) -> Iterator[EditStep]:
    """A least edit, what is taken away first, so that no cycle can come up on the way."""
    becomes = dict(matching.pairs)
    kept = {
        (becomes[a], becomes[b]): (a, b) for a, b in before.edges if a in becomes and b in becomes
    }
    for name in before.names:
        if name not in becomes:
            yield EditStep("delete", name, cost("delete"))
    for image, (a, b) in sorted(kept.items()):
        if image not in after.edges:
            yield EditStep("disconnect", f"{a} → {b}", cost("disconnect"))
    for a, b in matching.pairs:
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


def _beyond(before: Network, after: Network, matching: BestMatching) -> tuple[str, ...]:
    becomes = {b: a for a, b in matching.pairs}
    uncounted = [] if before.task == after.task else ["the network's task"]
    for agent in after.agents:
        old = becomes.get(agent.name)
        was = (
            before.agent(old) if old is not None else LanAgent(agent.name, agent.task, agent.output)
        )
        differences = {
            "control examples": was.control.examples != agent.control.examples,
            "examples": was.examples != agent.examples,
        }
        uncounted += [
            f"{agent.name}: {difference}" for difference, differs in differences.items() if differs
        ]
    return tuple(uncounted)
