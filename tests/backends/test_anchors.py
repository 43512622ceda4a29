"""A signed anchor: what is not as it was at the end of a run is seen, whoever owns the database."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backends.databases import SqlBlackboard, anchors
from backends.databases.verify import IntegrityProblem, verify
from pxp_fsm.cli.main import main
from pxp_fsm.errors import DataError, UsageError
from tests.backends.records import RUN, as_stored, message, record


def keys(folder: Path, name: str = "key") -> tuple[Path, Path]:
    """A pair of keys in files, private and public."""
    made = Ed25519PrivateKey.generate()
    private, public = folder / name, folder / f"{name}.pub"
    private.write_bytes(
        made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        made.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


def fill(path: Path, run: str, text: str) -> None:
    with SqlBlackboard(str(path)) as board:
        board.start_run(RUN if run == RUN.run else type(RUN)(run, "drug", "{}", 7, "0", "f"))
        name = f"{run}/1/1"
        board.start_session(record(name, 1, run=run))
        board.append(*as_stored(message(1, "INIT", text, "e", name), "", []))
        board.append(*as_stored(message(2, "RATIFY", text, "e", name), "", []))
        board.end(name, "ratified", "", [])


@pytest.fixture
def anchored(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A database with two runs, its anchor, and the public key."""
    database, anchor = tmp_path / "b.sqlite", tmp_path / "anchor"
    private, public = keys(tmp_path)
    for run in ("drug-1", "drug-2"):
        fill(database, run, "y")
        with SqlBlackboard(str(database)) as board:
            anchors.sign_run(board, run, anchor, anchors.private_key(private))
    return database, anchor, public


def found(anchored: tuple[Path, Path, Path]) -> list[IntegrityProblem]:
    database, anchor, public = anchored
    report = verify(str(database))
    assert report.problems == ()  # nothing but the anchor tells
    return anchors.differences(anchor, public, report.marks)


def only(run: str) -> Callable[[Path], None]:
    def rewritten(database: Path) -> None:
        database.unlink()
        fill(database, run, "y")

    return rewritten


def recomputed(database: Path) -> None:
    """Everything anew, with another text and a right chain."""
    database.unlink()
    for run, text in (("drug-1", "y"), ("drug-2", "other")):
        fill(database, run, text)


def test_what_was_signed_and_not_changed_is_right(anchored: tuple[Path, Path, Path]) -> None:
    assert found(anchored) == []
    fill(anchored[0], "drug-3", "z")  # what was never signed is no matter
    assert found(anchored) == []


@pytest.mark.parametrize(
    ("forged", "runs"),
    [
        (only("drug-1"), ["run drug-1", "run drug-2"]),
        (recomputed, ["run drug-1", "run drug-2"]),
    ],
    ids=["deleted", "recomputed"],
)
def test_what_the_owner_rewrites_is_seen(
    anchored: tuple[Path, Path, Path], forged: Callable[[Path], None], runs: list[str]
) -> None:
    forged(anchored[0])
    assert [problem.where for problem in found(anchored)] == runs


def test_a_database_of_before_is_seen(tmp_path: Path) -> None:
    """A session that is rolled back: a copy from before its last message."""
    database, anchor = tmp_path / "b.sqlite", tmp_path / "anchor"
    private, public = keys(tmp_path)
    with SqlBlackboard(str(database)) as board:
        board.start_run(RUN)
        board.start_session(record())
        board.append(*as_stored(message(1, "INIT"), "", []))
    shutil.copy(database, tmp_path / "before.sqlite")
    with SqlBlackboard(str(database)) as board:
        board.append(*as_stored(message(2, "RATIFY"), "", []))
        anchors.sign_run(board, "drug-1", anchor, anchors.private_key(private))
    assert found((database, anchor, public)) == []
    (problem,) = found((tmp_path / "before.sqlite", anchor, public))
    assert "not what was signed at its end, with 1 sessions and 2 events" in problem.what


