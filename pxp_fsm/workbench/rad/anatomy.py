"""A schematic chest in front view: which parts a phantom has, and how much each attenuates.

Everything is made up: shapes are ellipses, arcs and scaled copies of them, and no patient's
radiograph went into them. Coordinates: u from -1 to 1 from left to right as it is seen (the
patient's right is at negative u), v from -1 to 1 downwards. Attenuations are in arbitrary units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from skimage.draw import line_aa

from pxp_fsm.workbench.rad.findings import RIGHT

Plane = NDArray[np.float64]

EDGE = 0.012
"""How soft an outline is."""


@dataclass(frozen=True, slots=True)
class Body:
    """What differs between two healthy phantoms; lengths in units of u and v."""

    half_width: float
    """Of the chest inside the ribs, at its widest."""
    ratio: float
    """Cardiothoracic ratio."""
    bases: tuple[float, float]
    """v of the top of the right and of the left half of the diaphragm."""
    shift: float
    """By how much the mediastinum lies to the left of the middle."""
    hilum: float
    """v of the roots of the lungs."""


class Chest:
    """The planes of one `body` on a grid of `size` pixels a side: lungs, heart, bones, vessels."""

    def __init__(self, body: Body, size: int, random: np.random.Generator) -> None:
        self.body = body
        self._random = random
        axis = (np.arange(size) + 0.5) / size * 2 - 1
        self.u, self.v = np.meshgrid(axis, axis)

    def wall(self, v: Plane) -> Plane:
        """Half the width inside the ribs at height `v`."""
        up = np.clip((0.25 - v) / 1.0, 0, 1)
        return self.body.half_width * np.sqrt(np.clip(1 - up**2.6, 0, 1))

    def lung(self, side: int, u: Plane | None = None, v: Plane | None = None) -> Plane:
        """The lung on `side`, 0 to 1, without what the heart covers; at (`u`, `v`) if given."""
        u = self.u if u is None else u
        v = self.v if v is None else v
        out = side * u
        wall = self.wall(v)
        middle = 0.105 + 0.05 * np.exp(-(((v - self.body.hilum) / 0.2) ** 2))
        base = self.body.bases[0 if side == RIGHT else 1]
        dome = base + 0.24 * (np.clip(out - 0.3, 0, None) / 0.3) ** 2
        return (
            inside(wall - out)
            * inside(out - middle - side * self.body.shift)
            * inside(np.minimum(dome, 0.78) - v)
            * inside(v + 0.72)
        )

    def heart(self) -> Plane:
        """The heart's outline, two thirds of it to the left of the middle."""
        radius = self.body.ratio * self.body.half_width
        u = self.u - self.body.shift - 0.3 * radius
        v = self.v - 0.2
        tilt = 0.25
        along = u * np.cos(tilt) + v * np.sin(tilt)
        across = -u * np.sin(tilt) + v * np.cos(tilt)
        return inside((1 - np.hypot(along / radius, across / (0.13 + 0.72 * radius))) * radius)

    def mediastinum(self) -> Plane:
        """Spine, great vessels and windpipe; the windpipe is darker."""
        u = self.u - self.body.shift
        spine = inside(0.075 - np.abs(self.u)) * (0.85 + 0.15 * np.cos(self.v * 40))
        vessels = inside(0.13 - np.abs(u - 0.02)) * inside(0.15 - self.v) * inside(self.v + 0.6)
        knob = inside(0.085 - np.hypot(u - 0.12, self.v + 0.27))
        windpipe = inside(0.035 - np.abs(u + 0.01)) * inside(-0.22 - self.v)
        return 0.28 * spine + 0.32 * np.maximum(vessels, knob) - 0.28 * windpipe

    def soft_tissue(self) -> Plane:
        """The trunk with shoulders and neck, thicker towards the belly."""
        shoulder = 0.3 + 0.66 / (1 + np.exp(-(self.v + 0.86) / 0.035))
        edge = shoulder - 0.1 * np.clip(self.v + 0.6, 0, 1)
        trunk = inside(edge - np.abs(self.u), 0.03)
        return trunk * (0.72 + 0.12 * np.clip(self.v, -0.5, 1))

    def bones(self) -> Plane:
        """Ribs, behind and in front, and collar bones."""
        out = np.abs(self.u)
        wall = self.wall(self.v)
        within = inside(wall + 0.05 - out) * inside(0.75 - self.v)
        behind = np.zeros_like(out)
        front = np.zeros_like(out)
        for number in range(10):
            start = -0.74 + 0.142 * number
            course = start - 0.1 * np.sin(np.clip(out / 0.45, 0, 1) * np.pi) + 0.16 * out**2
            behind += np.exp(-(((self.v - course) / 0.026) ** 2))
            course = start + 0.5 - 0.55 * out
            front += np.exp(-(((self.v - course) / 0.024) ** 2)) * inside(out - 0.2, 0.05)
        rim = np.exp(-(((out - wall - 0.01) / 0.02) ** 2)) * inside(0.6 - self.v)
        collar = np.exp(-(((self.v + 0.66 + 0.16 * out) / 0.026) ** 2))
        collar *= inside(out - 0.08) * inside(0.62 - out)
        return within * (0.11 * behind + 0.055 * front) + 0.09 * rim + 0.16 * collar

    def vessels(self, side: int) -> Plane:
        """The lung's markings on `side`: a tree from its root that thins towards the wall."""
        size = self.u.shape[0]
        drawn = np.zeros_like(self.u)
        for _ in range(34):
            angle = self._random.uniform(-1.45, 1.45)
            place = np.array([side * 0.13 + self.body.shift, self.body.hilum])
            strength = self._random.uniform(0.7, 1.2)
            for _step in range(12):
                angle += self._random.normal(0, 0.16)
                towards = place + 0.055 * np.array([side * np.cos(angle), np.sin(angle)])
                _line(drawn, place, towards, strength, size)
                place, strength = towards, strength * 0.86
        root = np.hypot(self.u - side * 0.17 - self.body.shift, (self.v - self.body.hilum) / 1.5)
        blurred: Plane = gaussian_filter(drawn, size / 200)
        return 0.3 * blurred + 0.16 * np.exp(-((root / 0.075) ** 2))

    def clouds(self, grain: float) -> Plane:
        """Smooth random structure around 0, of about unit size; `grain` is its scale in u."""
        size = self.u.shape[0]
        rough = self._random.normal(size=self.u.shape)
        smooth: Plane = gaussian_filter(rough, grain * size / 2)
        scaled: Plane = smooth / smooth.std()
        return scaled


def _line(plane: Plane, start: Plane, end: Plane, strength: float, size: int) -> None:
    """Add an anti-aliased line from `start` to `end` (u, v) to `plane`, as far as it is in it."""
    column, row, column2, row2 = ((np.r_[start, end] + 1) / 2 * size).astype(int)
    rows, columns, weight = line_aa(row, column, row2, column2)
    seen = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
    where = rows[seen], columns[seen]
    plane[where] = np.maximum(plane[where], strength * weight[seen])


def inside(distance: Plane, softness: float = EDGE) -> Plane:
    """1 where `distance` to an outline is positive, 0 where negative, soft between."""
    inside: Plane = 1 / (1 + np.exp(-np.clip(distance / softness, -40, 40)))
    return inside
