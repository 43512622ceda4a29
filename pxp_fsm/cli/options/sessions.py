"""What the commands take that run sessions or models: `pxp run`, `experiment`, `judge`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.models.settings import Settings
from pxp_fsm.cli.command import given
from pxp_fsm.cli.options import common
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class Run:
    """Run sessions of TASK (drug or rad) and count their intelligibility.

    The count is that of the papers' Table 1.
    """

    plan: dict[str, Any] = given(Plan)
    unbounded: bool = option(
        "PXP: self-loops without a bound, in place of --k; a session stops at 1000 messages.", False
    )
    executor: str | None = common.executor()
    monitors: tuple[str, ...] = option(
        "Watch this formula of temporal logic (docs/logic.md) in every session, and report at once "
        "where it is violated; repeatable.",
        (),
        name="monitor",
        metavar="FORMULA",
    )
    models: Settings
    output: Path = common.output()
    database: str | None = common.new_database()
    resume: str | None = option(
        "Resume an interrupted run, at its next message.", None, metavar="RUN"
    )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Run the experiment in FILE, or what is left of it.

    What was run before is skipped; a changed file is a new experiment. The published JSON Schema
    is pxp_fsm/workbench/experiment.schema.json.
    """

    file: Path = option(argument=True, path="any")
    output: Path = common.output()
    database: str | None = common.new_database()
    executor: str | None = common.executor()
    models: Settings


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Put the explanations that RUN compared to a judge again; the run itself is not changed.

    Each pair is judged in both orders. Says how often the judge gives the verdict of the run, the
    same verdict to the same question, and the same verdict the other way round.
    """

    run: str = option(argument=True)
    model: str = option("Who judges.", name="judge", metavar="MODEL")
    consistency: int = option(
        "Put each question N times, and report how often the judge agrees with itself.",
        1,
        least=1,
        most=99,
    )
    limit: int | None = option("The first N pairs only.", None, least=1)
    prompts: Path | None = option("Your own prompts, in place of those of the run.", None)
    database: str = common.database()
    models: Settings
