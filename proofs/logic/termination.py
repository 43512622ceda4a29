"""Termination of a model: whether it can end, must end, and must end under fairness.

The questions from the weakest to the strongest: the end can be reached from everywhere; no set of
states without an end in it is never left again (no trap); every run ends that is strongly fair,
weakly fair, or any run at all. Fair is to each row of the tables, or to each agent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from proofs.core.explore import Space, Trace
from proofs.core.model import Model, Step
from proofs.core.properties import always
from proofs.core.results import Status, Verdict
from proofs.logic.checking import Checker
from proofs.logic.fairness import Fairness, Keys, Strength, each
from proofs.logic.formulas import Atom, eventually

S = TypeVar("S", bound=Hashable)

ENDED = "ended"
"""The proposition that must become true."""


@dataclass(frozen=True)
class Question(Generic[S]):
    """One of the questions; `expected` is what a protocol should answer, None where it is free."""

    name: str
    title: str
    expected: Status | None
    answer: Callable[[], Verdict]


def questions(
    model: Model[S], space: Space[S], rows: Keys[S], agents: Keys[S]
) -> Iterator[Question[S]]:
    """Every question about an explored model, each answered when it is asked.

    A witness against an answer is a shortest trace to where no end can be reached, or into a trap
    and once round it, or a run that does not end, and is fair.
    """
    holds = Status.HOLDS
    ended = frozenset(state for state in space.steps if ENDED in model.propositions(state))
    yield Question(
        "end-reachable-from-everywhere",
        "from every reachable state the end can be reached",
        holds,
        lambda: _can_always_end(space, ended),
    )
    yield Question(
        "no-trap",
        "there is no set of states without an end that is never left again",
        holds,
        lambda: _no_trap(space, ended),
    )

    def ends(fairness: Fairness[S]) -> Verdict:
        vocabulary = frozenset({ENDED})
        checker = Checker(model, space, fairness=fairness, vocabulary=vocabulary)
        return checker.check(eventually(Atom(ENDED)))

    for strength, whose, keys, expected in (
        (Strength.STRONG, "row", rows, holds),
        (Strength.STRONG, "agent", agents, None),
        (Strength.WEAK, "row", rows, None),
        (Strength.WEAK, "agent", agents, None),
    ):
        yield Question(
            f"ends-if-{strength.value}-{whose}s",
            f"every run that is {strength.value}ly fair to each {whose} ends",
            expected,
            lambda strength=strength, keys=keys: ends(Fairness(tuple(each(strength, keys, space)))),  # type: ignore[misc] # mypy sees no default in a lambda
        )
    yield Question("always-ends", "every run ends", None, lambda: ends(Fairness()))


def _can_always_end(space: Space[S], ended: frozenset[S]) -> Verdict:
    """From every reachable state some run ends; else a shortest trace to where none does."""
    before: dict[S, list[S]] = {}
    for state, steps in space.steps.items():
        for step in steps:
            before.setdefault(step.target, []).append(state)
    can, left = set(ended), list(ended)
    while left:
        for state in before.get(left.pop(), ()):
            if state not in can:
                can.add(state)
                left.append(state)
    return always(space, lambda state: state in can)


def _no_trap(space: Space[S], ended: frozenset[S]) -> Verdict:
    """No component without an end that nothing leads out of; the nearest one else."""
    import networkx as nx

    graph: nx.DiGraph[S] = nx.DiGraph()
    graph.add_nodes_from(space.steps)
    graph.add_edges_from((s, step.target) for s, steps in space.steps.items() for step in steps)
    traps: dict[S, frozenset[S]] = {}
    for component in map(frozenset, nx.strongly_connected_components(graph)):
        inside = all(step.target in component for state in component for step in space.steps[state])
        if inside and component.isdisjoint(ended):
            traps |= dict.fromkeys(component, component)
    entered = next((state for state in space.steps if state in traps), None)
    if entered is None:
        return Verdict(Status.HOLDS)
    stem, trap = space.trace_to(entered), traps[entered]
    cycle = _round(space, entered)
    size = f"{len(trap)} state{'' if len(trap) == 1 else 's'} without an end, never left"
    return Verdict(Status.FAILS, size, Trace(stem.start, (*stem.steps, *cycle)), len(cycle))


def _round(space: Space[S], start: S) -> tuple[Step[S], ...]:
    """A shortest way back to `start`; nothing where no step leads on."""
    ways: dict[S, tuple[Step[S], ...]] = {}
    level: list[tuple[S, tuple[Step[S], ...]]] = [(start, ())]
    while level:
        following = []
        for state, way in level:
            for step in space.steps[state]:
                if step.target == start:
                    return (*way, step)
                if step.target not in ways:
                    ways[step.target] = (*way, step)
                    following.append((step.target, ways[step.target]))
        level = following
    return ()
