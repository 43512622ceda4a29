"""What the engine needs to know of a model: where it starts, where it can go, what is true there.

Nothing here or in `proofs.core.explore` knows PXP. States are any hashable values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """A transition: the action, and where it leads.

    The action is one of `pxp_fsm.automata.actions`, or any value whose `str()` a person can read.
    `facts` are answers of oracles behind it, for replaying; they do not tell steps apart.
    """

    action: Hashable
    target: S
    facts: tuple[bool, ...] = field(default=(), compare=False)

    @property
    def label(self) -> str:
        """The action in words."""
        return str(self.action)


class Model(Protocol[S]):
    """A transition system."""

    @property
    def name(self) -> str:
        """What it models, in words."""

    def initial(self) -> Iterable[S]:
        """The states in which it may start."""

    def successors(self, state: S) -> Iterable[Step[S]]:
        """The steps that are possible in `state`; none where it has ended or is stuck."""

    def propositions(self, state: S) -> frozenset[str]:
        """The names of what is true in `state`."""
