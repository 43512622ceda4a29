"""How long the debate is, what both hear at its end, and what a judge cannot do."""

import pytest
from debaters import SYSTEM, debater, judge

import pxp_fsm as pxp

DEBATERS = {"pro": debater("They swim.", "They have fins."), "con": debater("They breathe air.")}


@pytest.mark.parametrize("verdict", ["PRO", "CON"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_both_hear_the_verdict_after_the_last_round(rounds: int, verdict: str) -> None:
    session = pxp.Session(SYSTEM, {**DEBATERS, "judge": judge(rounds, verdict)}).run_sync()
    assert str(session.ending) == "finished"
    sent = [str(event.action) for event in session.events]
    assert sum("ARGUMENT" in action and "+" in action for action in sent) == 2 * rounds
    tag = {"PRO": "UPHELD", "CON": "REJECTED"}[verdict]
    assert {f"judge>pro -{tag}", f"judge>con -{tag}"} <= set(sent)


def test_a_judge_that_never_has_enough_is_ended_by_the_limit() -> None:
    members = {**DEBATERS, "judge": judge(rounds=1000)}
    assert str(pxp.Session(SYSTEM, members, limit=60).run_sync().ending) == "limit"


def test_no_verdict_before_both_have_spoken() -> None:
    hasty = {**DEBATERS, "judge": lambda turn: turn.tags[0] if turn.state == "OPENING" else "PRO"}
    session = pxp.Session(SYSTEM, hasty, record_faults=True).run_sync()
    assert str(session.ending) == "broken"
    assert not any("UPHELD" in str(event.action) for event in session.events)
