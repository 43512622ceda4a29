"""The types that pages are written against are those of what the server sends."""

from __future__ import annotations

from tests.plugins.view_types import VIEWS, written


def test_the_types_of_the_pages_are_those_of_the_views() -> None:
    assert VIEWS.read_text("utf-8") == written()
