"""Tables for the terminal: what models and people wrote in them is text."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from pxp_fsm.experiments.sheets import Sheet, as_rich


def test_no_cell_steers_the_terminal() -> None:
    hostile = "a\x1b]0;title\x07b\u202e\nsecond [red]line"
    screen = StringIO()
    sheet = Sheet(hostile, ("agent", "prediction"), (("m", hostile),))
    Console(file=screen, width=80, color_system=None).print(as_rich(sheet))
    shown = screen.getvalue()
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "a\\u001b]0;title\\u0007b\\u202e" in shown
    assert any(line.split() == ["second", "[red]line"] for line in shown.splitlines())
