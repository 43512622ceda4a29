"""Weak and strong fairness of the actions of a model.

A class of steps is enabled in a state that has such a step. Weak fairness: enabled for ever from
some point on, it is taken again and again. Strong fairness: enabled again and again, it is taken
again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from typing import Generic, TypeVar

from proofs.core.explore import Model, Space, Step
from proofs.logic import parsing
from proofs.logic.formulas import And, Atom, Formula, Not, Or, Truth, atoms, parts
from proofs.logic.parsing import parse
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)


class Strength(StrEnum):
    """How fair a run has to be to a class of steps."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True)
class FairClass(Generic[S]):
    """A class of steps, by a predicate on the state and the step, and how fair runs are to it."""

    strength: Strength
    contains: Callable[[S, Step[S]], bool]


@dataclass(frozen=True)
class Fairness(Generic[S]):
    """The classes that runs are fair to; none is no demand."""

    classes: tuple[FairClass[S], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.classes)


Keys = Callable[[S, Step[S]], Iterable[Hashable]]
"""What a step belongs to: the rows that it takes, or the agents that act."""

ROWS, AGENTS = "rows", "agents"


@dataclass(frozen=True, slots=True)
class Demand:
    """What `--fair` asks for: a strength, and a formula, `rows` or `agents`."""

    strength: Strength
    of: Formula | str


def demand(text: str) -> Demand:
    """What `text` (`weak:FORMULA`, `strong:rows`) asks for; `UsageError` where it is none."""
    strength, colon, condition = text.partition(":")
    if not colon or strength.strip() not in set(Strength):
        raise UsageError(
            f"fairness is weak:WHAT or strong:WHAT, where WHAT is a formula, {ROWS} or {AGENTS}; "
            f"it was {quoted(text)}"
        )
    how = Strength(strength.strip())
    if condition.strip() in (ROWS, AGENTS):
        return Demand(how, condition.strip())
    formula = parse(condition)
    if not all(isinstance(part, (Truth, Atom, Not, And, Or)) for part in parts(formula)):
        raise UsageError(
            "what is true after a step needs no temporal operator; it was "
            f"{quoted(condition.strip())}"
        )
    return Demand(how, formula)


def fairness(
    demands: Iterable[Demand],
    model: Model[S],
    space: Space[S],
    known: frozenset[str],
    rows: Keys[S] | None = None,
    agents: Keys[S] | None = None,
) -> Fairness[S]:
    """The classes that `demands` mean in an explored model.

    `known` are the propositions that may be asked for; `rows` and `agents` say which of them a step
    belongs to, where the model has such. Raises `UsageError`.
    """
    classes: list[FairClass[S]] = []
    for wish in demands:
        if isinstance(wish.of, str):
            keys = rows if wish.of == ROWS else agents
            if keys is None:
                raise UsageError(f"this model has no {wish.of} to be fair to; give a formula")
            classes += each(wish.strength, keys, space)
            continue
        unknown = set(atoms(wish.of)) - known
        if unknown:
            raise parsing.unknown(unknown, known, "no step leads to")
        true = {state: _true(wish.of, model.propositions(state)) for state in space.steps}
        classes.append(FairClass(wish.strength, partial(_leads_to, true)))
    return Fairness(tuple(classes))


def each(strength: Strength, keys: Keys[S], space: Space[S]) -> Iterator[FairClass[S]]:
    """A class for each key that some step has."""
    members: dict[Hashable, set[tuple[S, Step[S]]]] = {}
    for state, steps in space.steps.items():
        for step in steps:
            for key in keys(state, step):
                members.setdefault(key, set()).add((state, step))
    return (
        FairClass(strength, partial(_is_one_of, class_steps)) for class_steps in members.values()
    )


def _leads_to(true: dict[S, bool], _state: S, step: Step[S]) -> bool:
    return true[step.target]


def _is_one_of(members: set[tuple[S, Step[S]]], state: S, step: Step[S]) -> bool:
    return (state, step) in members


def _true(formula: Formula, true: frozenset[str]) -> bool:
    match formula:
        case Truth(value):
            return value
        case Atom(name):
            return name in true
        case Not(of):
            return not _true(of, true)
        case And(left, right):
            return _true(left, true) and _true(right, true)
        case Or(left, right):
            return _true(left, true) or _true(right, true)
        case _:
            raise TypeError(f"a temporal operator, which {demand.__name__} refuses: {formula}")
