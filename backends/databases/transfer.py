"""Export and import of a run between blackboards, row by row, as JSON Lines or Parquet.

What goes out is what is stored, so that it can be verified wherever it comes in. What comes in is
somebody's file: every value is checked, the chain is followed, and it is all of it or nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Select, Table, case, select, union
from sqlalchemy.exc import IntegrityError

from backends.databases import chain, rows, schema
from backends.databases.faults import translated_errors
from backends.databases.rows import GREATEST, GREATEST_SEED, check_values
from backends.databases.schema import SCHEMA_VERSION, SHAPES
from backends.databases.verify import Mark, erased_texts, strays, verify_run
from pxp_fsm.artifacts import atomic_path
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.documents import lines_of, open_to_read
from pxp_fsm.errors import BlackboardError, DataError, NotThere, did_you_mean, quoted, require_extra

FORMAT = "pxp-fsm blackboard"
_BATCH = 500
_PARQUET_BATCH = 2_000
"""Rows that are written together; they are read by fewer, as a file may hold anything."""
_READ_TOGETHER = 100
_SMALL, _TIMES = 64 * 2**20, 500
"""A Parquet file may hold so many bytes, or so many times its own size."""

Rows = Iterator[tuple[str, dict[str, Any]]]


def export_rows(engine: Engine, run: str) -> Rows:
    """Every row of `run` as (table, row), sorted by key; as it was at one instant.

    Raises `NotThere` where there is no such run.
    """
    shown = engine.url.render_as_string(hide_password=True)
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with translated_errors(shown), engine.connect() as connection:
        r = schema.runs.c
        known = connection.scalars(select(r.run).order_by(r.ordinal)).all()
        if run not in known:
            there = did_you_mean(run, known) or f"; there are: {', '.join(known) or 'none'}"
            raise NotThere(f"{shown} has no run {run!r}{there}")
        for name, query in _queries(run):
            columns = SHAPES[name].columns
            options = {"yield_per": _BATCH}
            with connection.execute(query, execution_options=options) as result:
                for row in result:
                    yield name, dict(zip(columns, row, strict=True))


def _queries(run: str) -> Iterator[tuple[str, Select[Any]]]:
    s, h = schema.sessions.c, schema.heads.c
    mine = select(s.session).where(s.run == run)

    def of_run(table: Table) -> ColumnElement[bool]:
        """The rows of a table that are of the run, or of one of its sessions."""
        return table.c.run == run if "run" in table.c else table.c.session.in_(mine)

    used = union(
        *(
            select(column).where(of_run(column.table), column.is_not(None))
            for column in (*schema.TEXTS_OF_SESSIONS, schema.members.c.table_digest)
        )
    )
    asked = select(schema.calls.c.prompt).where(schema.calls.c.run == run)
    chosen = {
        "texts": schema.texts.c.digest.in_(used),
        "prompts": schema.prompts.c.digest.in_(asked),
        "heads": case((h.kind == "events", h.name.in_(mine)), else_=h.name == run),
    }
    for table in schema.EXCHANGED:
        columns = [table.c[column] for column in SHAPES[table.name].columns]
        order = [s.ordinal] if table is schema.sessions else list(table.primary_key.columns)
        wanted = chosen.get(table.name)
        query = select(*columns).where(of_run(table) if wanted is None else wanted)
        yield table.name, query.order_by(*order)


def import_rows(engine: Engine, exported: Rows, source: str) -> Mark:
    """Take in the rows that `export_rows` gave; the run's mark.

    Raises `DataError` where a row or the chain is not right, or the run is there already; nothing
    is stored then.
    """
    shown = engine.url.render_as_string(hide_password=True)
    with translated_errors(shown), engine.execution_options(writes=True).begin() as connection:
        run, closings, erased = None, list[dict[str, Any]](), False
        for name, taken in _batches(_checked(exported, source)):
            batch = taken
            if name == "runs":
                if run is not None or len(batch) != 1:
                    raise DataError(f"{source}: a file must hold one run")
                run = batch[0]
                if connection.scalar(rows.RUN, {"named": run["run"]}) is not None:
                    raise DataError(
                        f"{shown} has a run {quoted(run['run'])} already; give another database"
                    )
            elif name == "sessions":
                closings += [row for row in batch if row["ending"] is not None]
                batch = [{**row, **_OPEN} for row in taken]
            elif name == "erasures" or name in _DIGESTS:
                if name == "erasures":  # a session ends before it is erased
                    _close(connection, closings)
                    closings = []
                erased = erased or name == "erasures" or any(map(_is_erased, batch))
            try:
                connection.execute(rows.KEEP_TEXT if name == "texts" else rows.ADD[name], batch)
            except IntegrityError as error:
                raise DataError(
                    f"{source}: rows of {name} were refused by the database, so nothing was "
                    f"imported: {' '.join(str(error.orig).split()):.300}"
                ) from error
        if run is None:
            raise DataError(f"{source}: the file holds no run")
        _close(connection, closings)
        mark, problems = verify_run(connection, run)
        problems += [*strays(connection), *(erased_texts(connection) if erased else ())]
        if problems:
            listed = "; ".join(f"{p.where}: {p.what}" for p in problems[:5])
            raise DataError(
                f"{source}: its hash chain is broken, so nothing was imported: {listed}"
            )
    return mark


_OPEN: dict[str, Any] = dict.fromkeys(schema.CLOSING)


def _close(connection: Connection, closings: list[dict[str, Any]]) -> None:
    if closings:
        values = [{"named": row["session"], **{k: row[k] for k in _OPEN}} for row in closings]
        connection.execute(rows.CLOSE, values)


def _batches(exported: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Consecutive rows of one table, some at a time."""
    waiting: list[dict[str, Any]] = []
    current = ""
    for name, row in exported:
        if name != current or len(waiting) == _BATCH:
            if waiting:
                yield current, waiting
            current, waiting = name, []
        waiting.append(row)
    if waiting:
        yield current, waiting


