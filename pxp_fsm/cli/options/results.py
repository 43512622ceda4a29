"""What the commands take that show results: `pxp sessions`, `draw`, `report` and their like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.cli.options import common
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """List all sessions, those of run NAME, or show session NAME message by message."""

    name: str | None = option("", None, argument=True)
    database: str = common.database()
    limit: int = option("List at most N sessions.", 200, least=1)
    skip: int = option("Leave out the first N sessions.", 0, least=0)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw WHAT: a built-in automaton, the file of a table, or a session such as drug-1/1/3.

    A counterexample is drawn as a sequence chart; of a claim, also on the automaton of each agent.
    """

    what: tuple[str, ...] = option("", (), argument=True, metavar="[WHAT]...")
    output: Path | None = option(
        "Its ending (.svg .png .dot .gv .mmd) determines the format.",
        None,
        short="-o",
        default="named after WHAT",
    )
    form: str | None = option(
        "Where FILE is not given.", None, name="format", choices=("svg", "png", "dot", "mermaid")
    )
    state: str | None = option("Mark this state of the automaton.", None, metavar="STATE")
    agent: str | None = option(
        "Of a session: draw this agent's automaton, with the way it took and where it is.",
        None,
        metavar="NAME",
    )
    counterexample: str | None = option(
        "Without WHAT: the shortest session that contradicts this claim of pxp check "
        "(pxp.terminates where two protocols have one of that name). With tables: how they break "
        "this standard check or formula.",
        None,
        metavar="CLAIM",
    )
    channel: str | None = option(
        "What joins the tables of a counterexample, as in pxp check.",
        None,
        metavar="CHANNEL",
        default="sync",
    )
    relations: str | None = option("Its assumptions on MATCH and AGREE.", None, metavar="NAME")
    n: int = option("Its n, in INTERACT.", defaults.N)
    k: int = option("Its k.", defaults.K, metavar="K")
    database: str = common.database("Where sessions are found.")


@dataclass(frozen=True, kw_only=True)
class Report:
    """Report RUNs of DATABASE (a file or a database URL), or all of them, as a page.

    A run that is not finished is reported as far as it has got; the page says what is missing.
    """

    database: str = option(argument=True)
    runs: tuple[str, ...] = option("", (), argument=True, metavar="[RUN...]")
    output: Path = option(
        "The page; tables are written beside it under the same name.",
        Path("report.html"),
        short="-o",
        metavar="FILE.html",
    )
    sessions: str | None = option(
        "How many sessions of a run are shown whole, or which: names of sessions or instances.",
        None,
        metavar="N|all|KEY,KEY",
        default="100",
    )
    test_set: bool | None = option(
        "Whether a fresh machine learns again what was recorded, to be asked about the test set.",
        None,
        default="for runs of at most 500 sessions",
    )


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Compare two runs, or two experiments by their files, session by session."""

    first: str = option(argument=True)
    second: str = option(argument=True)
    database: str = common.database()


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """Evaluate FORMULAs (docs/logic.md) on run NAME, or message by message on session NAME.

    True or false: whatever the protocol still allows changes nothing. Presumably so: if the session
    ended here. Exit code 1 where a formula is false of a session.
    """

    name: str = option(argument=True)
    formulas: tuple[str, ...] = option(argument=True, metavar="FORMULA...")
    database: str = common.database()
    as_json: bool = common.as_json("Session by session, as JSON.")


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Audit every session recorded in DATABASE (a file or a URL), or those of RUNs.

    DATABASE may also be a tags.txt that the authors' published code has written: its sessions are
    audited by that code's own reading of INTERACT.

    Each is followed through its protocol's automaton, by its tags and by what MATCH and AGREE
    answered: messages that no correct agent could have sent, sessions that only noisy judges allow
    (with the answers that contradict each other), those that a tolerance allows and no equivalence
    (with the texts that are similar in a row), stored classes that the definitions do not give.

    Exit code 1 where something was found that agents and records at work never leave; what judges
    contradict is no such fault.
    """

    database: str = common.database_argument()
    runs: tuple[str, ...] = option("", (), argument=True, metavar="[RUN...]")
    html: Path | None = option("The same as a page that needs no network (extra report).", None)
    as_json: Path | None = option("All of it as JSON; - is standard output.", None, name="json")
    shown: int = option("Show N findings of each kind.", 10, name="list", least=0)
    rounds: int | None = option(
        "Of a tags.txt: what the published code was given as --num_iter.",
        None,
        default="5",
        least=1,
        most=1_000_000,
    )


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Show what the models of each run in DATABASE (a file or a URL) cost, and for what.

    Calls that the call cache answered are counted and cost nothing; "again" is how often a call was
    repeated after a failure; "a session" is calls for each session that was begun.
    """

    database: str = common.database_argument()
    only: str | None = option("This run only.", None, name="run", metavar="RUN")
