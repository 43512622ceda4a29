"""Drafts, times, links and identifiers of people, and how erasure reaches them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from backends.databases import CallsOf, SqlBlackboard, disclosure, tokens
from backends.databases.drafts import (
    Timing,
    drop_draft,
    keep_draft,
    keep_timing,
    read_draft,
    timings_of,
)
from backends.databases.erasure import clean, erase, sessions_of
from backends.models.middleware.cache import CallCache
from backends.people.input import Drafts, UnsentAnswer
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import BlackboardError, Refused, UsageError
from pxp_fsm.prompting.model import Call, ChatRole, ChatTurn, ModelRequest, Reply, fingerprint
from tests.backends.test_erasure import ONE, TWO, board, bytes_of, words

__all__ = ["board"]  # the fixture


def test_drafts_links_and_identifiers_go_with_the_last_session_of_a_subject(
    board: SqlBlackboard, tmp_path: Path, dialect: str
) -> None:
    for session in (ONE, TWO):
        keep_draft(board, session, 3, {"text": f"half of {session}"})
    for subject in ("h1", "h2"):
        disclosure.identify(board, "drug-1", subject, {"panel": f"who {subject} is"})
    token = tokens.issue(board, "drug-1", "h1", seconds=60)
    erase(board, sessions_of(board, [ONE]))
    clean(board)
    assert (read_draft(board, ONE, 3), read_draft(board, TWO, 3)) == (
        None,
        {"text": f"half of {TWO}"},
    )
    assert disclosure.identifiers_of(board, "drug-1") == {"h2": {"panel": "who h2 is"}}
    with pytest.raises(Refused):
        tokens.holder(board, token)
    if dialect == "sqlite":
        assert b"half of drug-1/1/1" not in bytes_of(tmp_path)
        assert b"who h1 is" not in bytes_of(tmp_path)
        assert b"who h2 is" in bytes_of(tmp_path)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_the_command_reaches_caches_and_drafts_and_lists_what_was_given_out(
    board: SqlBlackboard, database: str, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    kept = CallCache(path)
    for session in (ONE, TWO):
        asked = ModelRequest(
            "", (ChatTurn(ChatRole.USER, words("prompt", session)),), session=session
        )
        kept.keep(("openai:x", fingerprint(asked), 0), Reply(words("reply", session)))
    kept.keep(("openai:x", fingerprint(ModelRequest("", ())), 0), Reply("of another run"))
    kept.close()
    drafts = Drafts(tmp_path / "runs" / "drafts")
    typed = {
        session: drafts.keep(session, 2, UnsentAnswer("CC", "typed")) for session in (ONE, TWO)
    }

    def run(*given: str) -> str:
        done = CliRunner().invoke(commands, [*given, "--database", database])
        assert done.exit_code == 0, done.output
        return done.output

    run("export", "drug-1", "-o", str(tmp_path / "out.jsonl"))
    where = ["--cache", str(path), "--output", str(tmp_path / "runs")]
    said = run("erase", ONE, "--yes", *where)
    assert f"{path}: 2 replies" in said  # the later session was asked with what was said here
    assert "Given out before: drug-1: jsonl out.jsonl" in said
    assert (typed[ONE].exists(), typed[TWO].exists()) == (False, True)
    left = path.read_text("utf-8")
    assert words("reply", ONE) not in left
    assert "of another run" in left
    assert len(CallCache(path, writes=False)) == 1


def test_no_call_of_an_erased_session_is_kept(board: SqlBlackboard) -> None:
    """One that was under way when its session was erased."""
    erase(board, sessions_of(board, [ONE]))
    late = ModelRequest("", (ChatTurn(ChatRole.USER, "what was said"),), session=ONE)
    with pytest.raises(BlackboardError, match="was erased: no call is kept"):
        CallsOf(board, "drug-1").keep(Call("openai:x", late, Reply("so"), 0.5))


def test_a_token_expires_is_revoked_and_pairs_one_device_once(board: SqlBlackboard) -> None:
    link = tokens.issue(board, "drug-1", "h1", seconds=10, now=100.0)
    assert tokens.holder(board, link, 109.0) == ("drug-1", "h1", tokens.Purpose.LINK)
    pairing = tokens.issue(
        board, "drug-1", "h1", tokens.Purpose.PAIRING, seconds=tokens.PAIRING_SECONDS, now=100.0
    )
    device, holder = tokens.pair(board, pairing, seconds=50, now=101.0)
    assert holder == tokens.holder(board, device, 120.0)
    wrong = [
        (link, 110.0),
        (pairing, 101.0),
        (pairing, 102.0),
        ("x", 1.0),
        ("", 1.0),
        ("é" * 999, 1.0),
    ]
    for token, now in wrong:
        with pytest.raises(Refused, match="ask for a new one"):
            tokens.holder(board, token, now)
        with pytest.raises(Refused):
            tokens.pair(board, token, seconds=1, now=now)
    assert tokens.revoke(board, "drug-1", "h2") == 0
    assert tokens.revoke(board, "drug-1", now=121.0) == 3
    with pytest.raises(Refused):
        tokens.holder(board, device, 122.0)
    with board.engine.connect() as connection:
        held = repr([tuple(row) for row in connection.execute(text("SELECT * FROM tokens"))])
    assert not any(token in held for token in (link, pairing, device))


def test_a_draft_is_json_of_a_session_and_a_timing_the_first_one(board: SqlBlackboard) -> None:
    assert read_draft(board, ONE, 3) is None
    keep_draft(board, ONE, 3, {"text": "a"})
    keep_draft(board, ONE, 3, {"text": "b"})
    assert (read_draft(board, ONE, 3), read_draft(board, ONE, 4)) == ({"text": "b"}, None)
    drop_draft(board, ONE)
    assert read_draft(board, ONE, 3) is None
    for content in ({1, 2}, float("nan"), "x" * 200_000, "\ud800"):
        with pytest.raises(UsageError):
            keep_draft(board, ONE, 3, content)
    with pytest.raises(BlackboardError):
        keep_draft(board, "drug-1/9/9", 1, "x")
    keep_timing(board, ONE, 1, Timing(1.5, 2, 3, 4, "p", "c"))
    keep_timing(board, ONE, 1, Timing(9.0, 9.0))
    assert timings_of(board, ONE) == {1: Timing(1.5, 2.0, 3, 4, "p", "c")}
    for wrong in ((-1, 0), (float("inf"), 0), (float("nan"), 0), (0, 0, -1), (0, 0, 0, 2**40)):
        with pytest.raises(UsageError):
            Timing(*wrong)
    with pytest.raises(IntegrityError, match="never"), board.engine.begin() as connection:
        connection.execute(text("UPDATE timings SET active = 0"))
