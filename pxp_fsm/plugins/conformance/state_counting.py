"""State counting: the inputs that are still to be tried, given all that a program has shown.

Source: Petrenko, Yevtushenko, "Adaptive testing of nondeterministic systems with FSM", HASE 2014;
Hierons, "Testing from a nondeterministic finite state machine using adaptive state counting", IEEE
Transactions on Computers 53(10), 2004. Here the cover is what the program has shown: of the states
that the table allows, those that this program has.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Generic, TypeVar

from pxp_fsm.plugins.conformance.observations import Tester, TraceNode

I = TypeVar("I")  # noqa: E741 - the field's letter for an input


class CountingPlan(Generic[I]):
    """What is to be tested next, by all that was observed: state counting."""

    def __init__(self, tester: Tester[I], extra: int) -> None:
        self.tester, self.spec, self.extra = tester, tester.spec, extra
        self._apart = self.spec.apart
        self._groups = tuple(dict.fromkeys(self._group(node) for node in self.spec.waiting))
        self.states = 0

    def _group(self, node: int) -> frozenset[int]:
        """Quiet nodes that are pairwise apart, `node` among them; as large as is easily found."""
        chosen = [node]
        for other in sorted(
            self.spec.waiting, key=lambda q: -sum((q, w) in self._apart for w in self.spec.waiting)
        ):
            if all((other, member) in self._apart for member in chosen):
                chosen.append(other)
        return frozenset(chosen)

    def make(self) -> dict[int, int]:
        """Ask the tester for all that follows from what is known; an input to try at new points.

        A shortest deviation from any point of the cover passes no two points at which the same
        state of the program meets the same node. So it ends before more points of one group are
        passed than the program has states left.
        """
        self._cover: dict[int, TraceNode] = {}
        for point in self.tester.points():
            self._cover.setdefault(point.node, point)
        self._reached = {group: len(group & self._cover.keys()) for group in self._groups}
        self.states = max(self._reached.values())
        self._most = self.states + self.extra
        self._order = sorted(self._groups, key=lambda group: -self._reached[group])
        self._done: set[frozenset[int]] = set()
        self._tell_apart((), self._order[0])
        for point in self._cover.values():
            self._extend(point, ())
        guess = {}
        for node in self.spec.waiting:
            known = (self._apart[node, q] for q in self._cover if (node, q) in self._apart)
            number = next(known, None) if node in self._cover else None
            first = next(iter(self.spec.receives[node]), None)
            if number is not None or first is not None:
                guess[node] = first if number is None else number
        return {node: chosen for node, chosen in guess.items() if chosen is not None}

    def _extend(self, point: TraceNode, path: tuple[TraceNode, ...]) -> None:
        passed = Counter(trace_node.node for trace_node in path)
        for group in self._order:
            count = sum(passed[node] for node in passed if node in group)
            if count > self._most - self._reached[group]:
                self._tell_apart(path, group)
                return
        for number in self.spec.receives[point.node]:
            self.tester.want(point, number)
            for child in point.children.get(number, {}).values():
                if child is not self._cover[child.node]:
                    self._extend(child, (*path, child))

    def _tell_apart(self, path: tuple[TraceNode, ...], group: frozenset[int]) -> None:
        """Apply, at all points of `path` and of the cover that are in `group`, what differs."""
        cover = [point for node, point in self._cover.items() if node in group]
        passed = [point for point in path if point.node in group]
        pairs = list(combinations(passed, 2))
        pairs += [(point, other) for point in passed for other in cover]
        if group not in self._done:
            self._done.add(group)
            pairs += combinations(cover, 2)
        for point, other in pairs:
            if point.node != other.node:
                self._apply(point, point.node, other.node)
                self._apply(other, other.node, point.node)

    def _apply(self, point: TraceNode, mine: int, other: int) -> None:
        """Ask at `point` for the adaptive test that tells node `mine` from `other`."""
        number = self._apart[mine, other]
        self.tester.want(point, number)
        for reply, child in point.children.get(number, {}).items():
            after, _ = self.spec.follow(self.spec.receives[other][number], reply)
            if after is not None:
                self._apply(child, child.node, after)
