"""What the commands take that keep and exchange: `pxp verify`, `upgrade`, `export`, `import`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.cli.options import common
from pxp_fsm.options import option

OF_RUNS = {"jsonl": ".jsonl", "parquet": ".parquet"}
OF_TABLES = ("toml", "json", "scxml", "dot", "mermaid")
OF_SYSTEMS = ("promela", "prism", "smv", "tla")


@dataclass(frozen=True, kw_only=True)
class Verify:
    """Report whether anything in DATABASE (a file or a URL) was changed after the fact, and where.

    Prints a mark for each run. Keep it where the database's owner cannot write: everything in a
    database can be rewritten by who owns it, but not to the same mark.
    """

    database: str = common.database_argument()
    expected: tuple[str, ...] = option(
        "What an earlier `pxp verify` printed for RUN, to be compared.",
        (),
        name="mark",
        metavar="RUN=MARK",
    )


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """Bring DATABASE (a file or a URL), written by an older version, up to date.

    All of it or nothing. Make a copy first: there is no way back. A database that is up to date is
    only looked at.
    """

    database: str = common.database_argument()
    dry_run: bool = option("Say what would be done, and change nothing.", False)


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a RUN, or TABLEs in the format of another tool; the format says which.

    A run as jsonl (JSON Lines) or parquet, one file for each of the database's tables. One TABLE as
    toml, json, scxml, dot or mermaid. TABLEs that are joined, as in pxp check, as promela (for
    SPIN), prism (for PRISM and Storm), smv (for NuSMV and nuXmv) or tla (for TLC).
    """

    what: tuple[str, ...] = option(argument=True, metavar="RUN | TABLE...")
    output: Path | None = option(
        "Its ending determines the format (.pml is Promela, .mmd Mermaid, .parquet a folder).",
        None,
        short="-o",
        metavar="PATH",
        path="any",
        default="named after RUN or TABLE",
    )
    form: str | None = option(
        "Where PATH is not given.",
        None,
        name="format",
        choices=(*OF_RUNS, *OF_TABLES, *OF_SYSTEMS),
        default="jsonl, of a run",
    )
    channel: str | None = option(
        "Of promela, prism, smv and tla: what joins the tables, as in pxp check.",
        None,
        metavar="CHANNEL",
        default="sync",
    )
    formulas: tuple[str, ...] = option(
        "Of promela, prism, smv and tla: a property too (docs/logic.md); repeatable.",
        (),
        name="formula",
        metavar="FORMULA",
    )
    database: str | None = option("Where RUN is.", None, metavar="URL", default=defaults.STORED)


@dataclass(frozen=True, kw_only=True)
class Import:
    """Import what PATH holds: a run that pxp export wrote, or a table of another tool.

    A run (.jsonl, or a folder .parquet) goes into the database, verified; all of it or nothing. A
    table (.scxml, .json, .toml) is checked, and written as a table of one's own.
    """

    path: Path = option(argument=True, path="any")
    database: str = common.database("Where a run goes; made if it is not there.")
    output: Path | None = option(
        "Where a table goes: .toml, .json or .scxml.",
        None,
        short="-o",
        default="NAME.toml, after the table",
    )
