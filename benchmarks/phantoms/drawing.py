"""Drawing of phantoms: the effect of each finding on a schematic chest, and the exposure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from skimage.draw import line_aa
from skimage.transform import AffineTransform, resize, warp

from phantoms.contents import LEFT, RIGHT, DrawnFinding
from pxp_fsm.lazy_dataclasses import dataclass

Plane = NDArray[np.float64]

EDGE = 0.012
"""How soft an outline is."""


@dataclass(frozen=True, slots=True)
class PhantomBody:
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

    def __init__(self, body: PhantomBody, size: int, random: np.random.Generator) -> None:
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


SIZE = 192
"""Pixels a side."""

LEVELS = 40
"""Shades of grey: fewer than a screen has, so that a picture stays small."""

_FINE = 2
"""Drawn this many times larger, then made smaller."""


def drawn(findings: tuple[DrawnFinding, ...], seed: str) -> Plane:
    """The phantom with `findings`, SIZE x SIZE, from 0 (black) to 1; the same for the same seed."""
    random = np.random.Generator(np.random.PCG64(list(seed.encode())))
    by_label = {finding.label: finding for finding in findings}
    chest = Chest(_body(by_label, random), SIZE * _FINE, random)
    seen = chest.soft_tissue() + chest.mediastinum()
    air = 0.62 + random.uniform(-0.03, 0.03)
    heart = chest.heart()
    for side in (RIGHT, LEFT):
        here = {
            label: drawn_finding
            for label, drawn_finding in by_label.items()
            if drawn_finding.side == side
        }
        seen += _side(chest, side, here, air, heart, random)
    seen += 0.12 * heart + chest.bones()
    seen += 0.012 * chest.clouds(0.03)
    return _exposed(seen, random)


def _body(findings: dict[str, DrawnFinding], random: np.random.Generator) -> PhantomBody:
    ratio = random.uniform(0.4, 0.465)
    if "Cardiomegaly" in findings:
        low, high = ((0.53, 0.56), (0.57, 0.62), (0.63, 0.69))[
            findings["Cardiomegaly"].strength - 1
        ]
        ratio = random.uniform(low, high)
    bases = [0.34 + random.uniform(-0.03, 0.03), 0.39 + random.uniform(-0.03, 0.03)]
    shift = random.uniform(-0.015, 0.015)
    for finding in findings.values():
        grade = finding.strength - 1
        if finding.label == "Atelectasis":
            bases[0 if finding.side == RIGHT else 1] -= (0.06, 0.13, 0.16)[grade]
            shift += finding.side * (0.0, 0.06, 0.17)[grade]
        elif finding.label == "Pneumothorax":
            shift -= finding.side * (0.0, 0.02, 0.1)[grade]
        elif finding.label == "Pleural Effusion":
            shift -= finding.side * (0.0, 0.01, 0.1)[grade]
    return PhantomBody(
        half_width=random.uniform(0.63, 0.7),
        ratio=ratio,
        bases=(bases[0], bases[1]),
        shift=shift,
        hilum=-0.03 + random.uniform(-0.03, 0.03),
    )


def _side(
    chest: Chest,
    side: int,
    findings: dict[str, DrawnFinding],
    air: float,
    heart: Plane,
    random: np.random.Generator,
) -> Plane:
    """What the lung on `side` adds to the attenuation: air takes away, heart and findings add."""
    lung = chest.lung(side)
    vessels = chest.vessels(side)
    opaque = np.zeros_like(lung)
    if "Pneumothorax" in findings:
        collapsed, line = _collapse(chest, side, findings["Pneumothorax"].strength)
        seen = -air * lung * (1.0 + 0.12 * (1 - collapsed)) + line
        opaque += 0.1 * findings["Pneumothorax"].strength * collapsed * lung
        vessels = vessels * collapsed
    else:
        seen = -air * lung
    if "Pneumonia" in findings:
        opaque = np.maximum(opaque, _consolidation(chest, side, findings["Pneumonia"], random))
    if "Atelectasis" in findings:
        opaque = np.maximum(opaque, _loss(chest, side, findings["Atelectasis"].strength, random))
    if "Pleural Effusion" in findings:
        opaque = np.maximum(opaque, _fluid(chest, side, findings["Pleural Effusion"].strength))
    hidden = np.clip(np.maximum(opaque, heart), 0, 0.8)
    added: Plane = lung * (vessels * (1 - hidden) + np.maximum(opaque, 0.5 * heart))
    return seen + added


def _collapse(chest: Chest, side: int, strength: int) -> tuple[Plane, Plane]:
    """Where the collapsed lung still is, and the line of its pleura: a smaller copy of the lung."""
    scale = (0.84, 0.68, 0.42)[strength - 1]
    root_u, root_v = side * 0.12 + chest.body.shift, (0.25, 0.12, 0.05)[strength - 1]
    u = root_u + (chest.u - root_u) / scale
    v = root_v + (chest.v - root_v) / scale
    collapsed = chest.lung(side, u, v)
    edge = 4 * collapsed * (1 - collapsed)
    outside = side * (chest.u - root_u) > 0.03
    return collapsed, 0.1 * edge * outside * chest.lung(side)


def _consolidation(
    chest: Chest, side: int, finding: DrawnFinding, random: np.random.Generator
) -> Plane:
    """A patchy opacity with fluffy borders in one zone of the lung."""
    radius = (0.13, 0.19, 0.27)[finding.strength - 1] * random.uniform(0.92, 1.08)
    u = side * random.uniform(0.33, 0.4)
    v = (-0.42, -0.08, 0.24)[finding.zone] + random.uniform(-0.03, 0.03)
    away = np.hypot(chest.u - u, chest.v - v) / radius
    patchy = 0.22 * chest.clouds(0.045) + 0.1 * chest.clouds(0.015)
    depth = (0.3, 0.38, 0.46)[finding.strength - 1]
    return depth * inside(1 - away + patchy, 0.14) * np.clip(1 + 0.6 * patchy, 0.3, 1.3)


def _loss(chest: Chest, side: int, strength: int, random: np.random.Generator) -> Plane:
    """A plate, a lobe fallen in behind the heart, or a whole lung."""
    out = side * chest.u
    base = chest.body.bases[0 if side == RIGHT else 1]
    if strength == 3:
        return 0.6 * np.ones_like(out)
    if strength == 2:
        inner = 0.5 * (chest.v + 0.1) / (base + 0.1) + side * chest.body.shift
        return 0.5 * inside(inner - out, 0.02) * inside(chest.v + 0.1)
    plates = np.zeros_like(out)
    for number in range(2):
        height = base - 0.09 - 0.1 * number + random.uniform(-0.02, 0.02)
        course = height + random.uniform(-0.2, 0.1) * (out - 0.35)
        band = np.exp(-(((chest.v - course) / 0.022) ** 2))
        plates = np.maximum(plates, band * inside(out - 0.16, 0.02) * inside(0.56 - out, 0.02))
    return 0.42 * plates


def _fluid(chest: Chest, side: int, strength: int) -> Plane:
    """Fluid below a meniscus that rises towards the wall."""
    out = np.clip(side * chest.u / chest.body.half_width, 0, 1)
    level = (0.46, 0.24, -0.12)[strength - 1]
    rise = (0.16, 0.2, 0.22)[strength - 1]
    surface = level + 0.12 - rise * out**4 - 0.1 * out
    return 0.58 * inside(chest.v - surface, 0.02)


def _exposed(attenuation: Plane, random: np.random.Generator) -> Plane:
    """The film: blurred, placed by hand, noisy, in LEVELS shades, SIZE pixels a side."""
    film = gaussian_filter(attenuation, 0.7 * _FINE)
    film = 1 - np.exp(-1.15 * np.clip(film, 0, None))
    film = resize(_placed(film, random), (SIZE, SIZE), anti_aliasing=True)
    film = np.clip(film / 0.72, 0, 1) ** random.uniform(0.9, 1.15)
    film = film * random.uniform(0.92, 1.0) + random.uniform(0.0, 0.03)
    film += random.normal(0, 0.007, film.shape)
    levels: Plane = np.round(np.clip(film, 0, 1) * (LEVELS - 1)) / (LEVELS - 1)
    return levels


def _placed(film: Plane, random: np.random.Generator) -> Plane:
    """`film` a little turned, shifted and scaled, as nobody stands quite straight."""
    middle = film.shape[0] / 2
    angle, scale = random.uniform(-0.05, 0.05), random.uniform(0.95, 1.07)
    shift = middle * random.uniform(-0.03, 0.03, 2)
    turned = AffineTransform(rotation=angle, scale=scale)
    there = AffineTransform(translation=(-middle, -middle)) + turned
    placed: Plane = warp(film, there + AffineTransform(translation=shift + middle), mode="edge")
    return placed
