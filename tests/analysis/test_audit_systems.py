"""`pxp audit` of sessions of systems: what was put in is found, what happened is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from pxp_fsm.analysis.audits.records import audit_database
from tests.analysis.test_audit import audit, changed, found, kinds
from tests.sessions.random_sessions import steady_session

PRICE = {"BID": {"type": "object", "required": ["price"]}}
ASKS = [
    {"from": "IDLE", "to": "OPEN", "send": "TASK"},
    {"from": "OPEN", "to": "OVER", "receive": "BID"},
    {"from": "OPEN", "to": "OVER", "receive": "PASS"},
]
BIDS = [
    {"from": "IDLE", "to": "THINK", "receive": "TASK"},
    {"from": "THINK", "to": "OVER", "guard": "CHEAP", "send": "BID"},
    {"from": "THINK", "to": "OVER", "guard": "BUSY", "send": "PASS"},
]


@pytest.fixture
def board(tmp_path: Path) -> SqlBlackboard:
    """Two sessions, each TASK, then BID with a price."""
    guards = {"CHEAP": "it is cheap", "BUSY": "it is busy"}
    asks = pxp.build_automaton("asks", ASKS, final=["OVER"], peer="bids")
    bids = pxp.build_automaton(
        "bids", BIDS, final=["OVER"], peer="asks", guards=guards, payloads=PRICE
    )
    system = pxp.System.load(asks, bids, channel="fifo:1")
    made = SqlBlackboard(str(tmp_path / "lab.sqlite"))
    judge = {"CHEAP": lambda _turn: True, "BUSY": lambda _turn: False}
    members: dict[str, Any] = {
        "asks": lambda _turn: pxp.Intent("TASK", "<script>"),
        "bids": pxp.Actor(lambda _turn: {"price": 7}, guards=judge),
    }
    for number in (1, 2):
        pxp.Session(system, members, name=f"lab/{number}", blackboard=made).run_sync()
    return made


def test_what_happened_is_possible(board: SqlBlackboard) -> None:
    lines = audit(str(board.engine.url.database)).output.splitlines()
    assert lines[0].endswith("lab.sqlite: 2 sessions, 4 messages")
    assert lines[1:] == ["        2  of systems, audited against the tables stored with them"]
    data = found(str(board.engine.url.database))
    assert (data["systems"], data["noted"], data["not_audited"]) == (2, [], {})


@pytest.mark.deep
def test_random_sessions_over_all_channels_are_possible() -> None:
    with SqlBlackboard(":memory:") as board:
        for seed in range(12):
            steady_session(seed, blackboard=board).run_sync()
        report = audit_database(board, ())
    assert (report.systems, report.noted) == (report.sessions, [])
    assert report.systems > 9


@pytest.mark.parametrize(
    ("change", "kind", "number", "what"),
    [
        (
            "UPDATE events SET label = 'PASS' WHERE number = 3",
            "tag against its judgements",
            3,
            "follows from BUSY",
        ),
        (
            "UPDATE events SET label = 'TASK' WHERE number = 3",
            "impossible message",
            3,
            "bids>asks +TASK cannot happen there",
        ),
        (
            "UPDATE events SET guard = '' WHERE number = 3",
            "tag against its judgements",
            3,
            "follows from CHEAP, not from none",
        ),
        (
            "UPDATE judgements SET outcome = 'no'",
            "tag against its judgements",
            3,
            "no guard was judged to be true",
        ),
        (
            "UPDATE events SET payload_digest = (SELECT payload_digest FROM events"
            " WHERE number = 1) WHERE number = 3",
            "wrong payload",
            3,
            "does not fit the schema of bids's table",
        ),
        ("UPDATE sessions SET ending = 'deadlock'", None, None, ""),
        ("UPDATE sessions SET ending = 'idle'", "wrong ending", None, "nothing can happen"),
        ("UPDATE sessions SET ending = 'ratified'", "wrong ending", 4, "the rules go on"),
        (
            "DELETE FROM events WHERE number = 4",
            "wrong ending",
            None,
            "not every member is in an end state",
        ),
        ("UPDATE events SET kind = 'lose' WHERE number = 3", "impossible message", 3, "lost"),
    ],
)
def test_what_was_put_in_is_found(
    board: SqlBlackboard, change: str, kind: str | None, number: int | None, what: str
) -> None:
    joined = "AND" if change.count("WHERE") > change.count("(SELECT") else "WHERE"
    database = changed(board, f"{change} {joined} session = 'lab/1'")
    data = found(database, code=0 if kind is None else 1)
    if kind is None:  # no member can do anything, which is a deadlock too
        assert data["noted"] == []
        return
    assert set(kinds(data)) == {"lab/1"}
    first = data["noted"][0]["findings"][0]
    assert (first["kind"], first["message"]) == (kind, number)
    assert what in first["what"]
    assert "<script>" not in str(data)


@pytest.mark.deep
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE texts SET text = '[' WHERE text LIKE '{%states%'",
        "UPDATE events SET message = 9 WHERE number = 2",
        "UPDATE sessions SET channel = 'pigeon:1'",
        "UPDATE events SET kind = 'teleport' WHERE number = 2",
        "DELETE FROM members WHERE place = 2",
        "UPDATE events SET member = 'nobody' WHERE number = 1",
    ],
)
def test_what_cannot_be_read_is_no_traceback(board: SqlBlackboard, change: str) -> None:
    database = changed(board, "PRAGMA ignore_check_constraints = ON", change)
    data = found(database, code=1 if "nobody" in change else 0)
    read = sum(data["not_audited"].values()) + len(data["noted"])
    assert read == 2
