"""The colours of the page, in light and dark: Okabe and Ito's, which colour-blind people can tell.

Nothing is told by colour alone: lines have markers and names, and tags are written out.
"""

from __future__ import annotations

from types import MappingProxyType

LIGHT = MappingProxyType(
    {
        "paper": "#ffffff",
        "ink": "#1f2328",
        "grey": "#656d76",
        "rule": "#d4d9de",
        "tint": "#d9e8f7",
        "accent": "#0b5cad",
        "machine": "#0072b2",
        "human": "#c2500a",
        "both": "#017a5c",
        "INIT": "#8b949d",
        "RATIFY": "#009e73",
        "REVISE": "#56b4e9",
        "REFUTE": "#e69f00",
        "REJECT": "#d55e00",
        "TERM": "#cc79a7",
        "ended": "#c5cbd1",
    }
)
DARK = MappingProxyType(
    {
        "paper": "#16191d",
        "ink": "#e4e8ec",
        "grey": "#9aa4ae",
        "rule": "#363c43",
        "tint": "#1d3550",
        "accent": "#6cb2f5",
        "machine": "#5eb3ec",
        "human": "#ee8f52",
        "both": "#3cc7a0",
        "INIT": "#77818b",
        "RATIFY": "#12a97e",
        "REVISE": "#4aa9de",
        "REFUTE": "#d9990f",
        "REJECT": "#d9661a",
        "TERM": "#c877a4",
        "ended": "#4a525a",
    }
)

NAMED = MappingProxyType({colour: name for name, colour in LIGHT.items()})
"""The names of the colours by what a figure is drawn in; the page gives them their values."""


def variables(colours: MappingProxyType[str, str]) -> str:
    """The colours as CSS custom properties."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
