"""The files that pages are made of: scripts and styles, and how a page names them in its policy.

Nothing here needs a server: the explorer as a file, also in a browser, is made with it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib import resources


@cache
def static(name: str) -> str:
    """The text of a file that pages are made of."""
    return resources.files("pxp_fsm.web").joinpath("static", name).read_text("utf-8")


def digest(text: str) -> str:
    """A script or style that stands in a page, as its content security policy names it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
