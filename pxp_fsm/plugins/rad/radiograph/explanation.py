"""The machine's report: each predicted finding with the values that were measured for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pxp_fsm.plugins.rad.radiograph.measures import Measures, Side

_ENLARGED = 0.5
"""The cardiothoracic ratio above which a heart counts as enlarged on a frontal film."""

_ZONES = ("upper", "middle", "lower")


def explained(labels: Iterable[str], measures: Measures) -> str:
    """A sentence for each of `labels`, sorted, or one that says that there is nothing."""
    sentences = [_SAID[label](measures) for label in sorted(labels)]
    if not sentences:
        return _nothing(measures)
    if not any("cardiothoracic" in sentence for sentence in sentences):
        sentences.append(f"The cardiothoracic ratio is {measures.ratio:.2f}.")
    return " ".join(sentences)


def _cardiomegaly(measures: Measures) -> str:
    ratio = measures.ratio
    if round(ratio, 2) > _ENLARGED:
        return (
            f"Cardiomegaly: the heart is enlarged, with a cardiothoracic ratio of {ratio:.2f} "
            f"(above {_ENLARGED:.2f})."
        )
    return (
        f"Cardiomegaly is likely from all measures together, although the cardiothoracic ratio is "
        f"{ratio:.2f} (not above {_ENLARGED:.2f})."
    )


def _effusion(measures: Measures) -> str:
    side, worse, better = _worse(measures, lambda lung: lung.base)
    return (
        f"Pleural effusion on the {side}: the {side} costophrenic angle is filled "
        f"(density {worse.base:.2f}, against {better.base:.2f} in the other)."
    )


def _pneumothorax(measures: Measures) -> str:
    side, worse, better = _worse(measures, lambda lung: lung.step + 3 * lung.empty)
    return (
        f"Pneumothorax on the {side}: the rim of the {side} lung field is without markings and "
        f"darker than the lung within it by {worse.step:.2f} ({better.step:.2f} in the other)."
    )


def _pneumonia(measures: Measures) -> str:
    sides = {"right": measures.right, "left": measures.left}
    gaps = {
        (abs(measures.right.zones[zone] - measures.left.zones[zone]), zone) for zone in range(3)
    }
    _gap, zone = max(gaps)
    side = max(sides, key=lambda name: sides[name].zones[zone])
    other = "left" if side == "right" else "right"
    return (
        f"Consolidation in the {side} {_ZONES[zone]} zone, in keeping with pneumonia: density "
        f"{sides[side].zones[zone]:.2f}, against {sides[other].zones[zone]:.2f} in the same zone "
        f"of the other lung."
    )


def _atelectasis(measures: Measures) -> str:
    side, worse, better = _worse(measures, lambda lung: sum(lung.zones) + lung.bands)
    return (
        f"Atelectasis on the {side}: the lung field is denser there ({sum(worse.zones) / 3:.2f}, "
        f"against {sum(better.zones) / 3:.2f}), with the strongest band at {worse.bands:.2f} and "
        f"the mediastinum drawn over by {measures.shift:.2f} of the width of the chest."
    )


def _nothing(measures: Measures) -> str:
    right, left = measures.right, measures.left
    gap = max(abs(zone - opposite) for zone, opposite in zip(right.zones, left.zones, strict=True))
    return (
        f"Nothing abnormal: the cardiothoracic ratio is {measures.ratio:.2f}, the densities of the "
        f"lung zones differ by at most {gap:.2f} between the sides, and those of the costophrenic "
        f"angles are {right.base:.2f} and {left.base:.2f}."
    )


def _worse(measures: Measures, value: Callable[[Side], float]) -> tuple[str, Side, Side]:
    """The side on which `value` is greater, what is measured there, and on the other side."""
    if value(measures.right) > value(measures.left):
        return "right", measures.right, measures.left
    return "left", measures.left, measures.right


_SAID: dict[str, Callable[[Measures], str]] = {
    "Atelectasis": _atelectasis,
    "Cardiomegaly": _cardiomegaly,
    "Pleural Effusion": _effusion,
    "Pneumonia": _pneumonia,
    "Pneumothorax": _pneumothorax,
}

LABELS = tuple(_SAID)
"""The findings that the machine knows, sorted."""
