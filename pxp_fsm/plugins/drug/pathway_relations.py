"""MATCH of DRUG where predictions are pathways: as a whole, or in a part of it.

A pathway is the steps of a synthesis, the last reaction first, each as `REACTANTS>>PRODUCT` in
SMILES, joined by ";". Which molecules may stand at its ends is the task's own affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from enum import StrEnum
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.drug.relations import InvalidSmiles, canonical_smiles
from pxp_fsm.protocol.relations import EQUIVALENCE, Assumption, Outcome

ARROW = ">>"
MOST_STEPS = 50
"""Steps of the longest pathway that is read."""

_BETWEEN = re.compile(r"[;\n]")


class InvalidPathway(DataError):
    """A text that is no pathway."""


class PathwayPart(StrEnum):
    """The part of two pathways that MATCH compares; the target is always compared too."""

    WHOLE = "pathway"
    LAST_STEP = "last-step"
    MATERIALS = "materials"


@dataclass(frozen=True, slots=True)
class ReactionStep:
    """One reaction: canonical SMILES of its product, and of each reactant once, sorted."""

    product: str
    reactants: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'.'.join(self.reactants)}{ARROW}{self.product}"


@dataclass(frozen=True, slots=True)
class Pathway:
    """Steps that lead back from a target, each before those that make its reactants.

    Two orders of the same steps are the same pathway.
    """

    steps: tuple[ReactionStep, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))

    @property
    def target(self) -> str:
        return self.steps[0].product

    @property
    def materials(self) -> frozenset[str]:
        """The molecules that it begins with: those that no step makes."""
        made = {step.product for step in self.steps}
        return frozenset(reactant for step in self.steps for reactant in step.reactants) - made

    def back_to(self, purchasable: Set[str]) -> Pathway:
        """The pathway without the steps by which `purchasable` molecules are made."""
        kept = [step for step in self.steps[1:] if step.product not in purchasable]
        return _ordered([self.steps[0], *_used(self.steps[0], kept)])

    def part(self, part: PathwayPart) -> str:
        """What of it MATCH compares, as a text: equal where the parts are."""
        if part is PathwayPart.LAST_STEP:
            return str(self.steps[0])
        if part is PathwayPart.MATERIALS:
            return str(ReactionStep(self.target, tuple(sorted(self.materials))))
        return str(self)


def pathway(steps: Iterable[tuple[str, Sequence[str]]]) -> Pathway:
    """The pathway of `steps`, each a product and its reactants (SMILES), the target's first.

    Raises `InvalidPathway` where a SMILES is none, and where a step makes what nothing uses, what
    another step makes, or what it is itself made from.

    >>> found = pathway([("CCOC(C)=O", ["OCC", "CC(=O)O"]), ("CC(=O)O", ["CC#N", "O"])])
    >>> str(found), sorted(found.materials)
    ('CC(=O)O.CCO>>CCOC(C)=O; CC#N.O>>CC(=O)O', ['CC#N', 'CCO', 'O'])
    """
    by_product: dict[str, ReactionStep] = {}
    for number, (product, reactants) in enumerate(steps, start=1):
        if number > MOST_STEPS:
            raise InvalidPathway(f"it has more than {MOST_STEPS} steps")
        step = _step(number, product, reactants)
        if step.product in by_product:
            raise InvalidPathway(f"step {number}: {quoted(step.product)} is made by a step before")
        by_product[step.product] = step
    if not by_product:
        raise InvalidPathway("a pathway has at least one step")
    first, *others = by_product.values()
    used = _used(first, others)
    idle = [step for step in others if step not in used]
    if idle:
        raise InvalidPathway(f"no step uses {quoted(idle[0].product)}, which a step makes")
    return _ordered([first, *used])


def read_pathway(text: str) -> Pathway:
    """The pathway that a text states; raises `InvalidPathway`."""
    return _read(text.strip())


@lru_cache(maxsize=1024)
def _read(text: str) -> Pathway:
    parts = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    written = []
    for number, part in enumerate(parts[: MOST_STEPS + 1], start=1):
        reactants, arrow, product = part.partition(ARROW)
        if not arrow or ">" in reactants + product:
            raise InvalidPathway(f"step {number}: {quoted(part)} is not REACTANTS{ARROW}PRODUCT")
        written.append((product.strip(), [reactants.strip()]))
    return pathway(written)


def _step(number: int, product: str, reactants: Sequence[str]) -> ReactionStep:
    try:
        made = canonical_smiles(product)
        molecules = frozenset(canonical_smiles(".".join(reactants)).split("."))
    except InvalidSmiles as error:
        raise InvalidPathway(f"step {number}: {error}") from error
    if number > 1 and "." in made:
        raise InvalidPathway(f"step {number}: a step makes one molecule, not {quoted(made)}")
    return ReactionStep(made, tuple(sorted(molecules)))


def _used(first: ReactionStep, others: Sequence[ReactionStep]) -> list[ReactionStep]:
    """Those of `others` that lead back from `first`."""
    making = {step.product: step for step in others}
    used: dict[str, ReactionStep] = {}
    todo = [first]
    while todo:
        for reactant in todo.pop().reactants:
            if reactant in making and reactant not in used:
                used[reactant] = making[reactant]
                todo.append(making[reactant])
    return list(used.values())


def _ordered(steps: Sequence[ReactionStep]) -> Pathway:
    """The steps in the one order in which a step stands before those that make its reactants."""
    making = {step.product: step for step in steps}
    sorter = TopologicalSorter[str](dict.fromkeys(making, ()))
    for step in steps:
        for reactant in step.reactants:
            if reactant in making:
                sorter.add(reactant, step.product)
    try:
        sorter.prepare()
    except CycleError as error:
        raise InvalidPathway(f"{quoted(min(error.args[1]))} is made from itself") from error
    in_order: list[ReactionStep] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        in_order += (making[product] for product in ready)
        sorter.done(*ready)
    return Pathway(tuple(in_order))


@dataclass(frozen=True)
class SamePathway:
    """Two texts are the same if the `part` of their pathways is; see `PathwayPart`.

    Order of independent steps and spelling of SMILES do not count.
    """

    part: PathwayPart = PathwayPart.WHOLE
    assumptions: frozenset[Assumption] = EQUIVALENCE

    @property
    def name(self) -> str:
        return f"pathways by {self.part}"

    async def holds(self, left: str, right: str) -> Outcome:
        left_part, other = (read_pathway(text).part(self.part) for text in (left, right))
        return Outcome.YES if left_part == other else Outcome.NO
