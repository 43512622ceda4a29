"""How colours are seen: in grey, and by the colour blind."""

from __future__ import annotations

import operator

SEEN: dict[str, list[list[float]]] = {  # Machado, Oliveira and Fernandes 2009, severity 1
    "all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colour: str, seen: str) -> tuple[float, float, float]:
    """A colour (`#rrggbb`) in CIELAB, as it is `seen`."""
    r, g, b = _linear(colour, seen)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def contrast(first: str, second: str, seen: str) -> float:
    """The contrast of two colours after WCAG 2.2: 1 to 21."""
    weights = (0.2126, 0.7152, 0.0722)
    luminances = [
        sum(weight * part for weight, part in zip(weights, _linear(colour, seen), strict=True))
        for colour in (first, second)
    ]
    dark, light = sorted(luminances)
    return (light + 0.05) / (dark + 0.05)


def _linear(colour: str, seen: str) -> list[float]:
    """Linear RGB, 0 to 1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return [min(1.0, max(0.0, sum(map(operator.mul, row, linear)))) for row in SEEN[seen]]
