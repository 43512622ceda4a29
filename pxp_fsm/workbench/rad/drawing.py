"""From findings to a picture: what each finding changes in a schematic chest, and the exposure."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.transform import AffineTransform, resize, warp

from pxp_fsm.workbench.rad.anatomy import Body, Chest, Plane, inside
from pxp_fsm.workbench.rad.findings import LEFT, RIGHT, Finding

SIZE = 192
"""Pixels a side."""

LEVELS = 40
"""Shades of grey: fewer than a screen has, so that a picture stays small."""

_FINE = 2
"""Drawn this many times larger, then made smaller."""


def drawn(findings: tuple[Finding, ...], seed: str) -> Plane:
    """The phantom with `findings`, SIZE x SIZE, from 0 (black) to 1; the same for the same seed."""
    random = np.random.Generator(np.random.PCG64(list(seed.encode())))
    by_label = {finding.label: finding for finding in findings}
    chest = Chest(_body(by_label, random), SIZE * _FINE, random)
    seen = chest.soft_tissue() + chest.mediastinum()
    air = 0.62 + random.uniform(-0.03, 0.03)
    heart = chest.heart()
    for side in (RIGHT, LEFT):
        here = {label: one for label, one in by_label.items() if one.side == side}
        seen += _side(chest, side, here, air, heart, random)
    seen += 0.12 * heart + chest.bones()
    seen += 0.012 * chest.clouds(0.03)
    return _exposed(seen, random)


def _body(findings: dict[str, Finding], random: np.random.Generator) -> Body:
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
    return Body(
        half_width=random.uniform(0.63, 0.7),
        ratio=ratio,
        bases=(bases[0], bases[1]),
        shift=shift,
        hilum=-0.03 + random.uniform(-0.03, 0.03),
    )


def _side(
    chest: Chest,
    side: int,
    findings: dict[str, Finding],
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


def _consolidation(chest: Chest, side: int, finding: Finding, random: np.random.Generator) -> Plane:
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
