"""Options of the `pxp data` commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pxp_fsm.cli.command import extended
from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.tasks.own_data import RowFilter


def _table() -> Any:
    return option(argument=True, metavar="TABLE", path="any")


def _output() -> Any:
    return option("The table to write, .csv or .jsonl.", short="-o")


@dataclass(frozen=True, kw_only=True)
class DataSelectOptions:
    """Select rows of TABLE by what they are about, draw a sample, and write a table.

    The drawing depends on the seed alone.
    """

    table: Path = _table()
    output: Path = _output()
    columns: tuple[str, ...] = option(
        "Rename a column of TABLE, such as x=SMILES; repeatable.",
        (),
        name="column",
        metavar="NAME=COLUMN",
    )
    filters: tuple[RowFilter, ...] = extended("data select")
    sample: int | None = option("Draw N rows of those that are kept.", None, least=1)
    seed: int = common.seed("The seed of the drawing.")


@dataclass(frozen=True, kw_only=True)
class SetSizes:
    """How many rows are drawn into each set; without rows for sessions no task runs."""

    sessions: int = option("The number of rows for sessions.", least=1)
    validation: int = option("The number of rows for validation.", 0, least=0)
    test: int = option("The number of rows for test.", 0, least=0)
    examples: int = option("The number of rows for examples.", 0, least=0)


@dataclass(frozen=True, kw_only=True)
class DataSplitOptions:
    """Draw the rows of TABLE into sets of the sizes N, and write a table.

    SET is sessions, validation, test or examples, such as sessions=20 test=5. Rows of no set are
    left out.
    """

    instead: ClassVar[Mapping[str, str]] = {
        f"--{name}": f"write {name}=N" for name in ("sessions", "validation", "test", "examples")
    }
    table: Path = _table()
    sizes: tuple[str, ...] = option(argument=True, metavar="SET=N...")
    output: Path = _output()
    seed: int = common.seed("The seed of the drawing.")


@dataclass(frozen=True, kw_only=True)
class DataSummarizeOptions:
    """Let a model summarise the explanations of TABLE, and write a table with the summaries.

    What stood there goes into a column `original`. With --cache a command that was stopped asks
    nothing twice.
    """

    table: Path = _table()
    output: Path = _output()
    machine: str = option(
        "The model that summarises: anthropic:NAME, openai:NAME[@URL].",
        metavar="WHO",
        listed="models",
    )
    prompts: Path | None = option("A file with a prompt of your own.", None)
    as_json: bool = common.as_json()
    models: common.ModelOptions
