"""The blackboard: exact round trips, one transaction a message, constraints, clear errors."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, insert, text

from backends.databases import SessionLine, SqlBlackboard, chain, schema
from backends.databases.rows import session_row
from pxp_fsm.errors import BlackboardError, UsageError
from pxp_fsm.protocol.intelligibility import ALPHABET, DEFINITIONS, holds_for, two_way
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import Judgement, Outcome, digest
from tests.backends.records import NAME, RUN, as_stored, message, record


@pytest.fixture
def board(empty: SqlBlackboard) -> SqlBlackboard:
    empty.start_run(RUN)
    empty.start_session(record())
    return empty


text_of_any_kind = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200
)


@given(prediction=text_of_any_kind, explanation=text_of_any_kind, seconds=st.floats(0, 1e6))
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_what_is_stored_comes_back_exactly(
    board: SqlBlackboard, prediction: str, explanation: str, seconds: float
) -> None:
    number = len(board.events(NAME)) + 1
    sent = message(number, "", prediction, explanation)
    judged = Judgement(
        "MATCH", digest(prediction), digest(explanation), Outcome.UNSURE, True, seconds, "why"
    )
    board.append(*as_stored(sent, '{"learned": false}', [judged]))
    entry = board.events(NAME)[-1]
    assert (entry.carried, entry.addition) == (sent, '{"learned": false}')
    assert entry.judgements == (judged,)


def test_a_session_comes_back_with_its_record(board: SqlBlackboard) -> None:
    board.append(*as_stored(message(1), "{}", []))
    board.end(NAME, "bound", "the bound of 1 messages", [])
    stored = board.session(NAME).record
    assert stored.agents == (("m", "machine"), ("h", "database"))
    assert (stored.ending, stored.cause, stored.messages) == ("bound", "the bound of 1 messages", 1)
    assert stored.instance == record().instance


@pytest.mark.parametrize(
    "bad",
    [
        Message(NAME, 0, "m", "INIT", Answer("", ""), "h"),
        Message(NAME, 1, "m", "INIT", Answer("", ""), "m"),
        Message(NAME, 1, "x", "INIT", Answer("", ""), "h"),
        Message("nowhere", 1, "m", "INIT", Answer("", ""), "h"),
    ],
    ids=["number 0", "to oneself", "unknown agent", "unknown session"],
)
def test_what_no_message_can_be_is_refused(board: SqlBlackboard, bad: Message) -> None:
    with pytest.raises(BlackboardError, match="refused"):
        board.append(*as_stored(bad, "{}", []))
    assert board.events(NAME) == ()


def test_a_message_number_is_given_once(board: SqlBlackboard) -> None:
    board.append(*as_stored(message(1), "{}", []))
    with pytest.raises(BlackboardError, match="second process"):
        board.append(*as_stored(message(1, "INIT", "another"), "{}", []))
    assert [entry.carried.answer.prediction for entry in board.events(NAME)] == ["y"]


def test_a_message_is_stored_with_all_that_belongs_to_it_or_not_at_all(
    board: SqlBlackboard,
) -> None:
    never: Any = None
    wrong = Judgement("MATCH", "l", "r", Outcome.YES, True, never, "")
    with pytest.raises(BlackboardError):
        board.append(*as_stored(message(1), "{}", [wrong]))
    assert board.events(NAME) == ()
    board.append(*as_stored(message(1), "{}", []))
    assert len(board.events(NAME)) == 1


def test_a_list_is_the_records_in_the_order_of_their_start(empty: SqlBlackboard) -> None:
    for run in ("drug-1", "b", "a"):
        empty.start_run(replace(RUN, run=run))
        for place in range(1, 4 if run != "b" else 1):
            empty.start_session(record(f"{run}/{place}", place, run=run))
    empty.append(*as_stored(message(1, session="drug-1/2"), "{}", []))
    empty.end("drug-1/2", "late", "why", [])
    empty.append(*as_stored(message(1, session="a/1"), "{}", []))
    lines = empty.listing()
    assert [line.session for line in lines] == [r.session for r in empty.sessions()]
    assert lines[1] == SessionLine(
        "drug-1/2", "drug-1", "paracetamol", "interact", 10, 3, 1, "late", "why"
    )
    assert (lines[3].messages, lines[3].ending) == (1, None)
    for skipped, limit in product(range(8), (None, *range(1, 8))):
        part = empty.listing(limit=limit, skipped=skipped)
        assert part == lines[skipped:][:limit]
    assert empty.listing("a", limit=1, skipped=1) == lines[4:5]
    assert empty.listing("b") == empty.listing("none") == ()


def test_a_session_ends_once(board: SqlBlackboard) -> None:
    board.end(NAME, "late", "MATCH: no answer", [])
    board.end(NAME, "late", "MATCH: no answer", [])
    with pytest.raises(BlackboardError, match="ended already"):
        board.end(NAME, "ratified", "", [])


LONGER = (("sqlite", 4), ("postgresql", 4), ("sqlite", 6))


@pytest.mark.parametrize(
    ("dialect", "longest"),
    [("sqlite", 3), *(pytest.param(*case, marks=pytest.mark.deep) for case in LONGER)],
)
def test_sql_and_code_agree_on_every_tag_sequence(empty: SqlBlackboard, longest: int) -> None:
    """All sequences over the six tags (55,987 up to length 6), the senders alternating."""
    sequences = [s for length in range(longest + 1) for s in product(ALPHABET, repeat=length)]
    assert len(sequences) == (6 ** (longest + 1) - 1) // 5
    empty.start_run(RUN)
    _insert(empty, sequences)
    with empty.engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM intelligibility")).mappings().all()
        both = connection.execute(text("SELECT * FROM two_way_intelligibility")).all()
        alone = {
            name: set(connection.execute(text(f"SELECT session, agent FROM {name}")))
            for name in DEFINITIONS
        }
    assert len(rows) == 2 * len(sequences)
    sent = [
        tuple(message(number, tag) for number, tag in enumerate(tags, start=1))
        for tags in sequences
    ]
    for row in rows:
        messages = sent[int(row["session"])]
        found = {name: bool(row[name]) for name in DEFINITIONS}
        assert found == {
            name: holds_for(definition, messages, row["agent"])
            for name, definition in DEFINITIONS.items()
        }, (sequences[int(row["session"])], row["agent"])
        for name, held in found.items():
            assert ((row["session"], row["agent"]) in alone[name]) is held
    for session, held in both:
        assert bool(held) == two_way(sent[int(session)], "m", "h")


def _insert(board: SqlBlackboard, sequences: list[tuple[str, ...]]) -> None:
    made = session_row(record(), "")
    with board.engine.begin() as connection:
        said = [
            {"digest": chain.text_digest(said), "text": said, "salt": ""}
            for said in ("", record().instance.x)
        ]
        connection.execute(insert(schema.texts), said)
        connection.execute(
            insert(schema.sessions),
            [
                {**made, "session": str(i), "position": i, "ordinal": i + 1, "chain": ""}
                for i in range(len(sequences))
            ],
        )
        connection.execute(
            insert(schema.events),
            [
                {
                    "session": str(i),
                    "number": number,
                    "kind": "exchange",
                    "label": tag,
                    "member": "m" if number % 2 else "h",
                    "partner": "h" if number % 2 else "m",
                    "guard": "",
                    "payload_digest": chain.text_digest(""),
                    "explanation_digest": chain.text_digest(""),
                    "addition": "",
                    "created": "",
                    "chain": "",
                }
                for i, tags in enumerate(sequences)
                for number, tag in enumerate(tags, start=1)
            ],
        )


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    SqlBlackboard(str(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE blackboard_version SET version_num = '99'")
    connection.close()
    with pytest.raises(
        BlackboardError, match=r"schema version 99, this program reads \d+; use the"
    ):
        SqlBlackboard(str(path))


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(BlackboardError, match="other tables"):
        SqlBlackboard(str(path))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("{}/missing.sqlite", "there is no database"),
        ("{}/no/such/folder.sqlite", "there is no database"),
        ("oracle://x:secret@y/z", "SQLite and PostgreSQL are supported"),
        ("nonsense://", "SQLite and PostgreSQL are supported"),
    ],
)
def test_what_cannot_be_opened_is_said_without_passwords(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(BlackboardError, match=says) as raised:
        SqlBlackboard(name.format(tmp_path), create=False)
    assert "secret" not in str(raised.value)


def test_postgresql_without_its_driver_is_said_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pip install 'pxp-fsm\[postgresql\]'") as raised:
        SqlBlackboard("postgresql://u:secret@h/d")
    assert "secret" not in str(raised.value)


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    path.write_text("this is not a database, but it is long enough to be read as a header" * 20)
    with pytest.raises(BlackboardError, match="not a database"):
        SqlBlackboard(str(path))


def test_a_full_disk_stops_the_write_and_keeps_what_was_stored(tmp_path: Path) -> None:
    board = SqlBlackboard(str(tmp_path / "small.sqlite"))
    board.start_run(RUN)
    board.start_session(record())
    board.append(*as_stored(message(1), "{}", []))
    with board.engine.connect() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))
    board.engine.dispose()
    limit = f"PRAGMA max_page_count = {pages + 1}"
    event.listen(board.engine, "connect", lambda connection, _record: connection.execute(limit))
    with pytest.raises(BlackboardError, match=r"full; what was stored before is kept"):
        board.append(*as_stored(message(2, "REFUTE", "y" * 100_000), "{}", []))
    assert [entry.carried.number for entry in board.events(NAME)] == [1]
    board.close()


def test_runs_that_start_at_once_each_have_a_number(database: str) -> None:
    def start(_number: int) -> str:
        with SqlBlackboard(database) as board:
            return board.start_numbered_run(replace(RUN, run="drug")).run

    with ThreadPoolExecutor(8) as pool:
        names = sorted(pool.map(start, range(16)))
    assert names == sorted(f"drug-{number}" for number in range(1, 17))
