"""Options of the commands that show results: `pxp report`, `compare`, `audit`, …"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from proofs.requests import limit_option, memory_option, parameters_option
from pxp_fsm.cli.options import common
from pxp_fsm.diagrams.style import paper_option, size_option
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Report RUNs of DATABASE (a file or a URL), or all of its runs, as a web page.

    Without DATABASE the RUNs are those of --database.

    An unfinished run is reported as far as it got; the page states what is missing.
    """

    what: tuple[str, ...] = common.database_and_runs()
    database: str = common.database()
    output: Path = option(
        "The page to write; tables are written next to it under the same name.",
        Path("report.html"),
        short="-o",
        metavar="FILE.html",
    )
    sessions: str | None = option(
        "The sessions of a run to show in full: how many, or the names of sessions or instances.",
        None,
        metavar="N|all|KEY,KEY",
        default="200",
    )
    test_set: bool | None = option(
        "Score the test set with a fresh machine that learns again from the recorded sessions.",
        None,
        default="for runs of at most 500 sessions",
    )
    models_file: Path | None = common.models_file(
        "The file with the servers and prices that the models were asked with."
    )
    figures: Path | None = option(
        "Also write every figure into this folder, as SVG, PDF and TikZ.", None, path="folder"
    )
    paper: str | None = paper_option()
    size: str | None = size_option()


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Compare X with Y: two tables, two systems, two runs, two experiments, or two networks.

    Of tables and systems it is decided whether X is included in Y, and whether they are equivalent
    (pxp help refinement). Exit code 1: a relation that has to hold does not. Exit code 4: it is not
    known.
    """

    without: ClassVar[str] = "run"
    what: tuple[str, ...] = option("", (), argument=True, metavar="X Y", listed="runs")


@dataclass(frozen=True, kw_only=True)
class CompareRuns:
    """Compare two runs, or two experiments by their files, session by session.

    Several further runs count as one: such as those that carry sessions of the first on. Where only
    one is named it is compared with all runs that carry its sessions on (pxp run SESSION@MESSAGE).
    """

    first: str = option(argument=True)
    others: tuple[str, ...] = option("", (), argument=True, metavar="[RUN]...")
    database: str = common.database()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class CompareTables:
    """Compare two tables, or two systems by their files: inclusion, and equivalence."""

    first: str = option(argument=True)
    second: str = option(argument=True)
    relations: tuple[str, ...] = option(
        "Decide only this relation, which has to hold: trace-inclusion, simulation, "
        "strong-bisimilarity, weak-bisimilarity; repeatable.",
        (),
        name="relation",
        metavar="NAME",
        default="all; trace-inclusion has to hold",
    )
    hide: tuple[str, ...] = option(
        "Actions that nobody observes, such as '!LOG' or 'hub>log *', where * is any text; "
        "repeatable.",
        (),
        metavar="PATTERN",
    )
    parameters: tuple[str, ...] = parameters_option()
    limit: int | None = limit_option()
    memory: int | None = memory_option()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class MonitorOptions:
    """Evaluate FORMULAs (pxp help logic) on run NAME, or event by event on session NAME.

    The database may also be a log of Inspect or a file of OpenTelemetry spans (pxp help audit).

    A verdict of true or false is final: no continuation that the protocol or the system allows
    changes it. A presumable verdict holds if the session ends here. A session that cannot be read
    is named with the reason, and the others are monitored.

    Exit code 1: a formula is false on a session. Exit code 4: it is false on none that could be
    read, and not every session could.
    """

    name: str = option(argument=True)
    formulas: tuple[str, ...] = option(argument=True, metavar="FORMULA...")
    database: str = common.database()
    mapping: Path | None = common.mapping()
    as_json: bool = common.as_json(
        "Write the verdict on each session as JSON, with what was not read."
    )


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Audit every session recorded in DATABASE (a file or a URL), or those of RUNs.

    Without DATABASE the RUNs are those of --database.

    DATABASE may also be a log of Inspect, a file of OpenTelemetry spans (OTLP JSON), or a tags.txt
    written by the authors' published code, whose sessions are audited by that code's own reading of
    INTERACT.

    Each session is replayed through its protocol's automaton, from its tags and from the recorded
    answers of MATCH and AGREE. The audit reports messages that no correct agent could have sent;
    sessions that only noisy judges allow (with the answers that contradict each other); sessions
    that a tolerance allows but no equivalence does (with the chain of similar texts); and endings
    that the rules do not give.

    Exit code 1: the audit found something that correct agents and intact records never produce.
    Contradictions of judges are not counted as such.
    """

    what: tuple[str, ...] = common.database_and_runs()
    database: str = common.database()
    output: Path | None = option(
        "Also write a self-contained web page (requires the extra report).",
        None,
        short="-o",
        metavar="FILE.html",
    )
    as_json: bool = common.as_json()
    mapping: Path | None = common.mapping()
    limit: int = option("List at most N findings of each kind.", 10, least=0)
    rounds: int | None = option(
        "The value of --num_iter that the published code ran with, for a tags.txt.",
        None,
        default="5",
        least=1,
        most=1_000_000,
    )
