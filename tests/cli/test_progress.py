"""What takes long says on a terminal what it does, and nothing elsewhere."""

from __future__ import annotations

import io
import re
import sys
import threading

import pytest

from pxp_fsm.cli.presentation import text
from tests.waiting import PATIENCE


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO, patience: float) -> str:
    """What stands on standard error after a block that waits to be asked what it does, if it is."""
    asked = threading.Event()

    def told() -> str:
        asked.set()
        return "Checking: 3 verdicts"

    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(text, "PATIENCE", patience)
    with text.progress(told):
        asked.wait(PATIENCE if patience == 0 and stderr.isatty() else 0)
    return stderr.getvalue()


def test_what_takes_long_says_what_it_does_and_takes_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = shown(monkeypatch, Screen(), 0)
    assert re.search(r"Checking: 3 verdicts \(\d+ s\)", line)
    assert line.endswith("\r\x1b[K")


def test_what_is_short_or_not_on_a_terminal_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Screen(), 60) == ""
    assert shown(monkeypatch, io.StringIO(), 0) == ""
