"""Properties of an explored model, whatever it models; each gives a verdict with its trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import TypeVar

from proofs.core.explore import Space, Step, Trace
from proofs.core.results import Bound, Status, Verdict

S = TypeVar("S", bound=Hashable)
OnStep = Callable[[S, Step[S]], bool]


def always(space: Space[S], holds: Callable[[S], bool]) -> Verdict:
    """`holds` in every reachable state."""
    trace = space.find(lambda state: not holds(state))
    return Verdict(Status.HOLDS) if trace is None else Verdict(Status.FAILS, trace=trace)


def each_step(space: Space[S], when: OnStep[S], then: OnStep[S]) -> Verdict:
    """Every reachable step that satisfies `when` satisfies `then`; VACUOUS where none does."""
    met = False
    for state, steps in space.steps.items():
        for step in steps:
            if not when(state, step):
                continue
            met = True
            if not then(state, step):
                before = space.trace_to(state)
                return Verdict(Status.FAILS, trace=Trace(before.start, (*before.steps, step)))
    return Verdict(Status.HOLDS) if met else Verdict(Status.VACUOUS, "its premise never holds")


def never_deadlocks(space: Space[S], ended: Callable[[S], bool]) -> Verdict:
    """Every state without a step is one in which the model has ended."""
    return always(space, lambda state: bool(space.steps[state]) or ended(state))


def terminates(space: Space[S], takes: OnStep[S] = lambda _state, _step: True) -> Verdict:
    """No run is endless: the reachable graph has no cycle, of steps that it `takes`; else a lasso.

    The lasso has a shortest stem to a cycle, and a shortest cycle of those so near. The bound of a
    model that terminates is the length of its longest run.
    """
    following = {
        state: [step.target for step in steps if takes(state, step)]
        for state, steps in space.steps.items()
    }
    entering = Counter(target for targets in following.values() for target in targets)
    length = dict.fromkeys(following, 0)
    before_cycles = [state for state in following if not entering[state]]
    for state in before_cycles:  # grows while it is read
        for target in following[state]:
            length[target] = max(length[target], length[state] + 1)
            entering[target] -= 1
            if not entering[target]:
                before_cycles.append(target)
    if len(before_cycles) == len(following):
        return Verdict(Status.HOLDS, bound=Bound(steps=max(length.values(), default=0)))
    others = set(before_cycles)
    start, cycle = next(iter(space.steps)), tuple[Step[S], ...]()
    for state in (step for step in space.steps if step not in others):  # breadth first
        if cycle and space.depth(state) > space.depth(start):
            break
        shortest = _shortest_cycle(space, state, takes, len(cycle))
        if shortest:
            start, cycle = state, shortest
    stem = space.trace_to(start)
    return Verdict(
        Status.FAILS,
        "an endless run",
        Trace(stem.start, (*stem.steps, *cycle)),
        len(cycle),
    )


def _shortest_cycle(space: Space[S], start: S, takes: OnStep[S], below: int) -> tuple[Step[S], ...]:
    """The steps of a shortest cycle through `start`, of those that it `takes`; () for none.

    It has fewer than `below` steps, if that is not 0.
    """
    paths: dict[S, tuple[Step[S], ...]] = {}
    level: list[tuple[S, tuple[Step[S], ...]]] = [(start, ())]
    length = 0
    while level and length + 1 != below:
        following = []
        for state, path in level:
            for step in space.steps[state]:
                if not takes(state, step):
                    continue
                if step.target == start:
                    return (*path, step)
                if step.target not in paths:
                    paths[step.target] = (*path, step)
                    following.append((step.target, paths[step.target]))
        level, length = following, length + 1
    return ()


def complete_words(space: Space[S]) -> frozenset[tuple[str, ...]]:
    """The labels of every complete run of a model that terminates; for small ones."""
    known: dict[S, frozenset[tuple[str, ...]]] = {}

    def after(state: S) -> frozenset[tuple[str, ...]]:
        if state not in known:
            steps = space.steps[state]
            words = frozenset((step.label, *rest) for step in steps for rest in after(step.target))
            known[state] = words or frozenset({()})
        return known[state]

    return frozenset().union(*(after(s) for s, parent in space.parents.items() if parent is None))


def longest_run(space: Space[S]) -> Trace[S]:
    """A longest run of a model that terminates."""
    order = list(space.steps)
    best: dict[S, int] = {}

    def measure(state: S) -> int:
        if state not in best:
            best[state] = max((1 + measure(step.target) for step in space.steps[state]), default=0)
        return best[state]

    state = max((s for s in order if space.parents[s] is None), key=measure)
    start, steps = state, list[Step[S]]()
    while space.steps[state]:
        step = max(space.steps[state], key=lambda move: measure(move.target))
        steps.append(step)
        state = step.target
    return Trace(start, tuple(steps))
