"""Temporal logic decided the plain way, over states as they are: a second checker.

Its product with the tableau is of tuples, in dictionaries; components are those of networkx. Its
tableaux and the ways to meet what is promised are its own; it shares with the first how formulas
are read, and which of them are co-safety ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import networkx as nx

from proofs.core.explore import Model, Space, Step, Trace
from proofs.core.results import Status, Verdict
from proofs.logic.checking import Runs, is_co_safety, of_all_runs
from proofs.logic.fairness import FairClass, Fairness, Strength
from proofs.logic.formulas import TRUE, Atom, Exists, Formula, atoms, negated, negation_normal
from tests.oracles.tableau import Duties, Tableau, ways_to_meet

S = TypeVar("S", bound=Hashable)
Holds = Callable[[Formula, S], bool]
Inner = Mapping[Any, tuple[tuple[Step[S], Any], ...]]
"""Nodes (a state, and whatever else) with their edges inside a component."""


def enabled(fair: FairClass[S], state: S, space: Space[S]) -> bool:
    """Whether `state` has a step of the class."""
    return any(fair.contains(state, step) for step in space.steps[state])


def taken(fair: FairClass[S], inner: Inner[S]) -> bool:
    """Whether an edge inside is a step of the class."""
    return any(fair.contains(node[0], step) for node, edges in inner.items() for step, _ in edges)


def tasks(
    fairness: Fairness[S], inner: Inner[S], space: Space[S]
) -> Iterator[Callable[[Any, tuple[Step[S], Any]], bool]]:
    """What a walk round `inner` must meet to be fair, each as a test on a node and its edge."""
    for one in fairness.classes:
        if one.strength is Strength.WEAK:
            yield lambda node, edge, one=one: (  # type: ignore[misc] # mypy sees no default in a lambda
                one.contains(node[0], edge[0]) or not enabled(one, node[0], space)
            )
        elif taken(one, inner):
            yield lambda node, edge, one=one: one.contains(node[0], edge[0])  # type: ignore[misc] # as above


def is_fair(fairness: Fairness[S], inner: Inner[S], space: Space[S]) -> bool:
    """Whether a run that goes round all of `inner` for ever is fair."""
    for one in fairness.classes:
        if taken(one, inner):
            continue
        can = [enabled(one, node[0], space) for node in inner]
        if all(can) if one.strength is Strength.WEAK else any(can):
            return False
    return True


def possible(fairness: Fairness[S], inner: Inner[S], space: Space[S]) -> frozenset[Any]:
    """The nodes of an unfair component that a fair run inside it can still visit for ever.

    A class that is never taken inside must not be enabled there (strong), or not everywhere (weak):
    then nothing smaller inside can be fair to it.
    """
    left = set(inner)
    for one in fairness.classes:
        if taken(one, inner):
            continue
        if one.strength is Strength.STRONG:
            left -= {node for node in left if enabled(one, node[0], space)}
        elif all(enabled(one, node[0], space) for node in inner):
            return frozenset()
    return frozenset(left)


Node = tuple[S, int | None]
"""A state with a valuation; None where a run ends."""
Edge = tuple[Step[S], Node[S]]


@dataclass(frozen=True)
class Lasso(Generic[S]):
    """A run: a trace of which the last `cycle` steps repeat for ever; 0 where it is finite."""

    trace: Trace[S]
    cycle: int


@dataclass(frozen=True)
class Product(Generic[S]):
    """`space` times the tableau of a path formula; `holds` decides its atoms."""

    space: Space[S]
    tableau: Tableau
    holds: Callable[[Formula, S], bool]
    _known: dict[S, tuple[bool, ...]] = field(default_factory=dict, repr=False, compare=False)
    _keeping: dict[tuple[bool, ...], dict[int, tuple[int, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def known(self, state: S) -> tuple[bool, ...]:
        """The truth of the tableau's atoms in `state`."""
        if state not in self._known:
            self._known[state] = tuple(self.holds(atom, state) for atom in self.tableau.atoms)
        return self._known[state]

    def starting(self, state: S) -> Iterator[Node[S]]:
        """The nodes of `state` in which the formula holds."""
        known = self.known(state)
        for valuation in self.tableau.valuations if self.space.steps[state] else (None,):
            if self.tableau.holds(known, valuation):
                yield state, valuation

    def edges(self, node: Node[S]) -> Iterator[Edge[S]]:
        """The steps out of a node to nodes that keep what it promises."""
        state, valuation = node
        for step in self.space.steps[state]:
            known = self.known(step.target)
            if self.space.steps[step.target]:
                for kept in self._kept(known).get(valuation or 0, ()):
                    yield step, (step.target, kept)
            elif self.tableau.kept(known, None) == valuation:
                yield step, (step.target, None)

    def _kept(self, known: tuple[bool, ...]) -> dict[int, tuple[int, ...]]:
        """By the valuation before: the valuations that keep it, where the atoms are `known`."""
        if known not in self._keeping:
            found: dict[int, list[int]] = {}
            for valuation in self.tableau.valuations:
                found.setdefault(self.tableau.kept(known, valuation), []).append(valuation)
            self._keeping[known] = {before: tuple(after) for before, after in found.items()}
        return self._keeping[known]

    def settled(self, node: Node[S]) -> int:
        """The bits of what does not wait in `node`."""
        state, valuation = node
        return self.tableau.settled(self.known(state), valuation or 0)

    @cached_property
    def all_settled(self) -> int:
        """The bits of everything that must not wait for ever."""
        return (1 << len(self.tableau.waiting)) - 1


