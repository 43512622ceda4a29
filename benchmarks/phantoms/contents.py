"""Findings of the phantoms, and the sets of phantoms, chosen by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from pxp_fsm.lazy_dataclasses import dataclass

RIGHT, LEFT = -1, 1
"""The patient's sides: the right is on the left of a picture."""

SETS = ("training", "sessions", "validation", "test")

SIDED = ("Atelectasis", "Pleural Effusion", "Pneumonia", "Pneumothorax")
STRENGTHS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class DrawnFinding:
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
    findings: tuple[DrawnFinding, ...]

    @property
    def labels(self) -> frozenset[str]:
        return frozenset(finding.label for finding in self.findings)


def phantoms(part: str) -> Iterator[Phantom]:
    """The phantoms of the set `part`: 20, every finding in every strength, normals, and pairs."""
    drawn = random.Random(f"phantoms/{part}")
    chosen: list[tuple[DrawnFinding, ...]] = [(), (), ()]
    for label in (*SIDED, "Cardiomegaly"):
        chosen += [(_finding(label, strength, drawn),) for strength in STRENGTHS]
    pairs = (("Cardiomegaly", "Pleural Effusion"), ("Pleural Effusion", "Pneumonia"))
    for pair in pairs:
        side = drawn.choice((RIGHT, LEFT))
        strengths = drawn.choice((1, 2)), drawn.choice((1, 2))
        first, second = (
            DrawnFinding(label, strength, side if label == pair[0] else -side, 0)
            for label, strength in zip(pair, strengths, strict=True)
        )
        chosen.append((first, second))
    drawn.shuffle(chosen)
    for number, findings in enumerate(chosen, start=1):
        yield Phantom(f"phantom-{part}-{number:02}", part, findings)


def _finding(label: str, strength: int, drawn: random.Random) -> DrawnFinding:
    return DrawnFinding(label, strength, drawn.choice((RIGHT, LEFT)), drawn.randrange(3))


REMARK = "(Synthetic phantom, no patient.)"
"""Ends every report."""

_PHRASES = {
    "Cardiomegaly": (
        "The cardiac silhouette is {how} enlarged: {size} cardiomegaly.",
        "There is {size} cardiomegaly, the heart taking up {much} of the width of the chest.",
        "{Size} enlargement of the heart, in keeping with cardiomegaly.",
    ),
    "Pleural Effusion": (
        "There is a {size} {side}-sided pleural effusion with {extent}.",
        "{Size} {side} pleural effusion with {extent}.",
        "Fluid in the {side} pleural space with {extent}: a {size} effusion.",
    ),
    "Pneumothorax": (
        "There is a {size} {side}-sided pneumothorax with {extent}.",
        "{Size} {side} pneumothorax with {extent}.",
        "Air in the {side} pleural space with {extent}: a {size} pneumothorax.",
    ),
    "Pneumonia": (
        "There is a {size} patchy opacity in the {side} {zone} zone, consistent with pneumonia.",
        "{Size} airspace consolidation of the {side} {zone} zone, suggesting pneumonia.",
        "{Side} {zone} zone pneumonia: a {size} consolidation without loss of volume.",
    ),
    "Atelectasis": (
        "{Extent} on the {side}: {size} atelectasis.",
        "{Size} atelectasis of the {side} lung, with {extent}.",
        "There is {size} atelectasis on the {side} side with {extent}.",
    ),
}
_SIZES = {
    "Cardiomegaly": ("mild", "moderate", "marked"),
    "Pleural Effusion": ("small", "moderate", "large"),
    "Pneumothorax": ("small", "moderate", "large"),
    "Pneumonia": ("small", "moderate", "large"),
    "Atelectasis": ("plate-like", "lower lobe", "complete"),
}
_MUCH = ("a little over half", "about six tenths", "two thirds")
_EXTENTS = {
    "Pleural Effusion": (
        "blunting of the costophrenic angle",
        "a meniscus that hides the diaphragm",
        "opacity of more than half of the hemithorax and a shift of the mediastinum to the other "
        "side",
    ),
    "Pneumothorax": (
        "a thin rim without lung markings towards the apex",
        "a visible pleural line and no lung markings outside it",
        "the lung collapsed towards the hilum and the mediastinum pushed to the other side",
    ),
    "Atelectasis": (
        "thin horizontal bands above the diaphragm",
        "a triangular opacity beside the heart and a raised diaphragm",
        "an opaque hemithorax with the mediastinum pulled towards it",
    ),
}
_CLEAR = (
    "The heart is of normal size. The lungs are clear and both costophrenic angles are sharp.",
    "No abnormality is seen: normal heart size, clear lungs, no pleural effusion or pneumothorax.",
    "Clear lungs, sharp costophrenic angles, heart not enlarged. A normal examination.",
)
_ABSENT = {
    "Cardiomegaly": "The heart is of normal size.",
    "Pleural Effusion": "No pleural effusion is seen.",
    "Pneumothorax": "No pneumothorax is seen.",
}


def report(findings: Sequence[DrawnFinding], seed: str) -> str:
    """The report on `findings`, the same for the same seed; it says that no patient is meant."""
    drawn = random.Random(f"report/{seed}")
    if not findings:
        return f"{drawn.choice(_CLEAR)} {REMARK}"
    sentences = [_sentence(finding, drawn) for finding in findings]
    present = {finding.label for finding in findings}
    sentences.append(
        drawn.choice([sentence for label, sentence in _ABSENT.items() if label not in present])
    )
    return " ".join([*sentences, REMARK])


def _sentence(finding: DrawnFinding, drawn: random.Random) -> str:
    grade = finding.strength - 1
    size = _SIZES[finding.label][grade]
    side = "right" if finding.side == RIGHT else "left"
    extent = _EXTENTS.get(finding.label, ("", "", ""))[grade]
    return drawn.choice(_PHRASES[finding.label]).format(
        size=size,
        how=("mildly", "moderately", "markedly")[grade],
        Size=size.capitalize(),
        side=side,
        Side=side.capitalize(),
        zone=("upper", "middle", "lower")[finding.zone],
        extent=extent,
        Extent=extent.capitalize(),
        much=_MUCH[grade],
    )
