"""Two tables joined by a synchronous channel, every guard free: what any protocol must pass.

Sending and receiving are one step. An event from outside reaches both agents at once: those that
have a row for it take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proofs.explore import Space, explore
from proofs.model import Step
from proofs.properties import always, never_deadlocks
from proofs.verdicts import Status, Verdict
from pxp_fsm.automaton import Automaton, Kind, Transition

Pair = tuple[str, str]
"""The states of the two agents."""


@dataclass(frozen=True)
class Product:
    """The product of two tables, the first agent's and the second's."""

    left: Automaton
    right: Automaton

    @property
    def name(self) -> str:
        return f"{self.left.name} with {self.right.name}"

    def initial(self) -> Iterable[Pair]:
        yield (self.left.initial, self.right.initial)

    def successors(self, state: Pair) -> Iterator[Step[Pair]]:
        for agent, rows in enumerate(self.sends(state)):
            for row in rows:
                heard = self.reception(state, agent, row)
                if heard is not None:
                    yield Step(f"{agent + 1} {row.label}", _moved(agent, row, heard))
        yield from self._events(state)

    def propositions(self, state: Pair) -> frozenset[str]:
        return frozenset({f"1@{state[0]}", f"2@{state[1]}"})

    def sends(self, state: Pair) -> tuple[tuple[Transition, ...], ...]:
        """The rows by which each agent could send in `state`."""
        return tuple(
            tuple(t for t in table.leaving(where) if t.kind is Kind.SEND)
            for table, where in zip((self.left, self.right), state, strict=True)
        )

    def reception(self, state: Pair, agent: int, row: Transition) -> Transition | None:
        """The row by which the other agent takes what `agent` sends, if it has one."""
        return (self.left if agent else self.right).receives(state[1 - agent], row.label)

    def ended(self, state: Pair) -> bool:
        """Whether both agents are in an end state."""
        return state[0] in self.left.final and state[1] in self.right.final

    def rows_taken(self, state: Pair) -> Iterator[tuple[int, Transition]]:
        """Every row that some step out of `state` takes, with the agent that takes it."""
        for agent, rows in enumerate(self.sends(state)):
            for row in rows:
                heard = self.reception(state, agent, row)
                if heard is not None:
                    yield agent, row
                    yield 1 - agent, heard
        for _, outside in self._outside(state):
            yield from outside.items()

    def _events(self, state: Pair) -> Iterator[Step[Pair]]:
        for label, rows in self._outside(state):
            targets = [rows[i].target if i in rows else state[i] for i in (0, 1)]
            yield Step(f"! {label}", (targets[0], targets[1]))

    def _outside(self, state: Pair) -> Iterator[tuple[str, dict[int, Transition]]]:
        found: dict[str, dict[int, Transition]] = {}
        for agent, (table, where) in enumerate(zip((self.left, self.right), state, strict=True)):
            for row in table.leaving(where):
                if row.kind is Kind.EVENT:
                    found.setdefault(row.label, {})[agent] = row
        yield from found.items()


def _moved(agent: int, sent: Transition, heard: Transition) -> Pair:
    return (heard.target, sent.target) if agent else (sent.target, heard.target)


def standing_checks(product: Product) -> dict[str, Verdict]:
    """What every protocol must pass, by name: each verdict with a shortest trace where it fails."""
    space = explore(product)
    return {
        "no-deadlock": never_deadlocks(space, product.ended),
        "no-unspecified-reception": always(space, lambda s: not _unheard(product, s, at_end=False)),
        "no-orphan-message": always(space, lambda s: not _unheard(product, s, at_end=True)),
        "nothing-sent-after-the-end": always(space, lambda state: not _talks_on(product, state)),
        "end-reachable-from-everywhere": _can_always_end(product, space),
        "no-dead-row": _no_dead_row(product, space),
    }


def _unheard(product: Product, state: Pair, *, at_end: bool) -> bool:
    """Whether something can be sent that the other agent, ended or not, does not take."""
    ends = (product.left.final, product.right.final)
    return any(
        product.reception(state, agent, row) is None
        and (state[1 - agent] in ends[1 - agent]) is at_end
        for agent, rows in enumerate(product.sends(state))
        for row in rows
    )


def _talks_on(product: Product, state: Pair) -> bool:
    ends = (product.left.final, product.right.final)
    return any(rows and state[i] in ends[i] for i, rows in enumerate(product.sends(state)))


def _can_always_end(product: Product, space: Space[Pair]) -> Verdict:
    """From every reachable state some run ends; else the shortest trace to where none does."""
    import networkx as nx

    graph: nx.DiGraph[Pair] = nx.DiGraph()
    graph.add_nodes_from(space.steps)
    graph.add_edges_from((s, step.target) for s, steps in space.steps.items() for step in steps)
    ends = [state for state in space.steps if product.ended(state)]
    can = set(ends).union(*(nx.ancestors(graph, end) for end in ends))
    return always(space, lambda state: state in can)


def _no_dead_row(product: Product, space: Space[Pair]) -> Verdict:
    """Every row of both tables is taken in some run."""
    taken = {item for state in space.steps for item in product.rows_taken(state)}
    dead = [
        f"row {row.row} of {table.name} ({row.source} {row.action})"
        for agent, table in enumerate((product.left, product.right))
        for row in table.transitions
        if (agent, row) not in taken
    ]
    if product.left == product.right:
        dead = sorted({text for text in dead if dead.count(text) == 2})
    if dead:
        return Verdict(Status.FAILS, f"never taken: {', '.join(dead)}")
    return Verdict(Status.HOLDS)
