"""Who is hired, where a bid comes and where it is lost; that one is hired is proved besides."""

import pytest
from bidders import SYSTEM, members

import pxp_fsm as pxp


@pytest.mark.parametrize(("loss", "hired"), [(0, "far"), (1, "right")])
def test_the_cheapest_of_the_bids_that_come_is_hired(loss: float, hired: str) -> None:
    deadline = 0.05 if loss else None  # seconds
    session = pxp.Session(
        SYSTEM, members(), events={"DEADLINE": deadline}, faults=pxp.Faults(loss=loss)
    ).run_sync()
    assert str(session.ending) == "finished"
    assert [name for name, state in session.states.items() if state == "HIRED"] == [hired]


def test_a_lost_award_leaves_nobody_hired() -> None:
    both = SYSTEM.over("fifo:1, far:manager=lossy:1, manager:far=lossy:1")
    [result] = pxp.check(both, "F (left@HIRED | right@HIRED | far@HIRED)")
    assert str(result.status) == "FAILS" and result.trace is not None
    assert "manager>far +AWARD lost" in result.trace.labels


def test_nobody_can_be_left_waiting() -> None:
    assert {str(result.status) for result in pxp.check(SYSTEM)} == {"HOLDS"}
