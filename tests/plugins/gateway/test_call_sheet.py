"""The table of a gateway's calls: what a client or a server has written there is text."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pxp_fsm.plugins.gateway import calls


def test_names_and_reasons_move_no_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "x\x1b]0;title\x07\u202e\n[red]y"
    detail = json.dumps({"call": 1, "tool": hostile, "arguments": {"a": hostile}, "why": hostile})
    judgement = SimpleNamespace(detail=detail)
    event = SimpleNamespace(number=1, label="REFUSAL", judgements=(judgement,))
    stored: Any = SimpleNamespace(events=(event,), record=SimpleNamespace(session="s"))
    monkeypatch.setattr(calls, "times_of_session", lambda *_: {})
    ((number, tool, arguments, outcome, _, why),) = calls.call_sheet(SimpleNamespace(), stored).rows  # type: ignore[arg-type]
    assert (number, outcome) == ("1", "refused")
    assert tool == why == "x\ufffd]0;title\ufffd\ufffd [red]y"
    assert "\x1b" not in arguments
    assert "\u202e" not in arguments