@dataclass(frozen=True)
class ReachedPart(Generic[S]):
    """The part of a product that is reached from some nodes, breadth first."""

    product: Product[S]
    edges: dict[Node[S], tuple[Edge[S], ...]]
    parents: dict[Node[S], tuple[Node[S], Step[S]] | None]

    def trace_to(self, node: Node[S]) -> Trace[S]:
        """A shortest trace to `node`."""
        steps: list[Step[S]] = []
        parent = self.parents[node]
        while parent is not None:
            node, step = parent
            steps.append(step)
            parent = self.parents[node]
        return Trace(node[0], tuple(reversed(steps)))

    def finite(self) -> Lasso[S] | None:
        """A shortest run that ends."""
        end = next((node for node in self.edges if node[1] is None), None)
        return None if end is None else Lasso(self.trace_to(end), 0)

    def infinite(self, fairness: Fairness[S]) -> Lasso[S] | None:
        """An endless fair run: shortest stem, then shortest cycle where nothing has to be fair."""
        good = list(self.recurring(fairness))
        where = {node: component for component in good for node in component}
        if not where:
            return None
        depth: dict[Node[S], int] = {}
        for node in self.edges:
            parent = self.parents[node]
            depth[node] = 0 if parent is None else depth[parent[0]] + 1
        least = min(depth[node] for node in where)
        found: Lasso[S] | None = None
        for node in (node for node in self.edges if node in where and depth[node] == least):
            cycle = self._cycle(node, where[node], fairness)
            if found is None or len(cycle) < found.cycle:
                stem = self.trace_to(node)
                found = Lasso(Trace(stem.start, (*stem.steps, *cycle)), len(cycle))
        return found

    def recurring(self, fairness: Fairness[S]) -> Iterator[frozenset[Node[S]]]:
        """Sets of nodes, each of which some fair run that waits for nothing visits for ever."""
        left = [frozenset(node for node in self.edges if node[1] is not None)]
        while left:
            for component in self._components(left.pop()):
                bits = 0
                for node in component:
                    bits |= self.product.settled(node)
                if bits != self.product.all_settled:
                    continue
                inner = self._inside(component)
                if is_fair(fairness, inner, self.product.space):
                    yield component
                    continue
                smaller = possible(fairness, inner, self.product.space)
                if smaller:
                    left.append(smaller)

    def _components(self, nodes: frozenset[Node[S]]) -> Iterator[frozenset[Node[S]]]:
        """The strongly connected components of `nodes` that have an edge inside."""
        graph: nx.DiGraph[Node[S]] = nx.DiGraph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(
            (node, target) for node in nodes for _, target in self.edges[node] if target in nodes
        )
        for component in nx.strongly_connected_components(graph):
            one = next(iter(component))
            if len(component) > 1 or graph.has_edge(one, one):
                yield frozenset(component)

    def _inside(self, component: frozenset[Node[S]]) -> dict[Node[S], tuple[Edge[S], ...]]:
        return {
            node: tuple(edge for edge in self.edges[node] if edge[1] in component)
            for node in component
        }

    def _cycle(
        self, start: Node[S], component: frozenset[Node[S]], fairness: Fairness[S]
    ) -> tuple[Step[S], ...]:
        """A cycle through `start` inside `component` that waits for nothing and is fair."""
        inner = self._inside(component)
        shortest = self._shortest_cycle(start, inner)
        round_ = _edges_of(start, shortest)
        if is_fair(fairness, round_, self.product.space):
            return tuple(step for step, _ in shortest)
        return _tour(start, inner, self._must_meet(component, inner, fairness))

    def _must_meet(
        self,
        component: frozenset[Node[S]],
        inner: dict[Node[S], tuple[Edge[S], ...]],
        fairness: Fairness[S],
    ) -> Iterator[Callable[[Node[S], Edge[S]], bool]]:
        """What a cycle must contain, each as a test on an edge with its source."""
        for bit in range(len(self.product.tableau.waiting)):
            yield lambda node, _edge, bit=bit: bool(self.product.settled(node) >> bit & 1)  # type: ignore[misc] # mypy sees no default in a lambda
        yield from tasks(fairness, inner, self.product.space)

    def _shortest_cycle(
        self, start: Node[S], inner: dict[Node[S], tuple[Edge[S], ...]]
    ) -> tuple[Edge[S], ...]:
        """By breadth-first search over nodes and what has been settled since the start."""
        product = self.product
        first = (start, product.settled(start))
        parents: dict[tuple[Node[S], int], tuple[tuple[Node[S], int], Edge[S]]] = {}
        queue = deque([first])
        seen = {first}
        while queue:
            place = queue.popleft()
            for step, target in inner[place[0]]:
                reached = (target, place[1] | product.settled(target))
                if target == start and reached[1] == product.all_settled:
                    return _back(parents, place, (step, target))
                if reached not in seen:
                    seen.add(reached)
                    parents[reached] = (place, (step, target))
                    queue.append(reached)
        raise AssertionError("a recurring component has a cycle")