def _checked(exported: Rows, source: str) -> Rows:
    """The rows, each one a row of its table whose values every database keeps exactly."""
    for place, (name, row) in enumerate(exported, start=1):
        where = f"{source}, row {place}"
        shape = SHAPES.get(name)
        if shape is None or set(row) != set(shape.columns):
            known = ", ".join(SHAPES)
            raise DataError(f"{where}: it is not a row of a table of {known}")
        try:
            exact = {key: value for key, value in row.items() if key not in shape.real}
            limit = GREATEST_SEED if name == "runs" else GREATEST
            check_values("it", exact, set(shape.whole), optional=shape.optional, greatest=limit)
        except BlackboardError as error:
            raise DataError(f"{where}: {error}") from error
        for key in shape.real:
            if row[key] is None and key in shape.optional:
                continue
            if type(row[key]) is not float or not math.isfinite(row[key]):
                raise DataError(f"{where}: {key} is not a number")
        if name in _DIGESTS and not (_DIGESTS[name](row) or _is_erased(row)):
            raise DataError(f"{where}: the text does not match its digest")
        yield name, row


_DIGESTS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "texts": lambda row: chain.is_text_digest(row["digest"], row["salt"], row["text"]),
    "prompts": lambda row: chain.is_salted_digest(row["digest"], row["salt"], row["text"]),
}


def _is_erased(row: dict[str, Any]) -> bool:
    return row["text"] is None and row["salt"] == ""


def write_jsonl(exported: Rows, path: Path) -> None:
    """Write rows to `path`, which must not exist; a file that is there is whole."""
    with atomic_path(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_line({"format": FORMAT, "schema": SCHEMA_VERSION, "notice": RESEARCH_ONLY}))
        for table, row in exported:
            file.write(_line({"table": table, **row}))


