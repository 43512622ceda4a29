"""Termination of a model: whether it can end, must end, and must end under fairness.

The questions from the weakest to the strongest: the end can be reached from everywhere; no set of
states without an end in it is never left again (no trap); every run ends that is strongly fair,
weakly fair, or any run at all. Fair is to each row of the tables, or to each agent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Generic, TypeVar

from proofs.core.explore import Model, Space, Step, Trace
from proofs.core.properties import always
from proofs.core.results import Status, Verdict
from proofs.logic.checking import FormulaChecker
from proofs.logic.fairness import Fairness, Keys, Strength, each
from proofs.logic.formulas import Atom, eventually
from proofs.logic.graph import graph_of
from pxp_fsm.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)

ENDED = "ended"
"""The proposition that must become true."""

END_REACHABLE, NO_TRAP, ALWAYS_ENDS = "end-reachable-from-everywhere", "no-trap", "always-ends"

FAIR_ENDS: Mapping[str, tuple[Strength, str]] = {
    f"ends-if-{strength.value}-{whose}s": (strength, whose)
    for strength in (Strength.STRONG, Strength.WEAK)
    for whose in ("row", "agent")
}
"""The questions about fair runs: how fair a run is, and to each of what."""

TERMINATION: Mapping[str, str] = {
    END_REACHABLE: "from every reachable state all members can come to an end",
    NO_TRAP: "there is no set of states without an end that is never left again",
    **{
        name: f"every run that is {strength.value}ly fair to each {whose} ends"
        for name, (strength, whose) in FAIR_ENDS.items()
    },
    ALWAYS_ENDS: "every run ends",
}
"""The questions by name, from the weakest to the strongest, with their titles."""

_DEMANDED = (END_REACHABLE, NO_TRAP, "ends-if-strong-rows")
"""What every protocol should answer with HOLDS; the other questions are free."""


@dataclass(frozen=True)
class TerminationQuestion(Generic[S]):
    """One of the questions; `expected` is what a protocol should answer, None where it is free."""

    name: str
    title: str
    expected: Status | None
    answer: Callable[[], Verdict]


def questions(
    model: Model[S], space: Space[S], rows: Keys[S], agents: Keys[S]
) -> Iterator[TerminationQuestion[S]]:
    """Every question about an explored model, each answered when it is asked.

    A witness against an answer is a shortest trace to where no end can be reached, or into a trap
    and once round it, or a run that does not end, and is fair.
    """
    ended = frozenset(state for state in space.steps if ENDED in model.propositions(state))

    answers: dict[str, Callable[[], Verdict]] = {
        END_REACHABLE: lambda: _can_always_end(space, ended),
        NO_TRAP: lambda: no_trap(space, ended),
    }
    for name, title in TERMINATION.items():
        expected = Status.HOLDS if name in _DEMANDED else None
        fairness = Fairness[S]()
        if name in FAIR_ENDS:
            strength, whose = FAIR_ENDS[name]
            fairness = Fairness(tuple(each(strength, rows if whose == "row" else agents, space)))
        ends = partial(fair_runs_end, model, space, fairness)
        yield TerminationQuestion(name, title, expected, answers.get(name, ends))


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


def fair_runs_end(model: Model[S], space: Space[S], fairness: Fairness[S]) -> Verdict:
    """Every run ends that is fair; with no fairness, every run at all.

    Why it matters: that an end can be reached does not say that it will be. What a run owes is an
    assumption: weakly fair takes what stays possible, strongly fair takes what is possible again
    and again; each row of the tables, or each agent by some row. The fewer assumptions a protocol
    needs to end, the better.

    What to do: the trace ends in steps that repeat for ever. Count something in a register and stop
    at a bound, or state which fairness the runtime guarantees.

    >>> import pxp_fsm as pxp
    >>> a = pxp.build_automaton(
    ...     "a",
    ...     [
    ...         {"from": "IDLE", "to": "IDLE", "send": "MORE"},
    ...         {"from": "IDLE", "to": "END", "send": "DONE"},
    ...     ],
    ...     final=["END"],
    ... )
    >>> b = pxp.build_automaton(
    ...     "b",
    ...     [
    ...         {"from": "IDLE", "to": "IDLE", "receive": "MORE"},
    ...         {"from": "IDLE", "to": "END", "receive": "DONE"},
    ...     ],
    ...     final=["END"],
    ... )
    >>> [result] = pxp.check(pxp.System(a=a, b=b), "always-ends")
    >>> print(result.status, result.verdict.explanation)
    FAILS a>b MORE (the last 1 for ever)
    """
    vocabulary = frozenset({ENDED})
    checker = FormulaChecker(graph_of(model, space, fairness, vocabulary))
    return checker.check(eventually(Atom(ENDED)))


def no_trap(space: Space[S], ended: frozenset[S]) -> Verdict:
    """No component without an end that nothing leads out of; the nearest one else.

    Why it matters: a trap is a set of states that a run enters and never leaves, and in which
    nobody ends. A run that enters it goes round for ever, even if every choice is made fairly.

    What to do: give one of its states a way to an end. The last steps of the trace go once round
    the trap.

    >>> import pxp_fsm as pxp
    >>> a = pxp.build_automaton(
    ...     "a",
    ...     [
    ...         {"from": "IDLE", "to": "END", "send": "ONE"},
    ...         {"from": "IDLE", "to": "LOST", "send": "BAD"},
    ...         {"from": "LOST", "to": "LOST", "send": "BAD"},
    ...     ],
    ...     final=["END"],
    ... )
    >>> b = pxp.build_automaton(
    ...     "b",
    ...     [
    ...         {"from": "IDLE", "to": "END", "receive": "ONE"},
    ...         {"from": "IDLE", "to": "IDLE", "receive": "BAD"},
    ...     ],
    ...     final=["END"],
    ... )
    >>> [result] = pxp.check(pxp.System(a=a, b=b), "no-trap")
    >>> print(result.status, result.verdict.explanation)
    FAILS 1 state without an end, never left: a>b BAD, a>b BAD (the last 1 for ever)
    """
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
