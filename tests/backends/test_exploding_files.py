"""Small files that would explode: refused with their limit, before they take time or memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from backends.databases import SqlBlackboard, transfer
from backends.databases.schema import SCHEMA_VERSION, SHAPES
from backends.databases.transfer import FORMAT, export_rows, import_rows
from pxp_fsm.automata.tables import load_automaton, parse_automaton
from pxp_fsm.cli.main import main
from pxp_fsm.errors import DataError, FileError
from tests.backends.records import RUN, as_stored, message, record

TABLE = {"format": 1, "name": "t", "title": "t", "initial": "a", "final": ["b"]}


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """A run as a folder of Parquet files."""
    with SqlBlackboard(":memory:") as board:
        board.start_run(RUN)
        board.start_session(record())
        board.append(*as_stored(message(1, "INIT"), "", []))
        transfer.write_parquet(export_rows(board.engine, RUN.run), tmp_path / "run.parquet")
    return tmp_path / "run.parquet"


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))


@pytest.mark.deep
def test_a_small_parquet_file_that_holds_gigabytes_is_refused(exported: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    long = pyarrow.array(["x" * 1_400_000])
    indices = pyarrow.array([0] * 10_000, pyarrow.int32())
    names = ("digest", "text", "salt")
    columns = {name: pyarrow.DictionaryArray.from_arrays(indices, long) for name in names}
    parquet.write_table(
        pyarrow.table(columns).replace_schema_metadata({"pxp": f"{FORMAT} {SCHEMA_VERSION}"}),
        exported / "texts.parquet",
        compression="zstd",
    )
    assert (exported / "texts.parquet").stat().st_size < 20_000
    command = [
        sys.executable,
        "-m",
        "pxp_fsm.cli",
        "import",
        str(exported),
        "--database",
        "x.sqlite",
    ]
    done = subprocess.run(
        command,
        capture_output=True, text=True, check=False, preexec_fn=limited, cwd=exported.parent,
        env={**os.environ, "PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "bytes, many times its size" in done.stderr or "does not match its digest" in done.stderr


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_pipe_is_not_waited_for(exported: Path, form: str, tmp_path: Path) -> None:
    pipe = exported / "events.parquet" if form == "parquet" else tmp_path / "run.jsonl"
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with SqlBlackboard(":memory:") as board, pytest.raises(DataError, match="not a regular one"):
        found = transfer.read_parquet(exported) if form == "parquet" else transfer.read_jsonl(pipe)
        import_rows(board.engine, found, "it")


@pytest.mark.parametrize("table", SHAPES)
def test_rows_that_contradict_each_other_are_the_users_error(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SqlBlackboard(":memory:") as board:
        board.start_run(RUN)
        board.start_session(record())
        board.append(*as_stored(message(1, "INIT"), "", []))
        rows = list(export_rows(board.engine, RUN.run))
    lines = [{"format": FORMAT, "schema": SCHEMA_VERSION}]
    lines += [{"table": name, **row} for name, row in rows for _ in range(1 + (name == table))]
    if not any(name == table for name, _row in rows):
        pytest.skip("this run has no such rows")
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(SystemExit) as ended:
        main(["import", str(path), "--database", str(tmp_path / "b.sqlite")])
    assert ended.value.code == (0 if table == "texts" else 2), capsys.readouterr().err
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board, board.engine.connect() as connection:
        assert connection.scalar(text("SELECT COUNT(*) FROM runs")) == (table == "texts")


def test_a_row_with_hundreds_of_sources_and_tags_is_refused() -> None:
    states = [f"s{number}" for number in range(700)]
    rows = [{"from": states, "to": "b", "send": [f"T{number}" for number in range(700)]}]
    named = [{"name": name, "about": ""} for name in (*states, "b")]
    raw = {**TABLE, "initial": "s0", "states": named, "rows": rows}
    with pytest.raises(FileError, match="490,000 transitions; a table has at most 10,000"):
        parse_automaton(json.dumps(raw), "t.json")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("t.toml", ".".join(["a"] * 20_000) + " = 1"),
        ("t.toml", "a = " + "[" * 20_000 + "]" * 20_000),
        ("t.toml", f"[{'.'.join(['a'] * 20_000)}]"),
        ("t.json", '{"a":' * 20_000 + "1" + "}" * 20_000),
        ("t.json", '{"a":' * 900 + "1" + "}" * 900),
    ],
)
def test_what_is_nested_too_deeply_is_refused(name: str, written: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(written)
    with pytest.raises(FileError, match="nested too deeply"):
        load_automaton(tmp_path / name)


def test_a_key_that_stands_twice_is_refused() -> None:
    twice = json.dumps(TABLE)[:-1] + ', "name": "other"}'
    with pytest.raises(FileError, match="the key 'name' stands twice"):
        parse_automaton(twice, "t.json")
