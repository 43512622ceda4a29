"""Whether lessons help: where they must, where they cannot, and for which size of a lesson.

    python benchmarks/bench_learning.py WHEEL [--lift X ...]

The test set of USPTO-50k (WHEEL is the file that `build.py` of the predictor reads) is grouped by
the scaffold of its products (Bemis and Murcko 1996). All precedents of a group's scaffold are
withheld from the machine. Half of the group then are lessons, the others are asked about.

- related: the lessons are of the same scaffold, and must help;
- unrelated: they are of another group, which shares no scaffold, and cannot help much;
- same molecule: the lesson is about the molecule that is asked about, and puts its right answer
  first where the machine derives it.

`--lift` compares values of `LIFT`, on the validation set.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import build_precedents as build

from pxp_fsm.errors import NoAnswer
from pxp_fsm.plugins.drug.retrosynthesis import learning, precedents
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.predictor import Retrosynthesis, Sources, builtin_sources
from pxp_fsm.protocol.messages import Answer, Instance, Message, Tag

SIZES = range(8, 41)
"""How many reactions a group has."""

HEARD = (0, 1, 2, 4)
"""After how many lessons the machine is asked."""


@dataclass(frozen=True)
class Reaction:
    """Canonical SMILES; the reactants are sorted and joined with dots."""

    product: str
    reactants: str


@dataclass(frozen=True)
class Group:
    """Reactions whose products share a scaffold, and the numbers of its precedents."""

    reactions: Sequence[Reaction]
    withheld: tuple[int, ...]


def groups(wheel: Path, split: str) -> list[Group]:
    """The reactions of each scaffold that has as many in `split` as `SIZES` says, shuffled."""
    read = [
        Reaction(".".join(canonical_set(product) or ()), ".".join(canonical_set(reactants) or ()))
        for reactants, product, _ in build.reactions(wheel, split)
    ]
    random.Random(0).shuffle(read)
    by_scaffold = grouped(reaction.product for reaction in read)
    known = precedents.builtin()
    withheld = grouped(map(known.products.__getitem__, range(len(known))))
    return [
        Group([read[number] for number in numbers], tuple(withheld[scaffold]))
        for scaffold, numbers in by_scaffold.items()
        if scaffold and len(numbers) in SIZES
    ]


def grouped(products: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of `products` (SMILES) by their scaffold."""
    from rdkit import Chem, rdBase
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffolds: Any = MurckoScaffold  # untyped
    by_scaffold: dict[str, list[int]] = defaultdict(list)
    with rdBase.BlockLogs():
        for number, product in enumerate(products):
            molecule = Chem.MolFromSmiles(product)
            by_scaffold[scaffolds.MurckoScaffoldSmiles(mol=molecule)].append(number)
    return by_scaffold


def taught(machine: Retrosynthesis, lessons: Sequence[Reaction]) -> Retrosynthesis:
    machine = machine.copy()
    for lesson in lessons:
        message = Message("s", 2, "h", Tag.REFUTE, Answer(lesson.reactants, ""), "m")
        machine.learn(Instance("x", lesson.product), message)
    return machine


def right(machine: Retrosynthesis, asked: Sequence[Reaction]) -> list[bool]:
    correct = []
    for reaction in asked:
        try:
            correct.append(machine.predict(reaction.product) == reaction.reactants)
        except NoAnswer:
            correct.append(False)
    return correct


def curve(measured: Sequence[Group]) -> dict[str, list[float]]:
    """The share of right answers after so many lessons (`HEARD`), by condition."""
    hits: dict[str, list[list[bool]]] = defaultdict(lambda: [[] for _ in HEARD])
    bundled = builtin_sources()
    for group, other in zip(measured, [*measured[1:], measured[0]], strict=True):
        machine = Retrosynthesis(
            Sources(bundled.named, bundled.precedents, withheld=group.withheld)
        )
        half = len(group.reactions) // 2
        lessons, asked = group.reactions[:half], group.reactions[half:]
        for place, heard in enumerate(HEARD):
            hits["related"][place] += right(taught(machine, lessons[:heard]), asked)
            hits["unrelated"][place] += right(taught(machine, other.reactions[:heard]), asked)
            for reaction in asked:
                hits["same molecule"][place] += right(
                    taught(machine, [reaction] * min(heard, 1)), [reaction]
                )
    return {name: [sum(row) / len(row) for row in rows] for name, rows in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--lift", type=float, nargs="*", default=[])
    arguments = parser.parse_args()
    measured = groups(arguments.wheel, "valid" if arguments.lift else "test")
    for lift in arguments.lift:
        learning.LIFT = lift
        rows = curve(measured)
        print(
            lift,
            {name: [f"{share:.1%}" for share in row] for name, row in rows.items()},
            flush=True,
        )
    if not arguments.lift:
        print("| condition |", " | ".join(f"{heard} lessons" for heard in HEARD), "|")
        print("|---|" + "--:|" * len(HEARD))
        for name, row in curve(measured).items():
            print(f"| {name} |", " | ".join(f"{share:.1%}" for share in row), "|")
    asked = sum(len(group.reactions) - len(group.reactions) // 2 for group in measured)
    print(f"\n{asked} molecules, {len(measured)} scaffolds.")


if __name__ == "__main__":
    main()
