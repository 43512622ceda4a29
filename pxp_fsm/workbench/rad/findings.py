"""What is drawn into a phantom, and which phantoms there are: chosen by a seed, set by set."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

RIGHT, LEFT = -1, 1
"""The patient's sides: the right is on the left of a picture."""

SETS = ("training", "sessions", "validation", "test")

SIDED = ("Atelectasis", "Pleural Effusion", "Pneumonia", "Pneumothorax")
STRENGTHS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding to be drawn: its label, strength 1 to 3, the patient's side, and for Pneumonia the
    zone (0 upper, 1 middle, 2 lower). Side and zone mean nothing where the label has none.
    """

    label: str
    strength: int
    side: int = RIGHT
    zone: int = 1


@dataclass(frozen=True, slots=True)
class Phantom:
    """One phantom of the bundled sets: its name, which is its seed, and what is drawn into it."""

    name: str
    part: str
    findings: tuple[Finding, ...]

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(finding.label for finding in self.findings)


def phantoms(part: str) -> Iterator[Phantom]:
    """The phantoms of the set `part`: 20, every finding in every strength, normals, and pairs."""
    drawn = random.Random(f"phantoms/{part}")
    chosen: list[tuple[Finding, ...]] = [(), (), ()]
    for label in (*SIDED, "Cardiomegaly"):
        chosen += [(_finding(label, strength, drawn),) for strength in STRENGTHS]
    pairs = (("Cardiomegaly", "Pleural Effusion"), ("Pleural Effusion", "Pneumonia"))
    for pair in pairs:
        side = drawn.choice((RIGHT, LEFT))
        strengths = drawn.choice((1, 2)), drawn.choice((1, 2))
        one, two = (
            Finding(label, strength, side if label == pair[0] else -side, 0)
            for label, strength in zip(pair, strengths, strict=True)
        )
        chosen.append((one, two))
    drawn.shuffle(chosen)
    for number, findings in enumerate(chosen, start=1):
        yield Phantom(f"phantom-{part}-{number:02}", part, findings)


def _finding(label: str, strength: int, drawn: random.Random) -> Finding:
    return Finding(label, strength, drawn.choice((RIGHT, LEFT)), drawn.randrange(3))
