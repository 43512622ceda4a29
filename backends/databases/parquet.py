"""A run as Parquet: a folder with a file for each table."""

from __future__ import annotations

from itertools import groupby, islice
from pathlib import Path
from typing import Any

from backends.databases.schema import SCHEMA_VERSION
from backends.databases.transfer import FORMAT, READ, SHAPES, Rows, Shape
from pxp_fsm.errors import DataError

_BATCH = 10_000
_BEFORE_CALLS = (f"{FORMAT} 2", f"{FORMAT} 3")


def write(rows: Rows, folder: Path) -> None:
    """Write `rows` into `folder`, which must not exist; a folder that is there is whole."""
    pyarrow, parquet = _pyarrow()
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir()
    written = set()
    for name, group in groupby(rows, key=lambda item: item[0]):
        with parquet.ParquetWriter(part / f"{name}.parquet", _schema(SHAPES[name])) as writer:
            while batch := [row for _table, row in islice(group, _BATCH)]:
                writer.write_table(pyarrow.Table.from_pylist(batch, _schema(SHAPES[name])))
        written.add(name)
    for name in set(SHAPES) - written:
        parquet.write_table(
            pyarrow.Table.from_pylist([], _schema(SHAPES[name])), part / f"{name}.parquet"
        )
    part.rename(folder)


def read(folder: Path) -> Rows:
    """The rows in `folder`; raises `DataError` where a file is not one of ours."""
    pyarrow, parquet = _pyarrow()
    said = ""
    for name in SHAPES:
        path = folder / f"{name}.parquet"
        if name == "calls" and said in _BEFORE_CALLS:
            continue
        try:
            file = parquet.ParquetFile(path)
            said = (file.schema_arrow.metadata or {}).get(b"pxp", b"").decode()
            if said not in [f"{FORMAT} {version}" for version in READ]:
                raise DataError(
                    f"{path}: this is not an export of a blackboard of schema version "
                    f"{' or '.join(READ)}"
                )
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    yield name, row
        except (pyarrow.ArrowException, UnicodeError) as error:
            raise DataError(f"{path}: this is no Parquet file ({error})") from error


def _schema(shape: Shape) -> Any:
    pyarrow, _parquet = _pyarrow()
    kinds = {
        name: pyarrow.int64()
        if name in shape.whole
        else pyarrow.float64()
        if name in shape.real
        else pyarrow.large_string()
        for name in shape.columns
    }
    return pyarrow.schema(list(kinds.items()), metadata={"pxp": f"{FORMAT} {SCHEMA_VERSION}"})


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise DataError("Parquet needs pyarrow: pip install 'pxp-fsm[parquet]'") from error
    return pyarrow, parquet