def test_a_line_that_was_changed_or_taken_out_is_seen(anchored: tuple[Path, Path, Path]) -> None:
    database, anchor, public = anchored
    first, second = anchor.read_text().splitlines()
    anchor.write_text(second + "\n")
    assert ["line before" in problem.what for problem in found(anchored)] == [True]
    line = json.loads(first)
    anchor.write_text(json.dumps(line | {"mark": "0" * 64}) + "\n" + second + "\n")
    wheres = [problem.where for problem in found(anchored)]
    assert wheres == [f"anchor {anchor}, line 1", f"anchor {anchor}, line 2"]
    anchor.write_text("[" * 90_000 + "\n")
    with pytest.raises(DataError, match="this is not JSON"):
        anchors.differences(anchor, public, ())
    assert database.is_file()


def test_a_last_line_that_was_cut_is_named_and_what_to_do(
    anchored: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    database, anchor, public = anchored
    private, whole = anchors.private_key(tmp_path / "key"), anchor.read_bytes()
    second = whole.index(b"\n") + 1
    with SqlBlackboard(str(database)) as board:
        for end in (second + 1, (second + len(whole)) // 2, len(whole) - 2):
            anchor.write_bytes(whole[:end])
            with pytest.raises(DataError, match=r"line 2: this line was cut .* sign its run again"):
                anchors.differences(anchor, public, ())
            with pytest.raises(DataError, match="line 2: this line was cut"):
                anchors.sign_run(board, "drug-2", anchor, private)
            assert anchor.read_bytes() == whole[:end]
        anchor.write_bytes(whole[:second])
        anchors.sign_run(board, "drug-2", anchor, private)
        assert found(anchored) == []
        anchor.write_bytes(whole[:-1])  # nothing but the end of the line is missing
        anchors.sign_run(board, "drug-1", anchor, private)
    assert found(anchored) == []
    assert len(anchor.read_bytes().splitlines()) == 3


def test_another_key_is_not_believed(anchored: tuple[Path, Path, Path], tmp_path: Path) -> None:
    database, anchor, _public = anchored
    other, others = keys(tmp_path, "other")
    problems = found((database, anchor, others))
    assert {problem.what for problem in problems} == {
        "it was not signed with this key, or was changed"
    }
    with pytest.raises(UsageError, match="is not a public key"):
        anchors.differences(anchor, other, ())
    with pytest.raises(UsageError, match="is not a private key"):
        anchors.private_key(others)


def test_a_run_that_was_changed_is_not_signed(anchored: tuple[Path, Path, Path]) -> None:
    database, anchor, _public = anchored
    private, _ = keys(database.parent, "again")
    connection = sqlite3.connect(database)
    connection.execute("DROP TRIGGER events_unchanged")
    connection.execute("UPDATE events SET addition = 'z'")
    connection.commit()
    connection.close()
    before = anchor.read_bytes()
    with SqlBlackboard(str(database)) as board, pytest.raises(Exception, match="see pxp verify"):
        anchors.sign_run(board, "drug-1", anchor, anchors.private_key(private))
    assert anchor.read_bytes() == before


def pxp(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def test_runs_are_signed_and_verified_by_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    keys(tmp_path)
    asked = ["run", "animals", "--instances", "1", "--database", "b.sqlite"]
    assert pxp(*asked) == 0
    signed = ["verify", "b.sqlite", "--anchor", "lab.anchor"]
    assert pxp("verify", "b.sqlite", "--sign", "key") == 2
    assert "--sign has no effect without --anchor" in capsys.readouterr().err
    assert pxp(*signed, "--sign", "nowhere") == 2
    assert not Path("lab.anchor").exists()
    assert pxp(*signed, "--sign", "key") == 0
    assert "Signed: 1 mark, in lab.anchor" in capsys.readouterr().out
    assert pxp(*signed) == 2
    assert "--anchor requires --key" in capsys.readouterr().err
    assert pxp("verify", "b.sqlite", "--key", "key.pub") == 2
    refused = capsys.readouterr()
    assert "--key has no effect without --anchor" in refused.err
    assert not refused.out  # before anything is verified
    assert pxp(*signed, "--key", "key.pub") == 0
    Path("b.sqlite").unlink()
    assert pxp(*asked) == 0
    capsys.readouterr()
    assert pxp(*signed, "--key", "key.pub") == 1
    assert "run animals-1: it is not what was signed at its end" in capsys.readouterr().out
