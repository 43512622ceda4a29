"""Options of the commands that store and exchange: `pxp verify`, `export`, `archive`, …"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.cli.options import common
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


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Report whether and where DATABASE (a file or a URL) was changed after it was recorded.

    Prints a mark for each run. Keep the mark where the database's owner cannot write: the owner can
    rewrite everything in a database, but not so that the mark stays the same. An anchor, which
    `pxp run --anchor` signs, holds the marks of runs as they were at their ends.

    All that is recorded is covered, with costs, times, consents and erasures. Not covered are
    drafts, links of participants, who subjects are, the version of the schema, and the order in
    which runs are listed.
    """

    database: str = common.database_argument()
    expected: tuple[str, ...] = option(
        "Compare RUN with the mark that an earlier `pxp verify` printed; repeatable.",
        (),
        name="mark",
        metavar="RUN=MARK",
    )
    anchor: Path | None = option(
        "Compare the runs with the marks that were signed in this file.", None
    )
    key: Path | None = option(
        "The public key (Ed25519, PEM) that signed --anchor; obtain it from whoever signed.", None
    )


@dataclass(frozen=True, kw_only=True)
class UpgradeOptions:
    """Upgrade DATABASE (a file or a URL), written by an older version, to the current schema.

    The upgrade is applied completely or not at all. Make a copy first: it cannot be undone. A
    database that is up to date is not changed.
    """

    database: str = common.database_argument()
    dry_run: bool = option("Print the changes without making them.", False)


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Export a RUN, or TABLEs in the format of another tool.

    The formats of a run are jsonl (JSON Lines) and parquet, with one file per database table; those
    of one TABLE are toml, json, dot and mermaid. The plug-in exports adds scxml, and for TABLEs
    that are joined, as in pxp check, promela (for SPIN), prism (for PRISM and Storm), smv (for
    NuSMV and nuXmv) and tla (for TLC).
    """

    what: tuple[str, ...] = option(argument=True, metavar="RUN | TABLE...")
    output: Path | None = option(
        "The file to write; its suffix determines the format (.pml is Promela, .mmd Mermaid, "
        ".parquet a folder).",
        None,
        short="-o",
        metavar="PATH",
        path="any",
        default="named after RUN or TABLE",
    )
    form: str | None = option(
        "The format, if PATH is not given.",
        None,
        name="format",
        choices=tuple(dict.fromkeys((*OF_RUNS, *_OF_TABLES, *contributions("formats")))),
        default="jsonl for a run",
    )
    channel: str | None = option(
        "The channel between TABLEs that are joined, as in pxp check.",
        None,
        metavar="CHANNEL",
        default="sync",
    )
    formulas: tuple[str, ...] = option(
        "A property to add to TABLEs that are joined (pxp help logic); repeatable.",
        (),
        name="formula",
        metavar="FORMULA",
    )
    database: str | None = option(
        "The database that holds RUN: a file or a URL.",
        None,
        metavar="URL",
        default=defaults.STORED,
    )


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Import a run written by pxp export, or a table of another tool, from PATH.

    A run (.jsonl, or a folder .parquet) is verified and stored in the database, completely or not
    at all. A table (.toml, .json, or the .scxml of the plug-in exports) is checked and written as a
    table file.
    """

    path: Path = option(argument=True, path="any")
    database: str = common.database(
        "The database that receives a run; created if it does not exist."
    )
    output: Path | None = option(
        "The file to write a table to; its suffix determines the format.",
        None,
        short="-o",
        default="NAME.toml, named after the table",
    )


@dataclass(frozen=True, kw_only=True)
class ArchiveOptions:
    """Pack each RUN into one archive for a paper's supplement, or check an ARCHIVE.

    An archive (.zip) has the recorded sessions with their hash chain, plans, prompts, versions,
    fingerprints of the data, tables, figures, certificates and an anchor. Checked are its files,
    the chains and marks, Table 1 counted from the sessions, certificates and signatures.
    """

    what: tuple[str, ...] = option(argument=True, metavar="RUN... | ARCHIVE")
    check: bool = option("Check the ARCHIVE.", False)
    output: Path | None = option(
        "The archive to write.",
        None,
        short="-o",
        metavar="PATH",
        path="any",
        default="RUN.zip",
    )
    anchor: Path | None = option("The file with the signed marks of the runs.", None)
    key: Path | None = option(
        "The public key (Ed25519, PEM) that signed the anchor; to check, the signer's own.", None
    )
    catalogue: Path | None = option("A file with your own servers and prices.", None)
    database: str = common.database("The database that holds the runs: a file or a URL.")


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