P = TypeVar("P", bound=Hashable)


def _back(parents: dict[P, tuple[P, Edge[S]]], place: P, last: Edge[S]) -> tuple[Edge[S], ...]:
    edges = [last]
    while place in parents:
        place, edge = parents[place]
        edges.append(edge)
    return tuple(reversed(edges))


def _edges_of(start: Node[S], cycle: Iterable[Edge[S]]) -> dict[Node[S], tuple[Edge[S], ...]]:
    """The nodes of a closed walk from `start`, each with the edges that it takes there."""
    found: dict[Node[S], tuple[Edge[S], ...]] = {}
    here = start
    for edge in cycle:
        found[here] = (*found.get(here, ()), edge)
        here = edge[1]
    return found


def _tour(
    start: Node[S],
    inner: dict[Node[S], tuple[Edge[S], ...]],
    tasks: Iterable[Callable[[Node[S], Edge[S]], bool]],
) -> tuple[Step[S], ...]:
    """A closed walk from `start` that meets every task: a short one, not a shortest."""
    walk: list[tuple[Node[S], Edge[S]]] = []
    here = start
    for task in tasks:
        if any(task(node, edge) for node, edge in walk):
            continue
        for edge in _nearest(here, inner, task):
            walk.append((here, edge))
            here = edge[1]
    if here != start or not walk:
        for edge in _nearest(here, inner, lambda _node, edge: edge[1] == start):
            walk.append((here, edge))
            here = edge[1]
    return tuple(step for _, (step, _) in walk)