def read_jsonl(path: Path) -> Rows:
    """The rows of the file `path`; raises `DataError` with the line where it is not one of ours."""
    _check_regular(path)
    with open_to_read(path) as file:
        lines = lines_of(path, file)
        header = _parsed(path, *next(lines, (1, b"")))
        if header.get("format") != FORMAT:
            raise DataError.at(path, 1, "this is not an export of a blackboard")
        if header.get("schema") != SCHEMA_VERSION:
            raise DataError.at(
                path,
                1,
                f"it was written from schema version {header.get('schema')!r}, this program reads "
                f"{SCHEMA_VERSION}",
            )
        for number, line in lines:
            row = _parsed(path, number, line)
            table = row.pop("table", None)
            if not isinstance(table, str):
                raise DataError.at(path, number, "it does not say of which table it is")
            yield table, row


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError.at(path, number, f"this is not JSON ({type(error).__name__})") from error
    if not isinstance(record, dict):
        raise DataError.at(path, number, "a line is a JSON object")
    return record


def write_parquet(exported: Rows, folder: Path) -> None:
    """Write rows into `folder`, which must not exist; a folder that is there is whole."""
    pyarrow, parquet = _pyarrow()
    with atomic_path(folder) as part:
        part.mkdir()
        written = set()
        for name, group in groupby(exported, key=lambda item: item[0]):
            with parquet.ParquetWriter(part / f"{name}.parquet", _schema(SHAPES[name])) as writer:
                while batch := [row for _table, row in islice(group, _PARQUET_BATCH)]:
                    writer.write_table(pyarrow.Table.from_pylist(batch, _schema(SHAPES[name])))
            written.add(name)
        for name in set(SHAPES) - written:
            empty = pyarrow.Table.from_pylist([], _schema(SHAPES[name]))
            parquet.write_table(empty, part / f"{name}.parquet")


def read_parquet(folder: Path) -> Rows:
    """The rows in `folder`; raises `DataError` where a file is not one of ours."""
    pyarrow, _parquet = _pyarrow()
    for name in SHAPES:
        path = folder / f"{name}.parquet"
        file = _opened(path)
        most, held = max(_SMALL, _TIMES * path.stat().st_size), 0
        try:
            for batch in file.iter_batches(_READ_TOGETHER):
                for row in batch.to_pylist():
                    held += sum(
                        len(value) if isinstance(value, str) else 8 for value in row.values()
                    )
                    if held > most:
                        raise _expands(path, most)
                    yield name, row
        except (pyarrow.ArrowException, UnicodeError) as error:
            raise DataError(f"{path}: this is not a Parquet file ({error})") from error


def _opened(path: Path) -> Any:
    """A Parquet file of an export."""
    pyarrow, parquet = _pyarrow()
    _check_regular(path)
    try:
        texts = parquet.read_schema(path).names  # as a dictionary, what is repeated stays small
        file = parquet.ParquetFile(path, read_dictionary=texts)
        label = (file.schema_arrow.metadata or {}).get(b"pxp", b"").decode()
    except (pyarrow.ArrowException, UnicodeError) as error:
        raise DataError(f"{path}: this is not a Parquet file ({error})") from error
    if label != f"{FORMAT} {SCHEMA_VERSION}":
        raise DataError(
            f"{path}: this is not an export of a blackboard of schema version {SCHEMA_VERSION}"
        )
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    most = max(_SMALL, _TIMES * path.stat().st_size)
    if sum(group.total_byte_size for group in groups) > most:
        raise _expands(path, most)
    return file


def _expands(path: Path, most: int) -> DataError:
    return DataError(
        f"{path}: it holds more than {most:,} bytes, many times its size; no run does: import it "
        f"as jsonl, or export it again"
    )


def _check_regular(path: Path) -> None:
    """A pipe or a device would be waited for, or never end."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file, or it is not a regular one")


def _schema(shape: schema.Shape) -> Any:
    pyarrow, _parquet = _pyarrow()
    kinds = {
        name: pyarrow.int64()
        if name in shape.whole
        else pyarrow.float64()
        if name in shape.real
        else pyarrow.large_string()
        for name in shape.columns
    }
    metadata = {"pxp": f"{FORMAT} {SCHEMA_VERSION}", "notice": RESEARCH_ONLY}
    return pyarrow.schema(list(kinds.items()), metadata=metadata)


def _pyarrow() -> tuple[Any, Any]:
    require_extra("parquet", "Parquet", {"pyarrow": "PyArrow"})
    import pyarrow
    from pyarrow import parquet

    return pyarrow, parquet
