"""Options of the commands that run sessions or models, or serve pages: `pxp run`, `mcp`, …"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.models.settings import Settings
from pxp_fsm import defaults
from pxp_fsm.cli.command import given
from pxp_fsm.cli.options import common
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Run sessions of TASK: drug or rad, or the system in a file (MY_SYSTEM.toml).

    Of drug and rad it counts how many sessions are intelligible, as in Table 1 of the papers. Of a
    system it first says what is proved; the options for tasks do not apply.
    """

    plan: dict[str, Any] = given(Plan)
    unbounded: bool = option(
        "PXP: self-loops without a bound, instead of --k; a session stops at 1000 messages.", False
    )
    executor: str | None = common.executor()
    monitors: tuple[str, ...] = option(
        "Monitor this formula of temporal logic (pxp help logic) in every session, and report a "
        "violation at once; repeatable.",
        (),
        name="monitor",
        metavar="FORMULA",
    )
    models: Settings
    output: Path = common.output()
    database: str | None = common.new_database()
    resume: str | None = option(
        "Resume an interrupted run at its next message.", None, metavar="RUN"
    )
    fork: str | None = option(
        "Carry on a stored session from one of its messages, as a session of a new run, which says "
        "so; the stored one stays as it is (drug-1/1/3@2).",
        None,
        metavar="SESSION@MESSAGE",
    )
    anchor: Path | None = common.anchor()
    sign: Path | None = common.signing_key()
    respondents: tuple[str, ...] = common.respondents("System: who")
    sessions: int | None = option(
        "System: run N sessions.", None, metavar="N", default="1", least=1, most=1_000_000
    )
    follow: Path | None = option(
        "System: let the actions of this trace (ITF, by pxp check --itf) happen first; a random "
        "member, and one that nobody answers for, does as the trace says.",
        None,
        metavar="FILE",
    )
    both: bool = option(
        "Task: make two runs, controlled (--learn better) and uncontrolled, and print them side by "
        "side.",
        False,
    )
    verbose: bool = common.verbose()
    anyway: bool = option(
        "System: run it although it has a deadlock, or a property is not as expected.", False
    )


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    """Run the experiment in FILE, or the part of it that has not run yet.

    Finished runs are skipped; a changed file is a new experiment. The published JSON Schema is
    pxp_fsm/experiments/experiment.schema.json.
    """

    file: Path = option(argument=True, path="any")
    subject: str | None = option(
        "The pseudonym of the person in the human's role: each has a run of their own.",
        None,
        metavar="NAME",
        default="as FILE says",
    )
    output: Path = common.output()
    database: str | None = common.new_database()
    executor: str | None = common.executor()
    anchor: Path | None = common.anchor()
    sign: Path | None = common.signing_key()
    verbose: bool = common.verbose()
    models: Settings


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """Ask the machine of RUN its test data, with each session cut after message 0, 2, 4, ...

    This is Figure 2 of the workshop version. What a model replies is stored with the run: it counts
    towards the caps, nothing is asked twice, and `pxp report` draws it. Stopped, the command is
    given again.
    """

    run: str = option(argument=True)
    rows: int | None = option("Ask only the first N rows of the test data.", None, least=1)
    database: str = common.database()
    models: Settings


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Submit the explanations compared in RUN to a judge again; the run itself is not changed.

    Each pair is judged in both orders. Reports how often the judge agrees with the verdict of the
    run, with itself on the same question, and with itself when the order is reversed.
    """

    run: str = option(argument=True)
    model: str = option("The model that judges.", name="judge", metavar="MODEL")
    consistency: int = option(
        "Submit each question N times, and report how often the judge agrees with itself.",
        1,
        least=1,
        most=99,
    )
    limit: int | None = option("Judge only the first N pairs.", None, least=1)
    prompts: Path | None = option("A file of prompts to use instead of those of the run.", None)
    database: str = common.database()
    models: Settings


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """Explore a system step by step in a browser: TABLEs, or a system file; without one, INTERACT.

    The page shows every member's automaton, the messages so far, what can happen next, and why
    everything else cannot. The server listens on this machine alone and writes nothing, but with
    --edit the TABLEs that you save; Ctrl-C ends it. With --output the page is written as one file
    that needs no server and no network.
    """

    tables: tuple[str, ...] = option("", (), argument=True, metavar="[TABLE...]")
    channel: str | None = option(
        "The channel between the TABLEs: sync, fifo:C, lossy:C, … (pxp help systems).",
        None,
        metavar="CHANNEL",
        default="that of the system file, or sync",
    )
    session: str | None = option(
        "Explore what happened in a stored session, and what could have; one that is not over is "
        "followed.",
        None,
        metavar="NAME",
    )
    monitors: tuple[str, ...] = option(
        "With --session, say how this formula stands after each message; repeatable.",
        (),
        name="monitor",
        metavar="FORMULA",
    )
    database: str | None = option(
        "With --session, the database: a file or a URL.",
        None,
        metavar="URL",
        default=defaults.STORED,
    )
    edit: bool = option(
        "Edit the TABLEs that are files as text; a file is written when you save it.", False
    )
    output: Path | None = option(
        "Write the page as one HTML file, with states and verdicts.", None, short="-o"
    )
    formulas: tuple[str, ...] = option(
        "With --output, also check FORMULA; repeatable.", (), name="formula", metavar="FORMULA"
    )
    states: int | None = option(
        "With --output, the most states that the file holds.", None, default="20000", least=1
    )
    port: int = common.port(0)
    browser: bool = option("Open the page in the browser.", True)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Let experts take part in a browser: in the experiments of FILEs, or in stored RUNs.

    In the file, human = "browser" (who names the tags) or "browser:relations" (who answers MATCH
    and AGREE) stands below [agents]. The command prints a link for each expert and one for whoever
    runs the experiments. The server listens on this machine alone; behind a server that terminates
    TLS, --url says where experts reach it. What was asked is asked again after a restart.
    """

    targets: tuple[str, ...] = option("", argument=True, metavar="FILE|RUN...")
    subjects: tuple[str, ...] = option(
        "The pseudonym of an expert, who has a run of each FILE; repeatable.",
        (),
        name="subject",
        metavar="NAME",
        default="that of the file, or expert",
    )
    database: str | None = option(
        "The database: a file or a URL.", None, metavar="URL", default=defaults.STORED
    )
    port: int = common.port(8765)
    url: str | None = common.server_url("experts")
    days: float = option("The days for which a link is valid.", 14.0, above=0, most=3650)
    browser: bool = option("Open the researcher's page in the browser.", True)