def _nearest(
    start: Node[S],
    inner: dict[Node[S], tuple[Edge[S], ...]],
    task: Callable[[Node[S], Edge[S]], bool],
) -> tuple[Edge[S], ...]:
    """A shortest walk from `start` whose last edge meets `task`."""
    parents: dict[Node[S], tuple[Node[S], Edge[S]]] = {}
    queue, seen = deque([start]), {start}
    while queue:
        node = queue.popleft()
        for edge in inner[node]:
            if task(node, edge):
                return _back(parents, node, edge)
            if edge[1] not in seen:
                seen.add(edge[1])
                parents[edge[1]] = (node, edge)
                queue.append(edge[1])
    raise AssertionError("a fair component meets every task")


def reach(product: Product[S], starts: Iterable[Node[S]]) -> ReachedPart[S]:
    """What is reached from `starts`."""
    parents: dict[Node[S], tuple[Node[S], Step[S]] | None] = dict.fromkeys(starts)
    edges: dict[Node[S], tuple[Edge[S], ...]] = {}
    queue = deque(parents)
    while queue:
        node = queue.popleft()
        edges[node] = tuple(product.edges(node)) if node[1] is not None else ()
        for step, target in edges[node]:
            if target not in parents:
                parents[target] = (node, step)
                queue.append(target)
    return ReachedPart(product, edges, parents)


def leading_to(reached: ReachedPart[S], good: Iterable[Node[S]]) -> frozenset[Node[S]]:
    """The nodes from which a good one is reached."""
    before: dict[Node[S], list[Node[S]]] = {}
    for node, edges in reached.edges.items():
        for _, target in edges:
            before.setdefault(target, []).append(node)
    found = set(good)
    left = list(found)
    while left:
        for node in before.get(left.pop(), ()):
            if node not in found:
                found.add(node)
                left.append(node)
    return frozenset(found)


def earliest(
    space: Space[S], starts: tuple[S, ...], formula: Formula, holds: Holds[S], among: frozenset[S]
) -> Trace[S] | None:
    """A shortest trace, through states in `among`, after which `formula` is shown; None if none."""
    first = frozenset({negation_normal(formula)})
    parents: dict[tuple[S, Duties], tuple[tuple[S, Duties], Step[S]] | None] = {
        (state, first): None for state in starts if state in among
    }
    queue = deque(parents)
    while queue:
        place = queue.popleft()
        state, duties = place
        for strong, weak in ways_to_meet(duties, lambda atom: holds(atom, state)):  # noqa: B023 - used up before the loop goes on
            if not strong and (not weak or not space.steps[state]):
                return _back_to_start(parents, place)
            for step in space.steps[state]:
                reached = (step.target, strong | weak)
                if step.target in among and reached not in parents:
                    parents[reached] = (place, step)
                    queue.append(reached)
    return None


def _back_to_start(
    parents: dict[tuple[S, Duties], tuple[tuple[S, Duties], Step[S]] | None],
    place: tuple[S, Duties],
) -> Trace[S]:
    steps: list[Step[S]] = []
    parent = parents[place]
    while parent is not None:
        place, step = parent
        steps.append(step)
        parent = parents[place]
    return Trace(place[0], tuple(reversed(steps)))


