"""A run goes out and comes in exactly; what is not right does not come in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.databases import RunRecord, SqlBlackboard, transfer
from backends.databases.transfer import Rows, export_rows, import_rows
from backends.databases.verify import verify_engine
from pxp_fsm.errors import BlackboardError, DataError
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.relations import Judgement, Outcome
from tests.backends.records import as_stored, message, record
from tests.sampling import sampled

ODD = "é\u2028 '; DROP TABLE runs; -- \x1b[31m <b>\r\n\ufeff \U0001f9ea ../../etc"


@pytest.fixture
def board(empty: SqlBlackboard) -> SqlBlackboard:
    """One session that is over, one that is not, one without messages; and another run."""
    for run in ("drug-1", "drug-2"):
        empty.start_run(RunRecord(run, "drug", '{"é": 1}', -(2**63), "0", "f"))
        for position, bound in ((1, 10), (2, None), (3, None)):
            about = Instance("k", ODD if run == "drug-1" else "another")
            name = f"{run}/1/{position}"
            made = record(name, position, run=run, n=bound, k=None, instance=about)
            empty.start_session(made)
        for position in (1, 2):
            name = f"{run}/1/{position}"
            judged = Judgement("MATCH", "l", "r", Outcome.NO, True, 0.1 + 0.2, ODD)
            empty.append(
                *as_stored(message(1, "", ODD, "same", name), '{"learned": false}', [judged] * 2)
            )
            empty.append(*as_stored(message(2, "", ODD, f"{run}", name), "", []))
        empty.end(f"{run}/1/1", "late", ODD, [Judgement("A", "", "", Outcome.LATE, True, 1e-9)])
    return empty


FORMS = [
    pytest.param(transfer.write_jsonl, transfer.read_jsonl, "run.jsonl", id="jsonl"),
    pytest.param(transfer.write_parquet, transfer.read_parquet, "run.parquet", id="parquet"),
]


@pytest.mark.parametrize(("write", "read", "name"), FORMS)
def test_a_run_comes_back_exactly(
    board: SqlBlackboard,
    write: Callable[..., None],
    read: Callable[..., Rows],
    name: str,
    tmp_path: Path,
) -> None:
    write(export_rows(board.engine, "drug-1"), tmp_path / name)
    with SqlBlackboard(":memory:") as other:
        other.start_run(RunRecord("another", "drug", "{}", 1, "0", "f"))
        mark = import_rows(other.engine, read(tmp_path / name), name)
        assert mark == verify_engine(board.engine).marks[0]
        assert verify_engine(other.engine).problems == ()
        assert other.sessions("drug-1") == board.sessions("drug-1")
        assert other.runs()[1] == board.runs()[0]
        for found in board.sessions("drug-1"):
            assert other.events(found.session) == board.events(found.session)
        assert list(export_rows(other.engine, "drug-1")) == list(
            export_rows(board.engine, "drug-1")
        )
        again = tmp_path / f"again-{name}"
        write(export_rows(other.engine, "drug-1"), again)
        files = sorted(again.iterdir()) if again.is_dir() else [again]
        for file in files:
            first = tmp_path / name / file.name if again.is_dir() else tmp_path / name
            assert file.read_bytes() == first.read_bytes()
            assert b"For research only, not for diagnosis or treatment." in file.read_bytes()
        other.append(*as_stored(message(3, "", "y", "e", "drug-1/1/2"), "{}", []))
        with pytest.raises(DataError, match="has a run 'drug-1' already"):
            import_rows(other.engine, read(tmp_path / name), name)


def test_only_the_run_that_was_asked_for_goes_out(board: SqlBlackboard, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    transfer.write_jsonl(export_rows(board.engine, "drug-2"), path)
    assert "drug-1" not in path.read_text("utf-8")
    with pytest.raises(BlackboardError, match="no run 'drug-3'; did you mean drug-2 or drug-1"):
        list(export_rows(board.engine, "drug-3"))


@pytest.mark.parametrize(
    ("table", "change", "says"),
    sampled(
        [
            ("events", {"label": "RATIFY"}, "chain is broken.*event 1"),
            ("events", {"number": "1"}, "number is '1', not a number"),
            ("events", {"number": True}, "number is True, not a number"),
            ("events", {"number": 2**40}, "not a number"),
            ("events", {"member": None}, "member is None"),
            ("events", {"member": "\x00"}, "NUL"),
            ("events", {"member": "\ud800"}, "half a character"),
            ("events", {"extra": 1}, "not a row of a table"),
            ("judgements", {"seconds": "0"}, "seconds is not a number"),
            ("judgements", {"seconds": float("nan")}, "seconds is not a number"),
            ("judgements", {"outcome": "no!"}, "refused by the database"),
            ("texts", {"text": "another"}, "does not match its digest"),
            ("texts", {"text": None, "salt": ""}, "a text of it is empty, and it was not erased"),
            ("texts", {"salt": "zz"}, "does not match its digest"),
            ("texts", {"text": None}, "does not match its digest"),
            ("sessions", {"ending": "bound"}, "its end is not the one that was stored"),
            ("sessions", {"run": "drug-9"}, "refused by the database"),
            ("heads", {"number": 9}, "in exports, erasures, and not those that are there"),
            ("nonsense", {}, "not a row of a table"),
        ],
        2,
    ),
)
def test_a_file_that_was_changed_does_not_come_in(
    board: SqlBlackboard, table: str, change: dict[str, object], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    transfer.write_jsonl(export_rows(board.engine, "drug-1"), path)
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
    place = next((i for i, line in enumerate(lines) if line.get("table") == table), 3)
    lines[place] = {**lines[place], "table": table, **change}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with SqlBlackboard(":memory:") as other:
        with pytest.raises((DataError, BlackboardError), match=says):
            import_rows(other.engine, transfer.read_jsonl(path), "run.jsonl")
        assert other.runs() == ()
        with other.engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT COUNT(*) FROM texts").scalar() == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "line 1: this is not JSON"),
        (b"[]\n", "line 1: a line is a JSON object"),
        (b'{"format": "other"}\n', "not an export"),
        (b'{"format": "pxp-fsm blackboard", "schema": "9"}\n', "schema version '9'"),
        (b'{"format": "pxp-fsm blackboard", "schema": "1"}\n', "holds no run"),
        (b'{"format": "pxp-fsm blackboard", "schema": "1"}\n\xff\n', "line 2: this is not JSON"),
        (b'{"format": "pxp-fsm blackboard", "schema": "1"}\n' + b"[" * 10**5, "line 2"),
        (b'{"format": "pxp-fsm blackboard", "schema": "1"}\n{}\n', "of which table"),
    ],
)
def test_a_file_that_is_no_export_is_said_to_be_none(
    content: bytes, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with SqlBlackboard(":memory:") as other, pytest.raises(DataError, match=says):
        import_rows(other.engine, transfer.read_jsonl(path), str(path))


def test_a_folder_that_is_no_export_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "texts.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with SqlBlackboard(":memory:") as other, pytest.raises(DataError, match="not a Parquet file"):
        import_rows(other.engine, transfer.read_parquet(tmp_path), str(tmp_path))