@dataclass(frozen=True, kw_only=True)
class McpOptions:
    """Let assistants take part in sessions: Claude, editors, any client of MCP.

    TASK is drug or rad, where the assistant is the human, or whom --human mcp and --machine mcp
    name; an experiment's file; or a system's file, where it is each member with the respondent mcp.
    The command prints a token for each assistant; it is served on this machine alone, at
    http://127.0.0.1:PORT/mcp. With --stdio, a client that starts this command itself is NAME.
    Everything that happened is stored; --resume goes on with it.
    """

    plan: dict[str, Any] = given(Plan)
    respondents: tuple[str, ...] = common.respondents("System: who")
    stdio: str | None = option(
        "Serve the assistant NAME (human, machine or a member) over standard input and output, "
        "and others over HTTP.",
        None,
        metavar="NAME",
    )
    sessions: int | None = option(
        "System: run N sessions, all at a time.",
        None,
        metavar="N",
        default="1",
        least=1,
        most=10_000,
    )
    resume: str | None = option("Resume an interrupted run.", None, metavar="RUN")
    anyway: bool = option(
        "System: run it although it has a deadlock, or a property is not as expected.", False
    )
    output: Path = common.output()
    database: str | None = common.new_database()
    port: int = common.port(8766)
    url: str | None = common.server_url("assistants")
    days: float = option("The days for which a token is valid.", 14.0, above=0, most=3650)
    models: Settings
