"""Sessions as JSON documents: nothing is lost on the way, and nothing foreign comes in."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from backends.databases import RunRecord, SqlBlackboard
from backends.databases.session_documents import (
    Transcript,
    Withholding,
    closing_part,
    message_part,
    read_document,
    session_document,
    session_part,
    store_document,
)
from pxp_fsm.analysis.audits.page import as_json
from pxp_fsm.analysis.audits.records import audit_database
from pxp_fsm.errors import DataError
from tests.analysis.recorded import RUN, record_sessions


@pytest.fixture(scope="module")
def board() -> Iterator[SqlBlackboard]:
    with SqlBlackboard(":memory:") as made:
        record_sessions(made, 24)
        yield made


def documents(board: SqlBlackboard, *, withheld: bool) -> list[dict[str, Any]]:
    found = []
    for record in board.sessions():
        hidden = Withholding() if withheld else None
        messages = [message_part(entry, hidden) for entry in board.events(record.session)]
        judged = board.closing(record.session)
        closing = closing_part(record.ending or "", record.cause or "", judged, hidden)
        found.append(session_document(session_part(record, hidden), messages, closing))
    return found


def stored(found: list[dict[str, Any]]) -> SqlBlackboard:
    board = SqlBlackboard(":memory:")
    board.start_run(RunRecord(RUN, "drug", "{}", 0, "0", "f"))
    for document in json.loads(json.dumps(found)):
        store_document(board, read_document(document, "here"), RUN, "here")
    return board


def audit(board: SqlBlackboard) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(as_json(audit_database(board, ())))
    return found


def test_a_session_comes_back_as_it_was(board: SqlBlackboard) -> None:
    with stored(documents(board, withheld=False)) as again:
        assert again.sessions() == board.sessions()
        for record in board.sessions():
            assert again.events(record.session) == board.events(record.session)
            assert again.closing(record.session) == board.closing(record.session)


@pytest.mark.deep
@pytest.mark.parametrize("withheld", [False, True])
def test_the_audit_is_the_same_with_texts_and_without(board: SqlBlackboard, withheld: bool) -> None:
    expected = audit(board)
    assert expected["findings"]
    assert expected["possible"]["noisy"]
    with stored(documents(board, withheld=withheld)) as again:
        assert audit(again) == expected


def test_withheld_texts_are_in_no_part_of_a_document(board: SqlBlackboard) -> None:
    written = json.dumps(documents(board, withheld=True))
    assert "script" not in written
    assert "about 1" not in written.replace('"key": "about', "")
    entry = board.events(f"{RUN}/1/1")[0]
    first, second = (Withholding().text(entry.carried.answer.prediction) for _ in range(2))
    assert first != second


def test_a_transcript_keeps_what_the_blackboard_stores(board: SqlBlackboard) -> None:
    record = board.sessions()[0]
    transcript = Transcript()
    for entry in board.events(record.session):
        transcript.append(record.session, entry)
    transcript.end(record.session, "ratified", "why", ())
    [expected, *_] = documents(board, withheld=False)
    assert transcript.messages == expected["messages"]
    assert transcript.closing == {"ending": "ratified", "cause": "why", "judgements": []}


def without(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        *way, last = path
        place: Any = document
        for key in way:
            place = place[key]
        del place[last]

    return change


def with_value(value: object, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        *way, last = path
        place: Any = document
        for key in way:
            place = place[key]
        place[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without("messages", 1), "message 2 is missing"),
        (with_value(1, "messages", 1, "number"), "message 2 is missing|there twice"),
        (with_value("x\x00y", "messages", 0, "prediction"), "NUL"),
        (with_value("maybe", "messages", 1, "judgements", 0, "outcome"), "outcome"),
        (with_value("abc", "messages", 1, "judgements", 0, "left"), "left"),
        (with_value(10**30, "session", "n"), "n"),
        (with_value([["m", ""]], "session", "agents"), "agents"),
        (with_value(2, "version"), "version"),
        (with_value("other", "format"), "format"),
        (without("session", "protocol"), "protocol"),
    ],
)
def test_what_is_no_session_is_refused(
    board: SqlBlackboard, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    document = copy.deepcopy(documents(board, withheld=False)[0])
    change(document)
    with SqlBlackboard(":memory:") as fresh:
        fresh.start_run(RunRecord(RUN, "drug", "{}", 0, "0", "f"))
        with pytest.raises(DataError, match=f"^sample 7: .*({reason})"):
            store_document(fresh, read_document(document, "sample 7"), RUN, "sample 7")


def test_a_session_is_stored_once(board: SqlBlackboard) -> None:
    document = documents(board, withheld=False)[0]
    with stored([document]) as again, pytest.raises(DataError, match="here"):
        store_document(again, read_document(document, "here"), RUN, "here")
