"""Measurements of a radiograph: ratios and densities, the same for either side.

Lengths are in units of the chest's width, densities from 0 (darkest lung) to 1 (mediastinum).
"""

from __future__ import annotations

from itertools import pairwise

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.rad.radiograph.fields import LungField, Mask, fields_of
from pxp_fsm.tasks.labels.images import Plane

_ZONES = 3
_BLACK = 0.06


@dataclass(frozen=True, slots=True)
class Side:
    """What is measured on one side.

    `reach` is how far the middle shadow reaches outwards beside the heart, `upper` above it, and
    `width` how far the lung field does, in pixels; `zones` are the densities of the outer field
    from the top, `base` that of its lowest corner; `step` how much denser the lung is than its
    rim; `empty` the share of the outer field that is black, `filled` the share that should be lung
    and is not; `floor` the diaphragm's height in parts of the field's; `bands` the brightest thin
    horizontal band of the lower field; `patch` the densest patch that the other side has not.
    """

    reach: float
    upper: float
    width: float
    zones: tuple[float, float, float]
    base: float
    step: float
    empty: float
    filled: float
    floor: float
    bands: float
    patch: float


@dataclass(frozen=True, slots=True)
class Measures:
    """A radiograph in numbers: `right` and `left` of the patient, and what they say together."""

    right: Side
    left: Side

    @property
    def ratio(self) -> float:
        """Cardiothoracic ratio: the heart's width in the chest's."""
        return (self.right.reach + self.left.reach) / max(self.right.width + self.left.width, 1.0)

    @property
    def denser(self) -> str:
        """The side whose lung field is denser."""
        right, left = sum(self.right.zones), sum(self.left.zones)
        return "right" if right > left else "left"

    @property
    def shift(self) -> float:
        """How far the upper mediastinum lies towards the denser side."""
        away = (self.left.upper - self.right.upper) / (self.right.width + self.left.width)
        return away if self.denser == "left" else -away

    @property
    def lift(self) -> float:
        """How much higher the diaphragm is on the denser side."""
        higher = self.right.floor - self.left.floor
        return higher if self.denser == "left" else -higher

    def vector(self) -> tuple[float, ...]:
        """The numbers by which cases are compared; which side is which plays no part."""
        sides = (self.right, self.left)
        gaps = [
            abs(right - left) for right, left in zip(self.right.zones, self.left.zones, strict=True)
        ]
        most = [max(side.zones[zone] for side in sides) for zone in range(_ZONES)]
        return (
            self.ratio,
            *gaps,
            *most,
            max(side.base for side in sides),
            abs(self.right.base - self.left.base),
            max(side.step for side in sides),
            max(side.empty for side in sides),
            max(side.filled for side in sides),
            self.shift,
            self.lift,
            max(side.bands for side in sides),
            max(side.patch for side in sides),
        )


def measured(picture: Plane) -> Measures | None:
    """The measures of `picture` (0 black to 1), or None where it shows no lungs."""
    lungs = fields_of(picture)
    if lungs is None:
        return None
    right, left = lungs.right, lungs.left
    return Measures(_side(right, left, right), _side(left, right, right))


def _side(field: LungField, other: LungField, right: LungField) -> Side:
    import numpy as np
    from skimage.filters import gaussian

    rows = np.flatnonzero(field.expected.any(axis=1))
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    height = bottom - top
    outer = _outer(field.expected)
    width = float(np.percentile(outer[top:bottom], 95))
    lateral = field.expected.copy()
    lateral[:, : int(0.5 * width)] = False
    thirds = [top + round(height * part / _ZONES) for part in range(_ZONES + 1)]
    zones = [_mean(field.density, _rows(lateral, start, end)) for start, end in pairwise(thirds)]
    corner = _rows(lateral, bottom - max(round(0.16 * height), 2), bottom)
    floor = _floor(field.lung, width, bottom)
    right_floor = _floor(right.lung, width, bottom)
    heart = slice(
        top + round(0.45 * height), max(min(floor, right_floor) - 4, top + round(0.5 * height))
    )
    inner = _inner(field.lung, width)
    black = lateral & (gaussian(field.density, 1) < _BLACK)
    missing = lateral & ~field.lung
    return Side(
        reach=float(np.percentile(inner[heart], 90)),
        upper=float(np.median(inner[top + round(0.12 * height) : top + round(0.32 * height)])),
        width=width,
        zones=(zones[0], zones[1], zones[2]),
        base=_mean(field.density, corner),
        step=_step(field, outer, top, top + round(0.65 * height)),
        empty=float(black.sum() / max(lateral.sum(), 1)),
        filled=float(missing.sum() / max(lateral.sum(), 1)),
        floor=(floor - top) / height,
        bands=_bands(field, thirds[1], floor - 4, width),
        patch=_patch(field, other, _rows(lateral, top, top + round(0.8 * height))),
    )


def _outer(mask: Mask) -> Plane:
    """For each row, how far from the middle `mask` reaches; 0 where it is empty."""
    import numpy as np

    far = mask.shape[1] - np.argmax(mask[:, ::-1], axis=1)
    return np.where(mask.any(axis=1), far, 0).astype(float)


def _inner(mask: Mask, width: float) -> Plane:
    """For each row, how far from the middle `mask` begins; `width` where it is empty."""
    import numpy as np

    return np.where(mask.any(axis=1), np.argmax(mask, axis=1), width).astype(float)


def _rows(mask: Mask, start: int, end: int) -> Mask:
    import numpy as np

    kept = np.zeros_like(mask)
    kept[start:end] = mask[start:end]
    return kept


def _mean(plane: Plane, mask: Mask) -> float:
    return float(plane[mask].mean()) if mask.any() else 0.0


def _floor(lung: Mask, width: float, bottom: int) -> int:
    """The row of the diaphragm's dome: where the lung ends, half way out."""
    import numpy as np

    columns = lung[:, int(0.5 * width) : max(int(0.7 * width), int(0.5 * width) + 1)]
    rows = np.flatnonzero(columns.mean(axis=1) > 0.5)
    return int(rows[-1]) if rows.size else bottom


def _step(field: LungField, outer: Plane, start: int, end: int) -> float:
    """How much denser the inner lung is than its rim, where the rim is dark: a collapsed lung."""
    import numpy as np

    steps = []
    for row in range(start, end):
        reach = int(outer[row])
        if reach > 20:
            rim = field.density[row, round(0.78 * reach) : round(0.93 * reach)].mean()
            within = field.density[row, round(0.45 * reach) : round(0.72 * reach)].mean()
            steps.append(within - rim)
    return float(np.median(steps)) if steps else 0.0


def _bands(field: LungField, start: int, end: int, width: float) -> float:
    """The brightest thin horizontal band across the lower field, over what surrounds it."""
    import numpy as np
    from skimage.morphology import opening

    part = field.density[start : max(end, start + 24), int(0.35 * width) : int(0.75 * width)]
    profile = np.median(part, axis=1)
    return float((profile - opening(profile, np.ones(11))).max())


def _patch(field: LungField, other: LungField, where: Mask) -> float:
    """The densest patch that the other side does not have, over the mean difference."""
    import numpy as np
    from skimage.filters import gaussian

    gap = gaussian(field.density - other.density, 6)
    return float(np.percentile(gap[where], 97) - gap[where].mean()) if where.any() else 0.0
