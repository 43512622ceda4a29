"""The files that pages are made of."""

from __future__ import annotations

from importlib import resources


def static(name: str) -> str:
    """The text of a file that pages are made of."""
    return resources.files("pxp_fsm.web").joinpath("static", name).read_text("utf-8")
