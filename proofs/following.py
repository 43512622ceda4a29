"""A model that also notes how far a run has followed a given word of actions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from proofs.model import Model, Step

S = TypeVar("S", bound=Hashable)


class Place(NamedTuple, Generic[S]):
    """A state of the model, and how many actions of the word have been followed to it."""

    state: S
    followed: int


@dataclass(frozen=True)
class Following(Generic[S]):
    """`model`, restricted to runs that begin with `word`; `complete` runs end with it too."""

    model: Model[S]
    word: tuple[Hashable, ...]

    @property
    def name(self) -> str:
        return f"{self.model.name} along {' '.join(map(str, self.word))}"

    def initial(self) -> Iterable[Place[S]]:
        return (Place(state, 0) for state in self.model.initial())

    def successors(self, place: Place[S]) -> Iterator[Step[Place[S]]]:
        if place.followed == len(self.word):
            return
        for step in self.model.successors(place.state):
            if step.action == self.word[place.followed]:
                yield Step(step.action, Place(step.target, place.followed + 1), step.facts)

    def propositions(self, place: Place[S]) -> frozenset[str]:
        return self.model.propositions(place.state)
