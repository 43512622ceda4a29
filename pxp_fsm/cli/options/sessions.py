"""Options of the commands that run sessions or models: `pxp run`, `test`, `judge`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pxp_fsm.cli.command import extended
from pxp_fsm.cli.options import common
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.run_kinds import ForkChange
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import DATA, FORK, LIMITS, OUTPUT, PROTOCOL, WHO, given, option


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Run X: the sessions of a task, of a system or of an experiment, or a network on an input.

    Of a task it counts how many sessions are intelligible, as in Table 1 of the papers. Of a
    system it first says what is proved. Of an experiment, finished runs are skipped, and a changed
    file is a new experiment (pxp help experiments).

    FROM is a stopped RUN, which goes on at its next message; SESSION@MESSAGE, such as drug-1/1/3@2,
    which a new run carries on from that message, and which alone names its task, too; or, of a
    system, a trace (.json, of pxp check -o DIR), whose actions happen first. INPUT is a text.

    Exit code 5: a fault of a member, which is told, ended a session.
    """

    without: ClassVar[str] = "task"
    groups: ClassVar[tuple[str, ...]] = (PROTOCOL, WHO, DATA, FORK, LIMITS, OUTPUT)
    what: tuple[str, ...] = option("", (), argument=True, metavar="X [FROM|INPUT]", listed="tasks")


def _verbose() -> Any:
    return common.verbose("Print intervals, remarks, what is proved and every file, too.")


@dataclass(frozen=True, kw_only=True)
class RunTask:
    """Run sessions of a task or of a system."""

    instead: ClassVar[Mapping[str, str]] = {
        "--fork": "write SESSION@MESSAGE alone, as in pxp run drug-1/1/3@2",
        "--respondent": "give --set NAME.respondent=WHO",
        "--anyway": "say in the system's file what is expected: [[properties]] with a check or "
        'formula, and expected = "FAILS"',
    }
    plan: dict[str, Any] = given(Plan)
    source: str | None = option("", None, argument=True, metavar="[FROM]", listed="runs")
    changes: tuple[ForkChange, ...] = extended("run")
    answer_file: Path | None = option(
        "Let MESSAGE, which is made anew, carry the answer in FILE: a JSON object with a "
        "prediction and an explanation.",
        None,
        name="answer",
        metavar="FILE",
        group=FORK,
    )
    monitors: tuple[str, ...] = option(
        "Report at once where a session violates FORMULA (pxp help logic); repeatable.",
        (),
        name="monitor",
        metavar="FORMULA",
        group=PROTOCOL,
    )
    assignments: tuple[str, ...] = common.assignments()
    both: bool = option(
        "Make a run in each setting, controlled (learning.keep=likelihood where there are "
        "likelihoods, and better) and uncontrolled, and print them side by side.",
        False,
        group=DATA,
    )
    models: common.ModelOptions
    executor: str | None = common.executor()
    output: Path = common.run_output()
    save_plan: Path | None = option(
        "Write the plan as an experiment's file, and run nothing.", None, group=OUTPUT
    )
    database: str | None = common.new_database()
    verbose: bool = _verbose()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class RunExperiment:
    """Run an experiment, or the part of it that has not run yet."""

    file: Path = option(argument=True, path="any")
    assignments: tuple[str, ...] = common.assignments()
    models: common.ModelOptions
    executor: str | None = common.executor()
    output: Path = common.run_output()
    database: str | None = common.new_database()
    verbose: bool = _verbose()
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """Ask the machine of RUN its test data, with each session cut after message 0, 2, 4, ...

    This is Figure 2 of the workshop version. What a model replies is stored with the run: it counts
    towards the caps, nothing is asked twice, and `pxp report` draws it. Stopped, the command is
    given again.
    """

    run: str = option(argument=True, listed="runs")
    limit: int | None = option("Ask only the first N rows of the test data.", None, least=1)
    database: str = common.database()
    as_json: bool = common.as_json()
    models: common.ModelOptions


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Submit the explanations compared in RUN to MODEL as a judge; the run itself is not changed.

    Each pair is judged in both orders. Reports how often the judge agrees with the verdict of the
    run, with itself on the same question, and with itself when the order is reversed.
    """

    instead: ClassVar[Mapping[str, str]] = {"--judge": "write the MODEL after RUN"}
    run: str = option(argument=True, listed="runs")
    model: str = option(argument=True, listed="models")
    repetitions: int = option(
        "Submit each question N times, and report how often the judge agrees with itself.",
        1,
        least=1,
        most=99,
    )
    limit: int | None = option("Judge only the first N pairs.", None, least=1)
    prompts: Path | None = option("A file of prompts to use instead of those of the run.", None)
    database: str = common.database()
    as_json: bool = common.as_json()
    models: common.ModelOptions
