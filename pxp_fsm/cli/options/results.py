"""Options of the commands that show results: `pxp sessions`, `draw`, `report`, …"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.cli.options import common
from pxp_fsm.diagrams import FORMATS, Style
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class SessionsOptions:
    """List all sessions or those of run NAME, or show the messages of session NAME."""

    name: str | None = option("", None, argument=True)
    prompts: bool = option(
        "Also show what models were asked for each message of the session, and replied.", False
    )
    database: str = common.database()
    limit: int = option("List at most N sessions.", 200, least=1)
    skip: int = option("Skip the first N sessions.", 0, least=0)


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """Draw WHAT: a built-in automaton, a table file, or a session such as drug-1/1/3.

    A counterexample is drawn as a sequence chart, and on the automaton of each agent; with --agent,
    on the automaton of that agent alone.
    """

    what: tuple[str, ...] = option("", (), argument=True, metavar="[WHAT]...")
    output: Path | None = option(
        "The file to write; its suffix (.svg .png .pdf .tex .dot .gv .mmd) determines the format.",
        None,
        short="-o",
        default="named after WHAT",
    )
    form: str | None = option(
        "The format, if FILE is not given; itf and latex write the steps of a counterexample.",
        None,
        name="format",
        choices=(*FORMATS, "itf", "latex"),
    )
    style: Style
    state: str | None = option("Mark this state of the automaton.", None, metavar="STATE")
    agent: str | None = option(
        "Draw the automaton of this agent of a session or counterexample, with its path and state.",
        None,
        metavar="NAME",
    )
    counterexample: str | None = option(
        "Without WHAT: draw the shortest session that contradicts this claim of pxp check "
        "(pxp.terminates where two protocols have a claim of that name). With tables: draw a "
        "counterexample to this standard check or formula.",
        None,
        metavar="CLAIM",
    )
    channel: str | None = option(
        "The channel between the tables of a counterexample, as in pxp check.",
        None,
        metavar="CHANNEL",
        default="sync",
    )
    relations: str | None = option(
        "The assumptions of the claim on MATCH and AGREE.", None, metavar="NAME"
    )
    n: int = option("The bound n of INTERACT.", defaults.N)
    k: int = option("The bound k.", defaults.K, metavar="K")
    database: str = common.database("The database that holds the session: a file or a URL.")


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Report RUNs of DATABASE (a file or a URL), or all of its runs, as a web page.

    An unfinished run is reported as far as it got; the page states what is missing.
    """

    database: str = common.database_argument()
    runs: tuple[str, ...] = option("", (), argument=True, metavar="[RUN...]")
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
        default="100",
    )
    test_set: bool | None = option(
        "Score the test set with a fresh machine that learns again from the recorded sessions.",
        None,
        default="for runs of at most 500 sessions",
    )
    catalogue: Path | None = option(
        "The catalogue of your own that the models were asked with.", None
    )
    figures: Path | None = option(
        "Also write every figure into this folder, as SVG and PDF.", None, path="folder"
    )


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Compare two runs, or two experiments by their files, session by session."""

    first: str = option(argument=True)
    second: str = option(argument=True)
    database: str = common.database()


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

    DATABASE may also be a log of Inspect, a file of OpenTelemetry spans (OTLP JSON), or a tags.txt
    written by the authors' published code, whose sessions are audited by that code's own reading of
    INTERACT.

    Each session is replayed through its protocol's automaton, from its tags and from the recorded
    answers of MATCH and AGREE. The audit reports messages that no correct agent could have sent;
    sessions that only noisy judges allow (with the answers that contradict each other); sessions
    that a tolerance allows but no equivalence does (with the chain of similar texts); and stored
    classes that do not follow from the definitions.

    Exit code 1: the audit found something that correct agents and intact records never produce.
    Contradictions of judges are not counted as such.
    """

    database: str = common.database_argument()
    runs: tuple[str, ...] = option("", (), argument=True, metavar="[RUN...]")
    html: Path | None = option(
        "Also write a self-contained web page (requires the extra report).", None
    )
    as_json: Path | None = option(
        "Write the audit as JSON to this file; - is standard output.", None, name="json"
    )
    mapping: Path | None = common.mapping()
    shown: int = option("List at most N findings of each kind.", 10, name="list", least=0)
    rounds: int | None = option(
        "The value of --num_iter that the published code ran with, for a tags.txt.",
        None,
        default="5",
        least=1,
        most=1_000_000,
    )


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """Show the model costs of each run in DATABASE (a file or a URL), by purpose.

    Calls served from the call cache are counted and cost nothing. "again" counts retries after a
    failure; "a session" is the number of calls per started session.
    """

    database: str = common.database_argument()
    only: str | None = option("Show this run only.", None, name="run", metavar="RUN")
