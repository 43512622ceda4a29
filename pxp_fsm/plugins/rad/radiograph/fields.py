"""Segmentation of the lungs in a radiograph, and where they are expected.

A frontal view is taken for granted: on anything else the fields are wherever it is dark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.tasks.labels.images import Plane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Mask: TypeAlias = "NDArray[np.bool_]"

SIZE = 256
"""Pixels a side of what is measured; whatever the picture's size and shape."""

_SMALLEST = 0.02
"""Of the picture, for a dark region to count as lung."""

_MARGIN = SIZE // 16
"""Of the picture's border, that is cut off where a lung reaches it."""


@dataclass(frozen=True, slots=True, eq=False)
class LungField:
    """The lung field of one side, as if it were the patient's left: columns count from the middle.

    `lung` is what is dark now; `expected` adds what the other side's lung would fill here.
    `density` is the grey, 0 for the picture's darkest lung to 1 for its mediastinum. All planes
    have SIZE rows; the number of columns is the same for both sides.
    """

    lung: Mask
    expected: Mask
    density: Plane


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """Both lung fields of a radiograph; `right` is the patient's right."""

    right: LungField
    left: LungField


def fields_of(picture: Plane) -> Fields | None:
    """The lung fields of `picture` (rows x columns, 0 black to 1), or None for a single grey.

    A lung is the largest dark region (Otsu's threshold) on its side of the body's middle that does
    not touch the picture's border; else the largest within a margin; else where lungs usually are.
    """
    import numpy as np
    from skimage.filters import gaussian, threshold_otsu
    from skimage.morphology import closing, disk
    from skimage.transform import resize

    even = resize(picture, (SIZE, SIZE), anti_aliasing=True)
    low, high = np.percentile(even, (1, 99))
    even = np.clip((even - low) / max(high - low, 1e-6), 0, 1)
    smooth = gaussian(even, 2)
    if smooth.std() < 0.02:
        return None
    middle = _middle(smooth)
    dark = smooth < threshold_otsu(smooth)
    sides = [_lung(dark, middle, toward) for toward in (-1, 1)]
    width = max(middle, SIZE - middle)
    lungs = [
        _turned(side.astype(float), middle, width, toward) > 0.5
        for side, toward in zip(sides, (-1, 1), strict=True)
    ]
    darkest = float(np.percentile(smooth[sides[0] | sides[1]], 10))
    centre = smooth[SIZE // 4 : 3 * SIZE // 4, max(middle - 8, 0) : middle + 8]
    scale = max(float(np.percentile(centre, 75)) - darkest, 0.05)
    density = (gaussian(even, 1) - darkest) / scale
    made = [
        LungField(
            lung,
            closing(lung | other, disk(5)),
            _turned(density, middle, width, toward),
        )
        for lung, other, toward in ((lungs[0], lungs[1], -1), (lungs[1], lungs[0], 1))
    ]
    return Fields(*made)


def _middle(smooth: Plane) -> int:
    """The column of the body's middle: half way between its outlines at mid height."""
    import numpy as np

    rows = smooth[int(0.35 * SIZE) : int(0.65 * SIZE)].mean(axis=0)
    body = np.flatnonzero(rows > 0.25 * rows.max())
    middle = (int(body[0]) + int(body[-1])) // 2
    return min(max(middle, SIZE // 3), 2 * SIZE // 3)


def _lung(dark: Mask, middle: int, toward: int) -> Mask:
    """The lung on the side `toward`: a dark region, or where one would be if there is none."""
    import numpy as np
    from skimage.measure import label, regionprops
    from skimage.morphology import closing, disk
    from skimage.segmentation import clear_border

    half = np.zeros_like(dark)
    columns = slice(None, middle) if toward < 0 else slice(middle, None)
    half[:, columns] = dark[:, columns]
    within = np.zeros_like(half)
    within[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN] = half[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN]
    for candidates in (clear_border(half, buffer_size=2), within):
        numbered = label(candidates)
        regions = [
            region for region in regionprops(numbered) if region.area >= _SMALLEST * SIZE * SIZE
        ]
        if regions:
            largest = max(regions, key=lambda region: region.area)
            closed: Mask = closing(numbered == largest.label, disk(4)) > 0
            return closed
    return _usual(middle, toward)


def _usual(middle: int, toward: int) -> Mask:
    """Where a lung usually is, as an ellipse: for a side on which nothing is dark."""
    import numpy as np

    row, column = np.mgrid[:SIZE, :SIZE]
    across = (column - middle - toward * 0.23 * SIZE) / (0.15 * SIZE)
    usual: Mask = np.hypot((row - 0.45 * SIZE) / (0.3 * SIZE), across) < 1
    return usual


def _turned(plane: Plane, middle: int, width: int, toward: int) -> Plane:
    """The half of `plane` on the side `toward`, columns counted from the middle, `width` wide."""
    import numpy as np

    half = plane[:, :middle][:, ::-1] if toward < 0 else plane[:, middle:]
    return np.pad(half, ((0, 0), (0, width - half.shape[1])), mode="edge")
