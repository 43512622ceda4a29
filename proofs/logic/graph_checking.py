"""Model checking of a large graph in arrays: what `proofs.logic.checking` decides, compiled.

States and edges are numbers: the edges of node i go to `targets[offsets[i]:offsets[i + 1]]`. The
product with the tableau is such a graph too. Numba compiles the loops. The order of every search is
that of `proofs.logic.product`, so that verdicts and the lengths of traces are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from proofs.core.compiling import cached_by_numba
from proofs.core.graphs import leading_to
from proofs.core.results import Status
from proofs.logic.checking import Duties, Runs, is_co_safety, of_all_runs, tableau_of, ways_to_meet
from proofs.logic.fairness import Strength
from proofs.logic.formulas import TRUE, Atom, Exists, Formula, negated, negation_normal
from proofs.logic.tableau import Tableau, path_parts


def unfold(
    offsets: Any,
    targets: Any,
    known: Any,
    kept_starts: Any,
    kept: Any,
    ending: Any,
    valuations: int,
    numbers: Any,
    codes: Any,
    parents: Any,
    starts: Any,
    ends: Any,
    edges: Any,
    progress: Any,
) -> None:
    """The product of a graph and a tableau, breadth first, as long as there is room.

    A node is a state with a valuation, `state * valuations + valuation`; 0 is that of a state
    without a step. Where the atoms are those of `known[state]`, `kept` has the valuations that keep
    the one before, and `ending` is the one that is kept where a run ends. `codes` are the nodes by
    number, `starts` and `ends` the product's edges, `edges` the place of each among its state's,
    `parents` by which of them each node was reached. `progress` counts nodes, those that are
    expanded, and edges.
    """
    count, done, branches = progress[0], progress[1], progress[2]
    while done < count:
        state, valuation = codes[done] // valuations, codes[done] % valuations
        most = (offsets[state + 1] - offsets[state]) * valuations
        if branches + most > len(ends):
            break
        for edge in range(offsets[state], offsets[state + 1]):
            target = targets[edge]
            at = known[target] * valuations + valuation
            ended = offsets[target] == offsets[target + 1]
            begin, end = kept_starts[at], kept_starts[at + 1]
            if ended:
                begin, end = 0, 1 if ending[known[target]] == valuation else 0
            for place in range(begin, end):
                code = target * valuations + (0 if ended else kept[place])
                number = numbers[code]
                if number < 0:
                    number = count
                    numbers[code] = count
                    codes[count] = code
                    parents[count] = branches
                    count += 1
                ends[branches] = number
                edges[branches] = edge - offsets[state]
                branches += 1
        done += 1
        starts[done] = branches
    progress[0], progress[1], progress[2] = count, done, branches


def components(
    starts: Any, ends: Any, part: Any, index: Any, low: Any, cursor: Any, stack: Any, path: Any
) -> int:
    """Number the strongly connected components of the nodes with a 0 in `part`; how many.

    Each of these nodes then has the number of its component there, the others -1. (Tarjan,
    Depth-first search and linear graph algorithms, SIAM J. Comput. 1, 1972.) `index`, `low`,
    `cursor`, `stack` and `path` are room for a number for each node.
    """
    count, met = 0, 0
    for node in range(len(part)):
        index[node] = 0 if part[node] == 0 else -1
        part[node] = -1
    for root in range(len(part)):
        if index[root] != 0:
            continue
        met += 1
        index[root], low[root], cursor[root] = met, met, starts[root]
        stack[0], path[0] = root, root
        stacked, deep = 1, 1
        while deep > 0:
            node = path[deep - 1]
            if cursor[node] < starts[node + 1]:
                target = ends[cursor[node]]
                cursor[node] += 1
                if index[target] == 0:
                    met += 1
                    index[target], low[target], cursor[target] = met, met, starts[target]
                    stack[stacked], path[deep] = target, target
                    stacked, deep = stacked + 1, deep + 1
                elif index[target] > 0 and part[target] < 0 and index[target] < low[node]:
                    low[node] = index[target]
                continue
            deep -= 1
            if deep > 0 and low[node] < low[path[deep - 1]]:
                low[path[deep - 1]] = low[node]
            if low[node] == index[node]:
                last = -1
                while last != node:
                    stacked -= 1
                    last = stack[stacked]
                    part[last] = count
                count += 1
    return count


def gather(
    starts: Any,
    ends: Any,
    edges: Any,
    offsets: Any,
    labels: Any,
    enabled: Any,
    states: Any,
    settled: Any,
    part: Any,
    inside: Any,
    settles: Any,
    taken: Any,
    always: Any,
    ever: Any,
) -> None:
    """What each component has: edges inside, what its nodes settle, the labels of its edges inside,
    and the labels that all of its nodes enable, and any does. `labels` may be empty.
    """
    labelled = len(labels) > 0
    for node in range(len(part)):
        component = part[node]
        if component < 0:
            continue
        settles[component] |= settled[node]
        if labelled:
            always[component] &= enabled[states[node]]
            ever[component] |= enabled[states[node]]
        for place in range(starts[node], starts[node + 1]):
            if part[ends[place]] == component:
                inside[component] += 1
                if labelled:
                    taken[component] |= labels[offsets[states[node]] + edges[place]]


def walk(
    starts: Any,
    ends: Any,
    edges: Any,
    offsets: Any,
    labels: Any,
    enabled: Any,
    states: Any,
    settled: Any,
    part: Any,
    start: int,
    wanted: int,
    all_settled: int,
    label: int,
    bit: int,
    came: Any,
    queue: Any,
) -> Any:
    """A shortest walk inside the component of `start`; how many places were met, negative where
    there is none.

    It ends with an edge to `wanted` where that is not negative, and then all of `all_settled` has
    been settled on it; else with an edge that has a label of `label`, or out of a node that settles
    `bit` or (where `bit` is -1) does not enable `label`. A place is a node with what has been
    settled, `node * (all_settled + 1) + settled`; `came` says by which edge and from which place
    each was reached (the edge plus one; 0 where it was not, -1 at `start`), and last by which the
    walk ends. `queue` are the places that were met.
    """
    wide, component = all_settled + 1, part[start]
    queue[0] = start * wide + (settled[start] & all_settled)
    came[queue[0], 0] = -1
    count, done = 1, 0
    while done < count:
        place = queue[done]
        node, here = place // wide, place % wide
        for edge in range(starts[node], starts[node + 1]):
            target = ends[edge]
            if part[target] != component:
                continue
            reached = here | (settled[target] & all_settled)
            if wanted >= 0:
                met = target == wanted and reached == all_settled
            elif bit > 0:
                met = settled[node] & bit != 0
            else:
                met = labels[offsets[states[node]] + edges[edge]] & label != 0
                if bit < 0 and enabled[states[node]] & label == 0:
                    met = True
            if met:
                came[len(came) - 1, 0], came[len(came) - 1, 1] = edge + 1, place
                return count
            then = target * wide + reached
            if came[then, 0] == 0:
                came[then, 0], came[then, 1] = edge + 1, place
                queue[count] = then
                count += 1
        done += 1
    return -count


def earliest(
    offsets: Any,
    targets: Any,
    known: Any,
    among: Any,
    many: int,
    kinds: int,
    option_starts: Any,
    option_duties: Any,
    option_shown: Any,
    codes: Any,
    came: Any,
    count: int,
) -> int:
    """The number of the first place in breadth-first order that shows a formula; -1 if none does.

    A place is a state with a set of duties, `state * many + duties`; the first `count` of `codes`
    are where the search begins. The ways to meet them where the atoms are those of `known[state]`
    are from `option_starts[duties * kinds + known]` on: the duties of the next state, and whether
    that shows the formula (2), or does so where the run ends (1). `came` is, by place, the number
    in `codes` of the one before, -1 at the beginning, -2 where it was not met.
    """
    done = 0
    while done < count:
        state, duties = codes[done] // many, codes[done] % many
        at = duties * kinds + known[state]
        begin, end = offsets[state], offsets[state + 1]
        for option in range(option_starts[at], option_starts[at + 1]):
            if option_shown[option] == 2 or (option_shown[option] == 1 and begin == end):
                return done
            for edge in range(begin, end):
                target = targets[edge]
                code = target * many + option_duties[option]
                if among[target] and came[code] == -2:
                    came[code] = done
                    codes[count] = code
                    count += 1
        done += 1
    return -1


def enabled_in(offsets: Any, labels: Any, found: Any) -> None:
    """The labels of the edges out of each node."""
    for node in range(len(found)):
        for edge in range(offsets[node], offsets[node + 1]):
            found[node] |= labels[edge]


@cache
def compiled(name: str) -> Any:
    """The loop with this name, compiled when first called, or loaded from the cache folder."""
    loops = (unfold, components, gather, walk, earliest, enabled_in)
    return cached_by_numba(next(loop for loop in loops if loop.__name__ == name))


@dataclass(frozen=True)
class EdgeClass:
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
    classes: tuple[EdgeClass, ...] = ()
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


class FoundRun(NamedTuple):
    """What is found of a formula: with FAILS, the edges of a run of which the last `cycle` repeat,
    and where it starts.
    """

    status: Status
    detail: str = ""
    start: int = 0
    edges: tuple[int, ...] = ()
    cycle: int = 0


class FairnessTask(NamedTuple):
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

    def lasso(self) -> FoundRun:
        """An endless fair run: a shortest stem, then a shortest cycle where nothing has to be
        fair; HOLDS where there is none.
        """
        import numpy as np

        home = self.recurring()
        there = np.flatnonzero(home >= 0)
        if not len(there):
            return FoundRun(Status.HOLDS)
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
        return FoundRun(Status.FAILS, "", start, (*stem, *round_), len(round_))

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
        none = FairnessTask()
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
        task: FairnessTask,
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

    def _tasks(self, component: int) -> Iterator[FairnessTask]:
        for bit in range(self.waiting):
            yield FairnessTask(settles=1 << bit)
        for one in self.graph.classes:
            if one.strength is Strength.WEAK:
                yield FairnessTask(one.word, one.bit, settles=-1)
            elif self._taken[one.word][component] & one.bit:
                yield FairnessTask(one.word, one.bit)

    def _meets(self, task: FairnessTask, edge: int) -> bool:
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


MOST_NODES = 1 << 26
"""How many nodes a product may have, reachable or not."""


class TooWide(Exception):
    """A formula leads to a product with more than `MOST_NODES` nodes."""


class GraphChecker:
    """Checks formulas of a graph from the states `starts`."""

    def __init__(self, graph: Graph, starts: Sequence[int], runs: Runs = Runs.COMPLETE) -> None:
        self._graph = graph
        self._starts = starts
        self._runs = runs
        self._where: dict[Formula, Any] = {}

    def check(self, formula: Formula) -> FoundRun:
        """Whether every run that counts satisfies `formula`, as `Checker.check` says it."""
        path = of_all_runs(formula)
        continuing = self.continuing()
        if not any(continuing[start] for start in self._starts):
            return FoundRun(Status.VACUOUS, f"there is no {self._runs.value} run")
        bad = negated(path)
        if is_co_safety(bad):
            return self._earliest(bad, continuing)
        product = self._product(bad, self._starts)
        if self._runs is not Runs.INFINITE:
            end = product.first_end()
            if end is not None:
                return FoundRun(Status.FAILS, "", *product.trace_to(end))
        if self._runs is Runs.FINITE:
            return FoundRun(Status.HOLDS)
        return product.lasso()

    def holds(self, formula: Formula) -> Any:
        """For each state whether a proposition, or a formula that begins with E, holds there."""
        if formula not in self._where:
            if isinstance(formula, Atom):
                self._where[formula] = self._graph.truth(formula.name)
            else:
                path = formula.path if isinstance(formula, Exists) else formula
                self._where[formula] = self._satisfying(path)
        return self._where[formula]

    def continuing(self) -> Any:
        """For each state whether there is a run from it that counts."""
        import numpy as np

        if self._runs is Runs.COMPLETE:
            return np.ones(self._graph.states, np.bool_)
        return self.holds(TRUE)

    def _satisfying(self, path: Formula) -> Any:
        import numpy as np

        product = self._product(path, range(self._graph.states))
        good = product.recurring() >= 0
        if self._runs is Runs.FINITE:
            good[:] = False
        if self._runs is not Runs.INFINITE:
            good |= self._graph.ended[product.states]
        marks = bytearray(good.astype(np.uint8).tobytes())
        leading_to(product.offsets, product.targets, marks)
        found = np.zeros(self._graph.states, np.bool_)
        leading = np.frombuffer(marks, np.bool_)[: product.begun]
        found[product.states[: product.begun][leading]] = True
        return found

    def _known(self, atoms: Sequence[Formula]) -> tuple[Any, list[tuple[bool, ...]]]:
        """For each state the number of what is true of the atoms there, and what that is."""
        import numpy as np

        together = np.zeros(self._graph.states, np.int64)
        for bit, atom in enumerate(atoms):
            together |= self.holds(atom).astype(np.int64) << bit
        met, known = np.unique(together, return_inverse=True)
        told = [tuple(bool(one >> bit & 1) for bit in range(len(atoms))) for one in met.tolist()]
        return known.astype(np.int32), told

    def _product(self, path: Formula, starts: Sequence[int]) -> Unfolded:
        tableau = tableau_of(path)
        if self._graph.states << len(tableau.promised) > MOST_NODES or self._graph.widest >> 16:
            raise TooWide
        known, told = self._known(tableau.atoms)
        return unfolded(self._graph, tableau, known, told, starts)

    def _earliest(self, bad: Formula, among: Any) -> FoundRun:
        """As `checking.earliest`, over the sets of duties that can be met."""
        import numpy as np

        first = frozenset({negation_normal(bad)})
        atoms = [part for part in path_parts(next(iter(first))) if isinstance(part, (Atom, Exists))]
        known, told = self._known(atoms)
        duties: dict[Duties, int] = {first: 0}
        met: list[list[tuple[int, int]]] = []
        for left in (order := [first]):  # grows while it is read
            for one in told:
                true: dict[Formula, bool] = dict(zip(atoms, one, strict=True))
                ways = list[tuple[int, int]]()
                for strong, weak in ways_to_meet(left, true.__getitem__):
                    then = strong | weak
                    if then not in duties:
                        duties[then] = len(duties)
                        order.append(then)
                    ways.append((duties[then], 0 if strong else 1 if weak else 2))
                met.append(ways)
        many = len(duties)
        if self._graph.states * many > MOST_NODES:
            raise TooWide
        options = np.array([way for ways in met for way in ways], np.int32).reshape(-1, 2)
        begins = np.cumsum([0, *map(len, met)])
        came = np.full(self._graph.states * many, -2, np.int32)
        codes = np.empty(len(came), np.int64)
        starts = [start for start in self._starts if among[start]]
        codes[: len(starts)] = np.array(starts) * many
        came[codes[: len(starts)]] = -1
        place = compiled("earliest")(
            self._graph.offsets, self._graph.targets, known, among, many, len(told), begins,
            options[:, 0].copy(), options[:, 1].copy(), codes, came, len(starts),
        )  # fmt: skip
        if place < 0:
            return FoundRun(Status.HOLDS)
        passed = [int(codes[place]) // many]
        while (place := int(came[codes[place]])) >= 0:
            passed.append(int(codes[place]) // many)
        return FoundRun(Status.FAILS, "", passed[-1], tuple(self._edges_along(passed[::-1])))

    def _edges_along(self, states: Sequence[int]) -> Iterator[int]:
        """The first edge from each state to the next."""
        graph = self._graph
        for state, target in pairwise(states):
            begin, end = int(graph.offsets[state]), int(graph.offsets[state + 1])
            yield begin + graph.targets[begin:end].tolist().index(target)
