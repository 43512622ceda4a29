"""Model checking of a large graph in arrays: what `proofs.logic.checking` decides, compiled.

States and edges are numbers, and the product with the tableau is a graph in arrays too. The order
of every search is the same, so that verdicts and the lengths of traces are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from proofs.core.graphs import leading_to
from proofs.core.results import Status
from proofs.logic.checking import (
    Duties,
    Runs,
    is_co_safety,
    of_all_runs,
    tableau_of,
    ways_to_meet,
)
from proofs.logic.formulas import TRUE, Atom, Exists, Formula, negated, negation_normal
from proofs.logic.loops import compiled
from proofs.logic.tableau import path_parts
from proofs.logic.unfolding import Found, Graph, Unfolded, unfolded

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

    def check(self, formula: Formula) -> Found:
        """Whether every run that counts satisfies `formula`, as `Checker.check` says it."""
        path = of_all_runs(formula)
        continuing = self.continuing()
        if not any(continuing[start] for start in self._starts):
            return Found(Status.VACUOUS, f"there is no {self._runs.value} run")
        bad = negated(path)
        if is_co_safety(bad):
            return self._earliest(bad, continuing)
        product = self._product(bad, self._starts)
        if self._runs is not Runs.INFINITE:
            end = product.first_end()
            if end is not None:
                return Found(Status.FAILS, "", *product.trace_to(end))
        if self._runs is Runs.FINITE:
            return Found(Status.HOLDS)
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

    def _earliest(self, bad: Formula, among: Any) -> Found:
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
            return Found(Status.HOLDS)
        passed = [int(codes[place]) // many]
        while (place := int(came[codes[place]])) >= 0:
            passed.append(int(codes[place]) // many)
        return Found(Status.FAILS, "", passed[-1], tuple(self._edges_along(passed[::-1])))

    def _edges_along(self, states: Sequence[int]) -> Iterator[int]:
        """The first edge from each state to the next."""
        graph = self._graph
        for state, target in pairwise(states):
            begin, end = int(graph.offsets[state]), int(graph.offsets[state + 1])
            yield begin + graph.targets[begin:end].tolist().index(target)
