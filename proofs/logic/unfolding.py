"""The product of a large graph and a tableau, in arrays: its ends, lassos and fair runs.

The order of every search is that of `proofs.logic.product`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from proofs.core.results import Status
from proofs.logic.fairness import Strength
from proofs.logic.loops import compiled
from proofs.logic.tableau import Tableau


@dataclass(frozen=True)
class Class:
    """A class of edges that runs are fair to: a bit of the labels of some word."""

    strength: Strength
    word: int
    bit: int


@dataclass(frozen=True)
class Graph:
    """States with numbers; the edges of state i go to `targets[offsets[i]:offsets[i + 1]]`.

    `truth` gives for each state whether a proposition holds there. `labels` are words with bits of
    the classes to which each edge belongs.
    """

    offsets: Any
    targets: Any
    truth: Callable[[str], Any]
    classes: tuple[Class, ...] = ()
    labels: tuple[Any, ...] = ()

    @property
    def states(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def ended(self) -> Any:
        """For each state whether it is without an edge."""
        import numpy as np

        return np.diff(self.offsets) == 0

    @cached_property
    def enabled(self) -> list[Any]:
        """For each word the labels of the edges out of each state."""
        import numpy as np

        found = []
        for labels in self.labels:
            found.append(np.zeros(self.states, np.int32))
            compiled("enabled_in")(self.offsets, labels, found[-1])
        return found

    @property
    def widest(self) -> int:
        """The most edges that a state has, at least one."""
        import numpy as np

        return max(1, int(np.diff(self.offsets).max()))


class Found(NamedTuple):
    """What is found of a formula: with FAILS, the edges of a run of which the last `cycle` repeat,
    and where it starts.
    """

    status: Status
    detail: str = ""
    start: int = 0
    edges: tuple[int, ...] = ()
    cycle: int = 0


class Task(NamedTuple):
    """What a fair cycle has to meet: an edge with a label, a node that does not enable it (where
    `settles` is -1), or one that settles something.
    """

    word: int = 0
    label: int = 0
    settles: int = 0


@dataclass
class Unfolded:
    """The product of a graph and a tableau: nodes in breadth-first order, the `begun` first are
    where runs begin. `states` has the state of each node, `edges` which edge of its state is behind
    each of the product's, and `parents` the edge by which each node was reached.
    """

    graph: Graph
    begun: int
    states: Any
    settled: Any
    all_settled: int
    waiting: int
    offsets: Any
    targets: Any
    edges: Any
    parents: Any
    _taken: list[Any] = field(default_factory=list)

    def first_end(self) -> int | None:
        """The first node at which a run ends."""
        ended = self.graph.ended[self.states]
        place = int(ended.argmax()) if len(ended) else 0
        return place if len(ended) and ended[place] else None

    def trace_to(self, node: int) -> tuple[int, tuple[int, ...]]:
        """Where a shortest run to `node` starts, and its edges."""
        found = []
        while node >= self.begun:
            edge = int(self.parents[node])
            found.append(self._edge(edge))
            node = self._source(edge)
        return int(self.states[node]), tuple(reversed(found))

    def _edge(self, edge: int) -> int:
        """The edge of the graph behind one of the product."""
        state = self.states[self._source(edge)]
        return int(self.graph.offsets[state]) + int(self.edges[edge])

    def _source(self, edge: int) -> int:
        return int(self.offsets.searchsorted(edge, "right")) - 1

    def recurring(self) -> Any:
        """For each node the number of a component that a fair run visits for ever, or -1.

        `_taken` then has for each word the labels that the edges inside of each component have.
        """
        import numpy as np

        nodes, base = len(self.states), 0
        home = np.full(nodes, -1, np.int32)
        active = ~self.graph.ended[self.states]
        room = [np.empty(nodes, np.int32) for _ in range(4)]
        cursor = np.empty(nodes, np.int32)
        taken_of: list[list[Any]] = [[] for _ in self.graph.labels]
        while active.any():
            part = np.where(active, 0, 1).astype(np.int32)
            args = self.offsets, self.targets, part, room[0], room[1], cursor, room[2], room[3]
            count = int(compiled("components")(*args))
            good, words = self._facts(part, count)
            fair, lost = good.copy(), np.zeros(count, np.bool_)
            without = [np.zeros(count, np.int64) for _ in words]
            for one in self.graph.classes:
                taken, always, ever = words[one.word]
                weak = one.strength is Strength.WEAK
                unfair = (taken & one.bit == 0) & ((always if weak else ever) & one.bit != 0)
                fair &= ~unfair
                if weak:
                    lost |= unfair
                else:
                    without[one.word][unfair] |= one.bit
            inside = part >= 0
            kept = inside.copy()
            kept[inside] = fair[part[inside]]
            home[kept] = part[kept] + base
            base += count
            for word, (taken, _, _) in enumerate(words):
                taken_of[word].append(taken)
            smaller = good & ~fair & ~lost
            active = inside.copy()
            active[inside] = smaller[part[inside]]
            for word, bits in enumerate(without):
                at = np.flatnonzero(active)
                meets = self.graph.enabled[word][self.states[at]] & bits[part[at]]
                active[at[meets != 0]] = False
        self._taken = [np.concatenate(one) if one else np.zeros(0, np.int64) for one in taken_of]
        return home

    def _facts(self, part: Any, count: int) -> tuple[Any, list[tuple[Any, Any, Any]]]:
        """Which components a run can go round for ever while nothing waits; and by word the labels
        that are taken inside, are always enabled, and ever.
        """
        import numpy as np

        none, words = np.zeros(0, np.int32), list[tuple[Any, Any, Any]]()
        good = np.zeros(count, np.bool_)
        for word in range(max(1, len(self.graph.labels))):
            inside, settles = np.zeros(count, np.int64), np.zeros(count, np.int64)
            taken, always, ever = (np.full(count, fill, np.int64) for fill in (0, -1, 0))
            labelled = bool(self.graph.labels)
            labels = self.graph.labels[word] if labelled else none
            enabled = self.graph.enabled[word] if labelled else none
            compiled("gather")(
                self.offsets, self.targets, self.edges, self.graph.offsets, labels, enabled,
                self.states, self.settled, part, inside, settles, taken, always, ever,
            )  # fmt: skip
            good = (inside > 0) & (settles == self.all_settled)
            if labelled:
                words.append((taken, always, ever))
        return good, words

    def lasso(self) -> Found:
        """An endless fair run: a shortest stem, then a shortest cycle where nothing has to be
        fair; HOLDS where there is none.
        """
        import numpy as np

        home = self.recurring()
        there = np.flatnonzero(home >= 0)
        if not len(there):
            return Found(Status.HOLDS)
        wide = self.all_settled + 1
        came = np.zeros((len(home) * wide + 1, 2), np.int32)
        queue = np.empty(len(home) * wide, np.int32)
        best: tuple[int, list[int]] | None = None
        last = self._end_of_level(int(there[0]))
        for node in there[: there.searchsorted(last)].tolist():
            cycle = self._cycle(node, home, came, queue)
            if best is None or len(cycle) < len(best[1]):
                best = node, cycle
            if len(cycle) == 1:
                break
        if best is None:
            raise AssertionError("a recurring component has a cycle")
        start, stem = self.trace_to(best[0])
        round_ = tuple(self._edge(edge) for edge in best[1])
        return Found(Status.FAILS, "", start, (*stem, *round_), len(round_))

    def _end_of_level(self, node: int) -> int:
        """The first node after `node` that a longer run leads to."""
        import numpy as np

        sources = np.searchsorted(self.offsets, self.parents[self.begun :], "right") - 1
        end = self.begun
        while end <= node:
            end = self.begun + int(np.searchsorted(sources, end))
        return end

    def _cycle(self, start: int, home: Any, came: Any, queue: Any) -> list[int]:
        """A cycle through `start` that waits for nothing and is fair; its edges in the product."""
        none = Task()
        shortest = self._walk(start, home, came, queue, none, start, self.all_settled)
        if self._is_fair(shortest):
            return shortest
        walk, here = list[int](), start
        for task in self._tasks(int(home[start])):
            if any(self._meets(task, edge) for edge in walk):
                continue
            walk += self._walk(here, home, came, queue, task)
            here = int(self.targets[walk[-1]])
        if here != start or not walk:
            walk += self._walk(here, home, came, queue, none, start)
        return walk

    def _walk(
        self,
        start: int,
        home: Any,
        came: Any,
        queue: Any,
        task: Task,
        wanted: int = -1,
        all_: int = 0,
    ) -> list[int]:
        import numpy as np

        none, labelled = np.zeros(0, np.int32), bool(self.graph.labels)
        labels = self.graph.labels[task.word] if labelled else none
        enabled = self.graph.enabled[task.word] if labelled else none
        count = compiled("walk")(
            self.offsets, self.targets, self.edges, self.graph.offsets, labels, enabled,
            self.states, self.settled, home, start, wanted, all_, task.label, task.settles, came,
            queue,
        )  # fmt: skip
        edge, place = map(int, came[-1])
        found = [edge - 1]
        while (edge := int(came[place, 0])) > 0:
            found.append(edge - 1)
            place = int(came[place, 1])
        came[queue[: abs(count)]] = 0
        if count < 0:
            raise AssertionError("a fair component meets every task")
        return found[::-1]

    def _tasks(self, component: int) -> Iterator[Task]:
        for bit in range(self.waiting):
            yield Task(settles=1 << bit)
        for one in self.graph.classes:
            if one.strength is Strength.WEAK:
                yield Task(one.word, one.bit, settles=-1)
            elif self._taken[one.word][component] & one.bit:
                yield Task(one.word, one.bit)

    def _meets(self, task: Task, edge: int) -> bool:
        node = self._source(edge)
        if task.settles > 0:
            return bool(self.settled[node] & task.settles)
        if self.graph.labels[task.word][self._edge(edge)] & task.label:
            return True
        state = self.states[node]
        return task.settles < 0 and not self.graph.enabled[task.word][state] & task.label

    def _is_fair(self, cycle: Sequence[int]) -> bool:
        states = [int(self.states[self._source(edge)]) for edge in cycle]
        for one in self.graph.classes:
            labels, enabled = self.graph.labels[one.word], self.graph.enabled[one.word]
            if any(labels[self._edge(edge)] & one.bit for edge in cycle):
                continue
            can = [bool(enabled[state] & one.bit) for state in states]
            if all(can) if one.strength is Strength.WEAK else any(can):
                return False
        return True


def unfolded(
    graph: Graph,
    tableau: Tableau,
    known: Any,
    told: Sequence[tuple[bool, ...]],
    starts: Sequence[int],
) -> Unfolded:
    """The product of `graph` and `tableau`; for each state `known` is the number of what is `told`
    of its atoms.
    """
    import numpy as np

    many = len(tableau.valuations)
    kept, begins = list[int](), [0]
    for one in told:
        before: dict[int, list[int]] = {}
        for valuation in tableau.valuations:
            before.setdefault(tableau.kept(one, valuation), []).append(valuation)
        for valuation in tableau.valuations:
            kept += before.get(valuation, ())
            begins.append(len(kept))
    ending = np.array([tableau.kept(one, None) for one in told], np.int32)
    numbers, here = np.full(graph.states * many, -1, np.int32), np.asarray(starts)
    codes, ended = np.empty(len(numbers), np.int32), graph.ended[here]
    count = 0
    for valuation in tableau.valuations:
        holds = np.array([tableau.holds(one, valuation) for one in told])[known[here]] & ~ended
        if not valuation:
            holds |= np.array([tableau.holds(one, None) for one in told])[known[here]] & ended
        begun = here[holds] * many + valuation
        codes[count : count + len(begun)] = begun
        count += len(begun)
    numbers[codes[:count]] = np.arange(count)
    parents = np.empty(len(numbers), np.int32)
    offsets = np.zeros(len(numbers) + 1, np.int64)
    room = len(graph.targets) + many * graph.widest
    targets, edges = np.empty(room, np.int32), np.empty(room, np.uint16)
    progress = np.array([count, 0, 0], np.int64)
    tables = known, np.array(begins, np.int64), np.array(kept, np.int32), ending
    while True:
        compiled("unfold")(
            graph.offsets, graph.targets, *tables, many, numbers, codes, parents, offsets, targets,
            edges, progress,
        )  # fmt: skip
        nodes, done, branches = progress.tolist()
        if nodes == done:
            break
        room = len(targets) + len(targets) // 16 + many * graph.widest
        targets.resize(room, refcheck=False)
        edges.resize(room, refcheck=False)
    settles = [tableau.settled(one, v) for one in told for v in tableau.valuations]
    del numbers
    states = codes[:nodes] // many
    settled = np.array(settles, np.int16)[known[states] * many + codes[:nodes] % many]
    return Unfolded(
        graph,
        count,
        states,
        settled,
        (1 << len(tableau.waiting)) - 1,
        len(tableau.waiting),
        offsets[: nodes + 1],
        targets[:branches],
        edges[:branches],
        parents[:nodes],
    )
