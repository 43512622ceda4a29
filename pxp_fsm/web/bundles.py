"""The files that pages are made of: scripts and styles.

Nothing here needs a server: the explorer as a file, also in a browser, is made with it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def static(name: str) -> str:
    """The text of a file that pages are made of."""
    return resources.files("pxp_fsm.web").joinpath("static", name).read_text("utf-8")
