"""Formulas about two tables: what is true where, and traces that real machines have taken.

Propositions: `1@WAIT` and `2@WAIT` say where an agent is; `1.RATIFY` that agent 1 sent RATIFY in
the step that led here, `2?RATIFY` that agent 2 received it, `1:REV` that agent 1 sent by a row with
that guard; `event.CLOSE` that CLOSE happened in it; `ended` that both are in an end state.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from proofs.explore import Trace, explore
from proofs.logic.checking import Checker, Runs
from proofs.logic.formulas import Formula, atoms
from proofs.logic.steps import Demand, Keys, fairness
from proofs.logic.termination import ENDED, Question, questions
from proofs.model import Step
from proofs.product import Pair, Product
from proofs.verdicts import Verdict
from pxp_fsm.automaton import DECIDE, Automaton, Kind, Transition, one_hot, sending
from pxp_fsm.machine import Machine

EVENT = "!"
"""How a step says that an event from outside happened, where else the sender's number stands."""


class Noted(NamedTuple):
    """A state of the product, the label of the step that led to it, and its sender's guards."""

    pair: Pair
    latest: str
    guards: tuple[str, ...] = ()


class Noting:
    """The product with the latest step as part of its state, so that formulas can speak of it.

    Without `notes` it is left out: runs that differ in nothing else then are the same.
    """

    def __init__(self, product: Product, *, notes: bool = True) -> None:
        self.product = product
        self.name = product.name
        self._notes = notes

    def initial(self) -> Iterable[Noted]:
        return (Noted(pair, "") for pair in self.product.initial())

    def successors(self, state: Noted) -> Iterator[Step[Noted]]:
        for step in self.product.successors(state.pair):
            if not self._notes:
                yield Step(step.label, Noted(step.target, ""), step.facts)
                continue
            guards = tuple(
                row.guard
                for _, row in rows_of(self.product, state.pair, step)
                if row.kind is Kind.SEND and row.guard is not None
            )
            yield Step(step.label, Noted(step.target, step.label, guards), step.facts)

    def propositions(self, state: Noted) -> frozenset[str]:
        said = set(_propositions(state)) if state.latest else set()
        ended = {ENDED} if self.product.ended(state.pair) else set()
        return self.product.propositions(state.pair) | said | ended


def vocabulary(product: Product) -> frozenset[str]:
    """Every proposition of the product, whether some reachable state has it or not."""
    return frozenset(_names(product))


def rows_of(product: Product, pair: Pair, step: Step[Pair]) -> Iterator[tuple[int, Transition]]:
    """The rows, each with its agent, that a step from `pair` takes."""
    who, label = step.label.split(" ", 1)
    for agent, (table, where) in enumerate(zip((product.left, product.right), pair, strict=True)):
        kind = Kind.EVENT if who == EVENT else Kind.SEND if who == str(agent + 1) else Kind.RECEIVE
        for row in table.leaving(where):
            if (row.kind, row.label, row.target) == (kind, label, step.target[agent]):
                yield agent, row


def acting(_state: Noted, step: Step[Noted]) -> Iterable[Hashable]:
    """Whose step it is: the agent that sends, or the outside."""
    return (step.label.split(" ", 1)[0],)


def taking(product: Product) -> Keys[Noted]:
    """Which rows a step takes."""

    def rows(state: Noted, step: Step[Noted]) -> Iterable[Hashable]:
        return {*rows_of(product, state.pair, Step(step.label, step.target.pair))}

    return rows


def terminates(product: Product) -> Iterator[tuple[Question[Noted], Verdict]]:
    """Whether the product ends, question by question; traces have been taken by real machines."""
    model = Noting(product, notes=False)
    for question in questions(model, explore(model), taking(product), acting):
        verdict = question.answer()
        if verdict.trace is not None:
            replay(product, verdict.trace)
        yield question, verdict


def check(
    product: Product,
    formula: Formula,
    runs: Runs = Runs.COMPLETE,
    demands: Iterable[Demand] = (),
) -> Verdict:
    """Whether the product satisfies `formula`, on runs as fair as `demands` ask.

    A failing trace has been taken by real machines. Raises `UsageError` for a proposition that
    there is none of.
    """
    wanted = tuple(demands)
    described = (one.of for one in wanted if not isinstance(one.of, str))
    asked = chain(atoms(formula), *map(atoms, described))
    model = Noting(product, notes=any(name != ENDED and "@" not in name for name in asked))
    space = explore(model)
    fairly = fairness(wanted, model, space, vocabulary(product), taking(product), acting)
    checker = Checker(model, space, runs, fairly, vocabulary(product))
    verdict = checker.check(formula)
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
    yield ENDED
    tables: tuple[Automaton, Automaton] = (product.left, product.right)
    for number, table in enumerate(tables, start=1):
        for state in table.states:
            yield f"{number}@{state.name}"
        for row in table.transitions:
            if row.kind is Kind.SEND:
                yield f"{number}.{row.label}"
                if row.guard is not None:
                    yield f"{number}:{row.guard}"
            elif row.kind is Kind.RECEIVE:
                yield f"{number}?{row.label}"
            elif row.kind is Kind.EVENT:
                yield f"event.{row.label}"


def _propositions(state: Noted) -> Iterator[str]:
    """What is true of the step that led to `state`."""
    who, said = state.latest.split(" ", 1)
    if who == EVENT:
        yield f"event.{said}"
        return
    yield f"{who}.{said}"
    yield f"{3 - int(who)}?{said}"
    yield from (f"{who}:{guard}" for guard in state.guards)
