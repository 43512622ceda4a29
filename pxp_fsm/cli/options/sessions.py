"""Options of the commands that run sessions or models, or serve pages: `pxp run`, `mcp`, …"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pxp_fsm.cli.options import common
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.options import given, option


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Run X: the sessions of a task, of a system or of an experiment, or a network on an input.

    Of a task it counts how many sessions are intelligible, as in Table 1 of the papers. Of a
    system it first says what is proved. Of an experiment, finished runs are skipped, and a changed
    file is a new experiment (JSON Schema: pxp_fsm/experiments/experiment.schema.json).

    Exit code 5: a fault of a member, which is told, ended a session.
    """

    without: ClassVar[str] = "task"
    what: tuple[str, ...] = option("", (), argument=True, metavar="X [INPUT]", listed="tasks")


@dataclass(frozen=True, kw_only=True)
class RunTask:
    """Run sessions of a task or of a system."""

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
    models: common.ModelOptions
    output: Path = common.output()
    database: str | None = common.new_database()
    resume: str | None = option(
        "Resume an interrupted run at its next message.", None, metavar="RUN", listed="runs"
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
    verbose: bool = common.verbose("Print intervals, remarks, what is proved and every file, too.")
    anyway: bool = option(
        "System: run it although it has a deadlock, or a property is not as expected.", False
    )


@dataclass(frozen=True, kw_only=True)
class RunExperiment:
    """Run an experiment, or the part of it that has not run yet."""

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
    verbose: bool = common.verbose("Print intervals, remarks, what is proved and every file, too.")
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """Ask the machine of RUN its test data, with each session cut after message 0, 2, 4, ...

    This is Figure 2 of the workshop version. What a model replies is stored with the run: it counts
    towards the caps, nothing is asked twice, and `pxp report` draws it. Stopped, the command is
    given again.
    """

    run: str = option(argument=True, listed="runs")
    rows: int | None = option("Ask only the first N rows of the test data.", None, least=1)
    database: str = common.database()
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Submit the explanations compared in RUN to a judge again; the run itself is not changed.

    Each pair is judged in both orders. Reports how often the judge agrees with the verdict of the
    run, with itself on the same question, and with itself when the order is reversed.
    """

    run: str = option(argument=True, listed="runs")
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
    models: common.ModelOptions


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
    days: float = common.days(14.0)
    models: common.ModelOptions
