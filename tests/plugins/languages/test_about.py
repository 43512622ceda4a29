"""What there is of languages and odds, with meanings."""

from __future__ import annotations

from pxp_fsm.plugins.languages.operands import language, meanings


def test_every_listed_language_is_one() -> None:
    assert all(language(name).states > 0 for name in meanings())
