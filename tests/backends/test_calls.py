"""Calls in the database: what they took, what was replied, and that they go out and come in."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from backends.databases import CallsOf, SqlBlackboard, calls_of_sessions, rows, transfer
from backends.databases.records import Cost
from backends.databases.transfer import export_rows, import_rows
from backends.databases.verify import verify_engine
from pxp_fsm.errors import BlackboardError
from pxp_fsm.prompting.model import (
    Call,
    ChatRole,
    ChatTurn,
    ModelRequest,
    Reply,
    Served,
    Spending,
    Stop,
    Usage,
    fingerprint,
)
from tests.backends.records import NAME, RUN, as_stored, message, record

MODEL = "anthropic:claude-haiku-4-5"
REQUEST = ModelRequest("", (), purpose="answer", session=NAME)
JUDGE = ModelRequest("", (), purpose="judge", session=NAME, epoch=2)


@pytest.fixture
def board(empty: SqlBlackboard) -> Iterator[SqlBlackboard]:
    """An answer, the same from the call cache, a verdict of unknown price, and a failure."""
    empty.start_run(RUN)
    empty.start_session(record())
    served = Served("req_1", 0.4, 2)
    reply = Reply("so", Stop.END, Usage(10, 5, 3, 2), served)
    again = Reply("so", Stop.END, Usage(10, 5, 3, 2), Served("req_1", cached=True))
    for call in (
        Call(MODEL, REQUEST, reply, 0.5, 0.25),
        Call(MODEL, REQUEST, again, 0.0, 0.0),
        Call("openai:x@http://localhost:1", JUDGE, Reply("yes", Stop.LENGTH), 1.5),
        Call(MODEL, ModelRequest("", (), purpose="validation"), None, 2.0, failure="HTTP 529 \x00"),
    ):
        CallsOf(empty, "drug-1").keep(call)
    yield empty
    assert verify_engine(empty.engine).problems == ()


def test_what_a_run_cost_is_told_by_purpose_and_model(board: SqlBlackboard) -> None:
    assert board.costs("drug-1") == (
        Cost("answer", MODEL, 2, 1, 0, 2, Usage(10, 5, 3, 2), 0.25, 0.5),
        Cost("judge", "openai:x@http://localhost:1", 1, 0, 0, 0, Usage(), None, 1.5),
        Cost("validation", MODEL, 1, 0, 1, 0, Usage(), None, 2.0),
    )
    assert board.costs("another") == ()


def test_replies_are_found_again_by_what_was_asked(board: SqlBlackboard) -> None:
    assert board.replies("drug-1") == (
        (
            (MODEL, fingerprint(REQUEST), 0),
            Reply("so", Stop.END, Usage(10, 5, 3, 2), Served("req_1")),
        ),
        (("openai:x@http://localhost:1", fingerprint(JUDGE), 2), Reply("yes", Stop.LENGTH)),
    )


def test_calls_are_read_for_several_sessions_together(empty: SqlBlackboard) -> None:
    """Each with the message that it led to; a session without calls, or of no name, has none."""
    names = [f"drug-1/1/{position}" for position in (1, 2, 3)]
    empty.start_run(RUN)
    for position, name in enumerate(names, start=1):
        empty.start_session(record(name, position))
    for name, purposes in zip(names, (("answer", "judge"), ("answer",), ()), strict=True):
        for purpose in purposes:
            turns = (ChatTurn(ChatRole.USER, f"{purpose} of {name}"),)
            asked = ModelRequest("", turns, purpose=purpose, session=name)
            CallsOf(empty, "drug-1").keep(Call(MODEL, asked, Reply("so", Stop.END), 2.0))
        if len(purposes) != 1:
            empty.append(*as_stored(message(1, session=name)))
    first, second, third = names
    found = calls_of_sessions(empty, [second, first, third, "nobody"])
    assert list(found) == [second, first, third, "nobody"]
    assert [(call.purpose, call.message) for call in found[first]] == [("answer", 1), ("judge", 1)]
    assert [(call.purpose, call.message) for call in found[second]] == [("answer", None)]
    assert found[third] == found["nobody"] == ()


def test_a_call_of_no_run_or_session_is_refused(board: SqlBlackboard) -> None:
    with pytest.raises(BlackboardError, match="there is no run 'drug-9'"):
        CallsOf(board, "drug-9").keep(Call(MODEL, REQUEST, Reply("x"), 0.1))
    with pytest.raises(BlackboardError):
        CallsOf(board, "drug-1").keep(
            Call(MODEL, ModelRequest("", (), session="no"), Reply("x"), 0.1)
        )
    with pytest.raises(BlackboardError, match="sent"):
        CallsOf(board, "drug-1").keep(Call(MODEL, REQUEST, Reply("x", usage=Usage(2**40)), 0.1))


def test_a_reply_that_no_database_keeps_exactly_is_kept_as_an_escape(board: SqlBlackboard) -> None:
    request = ModelRequest("other", ())
    CallsOf(board, "drug-1").keep(Call(MODEL, request, Reply("a\x00b\ud800"), 0.1))
    assert board.replies("drug-1")[-1][1].text == "a\\x00b\\ud800"


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_calls_go_out_and_come_in_exactly(board: SqlBlackboard, form: str, tmp_path: Path) -> None:
    name = f"run.{form}"
    write, read = {
        "jsonl": (transfer.write_jsonl, transfer.read_jsonl),
        "parquet": (transfer.write_parquet, transfer.read_parquet),
    }[form]
    write(export_rows(board.engine, "drug-1"), tmp_path / name)
    with SqlBlackboard(":memory:") as other:
        import_rows(other.engine, read(tmp_path / name), name)
        assert other.costs("drug-1") == board.costs("drug-1")
        assert other.replies("drug-1") == board.replies("drug-1")
        assert list(export_rows(other.engine, "drug-1")) == list(
            export_rows(board.engine, "drug-1")
        )


def test_a_text_that_was_changed_is_found_in_its_call(empty: SqlBlackboard) -> None:
    empty.start_run(RUN)
    CallsOf(empty, "drug-1").keep(Call(MODEL, ModelRequest("", ()), Reply("so"), 0.5))
    with empty.engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.execute(text("DROP TRIGGER texts_unchanged"))
        else:
            connection.execute(text("DROP TRIGGER texts_unchanged ON texts"))
        connection.execute(text("UPDATE texts SET text = 'other'"))
    where = [problem.where for problem in verify_engine(empty.engine).problems]
    assert "run drug-1, calls 1" in where


def test_what_a_call_may_lack(empty: SqlBlackboard) -> None:
    columns = {
        column["name"]: column["nullable"] for column in inspect(empty.engine).get_columns("calls")
    }
    nullable = {name for name, may in columns.items() if may}
    assert nullable == {"session", "reply_digest", "stop", "failure_digest", "dollars"}


def test_a_call_whose_commits_were_done_but_not_answered_is_stored_once(
    empty: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = rows.commit

    def unanswered(*given: Any) -> bool:
        assert commit(*given)
        return False

    empty.start_run(RUN)
    empty.start_session(record())
    monkeypatch.setattr(rows, "commit", unanswered)
    calls = CallsOf(empty, RUN.run)
    for number in (1, 4):  # a settlement and a call come after each
        reserved = calls.reserve(MODEL, REQUEST, 1.0)
        assert reserved == (RUN.run, number)
        calls.settle(reserved, 0.5)
        calls.keep(Call(MODEL, REQUEST, Reply("x"), 0.1, 0.5))
    assert empty.spending(RUN.run) == Spending(2, 1.0)
    assert [(one.calls, one.dollars) for one in empty.costs(RUN.run)] == [(2, 1.0)]


@pytest.mark.parametrize("share", [False, True])
def test_several_writers_of_one_run_make_one_chain(empty: SqlBlackboard, share: bool) -> None:
    """Each in a thread with a blackboard of its own: calls, sessions and messages at once."""
    empty.start_run(RUN)
    url = empty.engine.url.render_as_string(hide_password=False)

    def work(writer: int) -> None:
        with SqlBlackboard(url) as board:
            if share:
                board.lock(RUN.run, shared=True)
            calls = CallsOf(board, RUN.run)
            for number in range(5):
                name = f"drug-1/{writer}/{number}"
                board.start_session(record(name, 0, repetition=writer))
                asked = ModelRequest(f"{writer} {number}", (), session=name)
                calls.keep(Call(MODEL, asked, Reply(name), 0.5, 0.25))
                board.append(*as_stored(message(1, session=name)))
                board.end(name, "bound", "", [])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))
    report = verify_engine(empty.engine)
    assert report.problems == ()
    assert [(mark.sessions, mark.messages) for mark in report.marks] == [(20, 20)]
    assert sum(cost.calls for cost in empty.costs(RUN.run)) == 20
