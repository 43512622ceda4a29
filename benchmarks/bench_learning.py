"""Whether lessons help: where they must, where they cannot, and for which size of a lesson.

    python benchmarks/bench_learning.py [--groups N] [--lift X ...]

Precedents are grouped by the scaffold of their product (Bemis and Murcko 1996); all precedents of a
group are withheld from the machine. Half of the group then are lessons, the others are asked about.

- related: the lessons are of the same scaffold, and must help;
- unrelated: they are of another group, which shares no scaffold, and cannot help much;
- same molecule: the lesson is about the molecule that is asked about, and lifts its right answer
  where the machine derives it.

`--lift` compares values of `LIFT`, on groups other than those that the table is about.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from backends.models.local.retrosynthesis import learning, precedents
from backends.models.local.retrosynthesis.predictor import Retrosynthesis, Sources, builtin_sources
from pxp_fsm.errors import NoAnswer
from pxp_fsm.protocol.messages import Answer, Instance, Message, Tag

SIZES = range(8, 17)
"""How many reactions a group has."""

HEARD = (0, 1, 2, 4)
"""After how many lessons the machine is asked."""


def groups() -> list[list[int]]:
    """The numbers of the precedents of each scaffold that has as many as `SIZES` says, shuffled."""
    from rdkit import Chem, rdBase
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffolds: Any = MurckoScaffold  # untyped
    known = precedents.builtin()
    numbers = random.Random(0).sample(range(len(known)), len(known))
    by_scaffold: dict[str, list[int]] = defaultdict(list)
    with rdBase.BlockLogs():
        for number in numbers:
            molecule = Chem.MolFromSmiles(known[number].product)
            by_scaffold[scaffolds.MurckoScaffoldSmiles(mol=molecule)].append(number)
    return [found for scaffold, found in by_scaffold.items() if scaffold and len(found) in SIZES]


def taught(machine: Retrosynthesis, lessons: Sequence[int]) -> Retrosynthesis:
    known = precedents.builtin()
    machine = machine.copy()
    for number in lessons:
        one = known[number]
        message = Message("s", 2, "h", Tag.REFUTE, Answer(one.reactants, ""), "m")
        machine.learn(Instance("x", one.product), message)
    return machine


def right(machine: Retrosynthesis, asked: Sequence[int]) -> list[bool]:
    known = precedents.builtin()
    found = []
    for one in map(known.__getitem__, asked):
        try:
            found.append(machine.rank(one.product, 1)[0].reactants == one.reactants)
        except NoAnswer:
            found.append(False)
    return found


def curve(
    chosen: Sequence[Sequence[int]], others: Sequence[Sequence[int]]
) -> dict[str, list[float]]:
    """The share of right answers after so many lessons (`HEARD`), by condition."""
    hits: dict[str, list[list[bool]]] = defaultdict(lambda: [[] for _ in HEARD])
    bundled = builtin_sources()
    for group, other in zip(chosen, others, strict=True):
        withheld = Sources(bundled.named, bundled.precedents, False, tuple(sorted(group)))
        machine = Retrosynthesis(withheld)
        half = len(group) // 2
        lessons, asked = group[:half], group[half:]
        for place, heard in enumerate(HEARD):
            hits["related"][place] += right(taught(machine, lessons[:heard]), asked)
            hits["unrelated"][place] += right(taught(machine, other[:heard]), asked)
            for one in asked:
                hits["same molecule"][place] += right(taught(machine, [one] * min(heard, 1)), [one])
    return {name: [sum(row) / len(row) for row in rows] for name, rows in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--lift", type=float, nargs="*", default=[])
    arguments = parser.parse_args()
    found = groups()
    count = arguments.groups
    measured, tuning = found[:count], found[-count:]
    for lift in arguments.lift:
        learning.LIFT = lift
        rows = curve(tuning, tuning[1:] + tuning[:1])
        print(
            lift,
            {name: [f"{share:.1%}" for share in row] for name, row in rows.items()},
            flush=True,
        )
    if arguments.lift:
        return
    print("| condition |", " | ".join(f"{heard} lessons" for heard in HEARD), "|")
    print("|---|" + "--:|" * len(HEARD))
    for name, row in curve(measured, measured[1:] + measured[:1]).items():
        print(f"| {name} |", " | ".join(f"{share:.1%}" for share in row), "|")
    print(
        f"\n{sum(len(group) - len(group) // 2 for group in measured)} molecules, {count} scaffolds."
    )


if __name__ == "__main__":
    main()
