"""A policy of a user that raises or answers something else: UNKNOWN, with the traceback."""

from __future__ import annotations

import traceback

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from proofs.core.results import Status
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError


def closes(_rules: pxp.Interact, sent: int, _tag: str, _previous: str) -> bool:
    if sent == 3:
        raise ZeroDivisionError("three")
    return False


def test_what_stops_a_check_makes_its_verdict_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pxp.Interact, "closes", closes)
    rules = pxp.Interact(n=5, k=2)
    results = [
        *pxp.check(rules, relations="without reflexive"),
        *pxp.check(rules, "F ended"),
        *pxp.check(rules, "running"),
    ]
    wanted = {"ends-agreed", "F ended", "sessions-agree-with-model"}
    stopped = [one for one in results if one.name in wanted]
    assert {one.name for one in stopped} == wanted
    for one in stopped:
        assert one.status is Status.UNKNOWN
        assert one.verdict.error is not None
        assert one.reason.startswith("the check was stopped by ")
        assert type(one.verdict.error).__name__ in one.reason


def test_the_traceback_of_what_stopped_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pxp.Interact, "closes", closes)
    [result] = pxp.check(pxp.Interact(n=5, k=2), "F ended")
    assert "three (closes in test_stopped_checks.py, line " in result.reason
    error = result.verdict.error
    assert error is not None
    assert 'raise ZeroDivisionError("three")' in "".join(traceback.format_exception(error))


def test_the_command_shows_the_traceback_and_says_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pxp.Interact, "closes", closes)
    done = CliRunner().invoke(
        commands, ["check", "interact", "--relations", "noisy", "--formula", "F ended"]
    )
    assert done.exit_code == 4
    assert "UNKNOWN" in done.stdout
    assert done.stderr.count('raise ZeroDivisionError("three")') == 1


def test_what_is_wrong_with_a_request_is_still_an_error() -> None:
    with pytest.raises(UsageError, match="frobnicated"):
        list(pxp.check(pxp.Interact(n=3, k=1), "F frobnicated"))
