"""How a diagram is drawn: its direction, font and width, with or without title and legend."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.options import check_ranges, check_types, option

_UNITS = {"pt": 1.0, "mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0}
_SIZE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,4})?)\s*(pt|mm|cm|in)")
_LEAST, _MOST = 20.0, 7200.0
_FAMILY = re.compile(r"[\w. -]{1,80}")

GENERIC = ("sans-serif", "serif", "monospace")
"""The fonts that every viewer and LaTeX have under some name."""


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a diagram is drawn; `size` is the width in the paper.

    >>> Style(size="3.5in").width
    252.0

    Raises `UsageError` for a value that is not allowed.
    """

    direction: str | None = option(
        "Lay an automaton out from left to right (LR), top to bottom (TB), or reversed.",
        None,
        choices=("LR", "TB", "RL", "BT"),
        default="LR, or TB where that is too wide",
    )
    font: str | None = option(
        "The font family; .tex takes only serif, sans-serif and monospace.",
        None,
        metavar="FAMILY",
        default="Helvetica or alike; in .tex, the document's",
    )
    size: str | None = option(
        "The width in the paper, such as 8.8cm, 3.5in or 252pt: choose the layout with the largest "
        "labels at this width, scale it down, and warn where labels are below 6 pt.",
        None,
        metavar="WIDTH",
    )
    title: bool = option("Draw the title and the note; a paper's caption has them.", True)
    legend: bool = option(
        "Explain the notation below the drawing: signs, guards, and who m and h are.", False
    )

    def __post_init__(self) -> None:
        check_types(self)
        check_ranges(self)
        if self.font is not None and not _FAMILY.fullmatch(self.font):
            raise UsageError(
                f"a font family is letters, digits, blanks, dots and dashes, not "
                f"{quoted(self.font)}",
                "font",
            )
        _ = self.width

    @property
    def width(self) -> float | None:
        """The width in points (1/72 inch); None where no size is given."""
        if self.size is None:
            return None
        found = _SIZE.fullmatch(self.size.strip())
        points = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not _LEAST <= points <= _MOST:
            raise UsageError(
                f"a size is a width of 20 to 7200 pt with its unit, such as 8.8cm, 88mm, 3.5in or "
                f"252pt, not {quoted(self.size)}",
                "size",
            )
        return points

    @property
    def changed(self) -> dict[str, Any]:
        """The options that are not as by default, by name."""
        return {
            one.name: value
            for one in fields(self)
            if (value := getattr(self, one.name)) != one.default
        }


PLAIN = Style()
"""A diagram as it is drawn by default."""
