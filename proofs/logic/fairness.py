"""Weak and strong fairness of what may happen in a model.

A class of steps is enabled in a state that has such a step. Weak fairness: enabled for ever from
some point on, it is taken again and again. Strong fairness: enabled again and again, it is taken
again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from proofs.explore import Space
from proofs.model import Step

S = TypeVar("S", bound=Hashable)
Inner = Mapping[Any, tuple[tuple[Step[S], Any], ...]]
"""Nodes (a state, and whatever else) with their edges inside a component."""


class Strength(StrEnum):
    """How fair a run has to be to a class of steps."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass(frozen=True)
class Class(Generic[S]):
    """A class of steps, by a predicate on the state and the step, and how fair runs are to it."""

    strength: Strength
    contains: Callable[[S, Step[S]], bool]

    def enabled(self, state: S, space: Space[S]) -> bool:
        """Whether `state` has a step of the class."""
        return any(self.contains(state, step) for step in space.steps[state])

    def taken(self, inner: Inner[S]) -> bool:
        """Whether an edge inside is a step of the class."""
        return any(
            self.contains(node[0], step) for node, edges in inner.items() for step, _ in edges
        )


@dataclass(frozen=True)
class Fairness(Generic[S]):
    """The classes that runs are fair to; none is no demand."""

    classes: tuple[Class[S], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.classes)

    def tasks(
        self, inner: Inner[S], space: Space[S]
    ) -> Iterator[Callable[[Any, tuple[Step[S], Any]], bool]]:
        """What a walk round `inner` must meet to be fair, each as a test on a node and its edge."""
        for one in self.classes:
            if one.strength is Strength.WEAK:
                yield lambda node, edge, one=one: (  # type: ignore[misc] # mypy sees no default in a lambda
                    one.contains(node[0], edge[0]) or not one.enabled(node[0], space)
                )
            elif one.taken(inner):
                yield lambda node, edge, one=one: one.contains(node[0], edge[0])  # type: ignore[misc] # as above


def is_fair(fairness: Fairness[S], inner: Inner[S], space: Space[S]) -> bool:
    """Whether a run that goes round all of `inner` for ever is fair."""
    for one in fairness.classes:
        if one.taken(inner):
            continue
        enabled = [one.enabled(node[0], space) for node in inner]
        if all(enabled) if one.strength is Strength.WEAK else any(enabled):
            return False
    return True


def possible(fairness: Fairness[S], inner: Inner[S], space: Space[S]) -> frozenset[Any]:
    """The nodes of an unfair component that a fair run inside it can still visit for ever.

    A class that is never taken inside must not be enabled there (strong), or not everywhere (weak):
    then nothing smaller inside can be fair to it.
    """
    left = set(inner)
    for one in fairness.classes:
        if one.taken(inner):
            continue
        if one.strength is Strength.STRONG:
            left -= {node for node in left if one.enabled(node[0], space)}
        elif all(one.enabled(node[0], space) for node in inner):
            return frozenset()
    return frozenset(left)
