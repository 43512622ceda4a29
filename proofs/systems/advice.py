"""What would need fewer states, where a check of a system did not come to its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofs.logic.formulas import Formula
from proofs.systems import partial_order, symmetry
from proofs.systems.checking import Reduction
from proofs.systems.product import Composition


@dataclass(frozen=True, slots=True)
class Reduce:
    """A reduction can be used; `interchangeable` are the members that are, for symmetry."""

    reduction: Reduction
    interchangeable: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SmallerCapacity:
    """A buffer can hold fewer messages."""

    capacity: int


@dataclass(frozen=True, slots=True)
class Synchronous:
    """The channel can be a synchronous one."""


@dataclass(frozen=True, slots=True)
class FewerMembers:
    """Some members can be left out."""


Advice = Reduce | SmallerCapacity | Synchronous | FewerMembers


def advice(
    composition: Composition, formula: Formula | None, *, reducible: bool = True
) -> Iterator[Advice]:
    """What to try; `formula` is None for the standing checks.

    Not `reducible` is what is reduced already, and what no reduction keeps.
    """
    system, channel = composition.system, composition.channel
    largest = max(one.capacity for one in channel.each)
    if reducible and not symmetry.why_not(system, formula):
        classes = symmetry.interchangeable(system)
        names = tuple(tuple(system.members[place].name for place in one) for one in classes)
        yield Reduce(Reduction.SYMMETRY, names)
    if reducible and not partial_order.why_not(composition, formula):
        yield Reduce(Reduction.PARTIAL_ORDER)
    if largest > 1:
        yield SmallerCapacity(largest)
    elif not channel.synchronous:
        yield Synchronous()
    if len(system.members) > 2:
        yield FewerMembers()
