"""Who is hired, over a clear and over a noisy radio; that one is hired is proved besides."""

import pytest
from bidders import SYSTEM, members

import pxp_fsm as pxp


@pytest.mark.parametrize(("noisy", "hired"), [(False, "far"), (True, "right")])
def test_the_cheapest_of_the_bids_that_come_is_hired(noisy: bool, hired: str) -> None:
    deadline = 0.05 if noisy else None  # seconds
    session = pxp.Session(SYSTEM, members(noisy=noisy), events={"DEADLINE": deadline}).run_sync()
    assert str(session.ending) == "finished"
    assert [name for name, state in session.states.items() if state == "HIRED"] == [hired]


def test_nobody_can_be_left_waiting() -> None:
    assert {str(result.status) for result in pxp.check(SYSTEM)} == {"HOLDS"}
