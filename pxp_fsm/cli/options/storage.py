"""Options of the commands that store and exchange: `pxp verify`, `export`, `import`, …"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pxp_fsm import defaults
from pxp_fsm.cli.command import extended
from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.registry import contributions

OF_RUNS = {"jsonl": ".jsonl", "parquet": ".parquet"}
_OF_TABLES = (
    "toml",
    "json",
    "dot",
    "mermaid",
)
"""Our own formats of one table; plug-ins add others, and those of systems."""

_ARCHIVE = "Archive"

ARCHIVE = "zip"
"""The format of an archive of runs."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Report whether and where X, a database (a file or a URL) or an archive, was changed.

    Of a database a mark is printed for each run. Keep the mark where the database's owner cannot
    write: the owner can rewrite everything in a database, but not so that the mark stays the same.
    An anchor, which --sign writes, holds signed marks of runs. Not covered are the version of the
    schema, drafts, links of participants, who subjects are, and the order in which runs are listed.

    Of an archive are checked its files, the chains and marks, Table 1 counted from the sessions,
    certificates and signatures.

    Exit code 1: something was changed.
    """

    without: ClassVar[str] = "database"
    what: tuple[str, ...] = option("", (), argument=True, metavar="[X]")


def _key() -> Any:
    return option(
        "The public key (Ed25519, PEM) that signed the anchor; obtain it from whoever signed.", None
    )


@dataclass(frozen=True, kw_only=True)
class VerifyDatabase:
    """Verify a database."""

    file: str | None = option("", None, argument=True)
    expected: tuple[str, ...] = option(
        "Compare RUN with the mark that an earlier `pxp verify` printed; repeatable.",
        (),
        name="mark",
        metavar="RUN=MARK",
    )
    anchor: Path | None = option(
        "Compare the runs with the marks that were signed in this file.", None
    )
    key: Path | None = _key()
    sign: Path | None = option(
        "If nothing was changed, append the marks of the runs to the anchor, signed with this "
        "private key (Ed25519, PEM).",
        None,
        metavar="KEY",
    )
    as_json: bool = common.as_json()
    database: str = common.database()


@dataclass(frozen=True, kw_only=True)
class VerifyArchive:
    """Verify an archive."""

    file: Path = option(argument=True)
    key: Path | None = _key()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class UpgradeOptions:
    """Upgrade DATABASE (a file or a URL), written by an older version, to the current schema.

    The upgrade is applied completely or not at all. Make a copy first: it cannot be undone. A
    database that is up to date is not changed.
    """

    database: str = common.database_argument()
    dry_run: bool = option("Print the changes without making them.", False)
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Export X: runs as files, tables in the format of another tool, a study without names.

    The formats of a run are jsonl (JSON Lines), parquet, with one file per database table, and zip,
    an archive of runs for a paper's supplement: sessions with their hash chain, plans, prompts,
    versions, fingerprints of the data, tables, figures, certificates. Those of one table are toml,
    json, dot and mermaid. The plug-in exports adds scxml, and for tables that are joined, as in pxp
    check, promela (for SPIN), prism (for PRISM and Storm), smv (for NuSMV and nuXmv), tla (for
    TLC) and cfsm (for KMC); aut is a table, or a system's state graph, for CADP, and aalpy a table
    for AALpy.
    """

    without: ClassVar[str] = "run"
    what: tuple[str, ...] = option("", (), argument=True, metavar="X...", listed="runs")


def _form() -> Any:
    return option(
        "The format, if PATH is not given.",
        None,
        name="format",
        choices=tuple(dict.fromkeys((*OF_RUNS, ARCHIVE, *_OF_TABLES, *contributions("formats")))),
        default="jsonl for a run",
    )


@dataclass(frozen=True, kw_only=True)
class ExportTables:
    """Export a table, or tables that are joined."""

    what: tuple[str, ...] = option(argument=True)
    output: Path | None = common.output_path()
    form: str | None = _form()
    channel: str | None = option(
        "The channel between tables that are joined, as in pxp check.",
        None,
        metavar="CHANNEL",
        default="sync",
    )
    formulas: tuple[str, ...] = option(
        "A property to add to tables that are joined (pxp help logic); repeatable.",
        (),
        name="formula",
        metavar="FORMULA",
    )


@dataclass(frozen=True, kw_only=True)
class ExportRuns:
    """Export a run as files, or pack runs into one archive for a paper's supplement."""

    what: tuple[str, ...] = option(argument=True)
    output: Path | None = common.output_path()
    form: str | None = _form()
    anchor: Path | None = option(
        "The file with the signed marks of the runs.", None, group=_ARCHIVE
    )
    key: Path | None = option(
        "The public key (Ed25519, PEM) that signed the anchor.", None, group=_ARCHIVE
    )
    models_file: Path | None = common.models_file("A file with your own servers and prices.")
    database: str = common.database("The database that holds the runs: a file or a URL.")


class ImportReader(Protocol):
    """Options by which a plug-in imports in a way of its own."""

    def imported(self, paths: Sequence[Path], output: Path | None) -> Iterator[str] | None:
        """What was imported, a line each; None where its options do not ask for it."""
        ...


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Import a run written by pxp export, or a table or system of another tool, from PATH.

    A run (.jsonl, or a folder .parquet) is verified and stored in the database, completely or not
    at all. A table (.toml, .json, or .scxml and .aut of the plug-in exports) is checked and written
    as a table file; a system (.cfsm, and .txt as KMC has it) as a folder of tables. With --traces a
    table is learned from recordings.
    """

    paths: tuple[Path, ...] = option(argument=True, path="any", metavar="PATH...")
    readers: tuple[ImportReader, ...] = extended("import")
    database: str = common.database(
        "The database that receives a run; created if it does not exist."
    )
    output: Path | None = option(
        "The file to write a table to, whose suffix determines the format; the folder of a system.",
        None,
        short="-o",
        path="any",
        default="NAME.toml, named after the table, or a folder named after PATH",
    )


@dataclass(frozen=True, kw_only=True)
class EraseOptions:
    """Erase the texts of sessions: of each RUN or SESSION, of a subject, or both.

    Erased are messages, contexts, instances, explanations of verdicts, causes of faults, payloads,
    memories, drafts, and the prompts and replies of models; with the last session of a subject in a
    run, who they are and their links. Files that were given out are listed. Tags, outcomes, tokens
    and times are kept, so that counts, costs and marks stay the same and pxp verify passes; it
    names what was erased. A run that has an erased session cannot be resumed. It cannot be undone.
    """

    what: tuple[str, ...] = option("", (), argument=True, metavar="[RUN | SESSION]...")
    subject: str | None = option(
        "Only the sessions in which this subject took part.", None, metavar="NAME"
    )
    caches: tuple[Path, ...] = option(
        "Also remove from this call cache what was replied to the prompts; repeatable.",
        (),
        name="cache",
        metavar="FILE",
    )
    output: Path = option(
        "The output folder of the runs, with drafts that were typed at the terminal.",
        Path(defaults.OUTPUT),
        path="folder",
    )
    yes: bool = option("Do not ask.", False)
    database: str = common.database("The database that holds them: a file or a URL.")
