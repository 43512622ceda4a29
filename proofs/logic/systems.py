"""Formulas about two tables: what is true where, and traces that real machines have taken.

Propositions: `1@WAIT` and `2@WAIT` say where an agent is; `1.RATIFY` that agent 1 sent RATIFY in
the step that led here, `event.CLOSE` that CLOSE happened in it; `ended` that both are in an end
state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from proofs.explore import Trace, explore
from proofs.logic.checking import Checker, Runs
from proofs.logic.formulas import Formula
from proofs.model import Step
from proofs.product import Pair, Product
from proofs.verdicts import Verdict
from pxp_fsm.automaton import DECIDE, Automaton, Kind, one_hot, sending
from pxp_fsm.machine import Machine

EVENT = "!"
"""How a step says that an event from outside happened, where else the sender's number stands."""


class Noted(NamedTuple):
    """A state of the product, and the label of the step that led to it."""

    pair: Pair
    latest: str


class Noting:
    """The product with the latest step as part of its state, so that formulas can speak of it."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.name = product.name

    def initial(self) -> Iterable[Noted]:
        return (Noted(pair, "") for pair in self.product.initial())

    def successors(self, state: Noted) -> Iterator[Step[Noted]]:
        for step in self.product.successors(state.pair):
            yield Step(step.label, Noted(step.target, step.label), step.facts)

    def propositions(self, state: Noted) -> frozenset[str]:
        said = {_proposition(state.latest)} if state.latest else set()
        ended = {"ended"} if self.product.ended(state.pair) else set()
        return self.product.propositions(state.pair) | said | ended


def vocabulary(product: Product) -> frozenset[str]:
    """Every proposition of the product, whether some reachable state has it or not."""
    return frozenset(_names(product))


def check(product: Product, formula: Formula, runs: Runs = Runs.COMPLETE) -> Verdict:
    """Whether the product satisfies `formula`; a failing trace has been taken by real machines.

    Raises `UsageError` for a proposition that there is none of.
    """
    model = Noting(product)
    verdict = Checker(model, explore(model), runs, vocabulary=vocabulary(product)).check(formula)
    if verdict.trace is not None:
        replay(product, verdict.trace)
    return verdict


def replay(product: Product, trace: Trace[Noted]) -> None:
    """Take `trace` with two real machines; an `AssertionError` where they come somewhere else."""
    machines = Machine(product.left), Machine(product.right)
    for step in trace.steps:
        who, label = step.label.split(" ", 1)
        if who == EVENT:
            for machine in machines:
                if any(r.kind is Kind.EVENT and r.label == label for r in machine.enabled()):
                    machine.happen(label)
        else:
            speaker, listener = machines if who == "1" else reversed(machines)
            _send(speaker, label)
            listener.receive(label)
        taken = (machines[0].state, machines[1].state)
        if taken != step.target.pair:
            raise AssertionError(f"the machines are at {taken}, the model at {step.target.pair}")


def _send(machine: Machine, tag: str) -> None:
    """Send `tag` by its row; where a guard allows it, that guard is true."""
    row = machine.automaton.sends(machine.state, tag)
    guard = None if row is None else row.guard
    if guard is None:
        machine.fire(sending(tag))
    else:
        machine.fire(DECIDE, one_hot(guard, machine.automaton.guards_of(machine.state)))


def _names(product: Product) -> Iterator[str]:
    yield "ended"
    tables: tuple[Automaton, Automaton] = (product.left, product.right)
    for number, table in enumerate(tables, start=1):
        for state in table.states:
            yield f"{number}@{state.name}"
        for row in table.transitions:
            if row.kind is Kind.SEND:
                yield f"{number}.{row.label}"
            elif row.kind is Kind.EVENT:
                yield f"event.{row.label}"


def _proposition(label: str) -> str:
    who, said = label.split(" ", 1)
    return f"event.{said}" if who == EVENT else f"{who}.{said}"
