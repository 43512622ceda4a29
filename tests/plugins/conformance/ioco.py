"""uioco by its definition, on explicit transition systems, with inputs given to a quiet program."""

from __future__ import annotations

from dataclasses import dataclass

Edge = tuple[int, str, int]
"""From, label, to; a label is `?input`, `!output` or `tau`."""


@dataclass(frozen=True)
class System:
    edges: frozenset[Edge]
    initial: int = 0

    def go(self, states: frozenset[int], label: str) -> frozenset[int]:
        return unseen(self, {t for s, a, t in self.edges if s in states and a == label})


Meeting = tuple[frozenset[int], frozenset[int], bool]
"""States of the specification and of the program after one trace; whether both are quiet."""


def unseen(system: System, states: set[int] | frozenset[int]) -> frozenset[int]:
    more = {t for s, a, t in system.edges if s in states and a == "tau"}
    return frozenset(states) if more <= states else unseen(system, states | more)


def waits(system: System, state: int) -> bool:
    return not any(s == state and (a == "tau" or a[0] == "!") for s, a, _ in system.edges)


def out(system: System, states: frozenset[int]) -> set[str]:
    found = {a for s, a, _ in system.edges if s in states and a[0] == "!"}
    return found | ({"delta"} if any(waits(system, s) for s in states) else set())


def accepted(system: System, states: frozenset[int], label: str) -> bool:
    return label[0] == "?" and all(any((s, label) == e[:2] for e in system.edges) for s in states)


def after(system: System, states: frozenset[int], label: str) -> frozenset[int]:
    if label == "delta":
        return frozenset(s for s in states if waits(system, s))
    return system.go(states, label)


def judge(specification: System, program: System) -> tuple[int | None, int]:
    """How many inputs a shortest deviation has, if any, and how many quiet states are observed."""
    start = tuple(unseen(one, {one.initial}) for one in (specification, program))
    level: list[Meeting] = [(start[0], start[1], False)]
    seen, depth, quiet = set[Meeting](), 0, set[frozenset[int]]()
    first: int | None = None
    while level:
        following: list[Meeting] = []
        while level:
            meeting = level.pop()
            if meeting in seen:
                continue
            seen.add(meeting)  # not before: what the next level also has may still come in this one
            should, does, settled = meeting
            if not out(program, does) <= out(specification, should):
                first = depth if first is None else first
                continue
            if settled:
                quiet.add(does)
                labels = {
                    a for _, a, _ in specification.edges if accepted(specification, should, a)
                }
            else:
                labels = out(program, does)
            for label in labels:
                allowed, reached = after(specification, should, label), after(program, does, label)
                new = (allowed, reached, label == "delta")
                (following if settled else level).append(new)
        level, depth = following, depth + 1
    return first, len(quiet)
