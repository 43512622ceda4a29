"""Decision functions of a user that raise or answer something else: UNKNOWN, with the traceback."""

from __future__ import annotations

import itertools
import operator
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from proofs.core.results import Status
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.decisions import Category, Guard
from tests.proofs.inexact_functions import changed

GUARD = decisions.interact_guard
MET: list[int] = []


def raises(found: Category, revises: bool, number: int, k: int) -> Guard:
    if number == 3:
        raise ZeroDivisionError("three")
    return GUARD(found, revises, number, k)


def is_a_generator(found: Category, revises: bool, number: int, k: int) -> Any:
    yield GUARD(found, revises, number, k)


def remembers(found: Category, revises: bool, number: int, k: int) -> Guard:
    MET.append(number)
    if len(MET) > 40:
        return Guard("none")
    return GUARD(found, revises, number, k)


ODD: dict[str, Callable[..., Any]] = {
    "raises": raises,
    "is a generator": is_a_generator,
    "remembers": remembers,
    "answers nothing": lambda *_: None,
    "is a C function": operator.add,
    "is a class": itertools.count,
}


@pytest.mark.parametrize("name", ODD)
def test_what_a_decision_function_does_makes_a_verdict_unknown(name: str) -> None:
    rules = pxp.Interact(n=5, k=2, functions=changed("interact_guard", ODD[name]))
    results = [
        *pxp.check(rules, relations="equivalence"),
        *pxp.check(rules, "F ended"),
        *pxp.check(rules, running=True),
    ]
    wanted = {"terminates", "F ended", "sessions-agree-with-model"}
    stopped = [one for one in results if one.name in wanted]
    assert {one.name for one in stopped} == wanted
    for one in stopped:
        assert one.status is Status.UNKNOWN
        assert one.verdict.error is not None
        assert one.reason.startswith("the check was stopped by ")
        assert type(one.verdict.error).__name__ in one.reason


def test_the_traceback_of_a_users_function_is_kept() -> None:
    rules = pxp.Interact(n=5, k=2, functions=changed("interact_guard", raises))
    [result] = pxp.check(rules, "F ended")
    assert "three (raises in test_stopped_checks.py, line " in result.reason
    error = result.verdict.error
    assert error is not None
    assert 'raise ZeroDivisionError("three")' in "".join(traceback.format_exception(error))


def test_the_command_shows_the_traceback_and_says_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def closes(_rules: pxp.Interact, sent: int, _tag: str, _previous: str) -> bool:
        if sent == 3:
            raise ZeroDivisionError("three")
        return False

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
