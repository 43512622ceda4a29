"""A crash at every instant: two-phase commit blocks, three-phase commit does not."""

from transaction import THREE, TWO, crashed, dutiful

import pxp_fsm as pxp


def test_two_phase_commit_blocks_where_both_have_voted() -> None:
    endings = [crashed(TWO, after) for after in range(12)]
    blocked = [states for ending, states in endings if ending == "deadlock"]
    assert {"coordinator": "CRASHED", "left": "READY", "right": "READY"} in blocked
    assert endings[-1] == ("finished", {"coordinator": "DONE"} | both("COMMITTED"))


def test_its_shortest_counterexample_can_be_run() -> None:
    (failing,) = (result for result in pxp.check(TWO) if result.name == "no-deadlock")
    assert failing.verdict.trace is not None
    members = dict.fromkeys(TWO.places, dutiful)
    session = pxp.Session(TWO, members, follow=failing.verdict.trace).run_sync()
    assert str(session.ending) == "deadlock"


def test_three_phase_commit_ends_alike_for_both_wherever_it_crashes() -> None:
    for after in range(20):
        ending, states = crashed(THREE, after)
        assert ending == "finished"
        assert states["left"] == states["right"]


def both(state: str) -> dict[str, str]:
    return {"left": state, "right": state}