class PlainChecker(Generic[S]):
    """Checks formulas of an explored model; what an E quantifies is worked out once.

    `fairness` restricts infinite runs; it says nothing of finite ones. `vocabulary` are
    propositions that may be asked for although no reachable state has them.
    """

    def __init__(
        self,
        model: Model[S],
        space: Space[S],
        runs: Runs = Runs.COMPLETE,
        fairness: Fairness[S] | None = None,
        vocabulary: frozenset[str] = frozenset(),
    ) -> None:
        self._space = space
        self._runs = runs
        self._fairness: Fairness[S] = fairness or Fairness()
        self._true = {state: model.propositions(state) for state in space.steps}
        self.vocabulary = vocabulary.union(*self._true.values())
        self._where: dict[Formula, frozenset[S]] = {}
        self._starts = tuple(state for state, parent in space.parents.items() if parent is None)

    def check(self, formula: Formula) -> Verdict:
        """Whether every run that counts satisfies `formula`, from every initial state.

        The trace of FAILS is a shortest one for a formula without an F, U or M that could be waited
        for (for ever safe, as it is written); else a run that ends, or a lasso with a shortest stem
        and then a shortest cycle, or with fairness a short one. VACUOUS: there is no such run.
        Raises `UsageError` for a proposition that no state has, or too many temporal operators.
        """
        assert self.vocabulary.issuperset(atoms(formula))
        path = of_all_runs(formula)
        if not any(state in self.continuing for state in self._starts):
            return Verdict(Status.VACUOUS, f"there is no {self._runs.value} run")
        bad = negated(path)
        if is_co_safety(bad):
            trace = earliest(self._space, self._starts, bad, self.holds, self.continuing)
            return Verdict(Status.HOLDS) if trace is None else Verdict(Status.FAILS, trace=trace)
        found = self.run_with(bad)
        if found is None:
            return Verdict(Status.HOLDS)
        return Verdict(Status.FAILS, trace=found.trace, cycle=found.cycle)

    def run_with(self, path: Formula) -> Lasso[S] | None:
        """A complete run from an initial state that counts and satisfies `path`, or None."""
        product = self._product(path)
        reached = reach(product, (n for state in self._starts for n in product.starting(state)))
        ends = reached.finite() if self._runs is not Runs.INFINITE else None
        if ends is not None or self._runs is Runs.FINITE:
            return ends
        return reached.infinite(self._fairness)

    def holds(self, formula: Formula, state: S) -> bool:
        """Whether a proposition, or a formula that begins with E, holds in `state`."""
        if isinstance(formula, Atom):
            return formula.name in self._true[state]
        if formula not in self._where:
            self._where[formula] = self.satisfying(formula)
        return state in self._where[formula]

    def satisfying(self, formula: Formula) -> frozenset[S]:
        """The states from which some run that counts satisfies what `formula` (an E) quantifies."""
        product = self._product(formula.path if isinstance(formula, Exists) else formula)
        starting = {state: tuple(product.starting(state)) for state in self._space.steps}
        reached = reach(product, (node for nodes in starting.values() for node in nodes))
        good = leading_to(reached, self._good(reached))
        return frozenset(state for state, nodes in starting.items() if not good.isdisjoint(nodes))

    @property
    def continuing(self) -> frozenset[S]:
        """The states from which there is a run that counts at all."""
        if TRUE not in self._where:
            self._where[TRUE] = (
                frozenset(self._space.steps)
                if self._runs is Runs.COMPLETE
                else self.satisfying(TRUE)
            )
        return self._where[TRUE]

    def _product(self, path: Formula) -> Product[S]:
        return Product(self._space, Tableau(path), self.holds)

    def _good(self, reached: ReachedPart[S]) -> Iterable[Node[S]]:
        """Nodes at which, or from which on, a run is all that it has to be."""
        if self._runs is not Runs.INFINITE:
            yield from (node for node in reached.edges if node[1] is None)
        if self._runs is not Runs.FINITE:
            for component in reached.recurring(self._fairness):
                yield from component
