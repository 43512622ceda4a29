"""The approval cannot be skipped: proved of the tables, and tried by those who would."""

import pytest
from assistants import SYSTEM, Function, careful, hasty, members, stubborn

import pxp_fsm as pxp


def tags(assistant: Function, guard: str) -> tuple[str, list[str]]:
    """How a session ends, and what is sent in it."""
    session = pxp.Session(SYSTEM, members(assistant, guard), record_faults=True).run_sync()
    return str(session.ending), [event.message.tag for event in session.events if event.message]


def test_an_approved_call_is_made_and_a_denied_one_is_not() -> None:
    approved = ["PROPOSE", "APPROVE", "CALL", "RESULT", "ANSWER"]
    assert tags(careful, "HARMLESS") == ("finished", approved)
    assert tags(careful, "HARMFUL") == ("finished", ["PROPOSE", "DENY", "ANSWER"])


@pytest.mark.parametrize("assistant", [hasty, stubborn])
def test_who_calls_without_an_approval_is_stopped(assistant: Function) -> None:
    ending, sent = tags(assistant, "HARMFUL")
    assert ending == "broken" and "CALL" not in sent


def test_no_run_has_a_call_before_an_approval() -> None:
    (result,) = pxp.check(SYSTEM, "!assistant.CALL W person.APPROVE")
    assert str(result.status) == "HOLDS"
