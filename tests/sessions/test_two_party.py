"""The session that runs does what a session of two did that knew nothing of systems."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.databases.blackboard import open_blackboard
from pxp_fsm.sessions.session import Session
from tests.oracles import two_party
from tests.sessions.scripts import played, script


def outcome(seed: int, opens: Any) -> dict[str, Any]:
    """Everything that comes of the script of a seed, in a session that `opens` makes."""
    with open_blackboard(":memory:") as board:
        return played(script(seed), board, opens)


@pytest.mark.parametrize("many", [20, pytest.param(600, marks=pytest.mark.deep)])
def test_scripted_sessions_go_as_the_naive_session_goes(many: int) -> None:
    naive = cast(Any, two_party.Session)
    with open_blackboard(":memory:") as board, open_blackboard(":memory:") as other:
        for one in map(script, range(1_000, 1_000 + many)):
            assert played(one, board) == played(script(one.seed), other, naive), one.seed


@settings(max_examples=20, deadline=None)
@given(st.integers(min_value=10**6, max_value=10**12))
def test_any_scripted_session_goes_as_the_naive_session_goes(seed: int) -> None:
    assert outcome(seed, Session) == outcome(seed, cast(Any, two_party.Session))
